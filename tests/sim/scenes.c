// SPDX-License-Identifier: GPL-2.0
/*
 * Scenes: the loads of some members, and the results under each policy.
 */
#include <string.h>
#include "sim.h"

#define SAMPLES		512

/* Samples of a run, for a plot: times, and percents of the capacity in use by each member. */
struct trail {
	double t[SAMPLES];
	double share[4][SAMPLES];
	u32 n;
};

static struct trail trail;

static void take_sample(struct sim *s)
{
	u32 i;

	if (trail.n == SAMPLES)
		return;
	trail.t[trail.n] = (s->now - SEC) / 1e9;
	for (i = 0; i < s->nr && i < 4; i++)
		trail.share[i][trail.n] = 100.0 * s->m[i].bound / s->capacity;
	trail.n++;
}

static void plot(const char *dir, const char *scene, const struct sim *s,
		 const char *const *names)
{
	char path[512], title[128];
	struct svg *v;
	u32 i;

	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/%s-%s.svg", dir, scene, sim_policy_names[s->policy]);
	snprintf(title, sizeof(title), "%s, %s", scene, sim_policy_names[s->policy]);
	v = svg_open(path, title, "entries in use, % of the capacity", trail.t[trail.n - 1], 100);
	if (!v)
		return;
	for (i = 0; i < s->nr && i < 4; i++)
		svg_line(v, names[i], trail.t, trail.share[i], trail.n);
	svg_close(v);
}

static void sampled(struct sim *s, u64 length)
{
	memset(&trail, 0, sizeof(trail));
	s->sample = take_sample;
	s->sample_ns = length / (SAMPLES - 1);
}

/* Runs until @until, and measures the entries in use by each member, in entry-seconds. */
static void measure(struct sim *s, u64 until, double *got)
{
	u32 i;

	sim_settle(s);
	for (i = 0; i < s->nr; i++)
		got[i] = -(double)s->m[i].bound_ns;
	sim_run(s, until);
	for (i = 0; i < s->nr; i++)
		got[i] = (got[i] + s->m[i].bound_ns) / 1e9;
}

static double sum(const double *x, u32 n)
{
	double all = 0;

	while (n--)
		all += x[n];
	return all;
}

/* A hoarder takes all entries; a latecomer comes after a second, stays for two, and goes. */
static void scene_hoard(enum sim_policy policy, const char *dir)
{
	static const char *const names[] = { "hoarder", "latecomer" };
	struct sim *s = sim_open(policy, 64 << 10, 2);
	u64 part = 0, yielded = 0, regained = 0, t;

	sim_load(&s->m[0], 0, 6 * SEC, 600, L_CLASS, 5 * MS, 0);
	sim_load(&s->m[1], SEC, 3 * SEC, 200, L_CLASS, 5 * MS, 0);
	sampled(s, 6 * SEC);
	sim_start(s);
	for (t = 0; t < 6 * SEC; t += MS) {
		sim_run(s, t);
		part = s->m[1].bound;
		if (!yielded && t > SEC && part >= 9 * min(200 * L, s->capacity / 2) / 10)
			yielded = t - SEC;
		if (!regained && t > 3 * SEC && s->m[0].bound >= s->capacity * 98 / 100)
			regained = t - 3 * SEC;
	}
	plot(dir, "hoard", s, names);
	printf("| hoard | %s | yields 9/10 of a half after %s%.0f ms | has all again after %s%.0f ms | %llu I/Os of the latecomer |\n",
	       sim_policy_names[policy], yielded ? "" : "never: ", yielded / 1e6,
	       regained ? "" : "never: ", regained / 1e6, (unsigned long long)s->m[1].done);
	sim_close(s);
}

/* A light member does one I/O at a time, with pauses, beside a hoarder that takes all there is. */
static void scene_light(enum sim_policy policy, const char *dir)
{
	static const char *const names[] = { "hoarder", "light" };
	struct sim *s = sim_open(policy, 20 * L, 2);
	struct rpol_member_stats st;

	sim_load(&s->m[0], 0, 5 * SEC, 200, L_CLASS, 5 * MS, 0);
	sim_load(&s->m[1], SEC, 4 * SEC, 1, L_CLASS, 2 * MS, 3 * MS);
	sampled(s, 5 * SEC);
	sim_start(s);
	sim_run(s, 5 * SEC);
	plot(dir, "light", s, names);
	rpol_member_get_stats(s->m[1].mem, &st);
	printf("| light | %s | %llu I/Os (600 undisturbed) | %llu waits, %.2f ms each, %.1f ms the longest | %llu MRs made for them |\n",
	       sim_policy_names[policy], (unsigned long long)s->m[1].done,
	       (unsigned long long)st.waits, st.waits ? st.wait_ns / 1e6 / st.waits : 0.0,
	       st.wait_max_ns / 1e6, (unsigned long long)s->m[1].made);
	sim_close(s);
}

/*
 * All members always want more than there is.  Returns Jain's index of what each got in relation
 * to its weight; @used is the part of the capacity that was in use.
 */
static double scene_even(enum sim_policy policy, const char *scene, const char *dir, u64 capacity,
			 u32 nr, u32 depth, const u32 *weights, u32 nr_weights, double *used)
{
	static const char *const names[] = { "first", "second", "third", "fourth" };
	struct sim *s = sim_open(policy, capacity, nr);
	double *got = calloc(nr, sizeof(*got)), index;
	u64 most = 0, made = 0, done = 0;
	struct rpol_member_stats st;
	u32 i;

	for (i = 0; i < nr; i++) {
		s->m[i].weight = weights[i % nr_weights];
		/* By order of arrival, members with more I/Os at a time would get more. */
		sim_load(&s->m[i], 0, 10 * SEC, depth * (1 + i % 3), L_CLASS, 5 * MS, 0);
	}
	sampled(s, 6 * SEC);
	sim_start(s);
	sim_run(s, SEC / 2);
	measure(s, 6 * SEC, got);
	plot(dir, scene, s, names);
	*used = sum(got, nr) / 5.5 / capacity;
	for (i = 0; i < nr; i++) {
		got[i] /= s->m[i].weight;
		rpol_member_get_stats(s->m[i].mem, &st);
		most = max(most, st.wait_max_ns);
		made += s->m[i].made;
		done += s->m[i].done;
	}
	index = sim_jain(got, nr);
	if (dir)
		printf("| %s | %s | Jain %.4f | %.1f %% used | longest wait %.0f ms, %.2f MRs made per I/O |\n",
		       scene, sim_policy_names[policy], index, 100 * *used, most / 1e6,
		       (double)made / done);
	free(got);
	sim_close(s);
	return index;
}

/* One member does short bursts of I/O, beside two that always want all there is. */
static void scene_bursts(enum sim_policy policy, const char *dir)
{
	static const char *const names[] = { "always", "always", "bursts" };
	struct sim *s = sim_open(policy, 64 << 10, 3);
	struct rpol_member_stats st;
	u32 i;

	sim_load(&s->m[0], 0, 6 * SEC, 400, L_CLASS, 4 * MS, 0);
	sim_load(&s->m[1], 0, 6 * SEC, 400, L_CLASS, 8 * MS, 0);
	for (i = 0; i < 10; i++)
		sim_load(&s->m[2], (500 + 500 * i) * MS, (560 + 500 * i) * MS, 60, L_CLASS, 4 * MS,
			 0);
	sampled(s, 6 * SEC);
	sim_start(s);
	sim_run(s, 6 * SEC);
	plot(dir, "bursts", s, names);
	rpol_member_get_stats(s->m[2].mem, &st);
	printf("| bursts | %s | %llu I/Os in bursts | %llu waits, %.2f ms each, %.1f ms the longest | |\n",
	       sim_policy_names[policy], (unsigned long long)s->m[2].done,
	       (unsigned long long)st.waits, st.waits ? st.wait_ns / 1e6 / st.waits : 0.0,
	       st.wait_max_ns / 1e6);
	sim_close(s);
}

/*
 * One member makes very many small claims and another one a few large ones.  The small ones could
 * keep the free entries from ever being enough for a large one.
 */
static void scene_crumbs(enum sim_policy policy, const char *dir)
{
	static const char *const names[] = { "crumbs", "large" };
	struct sim *s = sim_open(policy, 16 * L, 2);
	double got[2];

	sim_load(&s->m[0], 0, 10 * SEC, 2000, 0, 2 * MS, 0);
	sim_load(&s->m[1], 0, 10 * SEC, 16, L_CLASS, 5 * MS, 0);
	sampled(s, 5 * SEC);
	sim_start(s);
	sim_run(s, SEC / 2);
	measure(s, 5 * SEC, got);
	plot(dir, "crumbs", s, names);
	printf("| crumbs | %s | Jain %.4f | %.1f %% used | %llu large I/Os |\n",
	       sim_policy_names[policy], sim_jain(got, 2), 100 * sum(got, 2) / 4.5 / s->capacity,
	       (unsigned long long)s->m[1].done);
	sim_close(s);
}

/* 24 members with loads of random times and sizes, some with a minimum or a maximum. */
static double scene_random(enum sim_policy policy, const char *dir, u64 seed, double *used)
{
	struct sim *s = sim_open(policy, 32 * L, 24);
	u64 most = 0, from, until;
	struct rpol_member_stats st;
	struct sim_member *m;
	double *got;
	u32 i, l;

	s->seed ^= seed * 0x2545f4914f6cdd1dULL;
	for (i = 0; i < s->nr; i++) {
		m = &s->m[i];
		m->weight = 1 + sim_random(s, 400);
		m->min = i % 8 == 1 ? 300 : 0;
		m->max = i % 8 == 2 ? 4 * L : RPOL_NO_MAX;
		from = sim_random(s, 500 * MS);
		for (l = 0; l < 12; l++) {
			until = from + (1 + sim_random(s, 400)) * MS;
			sim_load(m, from, until, 1 + sim_random(s, 24), sim_random(s, 5),
				 (1 + sim_random(s, 6000)) * US, sim_random(s, 2) * 500 * US);
			from = until + (1 + sim_random(s, 300)) * MS;
		}
	}
	sim_start(s);
	got = calloc(s->nr, sizeof(*got));
	measure(s, 3 * SEC, got);
	*used = sum(got, s->nr) / 3 / s->capacity;
	for (i = 0; i < s->nr; i++) {
		rpol_member_get_stats(s->m[i].mem, &st);
		most = max(most, st.wait_max_ns);
	}
	if (dir)
		printf("| random | %s | %.1f %% used | longest wait %.0f ms | |\n",
		       sim_policy_names[policy], 100 * *used, most / 1e6);
	free(got);
	sim_close(s);
	return most / 1e6;
}

static const u32 equal[] = { 100 };
static const u32 three_to_one[] = { 300, 100 };

/**
 * scenes_run - run all scenes under all policies, and print a table
 * @dir: directory for the plots
 *
 * Return: the exit status.
 */
int scenes_run(const char *dir)
{
	enum sim_policy p;
	double used;

	printf("| scene | policy | | | |\n| --- | --- | --- | --- | --- |\n");
	for (p = 0; p < SIM_NR_POLICIES; p++)
		scene_hoard(p, dir);
	for (p = 0; p < SIM_NR_POLICIES; p++)
		scene_light(p, dir);
	for (p = 0; p < SIM_NR_POLICIES; p++)
		scene_even(p, "eight-on-twenty", dir, 20 * L, 8, 4, equal, 1, &used);
	for (p = 0; p < SIM_NR_POLICIES; p++)
		scene_even(p, "three-to-one", dir, 20 * L, 2, 40, three_to_one, 2, &used);
	for (p = 0; p < SIM_NR_POLICIES; p++)
		scene_even(p, "hundred-on-twenty", dir, 20 * L, 100, 2, equal, 1, &used);
	for (p = 0; p < SIM_NR_POLICIES; p++)
		scene_bursts(p, dir);
	for (p = 0; p < SIM_NR_POLICIES; p++)
		scene_crumbs(p, dir);
	for (p = 0; p < SIM_NR_POLICIES; p++)
		scene_random(p, dir, 1, &used);
	return 0;
}

static int checks, failures;

static void check(bool good, const char *what, double have)
{
	checks++;
	failures += !good;
	printf("%sok %d - %s\n", good ? "" : "not ", checks, what);
	if (!good)
		printf("# have: %g\n", have);
}

/**
 * check_run - check the promises of the policy in some of the scenes, and report as TAP
 *
 * Return: the exit status, 1 if a check has failed.
 */
int check_run(void)
{
	double used, index, fifo, most, worst = 0, least = 1;
	struct sim *s;
	u64 seed;

	index = scene_even(SIM_FAIR, "", NULL, 20 * L, 8, 4, equal, 1, &used);
	check(index >= 0.99, "eight members on twenty MRs: Jain's index 0.99", index);
	check(used >= 0.95, "eight members on twenty MRs: 95 % used", used);
	fifo = scene_even(SIM_FIFO, "", NULL, 20 * L, 8, 4, equal, 1, &used);
	check(fifo < 0.97, "order of arrival does not do that", fifo);

	index = scene_even(SIM_FAIR, "", NULL, 20 * L, 2, 40, three_to_one, 2, &used);
	check(index >= 0.997, "weights 3:1 within a tenth", index);
	check(used >= 0.95, "weights 3:1: 95 % used", used);

	index = scene_even(SIM_FAIR, "", NULL, 20 * L, 100, 2, equal, 1, &used);
	check(index >= 0.99, "a hundred members with less than an MR each: turns are even", index);
	check(used >= 0.95, "a hundred members on twenty MRs: 95 % used", used);

	for (seed = 1; seed <= 12; seed++) {
		most = scene_random(SIM_FAIR, NULL, seed, &used);
		worst = max(worst, most);
		least = min(least, used);
	}
	check(worst < 1100, "at random: nobody waits for longer than 1.1 s", worst);
	check(least > 0.65, "at random: two thirds used", least);

	s = sim_open(SIM_FAIR, 64 << 10, 2);
	sim_load(&s->m[0], 0, 6 * SEC, 600, L_CLASS, 5 * MS, 0);
	sim_load(&s->m[1], SEC, 3 * SEC, 200, L_CLASS, 5 * MS, 0);
	sim_start(s);
	sim_run(s, SEC + 10 * MS);
	check(s->m[1].bound > s->capacity * 45 / 100,
	      "who hoards has yielded half within 10 ms, an I/O taking 2.5 to 7.5",
	      s->m[1].bound);
	sim_run(s, 5 * SEC);
	check(s->m[0].bound > s->capacity * 98 / 100,
	      "and has all again two seconds after the other stopped", s->m[0].bound);
	sim_close(s);
	printf("1..%d\n", checks);
	return failures ? 1 : 0;
}
