// SPDX-License-Identifier: GPL-2.0
/*
 * The module rdmafs_xprt: RPCs over RDMA verbs, between mounts and servers of rdmafs.
 * transport/xprt.h is its interface; transport/internal.h has its objects,
 * Documentation/architecture.rst the order of its locks.
 *
 * This is the one file that knows both sides: it starts and stops them, and has their parameters
 * and their queues, as these are rules for both.
 */
#include <linux/module.h>
#include "transport/client/client.h"
#include "transport/server/server.h"

/*
 * Each work item sees to its own ordering.  The queue of an item depends on what the item may
 * wait for (Documentation/architecture.rst, "Who may wait for whom: transport"): an item never
 * waits for one that is queued on the same queue.
 */
struct workqueue_struct *rxp_wq;	/* items that wait only for devices */
struct workqueue_struct *rxs_conn_wq;	/* a server's connections, new sessions and sinks */
struct workqueue_struct *rxs_session_wq;	/* sessions that end: wait for file systems */
struct workqueue_struct *rxc_recover_wq;	/* mounts that connect again: wait for servers */
struct workqueue_struct *rxc_turn_wq;	/* READs in line: wait for translations */

/* Items at once on rxs_conn_wq: each maps, or unmaps, some MiB. */
#define RXP_CONN_WORKS	16

/* WQ_MEM_RECLAIM because writeback waits for items that reconnect mounts and deregister MRs. */
static const struct {
	struct workqueue_struct **wq;
	const char *name;
	int at_once;
} rxp_queues[] = {
	{ &rxp_wq, "rdmafs_xprt", 0 },
	{ &rxs_conn_wq, "rdmafs_conn", RXP_CONN_WORKS },
	{ &rxs_session_wq, "rdmafs_session", WQ_UNBOUND_MAX_ACTIVE },
	{ &rxc_recover_wq, "rdmafs_recover", WQ_UNBOUND_MAX_ACTIVE },
	{ &rxc_turn_wq, "rdmafs_turn", WQ_UNBOUND_MAX_ACTIVE },
};

static void rxp_queues_destroy(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rxp_queues); i++)
		if (*rxp_queues[i].wq)
			destroy_workqueue(*rxp_queues[i].wq);
}

static int rxp_queues_create(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rxp_queues); i++) {
		*rxp_queues[i].wq = alloc_workqueue("%s", WQ_UNBOUND | WQ_MEM_RECLAIM,
						    rxp_queues[i].at_once, rxp_queues[i].name);
		if (!*rxp_queues[i].wq) {
			rxp_queues_destroy();
			return -ENOMEM;
		}
	}
	return 0;
}

unsigned int rxc_heartbeat_ms = 5000;
module_param_named(heartbeat_ms, rxc_heartbeat_ms, uint, 0644);
MODULE_PARM_DESC(heartbeat_ms, "a server silent for so long, in milliseconds, is taken to be dead");

/* The grace period T (Magoutis, section 3). */
unsigned int rxp_grace_ms = 10000;
module_param_named(grace_ms, rxp_grace_ms, uint, 0644);
MODULE_PARM_DESC(grace_ms, "how long a response may be overdue, in milliseconds, while others wait for its translations");

module_param_named(grants_max, rxs_grants_max, uint, 0644);
MODULE_PARM_DESC(grants_max, "sinks that a server lets a client hold; 0: every large write asks for one");

unsigned int rxs_conns_max = RDMAFS_XPRT_CONNS_MAX;
module_param_named(conns_max, rxs_conns_max, uint, 0644);
MODULE_PARM_DESC(conns_max, "connections that a server allows each client, from the next one on; at least 1");

unsigned int rxp_recv_size = RXP_RECV_MAX;
module_param_named(recv_size, rxp_recv_size, uint, 0644);
MODULE_PARM_DESC(recv_size, "bytes of each receive of the next connections, 5120 to 32768; 5120 when all larger ones take 1/64 of the memory, or there is none for them");

int rxp_service_type = -1;
module_param_named(service_type, rxp_service_type, int, 0644);
MODULE_PARM_DESC(service_type, "type of service of the next connections' packets, 0 to 255; -1: the RDMA core's own");

static int __init rxp_init(void)
{
	int ret;

	ret = rxp_queues_create();
	if (ret)
		return ret;
	ret = rxs_init();
	if (ret)
		goto out_queues;
	ret = rxp_proc_init();
	if (ret)
		goto out_server;
	ret = rxp_device_register();
	if (ret)
		goto out_proc;
	return 0;

out_proc:
	rxp_proc_exit();
out_server:
	rxs_exit();
out_queues:
	rxp_queues_destroy();
	return ret;
}

static void __exit rxp_exit(void)
{
	flush_workqueue(rxp_wq);
	rxp_device_unregister();
	rxp_proc_exit();
	rxp_queues_destroy();
	rxs_exit();
}

module_init(rxp_init);
module_exit(rxp_exit);
MODULE_DESCRIPTION("rdmafs transport: RPCs over RDMA verbs");
MODULE_LICENSE("GPL");
