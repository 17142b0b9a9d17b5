// SPDX-License-Identifier: GPL-2.0
/*
 * Clients, and how many opens they have.
 *
 * A client is what transport takes for one by where it comes from, whatever it says of
 * itself.  An open counts from before anything is done for it, as a file made, until it
 * is closed; if its session was lost, until its client has come back for it and closes
 * it then, or does not come in time (opened.c).  What one client leaves behind thus never
 * takes the place of what others have left.  One that was cut off by its export's end counts
 * for as long as it is noted (cut.c).
 */
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "server.h"

/* What an open takes, with its inode, which it keeps in memory, and its file. */
#define RDMAFSD_OPEN_BYTES	2048

/* Unless it is set, one client may have this many, and one in so many of all. */
#define RDMAFSD_CLIENT_OPENS	65536
#define RDMAFSD_CLIENT_PART	4

static DEFINE_MUTEX(rdmafsd_clients_lock);	/* a leaf: the list, and their references */
static LIST_HEAD(rdmafsd_clients);

struct rdmafsd_opens_limits rdmafsd_opens_limits;
/* As they are if nobody sets them. */
static struct rdmafsd_opens_limits rdmafsd_opens_usual;
static atomic_t rdmafsd_opens;
static atomic_t rdmafsd_guesses;
static atomic64_t rdmafsd_opens_refused;

/**
 * rdmafsd_client_get - the client that comes from there
 * @source: where
 *
 * Return: a reference, or NULL without memory.
 */
struct rdmafsd_client *rdmafsd_client_get(const struct rdmafs_xprt_source *source)
{
	struct rdmafsd_client *client, *new = kzalloc(sizeof(*new), GFP_KERNEL);

	if (!new)
		return NULL;
	new->source = *source;
	new->refs = 1;
	mutex_lock(&rdmafsd_clients_lock);
	list_for_each_entry(client, &rdmafsd_clients, link) {
		if (!memcmp(&client->source, source, sizeof(*source))) {
			client->refs++;
			mutex_unlock(&rdmafsd_clients_lock);
			kfree(new);
			return client;
		}
	}
	list_add(&new->link, &rdmafsd_clients);
	mutex_unlock(&rdmafsd_clients_lock);
	return new;
}

/**
 * rdmafsd_client_put - drop a reference
 * @client: the client
 */
void rdmafsd_client_put(struct rdmafsd_client *client)
{
	mutex_lock(&rdmafsd_clients_lock);
	if (!--client->refs) {
		list_del(&client->link);
		kfree(client);
	}
	mutex_unlock(&rdmafsd_clients_lock);
}

/**
 * rdmafsd_opens_init - bounds by the memory that there is: a 16th of it for opens
 */
void rdmafsd_opens_init(void)
{
	u64 bytes = (u64)totalram_pages() << PAGE_SHIFT;
	u32 all = clamp_t(u64, bytes / 16 / RDMAFSD_OPEN_BYTES, 16384, INT_MAX / 2);

	rdmafsd_opens_limits.all = all;
	rdmafsd_opens_limits.client = min(RDMAFSD_CLIENT_OPENS, all / RDMAFSD_CLIENT_PART);
	rdmafsd_opens_usual = rdmafsd_opens_limits;
}

/**
 * rdmafsd_opens_now - how many there are
 *
 * Return: the opens of all clients, with those that were lost and may be made anew.
 */
u32 rdmafsd_opens_now(void)
{
	return atomic_read(&rdmafsd_opens);
}

/**
 * rdmafsd_opens_show - the same for /proc, with what there may be
 * @m: the file limits of a port; opens are those of all ports
 */
void rdmafsd_opens_show(struct seq_file *m)
{
	seq_printf(m, "opens %u\nleft_opens %u\n", rdmafsd_opens_now(), rdmafsd_left_now());
	seq_printf(m, "max_opens %u\nmax_opens_client %u\n", READ_ONCE(rdmafsd_opens_limits.all),
		   READ_ONCE(rdmafsd_opens_limits.client));
	seq_printf(m, "refused_opens %lld\n", atomic64_read(&rdmafsd_opens_refused));
}

/*
 * What was open once is opened again: a refusal would lose what the client has not written
 * yet.  It may count twice, as long as the old session closes, and the limit may be lower
 * now than it was.  But one proof may be shown any number of times.
 */
static u32 rdmafsd_opens_room(u32 limit, u32 usual, bool again)
{
	return again ? min_t(u64, 2ULL * max(limit, usual), INT_MAX) : limit;
}

static bool rdmafsd_opens_try(struct rdmafsd_client *client, u32 own, u32 all)
{
	if (atomic_inc_return(&client->opens) <= own) {
		if (atomic_inc_return(&rdmafsd_opens) <= all)
			return true;
		atomic_dec(&rdmafsd_opens);
	}
	atomic_dec(&client->opens);
	return false;
}

/* Notes that have no more than their export's absence to thank for being there give way. */
static int rdmafsd_opens_charge(struct rdmafsd_client *client, bool again)
{
	u32 own = rdmafsd_opens_room(READ_ONCE(rdmafsd_opens_limits.client),
				     rdmafsd_opens_usual.client, again);
	u32 all = rdmafsd_opens_room(READ_ONCE(rdmafsd_opens_limits.all),
				     rdmafsd_opens_usual.all, again);
	bool full;

	do {
		if (rdmafsd_opens_try(client, own, all))
			return 0;
		full = atomic_read(&client->opens) >= own;
	} while (rdmafsd_cuts_give_way(full ? client : NULL));
	atomic64_inc(&rdmafsd_opens_refused);
	return -ENFILE;
}

/**
 * rdmafsd_claim_new - take room for an open
 * @client: whose it is to be, referenced; NULL: nobody's, and not counted
 * @again:  it is proven that the client had it before
 *
 * Before anything is changed for it, such as a file created.
 *
 * Return: the claim, to be put by rdmafsd_claim_put(); or an ERR_PTR: -ENFILE or -ENOMEM.
 */
struct rdmafsd_claim *rdmafsd_claim_new(struct rdmafsd_client *client, bool again)
{
	struct rdmafsd_claim *claim = kzalloc(sizeof(*claim), GFP_KERNEL_ACCOUNT);
	int err;

	if (!claim)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&claim->left);
	if (!client)
		return claim;
	err = rdmafsd_opens_charge(client, again);
	if (err) {
		kfree(claim);
		return ERR_PTR(err);
	}
	mutex_lock(&rdmafsd_clients_lock);
	client->refs++;
	mutex_unlock(&rdmafsd_clients_lock);
	claim->client = client;
	return claim;
}

static bool rdmafsd_guesses_charge(struct rdmafsd_client *by)
{
	u32 all = READ_ONCE(rdmafsd_opens_limits.all);

	if (atomic_inc_return(&by->guesses) <= max(all / RDMAFSD_CLIENT_PART, 1)) {
		if (atomic_inc_return(&rdmafsd_guesses) <= all)
			return true;
		atomic_dec(&rdmafsd_guesses);
	}
	atomic_dec(&by->guesses);
	return false;
}

/**
 * rdmafsd_claim_guess - a claim for whoever may have open what a client removes
 * @by: the client, referenced
 *
 * There are as many as there may be opens, besides those; and one client's removals make no
 * more than a part of them, so that what others remove is kept, too.
 *
 * Return: the claim, to be put by rdmafsd_claim_free() or as any other; or NULL.
 */
struct rdmafsd_claim *rdmafsd_claim_guess(struct rdmafsd_client *by)
{
	struct rdmafsd_claim *claim;

	if (!rdmafsd_guesses_charge(by))
		return NULL;
	claim = kzalloc(sizeof(*claim), GFP_KERNEL_ACCOUNT);
	if (!claim) {
		atomic_dec(&rdmafsd_guesses);
		atomic_dec(&by->guesses);
		return NULL;
	}
	INIT_LIST_HEAD(&claim->left);
	mutex_lock(&rdmafsd_clients_lock);
	by->refs++;
	mutex_unlock(&rdmafsd_clients_lock);
	claim->by = by;
	return claim;
}

/**
 * rdmafsd_opens_uncharge - a client has an open less
 * @client: the client; the open's reference goes
 *
 * Context: process.
 */
void rdmafsd_opens_uncharge(struct rdmafsd_client *client)
{
	atomic_dec(&rdmafsd_opens);
	atomic_dec(&client->opens);
	rdmafsd_client_put(client);
}

/**
 * rdmafsd_claim_free - the room is free again
 * @claim: of no file, in no table
 *
 * Context: process.
 */
void rdmafsd_claim_free(struct rdmafsd_claim *claim)
{
	if (claim->client)
		rdmafsd_opens_uncharge(claim->client);
	if (claim->by) {
		atomic_dec(&rdmafsd_guesses);
		atomic_dec(&claim->by->guesses);
		rdmafsd_client_put(claim->by);
	}
	kfree_rcu(claim, rcu);
}
