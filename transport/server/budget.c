// SPDX-License-Identifier: GPL-2.0
/*
 * The budget: how many bytes of a server's memory its clients may take.
 *
 * Message buffers take most of a connection's memory.  They are bounded in bytes, those of
 * one client and those of all.  A client may have its share of what the others leave, so that
 * some is left for clients that come later.  Receives larger than necessary make bursts
 * faster: a connection gets a share of what is left for them, and a client a quarter of all.
 * Both are charged in one step under the budget's lock, so connections that come at the same
 * time can't be promised the same bytes.
 *
 * Data pages, those behind large READs and WRITEs, come and go with their requests.  They are
 * bounded for a session, for all sessions of a client, and for all clients together.  A client
 * may have its share of what the others leave, as of message buffers.  While a quarter of all
 * is left, a client may have an even part if that is more, counted as if there were one client
 * more: so the next client finds some pages whatever the others do.  A request that finds too
 * few pages is answered RETRY_LATER.
 *
 * One request at a time of each session may go beyond the bound, whatever other sessions of its
 * client hold: so requests that hang in one session do not stop another.  Its pages are its
 * session's overdraft.  All pages beyond the bound are at most as many as the bound once more.  A
 * client may have a part of them by the same rule, and the last of them are kept for sessions
 * that hold no other pages.  Pages beyond the bound do not count for a client's part within it,
 * and do not become a grant.
 *
 * Grants (grant.c) may take half of a client's part.  If they take more because the part has
 * shrunk, the oldest grants are recalled.  Idle pages are kept for seconds; idle pages and pages
 * in use must be within the bounds together when a page becomes idle, but not later.  So for some
 * seconds there may be three times the bound: in use within it, in use beyond it, and idle.
 *
 * A client repeats a request after a delay, not when there is room.  Small requests that arrive
 * in between could take all the room, and a large request would never get any.  So once a request
 * has been put off for half a second, smaller ones of its session are put off, too, until it has
 * its pages or its client repeats it no more, but for half a second at most; then a new half
 * second begins.
 */
#include <linux/slab.h>
#include "transport/server/server.h"

/* A connection may take 1/SHARE of what is left for large receives, and a client 1/SHARE of all. */
#define RXS_LARGE_SHARE	4

/* Bytes: large receives are sized in these steps; less than one step more is not worth it. */
#define RXS_LARGE_STEP	1024

/* Even parts of the data pages end when only 1/SPARE of them is left. */
#define RXS_DATA_SPARE	4

/**
 * rxs_budget_create - allocate the account of a server's message buffers and data pages
 * @limits: how many bytes there may be of each
 *
 * Context: process, may sleep.
 * Return: the budget with one reference, or NULL if there is no memory.
 */
struct rxs_budget *rxs_budget_create(const struct rdmafs_xprt_limits *limits)
{
	struct rxs_budget *b = kzalloc(sizeof(*b), GFP_KERNEL);

	if (!b)
		return NULL;
	kref_init(&b->ref);
	spin_lock_init(&b->lock);
	INIT_LIST_HEAD(&b->accounts);
	rxs_budget_set(b, limits);
	return b;
}

/**
 * rxs_budget_set - change how many bytes there may be
 * @b:	    the budget
 * @limits: the new limits
 *
 * Context: any but hard interrupt; takes @b->lock.
 */
void rxs_budget_set(struct rxs_budget *b, const struct rdmafs_xprt_limits *limits)
{
	spin_lock_bh(&b->lock);
	b->ring_max = (u64)limits->ring_mib << 20;
	b->large_max = (u64)limits->large_mib << 20;
	b->data_max = (u64)limits->data_total_mib << 20;
	b->share = limits->client_share;
	spin_unlock_bh(&b->lock);
}

static void rxs_budget_release(struct kref *ref)
{
	kfree(container_of(ref, struct rxs_budget, ref));
}

/**
 * rxs_budget_put - drop a reference to a budget
 * @b: the budget
 *
 * Context: any.
 */
void rxs_budget_put(struct rxs_budget *b)
{
	kref_put(&b->ref, rxs_budget_release);
}

/**
 * rxs_account_find_or_new - find a client's account, or make a new one
 * @b:	    the budget
 * @source: the address that the client comes from
 *
 * Context: process, may sleep.
 * Return: a reference to the account, which holds the budget, too; NULL if there is no memory.
 */
struct rxs_account *rxs_account_find_or_new(struct rxs_budget *b,
					    const struct rdmafs_xprt_source *source)
{
	struct rxs_account *new = kzalloc(sizeof(*new), GFP_KERNEL), *t;

	if (!new)
		return NULL;
	new->budget = b;
	new->refs = 1;
	new->source = *source;
	spin_lock_bh(&b->lock);
	list_for_each_entry(t, &b->accounts, link) {
		if (!memcmp(&t->source, &new->source, sizeof(t->source))) {
			t->refs++;
			spin_unlock_bh(&b->lock);
			kfree(new);
			return t;
		}
	}
	list_add(&new->link, &b->accounts);
	b->nr_accounts++;
	kref_get(&b->ref);
	spin_unlock_bh(&b->lock);
	return new;
}

/**
 * rxs_account_get - take another reference to a client's account
 * @t: the account
 *
 * Context: any but hard interrupt; takes the budget's lock.
 * Return: @t.
 */
struct rxs_account *rxs_account_get(struct rxs_account *t)
{
	spin_lock_bh(&t->budget->lock);
	t->refs++;
	spin_unlock_bh(&t->budget->lock);
	return t;
}

/**
 * rxs_account_put - drop a reference to a client's account
 * @t: the account
 *
 * Context: any but hard interrupt; takes the budget's lock.
 */
void rxs_account_put(struct rxs_account *t)
{
	struct rxs_budget *b = t->budget;
	bool last;

	spin_lock_bh(&b->lock);
	last = !--t->refs;
	if (last) {
		WARN_ON_ONCE(t->ring || t->data || t->granted || t->recalled || t->idle ||
			     t->overdraft);
		list_del(&t->link);
		b->nr_accounts--;
	}
	spin_unlock_bh(&b->lock);
	if (!last)
		return;
	kfree(t);
	rxs_budget_put(b);
}

/* Are there so many bytes of message buffers for this client, in its share of what others leave? */
static bool rxs_account_fits(const struct rxs_account *t, u64 bytes)
{
	const struct rxs_budget *b = t->budget;
	u64 others = b->ring - t->ring;

	lockdep_assert_held(&b->lock);
	if (b->ring + bytes > b->ring_max)
		return false;
	return t->ring + bytes <= div_u64((b->ring_max - others) * b->share, 100);
}

static void rxs_account_add(struct rxs_account *t, u64 bytes, u64 large)
{
	lockdep_assert_held(&t->budget->lock);
	t->ring += bytes;
	t->large += large;
	t->budget->ring += bytes;
	t->budget->large += large;
}

/**
 * rxs_account_charge - charge a client for message buffers
 * @t:	   the client's account
 * @bytes: how many
 *
 * Context: any but hard interrupt; takes the budget's lock.
 * Return: true: @bytes are charged; false: there are not so many for this client.
 */
bool rxs_account_charge(struct rxs_account *t, u64 bytes)
{
	struct rxs_budget *b = t->budget;
	bool fits;

	spin_lock_bh(&b->lock);
	fits = rxs_account_fits(t, bytes);
	if (fits)
		rxs_account_add(t, bytes, 0);
	else
		b->refused++;
	spin_unlock_bh(&b->lock);
	return fits;
}

/**
 * rxs_account_uncharge - give back bytes of message buffers
 * @t:	   the client's account
 * @bytes: how many
 * @large: how many of @bytes are of large receives
 *
 * Context: any but hard interrupt; takes the budget's lock.
 */
void rxs_account_uncharge(struct rxs_account *t, u64 bytes, u64 large)
{
	struct rxs_budget *b = t->budget;

	spin_lock_bh(&b->lock);
	t->ring -= bytes;
	t->large -= large;
	b->ring -= bytes;
	b->large -= large;
	spin_unlock_bh(&b->lock);
}

/*
 * Charge a client for @nr large receives, for each of which @size bytes are best.  Returns the
 * bytes of each receive, which are charged; or RXP_MSG_MAX: the receives are not large, nothing is
 * charged, and the caller charges them as other buffers.  Takes the budget's lock.
 */
static u32 rxs_account_large(struct rxs_account *t, u32 nr, u32 size)
{
	struct rxs_budget *b = t->budget;
	u64 share, own;

	spin_lock_bh(&b->lock);
	share = b->large_max - min(b->large, b->large_max);
	share /= RXS_LARGE_SHARE;
	own = b->large_max / RXS_LARGE_SHARE;
	share = min(share, own - min(t->large, own));
	size = round_down(min_t(u64, size, div_u64(share, nr)), RXS_LARGE_STEP);
	if (size <= RXP_MSG_MAX || !rxs_account_fits(t, (u64)nr * size))
		size = RXP_MSG_MAX;
	else
		rxs_account_add(t, (u64)nr * size, (u64)nr * size);
	spin_unlock_bh(&b->lock);
	return size;
}

/**
 * rxs_receives - make a connection's receives within the budget of its client
 * @conn: the connection
 * @size: bytes that are best for each
 *
 * Context: process, may sleep; takes the budget's lock.
 * Return: 0; -ENOBUFS: the client may not have so many bytes; -ENOMEM.
 */
int rxs_receives(struct rxp_conn *conn, u32 size)
{
	struct rxs_conn *sc = rxs_conn(conn);
	u32 nr = conn->nr_rx;

	conn->recv_size = rxs_account_large(sc->account, nr, size);
	sc->ring_charged = (u64)nr * conn->recv_size;
	if (conn->recv_size > RXP_MSG_MAX) {
		sc->large_charged = sc->ring_charged;
		if (!rxp_ring_init(&conn->rx_ring, nr, conn->recv_size, DMA_FROM_DEVICE, false))
			return 0;
		rxs_account_uncharge(sc->account, sc->ring_charged, sc->large_charged);
		sc->large_charged = 0;
		conn->recv_size = RXP_MSG_MAX;
		sc->ring_charged = (u64)nr * RXP_MSG_MAX;
	}
	if (!rxs_account_charge(sc->account, sc->ring_charged)) {
		sc->ring_charged = 0;
		return -ENOBUFS;
	}
	return rxp_ring_init(&conn->rx_ring, nr, RXP_MSG_MAX, DMA_FROM_DEVICE, true);
}

/* An even part of the data pages: small enough that one more client could have it, too. */
static u64 rxs_budget_even(const struct rxs_budget *b)
{
	lockdep_assert_held(&b->lock);
	return div_u64(b->data_max, b->nr_accounts + 1);
}

/* The bytes that a client with @own of the @all bytes in use may have, if it takes @more. */
static u64 rxs_budget_part(const struct rxs_budget *b, u64 all, u64 own, u64 more)
{
	u64 others = all - own, part;

	lockdep_assert_held(&b->lock);
	part = div_u64((b->data_max - min(others, b->data_max)) * b->share, 100);
	if (all + more > b->data_max - b->data_max / RXS_DATA_SPARE)
		return part;
	return max(part, rxs_budget_even(b));
}

/* The bytes of data pages within the bounds that a client may have, if it takes @more. */
static u64 rxs_account_room(const struct rxs_account *t, u64 more)
{
	return rxs_budget_part(t->budget, t->budget->data, t->data, more);
}

static bool rxs_account_data_fits(const struct rxs_account *t, u32 bytes)
{
	const struct rxs_budget *b = t->budget;

	lockdep_assert_held(&b->lock);
	return b->data + bytes <= b->data_max && t->data + bytes <= rxs_account_room(t, bytes);
}

/* The bytes that a session has within the bounds. */
static u64 rxs_session_own(const struct rdmafs_xprt_session *s)
{
	lockdep_assert_held(&s->account->budget->lock);
	return atomic64_read(&s->data_bytes) - s->overdraft;
}

static void rxs_session_data_add(struct rdmafs_xprt_session *s, s64 bytes)
{
	lockdep_assert_held(&s->account->budget->lock);
	s->account->data += bytes;
	s->account->budget->data += bytes;
}

static void rxs_session_overdraft_add(struct rdmafs_xprt_session *s, s64 bytes)
{
	lockdep_assert_held(&s->account->budget->lock);
	s->overdraft += bytes;
	s->account->overdraft += bytes;
	s->account->budget->overdraft += bytes;
}

/* The bytes, of so many beyond the bounds, that are kept for sessions that hold nothing else. */
static u64 rxs_overdraft_kept(u64 bytes)
{
	return min(bytes, max(bytes / RXS_DATA_SPARE, RDMAFS_XPRT_DATA_MAX));
}

/*
 * Are there so many bytes for a client beyond the bounds?  The client's part of them follows the
 * rule that holds within the bounds, so requests that hang take no more than their client's part.
 * @alone: the session holds nothing else.
 *
 * Why a request that is put off proceeds in the end:
 *
 * - There is no circular wait.  A request that is put off keeps no pages and does not wait in
 *   the server: its client sends it again.  A request that has pages needs no more to complete,
 *   and a WRITE that waits for translations has its pages already (rxs_req_claim()).
 * - Pages come back unless the request that has them hangs.  A session's requests are all of one
 *   export: if those that hold pages hang, the one that was put off would hang as well.  (A WRITE
 *   that waits for translations waits for other sessions, for the grace period at most, and READs
 *   of its session wait with it.)  If they don't hang, they end, and the session holds nothing
 *   else: newer WRITEs queue behind a WRITE that was put off (the client's deferred.c), and
 *   smaller requests of any kind give way to one that was put off for long
 *   (rxs_session_gives_way()).
 * - Sessions that hold something else, however busy, leave a quarter, and at least the size of
 *   the largest request, of all and of their client's part to sessions that hold nothing else.
 *   Each of these has one request beyond the bounds, whatever its number of slots, and finds
 *   the rest free when it asks again.
 * - A client that has nothing beyond the bounds is not held to its part, which may be less than
 *   the request if there are many clients or the share is small.  So on a server that has nothing
 *   else beyond the bounds even the largest request proceeds at once: there is room for at
 *   least four of those (fs/server/configfs_port.c).
 *
 * So only requests that hang can keep others out for ever: the other sessions of their client if
 * they have all of its part; or all sessions if they have all there is, which takes sessions that
 * hold nothing else, of so many clients that a share of the rest is too small for a request.
 * Which of several sessions that hold nothing else finds room first is chance.
 */
static bool rxs_account_overdraft_fits(const struct rxs_account *t, u64 bytes, bool alone)
{
	const struct rxs_budget *b = t->budget;
	u64 all = b->data_max, part = rxs_budget_part(b, b->overdraft, t->overdraft, bytes);

	lockdep_assert_held(&b->lock);
	if (!alone) {
		all -= rxs_overdraft_kept(all);
		part -= rxs_overdraft_kept(part);
	} else if (!t->overdraft) {
		part = all;
	}
	return b->overdraft + bytes <= all && t->overdraft + bytes <= part;
}

/* Is a request that was put off still repeated, and have others not given way for too long? */
static bool rxs_session_wants(const struct rdmafs_xprt_session *s)
{
	lockdep_assert_held(&s->account->budget->lock);
	return s->wanted &&
	       time_before(jiffies, s->wanted_last + msecs_to_jiffies(RXS_WANTED_AGAIN_MS)) &&
	       time_before(jiffies, s->wanted_since + msecs_to_jiffies(2 * RXS_WANTED_MS));
}

/*
 * Must a request of so many bytes be put off in favour of a larger one of its session?  Then the
 * requests under way give back their pages, unless they hang, and the larger one finds a session
 * that holds nothing else when it is repeated.
 */
static bool rxs_session_gives_way(const struct rdmafs_xprt_session *s, u64 bytes)
{
	lockdep_assert_held(&s->account->budget->lock);
	return bytes < s->wanted && rxs_session_wants(s) &&
	       time_after_eq(jiffies, s->wanted_since + msecs_to_jiffies(RXS_WANTED_MS));
}

/*
 * A request that has @has of the @bytes it needs found too few pages, and not because it had to
 * give way.  The largest of several is remembered: where it finds room the others do, too, but
 * not the other way round.  If the session holds nothing else, the pages are missing elsewhere,
 * and requests of this session need not give way.
 */
static void rxs_session_put_off(struct rdmafs_xprt_session *s, u64 bytes, u32 has)
{
	bool only = atomic64_read(&s->data_bytes) == s->grant_bytes + has;
	bool wants = rxs_session_wants(s);

	if (wants && bytes < s->wanted)
		return;
	if (!wants || bytes > s->wanted)
		s->wanted_since = jiffies;
	s->wanted_last = jiffies;
	s->wanted = only ? 0 : bytes;
}

/*
 * Charge a session's one request beyond the bounds, and move the @has bytes there that it has
 * within.  Bytes beyond do not count for any client's part within: otherwise a client could take
 * the room of others by requests that found none.  All bytes beyond are bounded by the same
 * maximum, or memory would be bounded only by the number of sessions.
 */
static bool rxs_session_overdraw(struct rdmafs_xprt_session *s, u32 bytes, u32 has,
				 bool alone, bool *overdrawn)
{
	u32 moved = *overdrawn ? 0 : has;

	lockdep_assert_held(&s->account->budget->lock);
	if ((s->overdraft && !*overdrawn) || (u64)has + bytes > RDMAFS_XPRT_DATA_MAX ||
	    !rxs_account_overdraft_fits(s->account, (u64)bytes + moved, alone))
		return false;
	rxs_session_data_add(s, -(s64)moved);
	rxs_session_overdraft_add(s, (s64)bytes + moved);
	*overdrawn = true;
	return true;
}

/**
 * rxs_session_charge - charge a session for pages for a request's data
 * @s:	       the session
 * @bytes:     how many bytes more
 * @has:       bytes that the request is charged for already
 * @within:    whether the request can do without: it may not go beyond the bounds
 * @overdrawn: in: whether the @has bytes are beyond the bounds; out: whether all of them are
 *
 * This is one step, and never charges too much even for a moment: that would take the room of
 * another request.  One request of a session may have up to RDMAFS_XPRT_DATA_MAX bytes whatever
 * other sessions have within the bounds, but must keep to the session's own maximum if the
 * session holds other pages.  All sessions have max_data_total_mib together, and as much
 * again for these requests.  A request may have to give way to a larger one.
 *
 * Context: any but hard interrupt; takes the budget's lock.
 * Return: true: @bytes are charged; false: there are not so many for this request.
 */
bool rxs_session_charge(struct rdmafs_xprt_session *s, u32 bytes, u32 has, bool within,
			bool *overdrawn)
{
	u64 max = (u64)READ_ONCE(s->server->limits.data_mib) << 20;
	/*
	 * A request that can do without (@within) gives way to any that waits, and none gives way
	 * to it.  A READ out of the page cache counts like a copy, which is tried next.
	 */
	u64 need = within ? 0 : rxp_buf_size(has + bytes);
	struct rxs_budget *b = s->account->budget;
	bool fits, own, alone, refused;

	spin_lock_bh(&b->lock);
	if (rxs_session_gives_way(s, need)) {
		spin_unlock_bh(&b->lock);
		return false;
	}
	/* Grants don't count: the client returns them when they are recalled. */
	alone = rxs_session_own(s) == s->grant_bytes + (*overdrawn ? 0 : has);
	/* @alone: the session's maximum may have been lowered below its grants. */
	own = rxs_session_own(s) + bytes <= max || alone;
	fits = !*overdrawn && rxs_session_own(s) + bytes <= max &&
	       rxs_account_data_fits(s->account, bytes);
	if (fits)
		rxs_session_data_add(s, bytes);
	else if (own && !within)
		fits = rxs_session_overdraw(s, bytes, has, alone, overdrawn);
	refused = own && !fits;
	b->refused_data += refused;
	if (fits) {
		atomic64_add(bytes, &s->data_bytes);
		/* This is the request that was put off, or one of its size. */
		if (need == s->wanted)
			s->wanted = 0;
	} else if (!within) {
		rxs_session_put_off(s, need, has);
	}
	spin_unlock_bh(&b->lock);
	/* Grants of other sessions may be in the way: soon see whether these are too many. */
	if (refused)
		queue_delayed_work(rxp_wq, &s->server->recall, HZ / 4);
	return fits;
}

/**
 * rxs_session_uncharge - give back bytes of data pages
 * @s:	       the session
 * @bytes:     how many, or 0
 * @overdrawn: whether they are beyond the bounds
 *
 * Context: any but hard interrupt; takes the budget's lock.
 */
void rxs_session_uncharge(struct rdmafs_xprt_session *s, u32 bytes, bool overdrawn)
{
	struct rxs_budget *b = s->account->budget;

	/* Most requests have no pages: they do not contend for the lock. */
	if (!bytes)
		return;
	spin_lock_bh(&b->lock);
	atomic64_sub(bytes, &s->data_bytes);
	if (overdrawn)
		rxs_session_overdraft_add(s, -(s64)bytes);
	else
		rxs_session_data_add(s, -(s64)bytes);
	spin_unlock_bh(&b->lock);
}

/**
 * rxs_session_left - compute how many more data pages a session may have within the bounds
 * @s: the session
 *
 * Context: any but hard interrupt; takes the budget's lock.
 * Return: bytes.
 */
u64 rxs_session_left(struct rdmafs_xprt_session *s)
{
	u64 max = (u64)READ_ONCE(s->server->limits.data_mib) << 20, room, own;
	struct rxs_account *t = s->account;
	struct rxs_budget *b = t->budget;

	spin_lock_bh(&b->lock);
	own = rxs_session_own(s);
	room = rxs_account_room(t, 0);
	room -= min(t->data, room);
	room = min(room, b->data_max - min(b->data, b->data_max));
	spin_unlock_bh(&b->lock);
	return min(room, max - min(own, max));
}

/**
 * rxs_session_spares - tell whether a request may hold more pages, or for longer, than it must
 * @s:	  the session
 * @more: bytes that it would hold besides all that are charged
 *
 * Half of what the session may have, and half of what its client may, is for pages that are not
 * granted.  A request may hold more while these are within that half; grants have the other.
 *
 * Context: any but hard interrupt; takes the budget's lock.
 * Return: whether it may, provided that it can be charged.
 */
bool rxs_session_spares(struct rdmafs_xprt_session *s, u32 more)
{
	u64 half = (u64)READ_ONCE(s->server->limits.data_mib) << 19;
	const struct rxs_account *t = s->account;
	struct rxs_budget *b = t->budget;
	bool spares;

	spin_lock_bh(&b->lock);
	spares = rxs_session_own(s) - s->grant_bytes + more <= half &&
		 t->data - t->granted + more <= rxs_account_room(t, more) / 2;
	spin_unlock_bh(&b->lock);
	return spares;
}

/**
 * rxs_session_count_grant - let a session keep pages that it is charged for, for a grant
 * @s:	   the session
 * @bytes: how many, within the bounds
 *
 * Grants may take half of what the session may have, and half of what its client may.  No grant
 * is made while there are more pages than all together may have, nor while requests give way to
 * a larger one, as WRITEs into grants would not give way.
 *
 * Context: any but hard interrupt; takes the budget's lock.
 * Return: true: @bytes count as granted; false: the caller must not make the grant.
 */
bool rxs_session_count_grant(struct rdmafs_xprt_session *s, u32 bytes)
{
	u64 half = (u64)READ_ONCE(s->server->limits.data_mib) << 19;
	struct rxs_account *t = s->account;
	struct rxs_budget *b = t->budget;
	bool fits;

	spin_lock_bh(&b->lock);
	fits = !rxs_session_gives_way(s, 0) && s->grant_bytes + bytes <= half &&
	       b->data <= b->data_max && t->granted + bytes <= rxs_account_room(t, 0) / 2;
	if (fits) {
		s->grant_bytes += bytes;
		t->granted += bytes;
	}
	spin_unlock_bh(&b->lock);
	return fits;
}

/**
 * rxs_session_uncount_grant - count pages as granted no more
 * @s:	      the session, which stays charged for them: a request has them, or uncharges them
 * @bytes:    how many
 * @recalled: whether rxs_session_count_recall() was called for them
 *
 * Context: any but hard interrupt; takes the budget's lock.
 */
void rxs_session_uncount_grant(struct rdmafs_xprt_session *s, u32 bytes, bool recalled)
{
	struct rxs_budget *b = s->account->budget;

	spin_lock_bh(&b->lock);
	s->grant_bytes -= bytes;
	s->account->granted -= bytes;
	if (recalled) {
		s->grant_recalled -= bytes;
		s->account->recalled -= bytes;
	}
	spin_unlock_bh(&b->lock);
}

/**
 * rxs_session_count_recall - count a grant as one that is to come back
 * @s:	   the grant's session
 * @bytes: bytes that are charged for the grant
 *
 * Context: any but hard interrupt; takes the budget's lock.
 */
void rxs_session_count_recall(struct rdmafs_xprt_session *s, u32 bytes)
{
	spin_lock_bh(&s->account->budget->lock);
	s->grant_recalled += bytes;
	s->account->recalled += bytes;
	spin_unlock_bh(&s->account->budget->lock);
}

/**
 * rxs_session_excess - compute by how much the grants of a session, or of its client, are too many
 * @s: the session
 *
 * That happens when clients have come since, or a limit was lowered.  A client keeps half of an
 * even part however much the others have: otherwise grants would come and go all the time.
 *
 * Context: any but hard interrupt; takes the budget's lock.
 * Return: bytes of grants beyond half of what it may have, except for those to come back.
 */
u64 rxs_session_excess(struct rdmafs_xprt_session *s)
{
	u64 half = (u64)READ_ONCE(s->server->limits.data_mib) << 19, keep, excess;
	const struct rxs_account *t = s->account;

	spin_lock_bh(&t->budget->lock);
	keep = s->grant_bytes - s->grant_recalled;
	excess = keep - min(keep, half);
	keep = t->granted - t->recalled;
	half = max(rxs_account_room(t, 0), rxs_budget_even(t->budget)) / 2;
	spin_unlock_bh(&t->budget->lock);
	return max(excess, keep - min(keep, half));
}

/**
 * rxs_account_idle - count pages that were in use as idle
 * @t:	   the client's account, still charged for them within the bounds, or beyond
 * @bytes: how many
 *
 * Context: any but hard interrupt; takes the budget's lock.
 * Return: whether they may be kept; they count as idle until rxs_account_unidle() in either case.
 */
bool rxs_account_idle(struct rxs_account *t, u32 bytes)
{
	struct rxs_budget *b = t->budget;
	bool fits;

	spin_lock_bh(&b->lock);
	fits = b->data + b->idle <= b->data_max && t->data + t->idle <= rxs_account_room(t, 0);
	t->idle += bytes;
	b->idle += bytes;
	spin_unlock_bh(&b->lock);
	return fits;
}

/**
 * rxs_account_unidle - count pages as idle no more, as they are used again or freed
 * @t:	   the client's account
 * @bytes: how many
 *
 * Context: any but hard interrupt; takes the budget's lock.
 */
void rxs_account_unidle(struct rxs_account *t, u32 bytes)
{
	spin_lock_bh(&t->budget->lock);
	t->idle -= bytes;
	t->budget->idle -= bytes;
	spin_unlock_bh(&t->budget->lock);
}
