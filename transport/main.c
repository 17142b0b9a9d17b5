// SPDX-License-Identifier: GPL-2.0
/*
 * rdmafs_xprt: RPCs over RDMA verbs, between mounts and servers of rdmafs.
 * transport/xprt.h is what it offers; transport/internal.h tells how it is put
 * together.
 */
#include <linux/module.h>
#include "transport/client.h"
#include "transport/server.h"

/*
 * Ordering of work is each item's own; WQ_MEM_RECLAIM because writeback waits
 * for reconnects and for MRs to be deregistered here.
 */
struct workqueue_struct *rxp_wq;

unsigned short rxp_wire_version = RXP_WIRE_VERSION;
module_param_named(wire_version, rxp_wire_version, ushort, 0600);
MODULE_PARM_DESC(wire_version, "protocol version a client offers, to test that servers refuse others");

unsigned int rxp_heartbeat_ms = 5000;
module_param_named(heartbeat_ms, rxp_heartbeat_ms, uint, 0644);
MODULE_PARM_DESC(heartbeat_ms, "a server silent for so long, in milliseconds, is taken to be dead");

module_param_named(grace_ms, rxp_grace_ms, uint, 0644);
MODULE_PARM_DESC(grace_ms, "how long a response may be overdue, in milliseconds, while others wait for its translations");

module_param_named(grants_max, rxp_grants_max, uint, 0644);
MODULE_PARM_DESC(grants_max, "sinks that a server lets a client hold; 0: every large write asks for one");

unsigned int rxp_conns_max = RDMAFS_XPRT_CONNS_MAX;
module_param_named(conns_max, rxp_conns_max, uint, 0644);
MODULE_PARM_DESC(conns_max, "connections that a server allows each client, from the next one on; at least 1");

unsigned int rxp_recv_size = RXP_RECV_MAX;
module_param_named(recv_size, rxp_recv_size, uint, 0644);
MODULE_PARM_DESC(recv_size, "bytes of each receive of the next connections, 5120 to 32768; 5120 when all larger ones take 1/64 of the memory");

module_param_named(inject_map_us, rxp_inject.map_us, uint, 0600);
MODULE_PARM_DESC(inject_map_us, "for measuring: mapping data takes so many microseconds longer");
module_param_named(inject_map_page_us, rxp_inject.map_page_us, uint, 0600);
MODULE_PARM_DESC(inject_map_page_us, "for measuring: and so many for each page");
module_param_named(inject_service_us, rxp_inject.service_us, uint, 0600);
MODULE_PARM_DESC(inject_service_us, "for measuring: serving takes so many microseconds longer");

module_param_named(inject_lose, rxp_inject.lose, uint, 0600);
MODULE_PARM_DESC(inject_lose, "for testing: a mount's connection of this number, from 1, is lost once");

static int __init rxp_init(void)
{
	int ret;

	rxp_wq = alloc_workqueue("rdmafs_xprt", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rxp_wq)
		return -ENOMEM;
	ret = rxp_io_init();
	if (ret)
		goto out_wq;
	ret = rxp_server_init();
	if (ret)
		goto out_io;
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
	rxp_server_exit();
out_io:
	rxp_io_exit();
out_wq:
	destroy_workqueue(rxp_wq);
	return ret;
}

static void __exit rxp_exit(void)
{
	flush_workqueue(rxp_wq);
	rxp_device_unregister();
	rxp_proc_exit();
	destroy_workqueue(rxp_wq);
	rxp_server_exit();
	rxp_io_exit();
}

module_init(rxp_init);
module_exit(rxp_exit);
MODULE_DESCRIPTION("rdmafs transport: RPCs over RDMA verbs");
MODULE_LICENSE("GPL");
