// SPDX-License-Identifier: GPL-2.0
/*
 * The engine of the simulation: a heap of events in the order of their times.
 *
 * An I/O claims an MR, has it for the service time once it is granted, and begins anew after the
 * think time.  To destroy an MR takes time, as it does for a worker in the kernel; the time to make
 * one is part of the I/O.
 */
#include <string.h>
#include <linux/err.h>
#include "sim.h"

enum event_type { EV_CLAIM, EV_DONE, EV_REAP, EV_TICK, EV_SAMPLE };

struct sim_event {
	u64 at;
	u64 order;
	enum event_type type;
	struct sim_member *m;
	struct sim_io *io;
};

struct sim_io {
	struct rpol_waiter w;
	struct rpol_mr *mr;
	struct sim_member *m;
	u32 load;
	bool waiting;
};

const char *const sim_policy_names[SIM_NR_POLICIES] = { "fair", "fifo", "quota" };

static void *need(void *p)
{
	if (!p) {
		perror("sim");
		exit(1);
	}
	return p;
}

/**
 * sim_random - make a random number
 * @s:	   the simulation, whose seed alone decides on the numbers
 * @below: bound, more than 0
 *
 * Return: 0..@below - 1.
 */
u64 sim_random(struct sim *s, u64 below)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return (s->seed >> 11) % below;
}

static bool before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void event_add(struct sim *s, u64 at, enum event_type type, struct sim_member *m,
		      struct sim_io *io)
{
	struct sim_event e = { .at = at, .order = s->order++, .type = type, .m = m, .io = io };
	size_t i, up;

	if (s->heap_len == s->heap_room) {
		s->heap_room = s->heap_room ? 2 * s->heap_room : 1024;
		s->heap = need(realloc(s->heap, s->heap_room * sizeof(e)));
	}
	for (i = s->heap_len++; i; i = up) {
		up = (i - 1) / 2;
		if (!before(&e, &s->heap[up]))
			break;
		s->heap[i] = s->heap[up];
	}
	s->heap[i] = e;
}

static struct sim_event event_take(struct sim *s)
{
	struct sim_event first = s->heap[0], last = s->heap[--s->heap_len];
	size_t i = 0, down;

	while ((down = 2 * i + 1) < s->heap_len) {
		if (down + 1 < s->heap_len && before(&s->heap[down + 1], &s->heap[down]))
			down++;
		if (!before(&s->heap[down], &last))
			break;
		s->heap[i] = s->heap[down];
		i = down;
	}
	if (s->heap_len)
		s->heap[i] = last;
	return first;
}

/* Changes the entries that a member has in use, and brings its integral up to date. */
static void bound_change(struct sim_member *m, s64 entries)
{
	m->bound_ns += m->bound * (m->sim->now - m->bound_at);
	m->bound_at = m->sim->now;
	m->bound += entries;
}

/**
 * sim_settle - bring the integrals of all members up to date
 * @s: the simulation
 */
void sim_settle(struct sim *s)
{
	u32 i;

	for (i = 0; i < s->nr; i++)
		bound_change(&s->m[i], 0);
}

static void io_begin(struct sim_io *io)
{
	struct sim_member *m = io->m;
	struct sim *s = m->sim;
	u64 service = m->load[io->load].service;

	io->waiting = false;
	io->mr = io->w.mr;
	if (!io->mr) {
		io->mr = need(calloc(1, sizeof(*io->mr)));
		io->mr->class = io->w.class;
		io->mr->entries = io->w.entries;
		m->made++;
		s->used += io->mr->entries;
		if (s->used > s->used_max)
			s->used_max = s->used;
	}
	bound_change(m, io->mr->entries);
	event_add(s, s->now + service / 2 + sim_random(s, service + 1), EV_DONE, m, io);
}

static void io_end(struct sim_io *io)
{
	io->m->going[io->load]--;
	free(io);
}

static void io_claim_done(struct rpol_waiter *w, int ret)
{
	struct sim_io *io = container_of(w, struct sim_io, w);

	if (ret)
		io_end(io);
	else
		io_begin(io);
}

/* An I/O claims an MR, unless its load has ended; then the I/O ends as well. */
static void io_claim(struct sim_io *io)
{
	struct sim_member *m = io->m;
	const struct sim_load *l = &m->load[io->load];
	struct sim *s = m->sim;
	int ret;

	if (s->now >= l->until) {
		io_end(io);
		return;
	}
	io->w.class = l->class <= L_CLASS ? l->class : sim_random(s, L_CLASS + 1);
	io->w.entries = rpol_class_entries(io->w.class, U32_MAX);
	io->waiting = true;
	s->decisions++;
	ret = rpol_mr_claim(&io->w);
	if (ret != -EINPROGRESS)
		io_claim_done(&io->w, ret);
}

static void io_done(struct sim_io *io)
{
	struct sim_member *m = io->m;
	struct sim *s = m->sim;
	u64 think = m->load[io->load].think;

	bound_change(m, -(s64)io->mr->entries);
	m->done++;
	s->decisions++;
	rpol_mr_idle(m->mem, io->mr);
	event_add(s, s->now + (think ? think / 2 + sim_random(s, think) : 0), EV_CLAIM, m, io);
}

static void load_begin(struct sim_member *m, u32 load)
{
	struct sim_io *io;

	while (m->going[load] < m->load[load].depth) {
		m->going[load]++;
		io = need(calloc(1, sizeof(*io)));
		io->m = m;
		io->load = load;
		io->w.mem = m->mem;
		io->w.done = io_claim_done;
		event_add(m->sim, m->load[load].from, EV_CLAIM, m, io);
	}
}

/* The member's worker destroys a victim, and comes again when that time has passed. */
static void reap_one(struct sim_member *m)
{
	struct rpol_mr *mr = rpol_mr_reap(m->mem);
	u32 entries;

	m->reaping = mr;
	if (!mr)
		return;
	entries = mr->entries;
	free(mr);
	m->sim->used -= entries;
	rpol_mr_freed(m->mem, entries);
	event_add(m->sim, m->sim->now + m->sim->dereg, EV_REAP, m, NULL);
}

static void sim_reclaim(void *ctx)
{
	struct sim_member *m = ctx;

	if (!m->reaping)
		event_add(m->sim, m->sim->now + m->sim->dereg, EV_REAP, m, NULL);
	m->reaping = true;
}

static u64 sim_now(void *ctx)
{
	return ((struct sim *)ctx)->now;
}

static void sim_wake(void *ctx, u64 delay_ns)
{
	struct sim *s = ctx;

	/* A later tick that is in the heap already stays there; tick() ignores it. */
	if (s->tick_at && s->tick_at <= s->now + delay_ns)
		return;
	s->tick_at = s->now + delay_ns;
	event_add(s, s->tick_at, EV_TICK, NULL, NULL);
}

static void tick(struct sim *s)
{
	u64 delay;

	if (s->tick_at != s->now)
		return;
	s->tick_at = 0;
	delay = rpol_domain_tick(s->dom);
	if (delay)
		sim_wake(s, delay);
}

static const struct rpol_domain_ops sim_domain_ops = { .now = sim_now, .wake = sim_wake };
static const struct rpol_member_ops sim_member_ops = { .reclaim = sim_reclaim };

/**
 * sim_open - describe a simulation; its members have the default quota and no loads yet
 * @policy:   how entries are given out
 * @capacity: entries of the domain
 * @nr:	      number of members
 *
 * Return: the simulation, to be started by sim_start().
 */
struct sim *sim_open(enum sim_policy policy, u64 capacity, u32 nr)
{
	struct sim *s = need(calloc(1, sizeof(*s)));
	u32 i;

	s->policy = policy;
	s->capacity = capacity;
	s->nr = nr;
	s->m = need(calloc(nr, sizeof(*s->m)));
	s->seed = 0x9e3779b97f4a7c15ULL;
	s->now = SEC;
	s->dereg = 20 * US;
	for (i = 0; i < nr; i++) {
		s->m[i].sim = s;
		s->m[i].weight = RPOL_WEIGHT_DEFAULT;
		s->m[i].max = RPOL_NO_MAX;
	}
	return s;
}

/**
 * sim_load - add a load to a member, before sim_start()
 * @m:	     the member
 * @from:    when the load begins, in ns from the start of the simulation
 * @until:   when it ends, likewise
 * @depth:   see struct sim_load, like the others
 * @class:   class of the MRs
 * @service: mean service time
 * @think:   mean think time
 *
 * Return: the load.
 */
struct sim_load *sim_load(struct sim_member *m, u64 from, u64 until, u32 depth, u32 class,
			  u64 service, u64 think)
{
	struct sim_load *l = &m->load[m->nr_loads++];

	assert(m->nr_loads <= SIM_LOADS);
	*l = (struct sim_load){ .from = SEC + from, .until = SEC + until, .depth = depth,
				.class = class, .service = service, .think = think };
	return l;
}

/**
 * sim_start - make the domain and its members as described, and start the loads
 * @s: the simulation
 */
void sim_start(struct sim *s)
{
	struct rpol_tunables tun;
	struct sim_member *m;
	struct rpol_quota q;
	u32 i, l;

	s->dom = rpol_domain_create(s->capacity, &sim_domain_ops, s);
	assert(!IS_ERR(s->dom));
	rpol_domain_get_tunables(s->dom, &tun);
	tun.discipline = s->policy == SIM_FAIR ? RPOL_FAIR : RPOL_FIFO;
	assert(!rpol_domain_set_tunables(s->dom, &tun));
	for (i = 0; i < s->nr; i++) {
		m = &s->m[i];
		q = (struct rpol_quota){ .min = m->min, .max = m->max, .weight = m->weight };
		if (s->policy == SIM_QUOTA)
			q.max = max_t(u64, s->capacity / s->nr, L);
		m->mem = rpol_member_create(s->dom, &q, &sim_member_ops, m);
		assert(!IS_ERR(m->mem));
		m->bound_at = s->now;
		for (l = 0; l < m->nr_loads; l++)
			load_begin(m, l);
	}
	if (s->sample_ns)
		event_add(s, s->now, EV_SAMPLE, NULL, NULL);
}

static void event_do(struct sim *s, const struct sim_event *e)
{
	switch (e->type) {
	case EV_CLAIM:
		io_claim(e->io);
		break;
	case EV_DONE:
		io_done(e->io);
		break;
	case EV_REAP:
		reap_one(e->m);
		break;
	case EV_TICK:
		tick(s);
		break;
	case EV_SAMPLE:
		s->sample(s);
		event_add(s, s->now + s->sample_ns, EV_SAMPLE, NULL, NULL);
		break;
	}
	/* At no time may MRs exist that need more entries than there are. */
	assert(s->used <= s->capacity);
}

/**
 * sim_run - execute all events up to a time
 * @s:	   the simulation
 * @until: the time, in ns from the start of the simulation
 */
void sim_run(struct sim *s, u64 until)
{
	struct sim_event e;

	until += SEC;
	while (s->heap_len && s->heap[0].at <= until) {
		e = event_take(s);
		s->now = e.at;
		event_do(s, &e);
	}
	s->now = until;
	sim_settle(s);
}

/**
 * sim_close - end all I/O, check that no entry, victim or claim is left, and free all
 * @s: the simulation
 */
void sim_close(struct sim *s)
{
	struct rpol_domain_stats st;
	struct sim_member *m;
	struct sim_event e;
	u32 i;

	for (i = 0; i < s->nr; i++)
		rpol_member_shutdown(s->m[i].mem);
	while (s->heap_len) {
		e = event_take(s);
		if (e.type == EV_TICK || e.type == EV_SAMPLE)
			continue;
		s->now = max(s->now, e.at);
		event_do(s, &e);
	}
	for (i = 0; i < s->nr; i++) {
		m = &s->m[i];
		rpol_mr_flush(m->mem);
		while (m->reaping) {
			e = event_take(s);
			if (e.type == EV_REAP)
				event_do(s, &e);
		}
	}
	rpol_domain_get_stats(s->dom, &st);
	assert(!st.charged && !st.revoking && !st.waiters && !s->used);
	for (i = 0; i < s->nr; i++)
		rpol_member_destroy(s->m[i].mem);
	rpol_domain_destroy(s->dom);
	free(s->heap);
	free(s->m);
	free(s);
}

/**
 * sim_jain - compute Jain's index of fairness, (sum x)^2 / (n * sum x^2)
 * @x: the parts
 * @n: number of parts
 *
 * Return: 1 if all parts are equal, 1/n if one has all.
 */
double sim_jain(const double *x, u32 n)
{
	double sum = 0, squares = 0;
	u32 i;

	for (i = 0; i < n; i++) {
		sum += x[i];
		squares += x[i] * x[i];
	}
	return squares > 0 ? sum * sum / (n * squares) : 1;
}
