// SPDX-License-Identifier: GPL-2.0
/*
 * What clients may make a server keep before it knows who they are.
 *
 * Connections and sessions are counted when they are asked for, all of them and those
 * of one client, which is where it comes from (source.c).  A connection has a few seconds
 * to become a session's.  When there are too many that have not, the oldest of the client
 * that has most of them makes room for one of a client that has less.  A client that has
 * as many as it may, and comes again, loses its oldest that is silent: whatever it was, it
 * has gone.  A connection that is lost counts no more for its client, as it is about to end;
 * but one that its client keeps from ending (unheard, server.c) does until it is gone.
 *
 * Message buffers, by far the most of what a connection takes, are bounded in bytes,
 * all of them and those of one client: it has its share of what the others leave, so
 * that there is some for who comes later.  Receives larger than need be make bursts
 * faster: each connection gets a share of what is left for them, a client a quarter of
 * all.  Both are taken in one step, under the budget's lock: however many come at once,
 * none takes what another has been promised.
 *
 * So are the pages behind large READs and WRITEs, which come and go with them: bounded
 * for a session, for all sessions of a client, and for all together.  A client has its share
 * of what the others leave, as of message buffers.  But one of few may have more: an even
 * part, counted as if there were one client more, while a quarter is left, so that who comes
 * next finds some whatever the others do.  Who finds too few is told to ask again.  But one
 * request at a time of each session may go beyond the bound, the other sessions of its
 * client notwithstanding, so that what hangs in one is not felt in another: as long as all
 * that is beyond is no more than the bound once more.  Of that a client has a part by the same
 * rule, and the last of it is for sessions that hold nothing else.  What is beyond counts for no
 * client's part of the rest, and does not become a grant.  Half of a client's part is for what is
 * not granted; when grants are more, as the part has become less, the oldest are called back
 * (grant.c).  Pages that are idle are kept for seconds within the same bounds, with those in use,
 * as they are just then; when more are used later they may be there besides.  So there may be
 * three times the bound for some seconds: in use within it, and beyond it, and idle.
 *
 * Who was told to ask again does so when its time has come, not when there is room: what comes
 * meanwhile, and needs little, would have all of that, and a large request none for ever.  So
 * when one has been put off for half a second, smaller ones of its session are put off as well,
 * until it has its pages, or asks no more, but for half a second at most; then that begins anew.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "transport/server.h"

/* The part of all memory that message buffers may take, and large receives: one in so many. */
#define RXP_RING_PART	16
#define RXP_LARGE_PART	64

/*
 * The part of all memory that pages for data may take: one in so many, but on a small machine
 * more, so that one mount has all that a session may have; and what is kept for shares.
 */
#define RXP_DATA_PART	8
#define RXP_DATA_SMALL	4
#define RXP_DATA_SPARE	4

/* MiB of pages for data of a session, and of two if there is memory for them. */
#define RXP_DATA_MIB	64U

/* The part that one connection may take of what is left for large receives, or a client of all. */
#define RXP_LARGE_SHARE	4

/*
 * A client that lives is not silent for as long as it has said: that is five beats, and
 * between one and the next but one it sends something, at least a PING.  One that says
 * nothing, or less, has this.
 */
#define RXP_SILENT_MS		5000U

/* Threads for each CPU, as they wait for disks most of the time, and the least and most of them. */
#define RXP_CPU_THREADS		16
#define RXP_THREADS_FEW		32
#define RXP_THREADS_MANY	128

/* Larger by less is not worth it. */
#define RXP_LARGE_STEP	1024

/**
 * rdmafs_xprt_limits_default - what clients are allowed unless it is set
 * @limits: gets it
 */
void rdmafs_xprt_limits_default(struct rdmafs_xprt_limits *limits)
{
	u32 mib = max_t(u64, ((u64)totalram_pages() << PAGE_SHIFT) >> 20, RXP_LARGE_PART);

	*limits = (struct rdmafs_xprt_limits) {
		.connections = 4096,
		.client_connections = 64,
		.unbound_connections = 256,
		.unbound_ms = 5000,
		.sessions = 4096,
		.client_sessions = 16,
		.slots = 128,
		.client_share = 25,
		.ring_mib = mib / RXP_RING_PART,
		.large_mib = mib / RXP_LARGE_PART,
		.data_mib = RXP_DATA_MIB,
		.data_total_mib = max(mib / RXP_DATA_PART,
				      min(mib / RXP_DATA_SMALL, 2 * RXP_DATA_MIB)),
		.held_ms = 10000,
		.threads = clamp_t(u32, RXP_CPU_THREADS * num_online_cpus(), RXP_THREADS_FEW,
				   RXP_THREADS_MANY),
	};
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_limits_default);

/**
 * rdmafs_xprt_set_limits - allow clients more or less
 * @server: the server
 * @limits: counts from the next one on; what clients have they keep, but for grants of too
 *	    many pages, which are called back; and the numbers of slots and threads stay as
 *	    they are: clients that come back want as many slots as they had
 */
void rdmafs_xprt_set_limits(struct rdmafs_xprt_server *server,
			    const struct rdmafs_xprt_limits *limits)
{
	u32 slots = server->limits.slots, threads = server->limits.threads;

	spin_lock_bh(&server->lock);
	server->limits = *limits;
	server->limits.slots = slots;
	server->limits.threads = threads;
	spin_unlock_bh(&server->lock);
	rxp_budget_set(server->budget, limits);
	mod_delayed_work(rxp_wq, &server->recall, 0);
}
EXPORT_SYMBOL_GPL(rdmafs_xprt_set_limits);

/* ------------------------------------------------------------------------- bytes */

/**
 * rxp_budget_create - bytes for the message buffers of a server, and for pages of data
 * @limits: how many
 *
 * Return: the budget with one reference, or NULL.
 */
struct rxp_budget *rxp_budget_create(const struct rdmafs_xprt_limits *limits)
{
	struct rxp_budget *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return NULL;
	kref_init(&b->ref);
	spin_lock_init(&b->lock);
	INIT_LIST_HEAD(&b->takers);
	rxp_budget_set(b, limits);
	return b;
}

/**
 * rxp_budget_set - change how many they are
 * @b:	    the budget
 * @limits: the new ones
 */
void rxp_budget_set(struct rxp_budget *b, const struct rdmafs_xprt_limits *limits)
{
	spin_lock_bh(&b->lock);
	b->ring_max = (u64)limits->ring_mib << 20;
	b->large_max = (u64)limits->large_mib << 20;
	b->data_max = (u64)limits->data_total_mib << 20;
	b->share = limits->client_share;
	spin_unlock_bh(&b->lock);
}

static void rxp_budget_release(struct kref *ref)
{
	kfree(container_of(ref, struct rxp_budget, ref));
}

/**
 * rxp_budget_put - drop a reference
 * @b: the budget
 */
void rxp_budget_put(struct rxp_budget *b)
{
	kref_put(&b->ref, rxp_budget_release);
}

/**
 * rxp_taker_get - the account of a client
 * @b:	    the budget
 * @source: where the client comes from
 *
 * Process context.
 *
 * Return: a reference, which holds the budget, too; or NULL without memory.
 */
struct rxp_taker *rxp_taker_get(struct rxp_budget *b, const struct rdmafs_xprt_source *source)
{
	struct rxp_taker *new = kzalloc(sizeof(*new), GFP_KERNEL), *t;

	if (!new)
		return NULL;
	new->budget = b;
	new->refs = 1;
	new->source = *source;
	spin_lock_bh(&b->lock);
	list_for_each_entry(t, &b->takers, link) {
		if (!memcmp(&t->source, &new->source, sizeof(t->source))) {
			t->refs++;
			spin_unlock_bh(&b->lock);
			kfree(new);
			return t;
		}
	}
	list_add(&new->link, &b->takers);
	b->nr_takers++;
	kref_get(&b->ref);
	spin_unlock_bh(&b->lock);
	return new;
}

/**
 * rxp_taker_hold - take another reference
 * @t: the account
 *
 * Return: @t.
 */
struct rxp_taker *rxp_taker_hold(struct rxp_taker *t)
{
	spin_lock_bh(&t->budget->lock);
	t->refs++;
	spin_unlock_bh(&t->budget->lock);
	return t;
}

/**
 * rxp_taker_put - drop a reference
 * @t: the account
 */
void rxp_taker_put(struct rxp_taker *t)
{
	struct rxp_budget *b = t->budget;
	bool last;

	spin_lock_bh(&b->lock);
	last = !--t->refs;
	if (last) {
		WARN_ON_ONCE(t->ring || t->data || t->granted || t->recalled || t->idle ||
			     t->beyond);
		list_del(&t->link);
		b->nr_takers--;
	}
	spin_unlock_bh(&b->lock);
	if (!last)
		return;
	kfree(t);
	rxp_budget_put(b);
}

/* Are there so many bytes for this client?  Of what the others leave it has its share. */
static bool rxp_taker_fits(const struct rxp_taker *t, u64 bytes)
{
	const struct rxp_budget *b = t->budget;
	u64 others = b->ring - t->ring;

	lockdep_assert_held(&b->lock);
	if (b->ring + bytes > b->ring_max)
		return false;
	return t->ring + bytes <= div_u64((b->ring_max - others) * b->share, 100);
}

static void rxp_taker_add(struct rxp_taker *t, u64 bytes, u64 large)
{
	lockdep_assert_held(&t->budget->lock);
	t->ring += bytes;
	t->large += large;
	t->budget->ring += bytes;
	t->budget->large += large;
}

/**
 * rxp_taker_charge - take bytes for message buffers
 * @t:	   the client's account
 * @bytes: how many
 *
 * Return: whether there are so many for it.
 */
bool rxp_taker_charge(struct rxp_taker *t, u64 bytes)
{
	struct rxp_budget *b = t->budget;
	bool fits;

	spin_lock_bh(&b->lock);
	fits = rxp_taker_fits(t, bytes);
	if (fits)
		rxp_taker_add(t, bytes, 0);
	else
		b->refused++;
	spin_unlock_bh(&b->lock);
	return fits;
}

/**
 * rxp_taker_uncharge - give them back
 * @t:	   the client's account
 * @bytes: of message buffers
 * @large: of those, those of large receives
 */
void rxp_taker_uncharge(struct rxp_taker *t, u64 bytes, u64 large)
{
	struct rxp_budget *b = t->budget;

	spin_lock_bh(&b->lock);
	t->ring -= bytes;
	t->large -= large;
	b->ring -= bytes;
	b->large -= large;
	spin_unlock_bh(&b->lock);
}

/**
 * rxp_taker_large - take a share of what is left for large receives
 * @t:	  the client's account
 * @nr:	  receives
 * @size: bytes of each that would be best
 *
 * Return: bytes of each that may be had, and are charged, or RXP_MSG_MAX, which are
 * not large and are charged as other buffers.
 */
u32 rxp_taker_large(struct rxp_taker *t, u32 nr, u32 size)
{
	struct rxp_budget *b = t->budget;
	u64 share, own;

	spin_lock_bh(&b->lock);
	share = b->large_max - min(b->large, b->large_max);
	share /= RXP_LARGE_SHARE;
	own = b->large_max / RXP_LARGE_SHARE;
	share = min(share, own - min(t->large, own));
	size = round_down(min_t(u64, size, div_u64(share, nr)), RXP_LARGE_STEP);
	if (size <= RXP_MSG_MAX || !rxp_taker_fits(t, (u64)nr * size))
		size = RXP_MSG_MAX;
	else
		rxp_taker_add(t, (u64)nr * size, (u64)nr * size);
	spin_unlock_bh(&b->lock);
	return size;
}

/* The even part of the pages for data: one more client could have it, too. */
static u64 rxp_budget_even(const struct rxp_budget *b)
{
	lockdep_assert_held(&b->lock);
	return div_u64(b->data_max, b->nr_takers + 1);
}

/* The part of a client that has @own of @all bytes in use, if there are to be so many more. */
static u64 rxp_budget_part(const struct rxp_budget *b, u64 all, u64 own, u64 more)
{
	u64 others = all - own, part;

	lockdep_assert_held(&b->lock);
	part = div_u64((b->data_max - min(others, b->data_max)) * b->share, 100);
	if (all + more > b->data_max - b->data_max / RXP_DATA_SPARE)
		return part;
	return max(part, rxp_budget_even(b));
}

/* How much of the pages for data may a client have, if there are to be so many more? */
static u64 rxp_taker_room(const struct rxp_taker *t, u64 more)
{
	return rxp_budget_part(t->budget, t->budget->data, t->data, more);
}

static bool rxp_taker_data_fits(const struct rxp_taker *t, u32 bytes)
{
	const struct rxp_budget *b = t->budget;

	lockdep_assert_held(&b->lock);
	return b->data + bytes <= b->data_max && t->data + bytes <= rxp_taker_room(t, bytes);
}

/* What a session has within the bounds. */
static u64 rxp_session_own(const struct rdmafs_xprt_session *s)
{
	lockdep_assert_held(&s->taker->budget->lock);
	return atomic64_read(&s->data_bytes) - s->beyond;
}

static void rxp_session_data_add(struct rdmafs_xprt_session *s, s64 bytes)
{
	lockdep_assert_held(&s->taker->budget->lock);
	s->taker->data += bytes;
	s->taker->budget->data += bytes;
}

static void rxp_session_beyond_add(struct rdmafs_xprt_session *s, s64 bytes)
{
	lockdep_assert_held(&s->taker->budget->lock);
	s->beyond += bytes;
	s->taker->beyond += bytes;
	s->taker->budget->beyond += bytes;
}

/* Of what is beyond the bounds so much is for sessions that hold nothing else. */
static u64 rxp_beyond_kept(u64 bytes)
{
	return min(bytes, max(bytes / RXP_DATA_SPARE, RDMAFS_XPRT_DATA_MAX));
}

/*
 * Are there so many bytes for a client beyond the bounds?  It has its part there by the rule
 * that holds within, so that requests which hang take no more than their clients' parts.
 *
 * Why who is put off goes on in the end:
 *
 * - Nobody who is put off keeps anything, or waits here: he comes again.  What a request has
 *   here it has until it is over, which needs no more pages, and a WRITE stands in line for
 *   translations with its pages (rxp_req_claim()): nobody waits in a circle.
 * - All of it is given back but by what hangs.  A session's requests are of one export: if
 *   what it holds hangs, so would what is put off; but a WRITE in line for translations waits for
 *   others, at most for the grace period, and READs of its session with it.  If not, that ends,
 *   and it holds nothing else: WRITEs see to that themselves, as those that are newer queue behind
 *   them (later.c); and smaller ones give way to what was put off for long, whatever they are
 *   (rxp_session_gives_way()).
 * - Sessions that hold something else, however busy, leave a quarter, and no less than the
 *   largest request, of all and of their client's part to those that do not.  These have one
 *   request each there, of the slots that they have, and find the rest free as they come again.
 * - A client that has nothing here is not held to its part, which may be less than the request
 *   if there are many clients, or the share is small: so on a server where nothing else is here
 *   the largest goes on at once.  There are at least four of them (fs/server/configfs.c).
 *
 * So none is left out but by what hangs, and then only when that has all of a client's part,
 * for its other sessions, or all there is: in sessions that hold nothing else, of so many clients
 * that their shares of what is left are too small for a request.  Among sessions that hold
 * nothing else it is chance who comes when others have gone.
 */
static bool rxp_taker_beyond_fits(const struct rxp_taker *t, u64 bytes, bool alone)
{
	const struct rxp_budget *b = t->budget;
	u64 all = b->data_max, part = rxp_budget_part(b, b->beyond, t->beyond, bytes);

	lockdep_assert_held(&b->lock);
	if (!alone) {
		all -= rxp_beyond_kept(all);
		part -= rxp_beyond_kept(part);
	} else if (!t->beyond) {
		part = all;
	}
	return b->beyond + bytes <= all && t->beyond + bytes <= part;
}

/* Does one that was put off still come again, and have others not given way for long enough? */
static bool rxp_session_wants(const struct rdmafs_xprt_session *s)
{
	lockdep_assert_held(&s->taker->budget->lock);
	return s->wanted &&
	       time_before(jiffies, s->wanted_last + msecs_to_jiffies(RXP_WANTED_AGAIN_MS)) &&
	       time_before(jiffies, s->wanted_since + msecs_to_jiffies(2 * RXP_WANTED_MS));
}

/*
 * Has one of so many bytes to be put off for the sake of a larger one of its session?  What
 * those have that are under way comes free then, but for what hangs, so that the larger one,
 * when it comes again, finds a session that holds nothing else.
 */
static bool rxp_session_gives_way(const struct rdmafs_xprt_session *s, u64 bytes)
{
	lockdep_assert_held(&s->taker->budget->lock);
	return bytes < s->wanted && rxp_session_wants(s) &&
	       time_after_eq(jiffies, s->wanted_since + msecs_to_jiffies(RXP_WANTED_MS));
}

/*
 * A request that has @has of @bytes found too few pages, without giving way.  Of several
 * the largest is remembered: where it finds room so do the others, but not the other way round.
 * If the session holds nothing else, none of its own is in the way, and they need not give way.
 */
static void rxp_session_put_off(struct rdmafs_xprt_session *s, u64 bytes, u32 has)
{
	bool only = atomic64_read(&s->data_bytes) == s->grant_bytes + has;
	bool wants = rxp_session_wants(s);

	if (wants && bytes < s->wanted)
		return;
	if (!wants || bytes > s->wanted)
		s->wanted_since = jiffies;
	s->wanted_last = jiffies;
	s->wanted = only ? 0 : bytes;
}

/*
 * The one request of a session whose pages are beyond the bounds.  They count for nobody's
 * part within: by requests that have no room one client could take that of others.  But all that
 * is beyond is no more than what is within, or memory would be as little bounded as sessions are.
 */
static bool rxp_session_goes_beyond(struct rdmafs_xprt_session *s, u32 bytes, u32 has,
				    bool alone, bool *beyond)
{
	u32 moved = *beyond ? 0 : has;

	lockdep_assert_held(&s->taker->budget->lock);
	if ((s->beyond && !*beyond) || (u64)has + bytes > RDMAFS_XPRT_DATA_MAX ||
	    !rxp_taker_beyond_fits(s->taker, (u64)bytes + moved, alone))
		return false;
	rxp_session_data_add(s, -(s64)moved);
	rxp_session_beyond_add(s, (s64)bytes + moved);
	*beyond = true;
	return true;
}

/**
 * rxp_session_charge - take pages for the data of a session's requests
 * @s:	    the session
 * @bytes:  how many
 * @has:    bytes that the request has already
 * @within: not beyond the bounds
 * @beyond: whether these are beyond the bounds; gets whether all of them are
 *
 * All in one step, and not even for a moment more: it would be another one's room.  One
 * request of a session has up to RDMAFS_XPRT_DATA_MAX whatever other sessions have within
 * the bounds, though not beyond the session's own maximum beside others of it: all sessions
 * together have no more than max_data_total_mib, and as much for those requests.  And it may
 * have to give way.
 *
 * Return: whether there are so many for it.
 */
bool rxp_session_charge(struct rdmafs_xprt_session *s, u32 bytes, u32 has, bool within,
			bool *beyond)
{
	u64 max = (u64)READ_ONCE(s->server->limits.data_mib) << 20;
	/*
	 * A folio that is more than a copy gives way to whatever waits, and nothing to it.  What
	 * is in the page cache counts as the copy that is tried next: it is one request.
	 */
	u64 need = within ? 0 : rxp_buf_size(has + bytes);
	struct rxp_budget *b = s->taker->budget;
	bool fits, own, alone, refused;

	spin_lock_bh(&b->lock);
	if (rxp_session_gives_way(s, need)) {
		spin_unlock_bh(&b->lock);
		return false;
	}
	/* Its grants apart, which its client gives back when asked. */
	alone = rxp_session_own(s) == s->grant_bytes + (*beyond ? 0 : has);
	/* Its own maximum may have been lowered below its grants. */
	own = rxp_session_own(s) + bytes <= max || alone;
	fits = !*beyond && rxp_session_own(s) + bytes <= max &&
	       rxp_taker_data_fits(s->taker, bytes);
	if (fits)
		rxp_session_data_add(s, bytes);
	else if (own && !within)
		fits = rxp_session_goes_beyond(s, bytes, has, alone, beyond);
	refused = own && !fits;
	b->refused_data += refused;
	if (fits) {
		atomic64_add(bytes, &s->data_bytes);
		/* The one that was put off, or one like it. */
		if (need == s->wanted)
			s->wanted = 0;
	} else if (!within) {
		rxp_session_put_off(s, need, has);
	}
	spin_unlock_bh(&b->lock);
	/* It may be grants of others that are in the way. */
	if (refused)
		queue_delayed_work(rxp_wq, &s->server->recall, HZ / 4);
	return fits;
}

/**
 * rxp_session_uncharge - give them back
 * @s:	    the session
 * @bytes:  how many, or none
 * @beyond: whether they are beyond the bounds
 */
void rxp_session_uncharge(struct rdmafs_xprt_session *s, u32 bytes, bool beyond)
{
	struct rxp_budget *b = s->taker->budget;

	/* Most requests have none, and do not wait for others here. */
	if (!bytes)
		return;
	spin_lock_bh(&b->lock);
	atomic64_sub(bytes, &s->data_bytes);
	if (beyond)
		rxp_session_beyond_add(s, -(s64)bytes);
	else
		rxp_session_data_add(s, -(s64)bytes);
	spin_unlock_bh(&b->lock);
}

/**
 * rxp_session_left - what a session may have besides what it has
 * @s: the session
 *
 * Return: bytes of pages for data.
 */
u64 rxp_session_left(struct rdmafs_xprt_session *s)
{
	u64 max = (u64)READ_ONCE(s->server->limits.data_mib) << 20, room, own;
	struct rxp_taker *t = s->taker;
	struct rxp_budget *b = t->budget;

	spin_lock_bh(&b->lock);
	own = rxp_session_own(s);
	room = rxp_taker_room(t, 0);
	room -= min(t->data, room);
	room = min(room, b->data_max - min(b->data, b->data_max));
	spin_unlock_bh(&b->lock);
	return min(room, max - min(own, max));
}

/**
 * rxp_session_spares - may a request of a session hold more than its data needs?
 * @s:	  the session
 * @more: bytes that it would hold besides what all have
 *
 * For what needs them there is to be room: half of what the session may have, and of what
 * its client may.  Grants have the other half to themselves.
 *
 * Return: whether it may, if there is room.
 */
bool rxp_session_spares(struct rdmafs_xprt_session *s, u32 more)
{
	u64 half = (u64)READ_ONCE(s->server->limits.data_mib) << 19;
	const struct rxp_taker *t = s->taker;
	struct rxp_budget *b = t->budget;
	bool spares;

	spin_lock_bh(&b->lock);
	spares = rxp_session_own(s) - s->grant_bytes + more <= half &&
		 t->data - t->granted + more <= rxp_taker_room(t, more) / 2;
	spin_unlock_bh(&b->lock);
	return spares;
}

/**
 * rxp_session_grant - let a session keep pages that it was charged for
 * @s:	   the session
 * @bytes: how many, within the bounds
 *
 * Half of what it may have, and of what its client may, is for what is not granted.  And
 * what there is too much of all together goes back.  None is made while requests give way to
 * a larger one: WRITEs into them do not.
 *
 * Return: whether it may.
 */
bool rxp_session_grant(struct rdmafs_xprt_session *s, u32 bytes)
{
	u64 half = (u64)READ_ONCE(s->server->limits.data_mib) << 19;
	struct rxp_taker *t = s->taker;
	struct rxp_budget *b = t->budget;
	bool fits;

	spin_lock_bh(&b->lock);
	fits = !rxp_session_gives_way(s, 0) && s->grant_bytes + bytes <= half &&
	       b->data <= b->data_max && t->granted + bytes <= rxp_taker_room(t, 0) / 2;
	if (fits) {
		s->grant_bytes += bytes;
		t->granted += bytes;
	}
	spin_unlock_bh(&b->lock);
	return fits;
}

/**
 * rxp_session_ungrant - they are a request's again, or about to be given back
 * @s:	      the session
 * @bytes:    how many
 * @recalled: whether rxp_session_called_back() was told of them
 */
void rxp_session_ungrant(struct rdmafs_xprt_session *s, u32 bytes, bool recalled)
{
	struct rxp_budget *b = s->taker->budget;

	spin_lock_bh(&b->lock);
	s->grant_bytes -= bytes;
	s->taker->granted -= bytes;
	if (recalled) {
		s->grant_recalled -= bytes;
		s->taker->recalled -= bytes;
	}
	spin_unlock_bh(&b->lock);
}

/**
 * rxp_session_called_back - a grant is to come back
 * @s:	   its session
 * @bytes: of it
 */
void rxp_session_called_back(struct rdmafs_xprt_session *s, u32 bytes)
{
	spin_lock_bh(&s->taker->budget->lock);
	s->grant_recalled += bytes;
	s->taker->recalled += bytes;
	spin_unlock_bh(&s->taker->budget->lock);
}

/**
 * rxp_session_excess - what a session, or its client, has too much of in grants
 * @s: the session
 *
 * There are more clients than when they were made, or there is to be less.  Half of an even
 * part is left to a client however much the others have: by that alone grants would come and
 * go all the time.
 *
 * Return: bytes that are beyond half of what it may have, but for those that are to come back.
 */
u64 rxp_session_excess(struct rdmafs_xprt_session *s)
{
	u64 half = (u64)READ_ONCE(s->server->limits.data_mib) << 19, keep, excess;
	const struct rxp_taker *t = s->taker;

	spin_lock_bh(&t->budget->lock);
	keep = s->grant_bytes - s->grant_recalled;
	excess = keep - min(keep, half);
	keep = t->granted - t->recalled;
	half = max(rxp_taker_room(t, 0), rxp_budget_even(t->budget)) / 2;
	spin_unlock_bh(&t->budget->lock);
	return max(excess, keep - min(keep, half));
}

/**
 * rxp_taker_idle - pages that were in use are idle
 * @t:	   the client's account, still charged for them, but for a request's beyond the bounds
 * @bytes: how many
 *
 * Return: whether they may be kept; they count until rxp_taker_unidle() in either case.
 */
bool rxp_taker_idle(struct rxp_taker *t, u32 bytes)
{
	struct rxp_budget *b = t->budget;
	bool fits;

	spin_lock_bh(&b->lock);
	fits = b->data + b->idle <= b->data_max && t->data + t->idle <= rxp_taker_room(t, 0);
	t->idle += bytes;
	b->idle += bytes;
	spin_unlock_bh(&b->lock);
	return fits;
}

/**
 * rxp_taker_unidle - idle pages are used again, or gone
 * @t:	   the client's account
 * @bytes: how many
 */
void rxp_taker_unidle(struct rxp_taker *t, u32 bytes)
{
	spin_lock_bh(&t->budget->lock);
	t->idle -= bytes;
	t->budget->idle -= bytes;
	spin_unlock_bh(&t->budget->lock);
}

/* -------------------------------------------------------------------- admission */

/**
 * rxp_conn_settle - a connection counts as unbound no more
 * @server: the server; its lock is held
 * @conn:   the connection
 */
void rxp_conn_settle(struct rdmafs_xprt_server *server, struct rxp_conn *conn)
{
	lockdep_assert_held(&server->lock);
	if (!conn->unbound)
		return;
	conn->unbound = false;
	conn->taker->unbound--;
	server->nr_unbound--;
}

/*
 * Has it been silent for longer than a client would be?  After a break of the network a
 * client comes again before we hear that the former connection is gone.  After a lease it
 * would be gone in any case.
 */
static bool rxp_conn_silent(const struct rdmafs_xprt_server *server, const struct rxp_conn *conn)
{
	u32 said = clamp_t(u32, le32_to_cpu(conn->cm.heartbeat_ms), RXP_SILENT_MS, RXP_LEASE_MS);
	u32 ms = max(server->limits.unbound_ms, said);

	return time_after_eq(jiffies, (unsigned long)READ_ONCE(conn->last_rx) +
				      msecs_to_jiffies(ms));
}

/*
 * May a client have one connection more?  @silent gets the one that has to make room for
 * it, if it is made: the client's oldest that is silent.
 */
static bool rxp_admit_client(struct rdmafs_xprt_server *server, const struct rxp_conn *new,
			     struct rxp_conn **silent)
{
	struct rxp_conn *conn;
	u32 nr = 0;

	*silent = NULL;

	lockdep_assert_held(&server->lock);
	list_for_each_entry(conn, &server->conns, link) {
		bool stays = READ_ONCE(conn->unheard);

		if (conn->taker != new->taker || (rxp_conn_is_lost(conn) && !stays))
			continue;
		nr++;
		if (!*silent && !stays && rxp_conn_silent(server, conn))
			*silent = conn;
	}
	if (nr >= server->limits.client_connections)
		return *silent;
	*silent = NULL;
	return true;
}

/*
 * May one come that is no session's yet?  If there are too many, the oldest of the client
 * that has most of them goes for it, unless its own client has as many.
 */
static bool rxp_admit_unbound(struct rdmafs_xprt_server *server, const struct rxp_conn *new)
{
	u32 most = new->taker->unbound;
	struct rxp_conn *conn, *victim = NULL;

	lockdep_assert_held(&server->lock);
	if (server->nr_unbound < server->limits.unbound_connections)
		return true;
	list_for_each_entry(conn, &server->conns, link) {
		if (conn->unbound && conn->taker->unbound > most) {
			most = conn->taker->unbound;
			victim = conn;
		}
	}
	if (!victim)
		return false;
	server->unbound_dropped++;
	rxp_conn_settle(server, victim);
	rxp_conn_lost(victim);
	return true;
}

/**
 * rxp_admit_conn - may a connection be made?
 * @server: the server; its lock is held
 * @conn:   the connection, conn->taker set
 * @limit:  gets the limit, if that is the client's own
 *
 * Return: 0, or why not: RXP_REJECT_*.
 */
u16 rxp_admit_conn(struct rdmafs_xprt_server *server, struct rxp_conn *conn, u32 *limit)
{
	const struct rdmafs_xprt_limits *l = &server->limits;
	struct rxp_conn *silent;

	lockdep_assert_held(&server->lock);
	if (server->stopping)
		return RXP_REJECT_STOPPING;
	if (!rxp_admit_client(server, conn, &silent)) {
		*limit = l->client_connections;
		server->refused_conns++;
		return RXP_REJECT_LIMIT;
	}
	if (server->nr_conns >= l->connections || !rxp_admit_unbound(server, conn)) {
		server->refused_conns++;
		return RXP_REJECT_RESOURCES;
	}
	if (silent) {
		server->silent_dropped++;
		rxp_conn_lost(silent);
	}
	return 0;
}

/**
 * rxp_admit_session - may a session be made?
 * @server:  the server; its lock is held
 * @session: the session, its taker set
 *
 * Return: 0, -EBUSY: not now; -EUSERS: the client has as many as it may.
 */
int rxp_admit_session(struct rdmafs_xprt_server *server,
		      const struct rdmafs_xprt_session *session)
{
	struct rdmafs_xprt_session *s;
	u32 nr = 0;

	lockdep_assert_held(&server->lock);
	list_for_each_entry(s, &server->sessions, link)
		nr += s->taker == session->taker;
	if (nr < server->limits.client_sessions && server->nr_sessions < server->limits.sessions)
		return 0;
	server->refused_sessions++;
	return nr < server->limits.client_sessions ? -EBUSY : -EUSERS;
}

/**
 * rxp_limits_show - what there is, and what there may be
 * @m:	   where
 * @owner: the server
 */
void rxp_limits_show(struct seq_file *m, void *owner)
{
	struct rdmafs_xprt_server *server = owner;
	struct rxp_budget *b = server->budget;
	struct rdmafs_xprt_limits l;

	spin_lock_bh(&server->lock);
	l = server->limits;
	seq_printf(m, "connections %u\nmax_connections %u\n", server->nr_conns, l.connections);
	seq_printf(m, "unbound_connections %u\nmax_unbound_connections %u\n", server->nr_unbound,
		   l.unbound_connections);
	seq_printf(m, "max_client_connections %u\nmax_unbound_ms %u\n", l.client_connections,
		   l.unbound_ms);
	seq_printf(m, "sessions %u\nmax_sessions %u\nmax_client_sessions %u\n",
		   server->nr_sessions, l.sessions, l.client_sessions);
	seq_printf(m, "max_slots %u\nmax_data_bytes %llu\n", l.slots, (u64)l.data_mib << 20);
	seq_printf(m, "max_threads %u\nmax_held_ms %u\nheld_dropped %llu\n", l.threads, l.held_ms,
		   server->held_dropped);
	seq_printf(m, "refused_connections %llu\nrefused_sessions %llu\nunbound_dropped %llu\n",
		   server->refused_conns, server->refused_sessions, server->unbound_dropped);
	seq_printf(m, "silent_dropped %llu\nmax_client_share %u\n", server->silent_dropped,
		   l.client_share);
	spin_unlock_bh(&server->lock);
	spin_lock_bh(&b->lock);
	seq_printf(m, "ring_bytes %llu\nmax_ring_bytes %llu\nrefused_rings %llu\n", b->ring,
		   b->ring_max, b->refused);
	seq_printf(m, "large_bytes %llu\nmax_large_bytes %llu\n", b->large, b->large_max);
	seq_printf(m, "data_total_bytes %llu\nmax_data_total_bytes %llu\nrefused_data %llu\n",
		   b->data + b->beyond, b->data_max, b->refused_data);
	seq_printf(m, "beyond_data_bytes %llu\nidle_data_bytes %llu\n", b->beyond, b->idle);
	spin_unlock_bh(&b->lock);
	if (server->service->show_limits)
		server->service->show_limits(m, server->ctx);
}
