// SPDX-License-Identifier: GPL-2.0
/*
 * RNICs: each has a domain of the policy, from the moment the device appears until it is removed.
 *
 * Removal: every connection on the device is marked lost.  The owners drain and destroy their
 * connections from workers, mounts drop the pools that they keep, and the last pool drops its
 * reference on the device.  Only then does the remove callback return and the RDMA core free the
 * device.
 */
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include "transport/internal.h"

/*
 * Entries that a device is assumed to have unless its number of MRs allows fewer: 4 GiB of 4 KiB
 * pages registered at once.
 */
#define RXP_CAPACITY_DEFAULT	((u64)SZ_1M)

static struct ib_client rxp_ib_client;

static void rxp_device_release(struct kref *ref)
{
	struct rxp_device *rdev = container_of(ref, struct rxp_device, ref);

	complete(&rdev->unused);
}

/**
 * rxp_device_get - find the rxp_device of a device
 * @ib: the device
 *
 * The caller's connection identifier, which is bound to @ib, keeps @ib itself.  But the RDMA core
 * tells us of a removal before it tells the identifiers, so the rxp_device may be freed at any
 * moment.
 *
 * Context: any.
 *
 * Return: the device with a reference, or NULL: it can't be used, or is being removed.
 */
struct rxp_device *rxp_device_get(struct ib_device *ib)
{
	struct rxp_device *rdev;

	rcu_read_lock();
	rdev = ib_get_client_data(ib, &rxp_ib_client);
	if (rdev && (READ_ONCE(rdev->removed) || !kref_get_unless_zero(&rdev->ref)))
		rdev = NULL;
	rcu_read_unlock();
	return rdev;
}

/**
 * rxp_device_put - drop the reference of rxp_device_get()
 * @rdev: the device
 *
 * Context: any.
 */
void rxp_device_put(struct rxp_device *rdev)
{
	kref_put(&rdev->ref, rxp_device_release);
}

/* The policy wants a tick after @delay_ns; one that is queued for an earlier time will do. */
static void rxp_device_wake(void *ctx, u64 delay_ns)
{
	unsigned long delay = nsecs_to_jiffies(delay_ns) + 1;
	struct rxp_device *rdev = ctx;

	spin_lock_bh(&rdev->tick_lock);
	if (!delayed_work_pending(&rdev->tick) || time_before(jiffies + delay, rdev->tick_due)) {
		rdev->tick_due = jiffies + delay;
		mod_delayed_work(rxp_wq, &rdev->tick, delay);
	}
	spin_unlock_bh(&rdev->tick_lock);
}

static void rxp_device_tick(struct work_struct *work)
{
	struct rxp_device *rdev = container_of(work, struct rxp_device, tick.work);
	u64 delay = rpol_domain_tick(rdev->domain);

	if (delay)
		rxp_device_wake(rdev, delay);
}

static const struct rpol_domain_ops rxp_domain_ops = {
	.wake = rxp_device_wake,
};

/*
 * keeps_pages: the verbs do not say whether an MR keeps its translations when it is invalidated.
 * In the drivers that have this, a REG_MR takes the pages from where ib_map_mr_sg() has put them,
 * and nothing else writes there.
 *
 * repeats_reg: when rxe sends packets again, it also executes the work requests between them
 * again, which InfiniBand forbids.
 *
 * short_writes: rxe lets few packets travel unacknowledged, and asks for an acknowledgment seldom
 * inside a message.
 *
 * by_reference: siw gives the pages of an unsignaled work request to TCP instead of a copy
 * (siw_qp_prepare_tx() in 6.12).  TCP may send from them long after a later work request has
 * completed, and even after the connection and its mapping are gone.
 *
 * rejects_reset: iWARP drivers report -ECONNREFUSED if the server's reply says that it rejects the
 * connection, and the RDMA core relies on that.  siw and erdma report -ECONNRESET.
 *
 * connects_here: iWARP drivers begin to connect and report the end by an event.  siw connects its
 * socket in the task that calls rdma_connect(), and in this task's network namespace.
 *
 * message_ns: drivers that do the work of an RNIC in software take some ten microseconds for what
 * an RNIC does in one or two.
 */
static const struct {
	enum rdma_driver_id driver;
	struct rxp_quirks quirks;
} rxp_quirks[] = {
	{ RDMA_DRIVER_RXE, {
		.keeps_pages = true, .repeats_reg = true, .short_writes = true,
		.message_ns = 20 * NSEC_PER_USEC,
	} },
	{ RDMA_DRIVER_SIW, {
		.keeps_pages = true, .by_reference = true, .rejects_reset = true,
		.connects_here = true, .message_ns = 20 * NSEC_PER_USEC,
	} },
	{ RDMA_DRIVER_ERDMA, { .rejects_reset = true, .message_ns = 2 * NSEC_PER_USEC } },
	{ RDMA_DRIVER_MLX5, { .keeps_pages = true, .message_ns = 2 * NSEC_PER_USEC } },
};

static const struct rxp_quirks *rxp_device_quirks(const struct ib_device *ib)
{
	/* A device that is not in the table does what the verbs promise, and no more. */
	static const struct rxp_quirks none = { .message_ns = 2 * NSEC_PER_USEC };
	int i;

	for (i = 0; i < ARRAY_SIZE(rxp_quirks); i++)
		if (rxp_quirks[i].driver == ib->ops.driver_id)
			return &rxp_quirks[i].quirks;
	return &none;
}

/*
 * Does the device refuse to invalidate a key that is not valid?  InfiniBand and RoCE require that
 * of the responder; iWARP accepts a key that is invalid already.
 */
static bool rxp_device_checks_inv(struct ib_device *ib)
{
	u32 port;

	rdma_for_each_port(ib, port)
		if (rdma_protocol_iwarp(ib, port))
			return false;
	return true;
}

/* ------------------------------------------------------------------------- /proc */

static void rxp_capacity_show(struct seq_file *m, void *owner)
{
	struct rxp_device *rdev = owner;
	struct rpol_domain_stats st;

	rpol_domain_get_stats(rdev->domain, &st);
	seq_printf(m, "%llu\n", st.capacity);
}

/* No more entries than the device has MRs for. */
static int rxp_device_set_capacity(struct rxp_device *rdev, u64 capacity)
{
	u32 smallest = rpol_class_charge(0, rdev->max_entries, rdev->mr_least);

	if (capacity > (u64)rdev->max_mrs * smallest)
		return -EINVAL;
	return rpol_domain_set_capacity(rdev->domain, capacity);
}

static int rxp_capacity_write(void *owner, char *text)
{
	u64 capacity;
	int ret;

	ret = kstrtou64(text, 10, &capacity);
	if (!ret)
		ret = rxp_device_set_capacity(owner, capacity);
	return ret ? -EINVAL : 0;
}

static void rxp_free_show(struct seq_file *m, void *owner)
{
	struct rxp_device *rdev = owner;
	struct rpol_domain_stats st;

	rpol_domain_get_stats(rdev->domain, &st);
	seq_printf(m, "%llu\n", st.capacity - min(st.capacity, st.charged));
}

static void rxp_device_stats_show(struct seq_file *m, void *owner)
{
	struct rxp_device *rdev = owner;
	struct rpol_domain_stats st;

	rpol_domain_get_stats(rdev->domain, &st);
	seq_printf(m, "capacity %llu\ncharged %llu\nreserved_min %llu\n", st.capacity,
		   st.charged, st.reserved_min);
	seq_printf(m, "members %llu\nwaiters %llu\nwaits %llu\n", st.members, st.waiters,
		   st.waits);
	seq_printf(m, "revoking %llu\nrebalances %llu\n", st.revoking, st.rebalances);
	seq_printf(m, "capacity_us %llu\ncharged_us %llu\nbound_us %llu\n", st.capacity_us,
		   st.charged_us, st.bound_us);
	seq_printf(m, "converting_us %llu\nidle_us %llu\nidle_waited_us %llu\n",
		   st.converting_us, st.idle_us, st.idle_waited_us);
	seq_printf(m, "max_entries %u\nmax_mrs %u\nmr_least %u\n", rdev->max_entries, rdev->max_mrs,
		   rdev->mr_least);
}

static void rxp_policy_show(struct seq_file *m, void *owner)
{
	struct rxp_device *rdev = owner;
	struct rpol_tunables tun;

	rpol_domain_get_tunables(rdev->domain, &tun);
	seq_printf(m, "discipline %s\nreplacement %s\n", rpol_discipline_name(tun.discipline),
		   rpol_replacement_name(tun.replacement));
	seq_printf(m, "low %llu\nhigh %llu\nidle_ms %u\n", tun.low, tun.high, tun.idle_ms);
}

static int rxp_policy_write(void *owner, char *text)
{
	struct rxp_device *rdev = owner;
	struct rpol_tunables tun;
	int ret;

	rpol_domain_get_tunables(rdev->domain, &tun);
	ret = rpol_tunables_parse(text, &tun);
	if (!ret)
		ret = rpol_domain_set_tunables(rdev->domain, &tun);
	return ret ? -EINVAL : 0;
}

static const struct rxp_proc_kind rxp_device_files[] = {
	{ "capacity", rxp_capacity_show, rxp_capacity_write },
	{ "policy", rxp_policy_show, rxp_policy_write },
	{ "free", rxp_free_show },
	{ "stats", rxp_device_stats_show },
};

/* ------------------------------------------------------- appearing, being removed */

static int rxp_device_add(struct ib_device *ib)
{
	struct rxp_device *rdev;
	u64 capacity;
	int ret;

	if (!(ib->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) ||
	    ib->attrs.max_fast_reg_page_list_len < 2 || ib->attrs.max_send_sge < 4)
		return -EOPNOTSUPP;

	/*
	 * add is called only once: if it failed, the device would be of no use until it is added
	 * anew.
	 */
	rdev = kzalloc(sizeof(*rdev), GFP_KERNEL | __GFP_NOFAIL);
	rdev->short_until = jiffies;
	rdev->quirks = *rxp_device_quirks(ib);
	rdev->checks_inv = rxp_device_checks_inv(ib);
	/* Only on iWARP: rxp_chain_ready(). */
	rdev->tells_writes = !rdev->checks_inv;
	rdev->ib = ib;
	kref_init(&rdev->ref);
	init_completion(&rdev->unused);
	spin_lock_init(&rdev->lock);
	INIT_LIST_HEAD(&rdev->conns);
	INIT_DELAYED_WORK(&rdev->tick, rxp_device_tick);
	spin_lock_init(&rdev->tick_lock);
	/* The entries that one MR holds, and that a quarter of a send queue can write. */
	rdev->max_entries = min3((u32)RPOL_CLASS_MAX, ib->attrs.max_fast_reg_page_list_len,
				 rxp_max_sge(ib) * (ib->attrs.max_qp_wr / 4));

	/* Leave room: rxe and siw use up an MR of their own for each PD. */
	rdev->max_mrs = max(ib->attrs.max_mr / 2, 1);
	capacity = rpol_capacity_for(rdev->max_mrs, rdev->max_entries, RXP_CAPACITY_DEFAULT,
				     &rdev->mr_least);
	rdev->domain = rpol_domain_create(capacity, &rxp_domain_ops, rdev);
	if (IS_ERR(rdev->domain)) {
		ret = PTR_ERR(rdev->domain);
		kfree(rdev);
		return ret;
	}
	rxp_proc_name_device(rdev, rxp_device_files, ARRAY_SIZE(rxp_device_files));
	ib_set_client_data(ib, &rxp_ib_client, rdev);
	return 0;
}

static void rxp_device_remove(struct ib_device *ib, void *client_data)
{
	struct rxp_device *rdev = client_data;
	struct rxp_conn *conn;

	if (!rdev)
		return;
	WRITE_ONCE(rdev->removed, true);
	spin_lock_bh(&rdev->lock);
	list_for_each_entry(conn, &rdev->conns, dev_link)
		rxp_conn_lost(conn);
	spin_unlock_bh(&rdev->lock);

	rxp_device_put(rdev);
	wait_for_completion(&rdev->unused);
	rxp_proc_remove_device(rdev);
	disable_delayed_work_sync(&rdev->tick);
	rpol_domain_destroy(rdev->domain);
	/*
	 * The core clears this only after we return, but rxp_device_get() may look it up just
	 * now.
	 */
	ib_set_client_data(ib, &rxp_ib_client, NULL);
	kfree_rcu(rdev, rcu);
}

/*
 * The core holds two semaphores, so this may sleep.  The one of all devices, held for reading,
 * keeps this device's name from changing.  The one of this device's clients keeps it from being
 * removed: once removal has begun, this is not called any more.
 */
static void rxp_device_rename(struct ib_device *ib, void *client_data)
{
	rxp_proc_name_device(client_data, rxp_device_files, ARRAY_SIZE(rxp_device_files));
}

static struct ib_client rxp_ib_client = {
	.name	= "rdmafs",
	.add	= rxp_device_add,
	.remove	= rxp_device_remove,
	.rename	= rxp_device_rename,
};

/**
 * rxp_device_register - register the client that is told of RNICs
 *
 * Context: process, may sleep.
 *
 * Return: 0 or a negative errno.
 */
int rxp_device_register(void)
{
	return ib_register_client(&rxp_ib_client);
}

/**
 * rxp_device_unregister - let go of all RNICs
 *
 * Context: process, sleeps.  No mount or server may be left.
 */
void rxp_device_unregister(void)
{
	ib_unregister_client(&rxp_ib_client);
}
