// SPDX-License-Identifier: GPL-2.0
/*
 * RNICs: each has a domain of the policy, from the moment the device appears
 * until it is pulled.
 *
 * Removal: every connection on the device is told that it is lost.  Their
 * owners drain and destroy them from workers, mounts drop the pool that they
 * keep, and the last pool lets go of the device; only then may the core
 * take it away.
 */
#include <linux/module.h>
#include <linux/sizes.h>
#include "transport/internal.h"

/*
 * Entries a device is taken to have when its MR count does not bound it
 * lower: 4 GiB of 4 KiB pages under registration at once.
 */
#define RXP_CAPACITY_DEFAULT	((u64)SZ_1M)

static struct ib_client rxp_ib_client;

static void rxp_device_release(struct kref *ref)
{
	struct rxp_device *rdev = container_of(ref, struct rxp_device, ref);

	complete(&rdev->unused);
}

/**
 * rxp_device_get - find what transport keeps for a device
 * @ib: the device
 *
 * The caller keeps @ib itself, by a connection identifier bound to it.  But we are
 * told of its removal before such identifiers are, so what we keep may go at any
 * moment.  Any context.
 *
 * Return: a reference, or NULL: the device can't be used, or is going away.
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
 * rxp_device_put - give back what rxp_device_get() returned
 * @rdev: the device
 */
void rxp_device_put(struct rxp_device *rdev)
{
	kref_put(&rdev->ref, rxp_device_release);
}

/* The policy wants its tick so soon; what is queued for earlier will do. */
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
 * The verbs do not say whether an MR that was invalidated names its pages still.
 * These drivers were read: a REG_MR takes them from where ib_map_mr_sg() has put
 * them, and nothing else writes there.
 */
static bool rxp_device_keeps_pages(const struct ib_device *ib)
{
	switch (ib->ops.driver_id) {
	case RDMA_DRIVER_RXE:
	case RDMA_DRIVER_SIW:
	case RDMA_DRIVER_MLX5:
		return true;
	default:
		return false;
	}
}

/*
 * InfiniBand and RoCE have the responder refuse to invalidate a key that is not valid;
 * for iWARP one that is invalid already is good enough.
 */
static bool rxp_device_checks_inv(struct ib_device *ib)
{
	u32 port;

	rdma_for_each_port(ib, port)
		if (rdma_protocol_iwarp(ib, port))
			return false;
	return true;
}

static int rxp_device_add(struct ib_device *ib)
{
	struct rxp_device *rdev;
	u64 capacity;
	int ret;

	if (!(ib->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) ||
	    ib->attrs.max_fast_reg_page_list_len < 2 || ib->attrs.max_send_sge < 4)
		return -EOPNOTSUPP;

	/* Nobody asks again: without it the device would be of no use until it is made anew. */
	rdev = kzalloc(sizeof(*rdev), GFP_KERNEL | __GFP_NOFAIL);
	rdev->short_until = jiffies;
	rdev->keeps_pages = rxp_device_keeps_pages(ib);
	rdev->checks_inv = rxp_device_checks_inv(ib);
	/* What it sends again it executes again, with all that stands between. */
	rdev->repeats_reg = ib->ops.driver_id == RDMA_DRIVER_RXE;
	rdev->short_writes = ib->ops.driver_id == RDMA_DRIVER_RXE;
	/* On iWARP alone: rxp_chain_ready(). */
	rdev->tells_writes = !rdev->checks_inv;
	rdev->ib = ib;
	kref_init(&rdev->ref);
	init_completion(&rdev->unused);
	spin_lock_init(&rdev->lock);
	INIT_LIST_HEAD(&rdev->conns);
	INIT_DELAYED_WORK(&rdev->tick, rxp_device_tick);
	spin_lock_init(&rdev->tick_lock);
	/* What one MR holds, and what a quarter of a send queue can write to it. */
	rdev->max_entries = min3((u32)RPOL_CLASS_MAX, ib->attrs.max_fast_reg_page_list_len,
				 rxp_max_sge(ib) * (ib->attrs.max_qp_wr / 4));

	/* One MR for each PD is the device's own affair (rxe and siw): leave room. */
	rdev->max_mrs = max(ib->attrs.max_mr / 2, 1);
	capacity = rpol_capacity_for(rdev->max_mrs, rdev->max_entries, RXP_CAPACITY_DEFAULT,
				     &rdev->mr_least);
	rdev->domain = rpol_domain_create(capacity, &rxp_domain_ops, rdev);
	if (IS_ERR(rdev->domain)) {
		ret = PTR_ERR(rdev->domain);
		kfree(rdev);
		return ret;
	}
	rxp_proc_name_device(rdev);
	ib_set_client_data(ib, &rxp_ib_client, rdev);
	return 0;
}

/**
 * rxp_device_set_capacity - bound what all on a device may hold together
 * @rdev:     the device
 * @capacity: entries
 *
 * Return: 0; -EINVAL: too few, or so many that there are not enough MRs for them.
 */
int rxp_device_set_capacity(struct rxp_device *rdev, u64 capacity)
{
	u32 smallest = rpol_class_charge(0, rdev->max_entries, rdev->mr_least);

	if (capacity > (u64)rdev->max_mrs * smallest)
		return -EINVAL;
	return rpol_domain_set_capacity(rdev->domain, capacity);
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
	/* The core forgets it after us, which is too late for who looks it up just now. */
	ib_set_client_data(ib, &rxp_ib_client, NULL);
	kfree_rcu(rdev, rcu);
}

/*
 * The core holds its lock of all devices for reading, so that none gets a name meanwhile, and
 * that of this device's clients, for which its removal waits: once that has begun we are not
 * told of a name any more.  Both are semaphores: this may sleep.
 */
static void rxp_device_rename(struct ib_device *ib, void *client_data)
{
	rxp_proc_name_device(client_data);
}

static struct ib_client rxp_ib_client = {
	.name	= "rdmafs",
	.add	= rxp_device_add,
	.remove	= rxp_device_remove,
	.rename	= rxp_device_rename,
};

/**
 * rxp_device_register - begin to take note of RNICs
 *
 * Return: 0 or a negative errno.
 */
int rxp_device_register(void)
{
	return ib_register_client(&rxp_ib_client);
}

/**
 * rxp_device_unregister - let go of all RNICs; no mount or server is left
 */
void rxp_device_unregister(void)
{
	ib_unregister_client(&rxp_ib_client);
}
