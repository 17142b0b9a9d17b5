/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A simulation around the policy's own source: members that do I/O, a clock
 * that jumps from one event to the next, and what became of it all.
 */
#ifndef SIM_H
#define SIM_H

#include <stdio.h>
#include "regpolicy/regpolicy.h"

/* The MR of a READ of the usual size, 1 MiB: its class and its entries. */
#define L_CLASS		3
#define L		257ULL

#define US		1000ULL
#define MS		1000000ULL
#define SEC		1000000000ULL

/* What manages the RNIC: the policy, and two to compare it with. */
enum sim_policy {
	SIM_FAIR,
	SIM_FIFO,	/* order of arrival */
	SIM_QUOTA,	/* a fixed part for each, in order of arrival */
	SIM_NR_POLICIES
};

extern const char *const sim_policy_names[SIM_NR_POLICIES];

/**
 * struct sim_load - what a member does for some time
 * @from:    ns
 * @until:   ns
 * @depth:   I/Os at a time
 * @class:   of their MRs; RPOL_NR_CLASSES: any, at random
 * @service: ns for which an I/O needs its MR, half to one and a half of it
 * @think:   ns between an I/O and the next in its place
 */
struct sim_load {
	u64 from;
	u64 until;
	u32 depth;
	u32 class;
	u64 service;
	u64 think;
};

#define SIM_LOADS	24

/* One member: its quota, what it does, and what it got. */
struct sim_member {
	struct sim *sim;
	struct rpol_member *mem;
	u32 weight;
	u64 min;
	u64 max;
	struct sim_load load[SIM_LOADS];
	u32 nr_loads;
	u64 bound;		/* entries in use now */
	u64 bound_at;
	u64 bound_ns;		/* entries in use, times ns, up to bound_at */
	u64 done;		/* I/Os */
	u64 made;		/* MRs */
	u32 going[SIM_LOADS];	/* I/Os under way, by load */
	bool reaping;
};

struct sim_event;

struct sim {
	enum sim_policy policy;
	u64 capacity;
	struct rpol_domain *dom;
	u64 now;
	u64 seed;
	struct sim_member *m;
	u32 nr;
	u64 dereg;		/* ns to destroy an MR */
	u64 tick_at;		/* 0: none */
	u64 used;		/* entries of MRs that exist */
	u64 used_max;
	u64 decisions;		/* claims, and MRs that fell idle */
	u64 sample_ns;		/* 0: none */
	void (*sample)(struct sim *s);
	struct sim_event *heap;
	size_t heap_len;
	size_t heap_room;
	u64 order;
};

struct sim *sim_open(enum sim_policy policy, u64 capacity, u32 nr);
struct sim_load *sim_load(struct sim_member *m, u64 from, u64 until, u32 depth, u32 class,
			  u64 service, u64 think);
void sim_start(struct sim *s);
void sim_run(struct sim *s, u64 until);
void sim_close(struct sim *s);
u64 sim_random(struct sim *s, u64 below);
void sim_settle(struct sim *s);

double sim_jain(const double *x, u32 n);

/* svg.c */
struct svg;

struct svg *svg_open(const char *path, const char *title, const char *y, double x_max,
		     double y_max);
void svg_line(struct svg *v, const char *name, const double *x, const double *y, u32 n);
void svg_close(struct svg *v);

/* scenes.c, cost.c */
int scenes_run(const char *dir);
int cost_run(void);
int check_run(void);

#endif
