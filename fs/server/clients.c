// SPDX-License-Identifier: GPL-2.0
/*
 * Clients, and how many opens they have.
 *
 * Transport tells clients apart by the address that they come from, whatever they say of
 * themselves.  An open counts among its client's from before anything is done for it, such as
 * making a file, until it is closed.  If its session was lost, it counts until the client has
 * opened the file again and closes it, or does not open it in time (claim.c).  So the opens
 * that one client leaves behind never take the place of those that others have left.  An open
 * that was cut off by its export's end counts for as long as there is a note of it (cut.c).
 */
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "server.h"
#include "opened.h"
#include "staying.h"

/* Memory that an open takes, with its file and with its inode, which it keeps in memory. */
#define RDMAFSD_OPEN_BYTES	2048

/* The default for one client: this many opens, but no more than one in so many of all. */
#define RDMAFSD_CLIENT_OPENS	65536
#define RDMAFSD_CLIENT_PART	4

static DEFINE_MUTEX(rdmafsd_clients_lock);	/* a leaf: the list, @refs of its entries */
static LIST_HEAD(rdmafsd_clients);

struct rdmafsd_opens_limits rdmafsd_opens_limits;
/* The defaults, which do not change when the administrator sets the limits. */
static struct rdmafsd_opens_limits rdmafsd_opens_usual;
static atomic_t rdmafsd_opens;
static atomic_t rdmafsd_guesses;
static atomic64_t rdmafsd_opens_refused;

/**
 * rdmafsd_client_get - find or make the client that comes from an address
 * @source: the address
 *
 * Context: process, may sleep; takes the lock of clients.
 * Return: the client with a reference for the caller, or NULL if there is no memory.
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
 * rdmafsd_client_put - drop a reference to a client
 * @client: the client; freed with its last reference
 *
 * Context: process, may sleep; takes the lock of clients.
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
 * rdmafsd_opens_init - set the limits of opens to their defaults: a 16th of memory for opens
 *
 * Context: process, before there are clients.
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
 * rdmafsd_opens_now - count the opens
 *
 * Context: any.
 * Return: the opens of all clients, with those that were lost and may be made again.
 */
u32 rdmafsd_opens_now(void)
{
	return atomic_read(&rdmafsd_opens);
}

/**
 * rdmafsd_opens_show - write the number of opens, and their limits, to /proc
 * @m: the file limits of a port; the figures are those of all ports together
 *
 * Context: process.
 */
void rdmafsd_opens_show(struct seq_file *m)
{
	seq_printf(m, "opens %u\nleft_opens %u\n", rdmafsd_opens_now(),
		   rdmafsd_left_now() + rdmafsd_cuts_left_now());
	seq_printf(m, "max_opens %u\nmax_opens_client %u\n", READ_ONCE(rdmafsd_opens_limits.all),
		   READ_ONCE(rdmafsd_opens_limits.client));
	seq_printf(m, "refused_opens %lld\n", atomic64_read(&rdmafsd_opens_refused));
}

/*
 * How many opens there may be.  An open that is made again (@again) may exceed the limit, since
 * to refuse it would lose what the client has not written yet.  It may count twice while the old
 * session closes, and the limit may have been lowered since.  It still needs a limit, for a
 * client may show one proof any number of times.
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

/*
 * Count an open.  If there is no room, notes give way that are kept only because their export is
 * off (cut.c).
 */
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
 * @exp:    the export of the file, in flight, or not live yet
 * @client: the client that it is to count for, referenced by the caller; NULL: it counts for
 *          none
 * @again:  the client has proven that it had the file open before
 *
 * To be called before anything is changed for the open, such as a file made.
 *
 * Context: process, may sleep; takes the lock of clients.
 * Return: the claim, in state NEW, to be put by rdmafsd_claim_put(); or an ERR_PTR: -ENFILE (too
 * many opens, or in too many file systems below an export) or -ENOMEM.
 */
struct rdmafsd_claim *rdmafsd_claim_new(const struct rdmafsd_export *exp,
					struct rdmafsd_client *client, bool again)
{
	struct rdmafsd_claim *claim = kzalloc(sizeof(*claim), GFP_KERNEL_ACCOUNT);
	int err;

	if (!claim)
		return ERR_PTR(-ENOMEM);
	INIT_LIST_HEAD(&claim->left);
	if (!client)
		return claim;
	err = rdmafsd_stay_get(exp, &client->source,
			       again ? RDMAFSD_STAY_AGAIN : RDMAFSD_STAY_OPEN, &claim->stay);
	if (!err)
		err = rdmafsd_opens_charge(client, again);
	if (err) {
		rdmafsd_stay_put(claim->stay);
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
 * rdmafsd_claim_guess - make a claim for clients that may have open what another one removes
 * @exp: the export of the file, in flight
 * @by:  the client that removes the file, referenced by the caller
 * @why: out: if there is none, what there is too much or too little of
 *
 * The server does not know whether any client has the file open.  There may be as many of these
 * claims as opens, besides the opens.  The removals of one client may make no more than a part
 * of them, so that files that other clients remove are kept, too; and in a part of the file systems
 * below an export only, as they keep these in use (staying.c).
 *
 * Context: process, may sleep; takes the lock of clients.
 * Return: the claim, in state NEW, to be put by rdmafsd_claim_free() or as any other; NULL:
 * there are too many, or there is no memory.
 */
struct rdmafsd_claim *rdmafsd_claim_guess(const struct rdmafsd_export *exp,
					  struct rdmafsd_client *by, const char **why)
{
	struct rdmafsd_claim *claim;
	int err = -ENOMEM;

	*why = "max_opens";
	if (!rdmafsd_guesses_charge(by))
		return NULL;
	claim = kzalloc(sizeof(*claim), GFP_KERNEL_ACCOUNT);
	if (claim)
		err = rdmafsd_stay_get(exp, &by->source, RDMAFSD_STAY_GUESS, &claim->stay);
	if (err) {
		*why = err == -ENFILE ? "many file systems below the export" : "memory";
		kfree(claim);
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
 * rdmafsd_opens_uncharge - stop counting an open
 * @client: the client that it counted for; the open's reference goes
 *
 * Context: process, may sleep; takes the lock of clients.
 */
void rdmafsd_opens_uncharge(struct rdmafsd_client *client)
{
	atomic_dec(&rdmafsd_opens);
	atomic_dec(&client->opens);
	rdmafsd_client_put(client);
}

/**
 * rdmafsd_claim_free - free a claim, and the room that it took
 * @claim: the claim, in state NEW, in no table
 *
 * Context: process, may sleep; takes the lock of clients.
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
	rdmafsd_stay_put(claim->stay);
	kfree_rcu(claim, rcu);
}
