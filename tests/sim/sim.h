/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A simulation around the policy's own source code.  Members do I/O, the clock jumps from one
 * event to the next, and the results are measured.  All is one thread.
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

/* How the RNIC's entries are given out: by the policy, or in two other ways for comparison. */
enum sim_policy {
	SIM_FAIR,	/* the policy */
	SIM_FIFO,	/* in the order of arrival */
	SIM_QUOTA,	/* in the order of arrival, with the same maximum for each member */
	SIM_NR_POLICIES
};

extern const char *const sim_policy_names[SIM_NR_POLICIES];

/**
 * struct sim_load - the I/O that a member does for some time
 * @from:    when it begins, in ns
 * @until:   when it ends, in ns
 * @depth:   number of I/Os at a time
 * @class:   class of their MRs; if larger than L_CLASS, any up to that, at random
 * @service: mean time for which an I/O has its MR, in ns; the time is half to one and a half of it
 * @think:   mean time from the end of an I/O to the next one in its place, in ns
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

/**
 * struct sim_member - one member: its quota, its loads, and its results
 * @sim:      the simulation
 * @mem:      the policy's part, from sim_start() on
 * @weight:   of its quota, to be set before sim_start(), like the next two
 * @min:      of its quota, in entries
 * @max:      of its quota, in entries
 * @load:     its loads
 * @nr_loads: number of loads
 * @bound:    entries in use now
 * @bound_at: when @bound_ns was brought up to date
 * @bound_ns: integral of the entries in use, in entry-ns
 * @done:     I/Os that have ended
 * @made:     MRs that were made
 * @going:    I/Os under way, by load
 * @reaping:  its worker is destroying victims, or is about to
 */
struct sim_member {
	struct sim *sim;
	struct rpol_member *mem;
	u32 weight;
	u64 min;
	u64 max;
	struct sim_load load[SIM_LOADS];
	u32 nr_loads;
	u64 bound;
	u64 bound_at;
	u64 bound_ns;
	u64 done;
	u64 made;
	u32 going[SIM_LOADS];
	bool reaping;
};

struct sim_event;

/**
 * struct sim - a simulation
 * @policy:   how entries are given out
 * @capacity: entries of the domain
 * @dom:      the policy's part, from sim_start() on
 * @now:      the clock, in ns; it begins at SEC
 * @seed:     state of the random numbers
 * @m:	      the members
 * @nr:	      number of members
 * @dereg:    time to destroy an MR, in ns
 * @tick_at:  when the next tick is due; 0: none is
 * @used:     entries of the MRs that exist
 * @used_max: peak of @used
 * @decisions: number of claims, and of MRs that fell idle
 * @sample_ns: time from one call of @sample to the next; 0: no calls
 * @sample:   called at these times
 * @heap:     events to come; the earliest is the first
 * @heap_len: number of events
 * @heap_room: number of events that fit in @heap
 * @order:    serial number of the next event; orders events of the same time
 */
struct sim {
	enum sim_policy policy;
	u64 capacity;
	struct rpol_domain *dom;
	u64 now;
	u64 seed;
	struct sim_member *m;
	u32 nr;
	u64 dereg;
	u64 tick_at;
	u64 used;
	u64 used_max;
	u64 decisions;
	u64 sample_ns;
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
