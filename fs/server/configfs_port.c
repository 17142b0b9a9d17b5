// SPDX-License-Identifier: GPL-2.0
/*
 * The administrator's interface: ports, below /sys/kernel/config/rdmafs/ports:
 *
 *	NUMBER/enable	1 listens there, on all addresses of the writer's network namespace
 *	NUMBER/max_connections	of all clients together, and more limits
 *
 * Limits may be written at any time.
 */
#define pr_fmt(fmt) "rdmafsd: " fmt

#include <linux/configfs.h>
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "server.h"

/**
 * struct rdmafsd_port - a port to listen on
 * @item:   its directory; owns this memory
 * @lock:   guards @limits and @server
 * @port:   its number; constant
 * @limits: what its clients are allowed; also read without @lock
 * @server: transport's server while the port is enabled, else NULL
 */
struct rdmafsd_port {
	struct config_item item;
	struct mutex lock;	/* @limits, @server */
	u16 port;
	struct rdmafs_xprt_limits limits;
	struct rdmafs_xprt_server *server;
};

static struct rdmafsd_port *to_port(struct config_item *item)
{
	return container_of(item, struct rdmafsd_port, item);
}

static ssize_t rdmafsd_port_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", !!READ_ONCE(to_port(item)->server));
}

static int rdmafsd_port_start(struct rdmafsd_port *port)
{
	struct rdmafs_xprt_server *server;

	lockdep_assert_held(&port->lock);
	if (port->server)
		return 0;
	/* The server keeps the namespace until it ends. */
	server = rdmafs_xprt_listen(current->nsproxy->net_ns, port->port, &rdmafsd_service, NULL,
				    &port->limits);
	if (IS_ERR(server)) {
		pr_err("can't listen on port %u (%ld)\n", port->port, PTR_ERR(server));
		return PTR_ERR(server);
	}
	WRITE_ONCE(port->server, server);
	return 0;
}

static void rdmafsd_port_stop(struct rdmafsd_port *port)
{
	lockdep_assert_held(&port->lock);
	if (!port->server)
		return;
	rdmafs_xprt_unlisten(port->server);
	WRITE_ONCE(port->server, NULL);
}

static ssize_t rdmafsd_port_enable_store(struct config_item *item, const char *page, size_t count)
{
	struct rdmafsd_port *port = to_port(item);
	bool on;
	int err;

	err = kstrtobool(page, &on);
	if (err)
		return err;
	mutex_lock(&port->lock);
	if (on)
		err = rdmafsd_port_start(port);
	else
		rdmafsd_port_stop(port);
	mutex_unlock(&port->lock);
	return err ? err : count;
}

CONFIGFS_ATTR(rdmafsd_port_, enable);

/**
 * struct rdmafsd_limit - a field of struct rdmafs_xprt_limits as an attribute
 * @offset: offset of the field in the structure
 * @min:    the least value that may be written
 * @max:    the greatest value that may be written
 */
struct rdmafsd_limit {
	size_t offset;
	u32 min;
	u32 max;
};

static u32 *rdmafsd_limit_of(struct rdmafsd_port *port, const struct rdmafsd_limit *limit)
{
	return (void *)&port->limits + limit->offset;
}

static ssize_t rdmafsd_limit_show(struct rdmafsd_port *port, char *page,
				  const struct rdmafsd_limit *limit)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(*rdmafsd_limit_of(port, limit)));
}

static ssize_t rdmafsd_limit_store(struct rdmafsd_port *port, const char *page, size_t count,
				   const struct rdmafsd_limit *limit)
{
	u32 value;
	int err;

	err = kstrtou32(page, 0, &value);
	if (err)
		return err;
	if (value < limit->min || value > limit->max)
		return -ERANGE;
	mutex_lock(&port->lock);
	WRITE_ONCE(*rdmafsd_limit_of(port, limit), value);
	if (port->server)
		rdmafs_xprt_set_limits(port->server, &port->limits);
	mutex_unlock(&port->lock);
	return count;
}

#define RDMAFSD_LIMIT(name, least, most)						\
static const struct rdmafsd_limit rdmafsd_limit_##name = {				\
	.offset = offsetof(struct rdmafs_xprt_limits, name),				\
	.min = (least),									\
	.max = (most),									\
};											\
											\
static ssize_t rdmafsd_port_max_##name##_show(struct config_item *item, char *page)	\
{											\
	return rdmafsd_limit_show(to_port(item), page, &rdmafsd_limit_##name);		\
}											\
											\
static ssize_t rdmafsd_port_max_##name##_store(struct config_item *item,		\
					       const char *page, size_t count)		\
{											\
	return rdmafsd_limit_store(to_port(item), page, count, &rdmafsd_limit_##name);	\
}											\
											\
CONFIGFS_ATTR(rdmafsd_port_, max_##name)

/* One line for each limit here, and one in rdmafsd_port_attrs. */
RDMAFSD_LIMIT(connections, 1, 1 << 20);
RDMAFSD_LIMIT(client_connections, 1, 1 << 20);
RDMAFSD_LIMIT(unbound_connections, 1, 1 << 20);
RDMAFSD_LIMIT(unbound_ms, 100, 60000);
RDMAFSD_LIMIT(sessions, 1, 1 << 20);
RDMAFSD_LIMIT(client_sessions, 1, 1 << 20);
RDMAFSD_LIMIT(slots, RDMAFS_XPRT_SLOTS_MIN, RDMAFS_XPRT_SLOTS_MAX);
RDMAFSD_LIMIT(client_share, 1, 100);
RDMAFSD_LIMIT(ring_mib, 1, 1 << 24);
RDMAFSD_LIMIT(large_mib, 0, 1 << 24);
RDMAFSD_LIMIT(data_mib, 2 * RDMAFS_XPRT_DATA_MAX >> 20, 1 << 20);	/* half of it for grants */
RDMAFSD_LIMIT(data_total_mib, 4 * RDMAFS_XPRT_DATA_MAX >> 20, 1 << 24);	/* shares: a quarter */
RDMAFSD_LIMIT(held_ms, 100, 3600000);
RDMAFSD_LIMIT(threads, RDMAFS_XPRT_THREADS_MIN, RDMAFS_XPRT_THREADS_MAX);

static struct configfs_attribute *rdmafsd_port_attrs[] = {
	&rdmafsd_port_attr_enable,
	&rdmafsd_port_attr_max_connections,
	&rdmafsd_port_attr_max_client_connections,
	&rdmafsd_port_attr_max_unbound_connections,
	&rdmafsd_port_attr_max_unbound_ms,
	&rdmafsd_port_attr_max_sessions,
	&rdmafsd_port_attr_max_client_sessions,
	&rdmafsd_port_attr_max_slots,
	&rdmafsd_port_attr_max_client_share,
	&rdmafsd_port_attr_max_ring_mib,
	&rdmafsd_port_attr_max_large_mib,
	&rdmafsd_port_attr_max_data_mib,
	&rdmafsd_port_attr_max_data_total_mib,
	&rdmafsd_port_attr_max_held_ms,
	&rdmafsd_port_attr_max_threads,
	NULL,
};

static void rdmafsd_port_release(struct config_item *item)
{
	struct rdmafsd_port *port = to_port(item);

	mutex_destroy(&port->lock);
	kfree(port);
}

static struct configfs_item_operations rdmafsd_port_ops = {
	.release = rdmafsd_port_release,
};

static const struct config_item_type rdmafsd_port_type = {
	.ct_owner = THIS_MODULE,
	.ct_item_ops = &rdmafsd_port_ops,
	.ct_attrs = rdmafsd_port_attrs,
};

static struct config_item *rdmafsd_ports_make(struct config_group *group, const char *name)
{
	struct rdmafsd_port *port;
	char canon[8];
	u16 number;

	/* Each number has one directory: refuse other spellings, such as "020060". */
	if (kstrtou16(name, 10, &number) || !number)
		return ERR_PTR(-EINVAL);
	snprintf(canon, sizeof(canon), "%u", number);
	if (strcmp(canon, name))
		return ERR_PTR(-EINVAL);
	port = kzalloc(sizeof(*port), GFP_KERNEL);
	if (!port)
		return ERR_PTR(-ENOMEM);
	mutex_init(&port->lock);
	port->port = number;
	rdmafs_xprt_limits_default(&port->limits);
	config_item_init_type_name(&port->item, name, &rdmafsd_port_type);
	return &port->item;
}

static void rdmafsd_ports_drop(struct config_group *group, struct config_item *item)
{
	struct rdmafsd_port *port = to_port(item);

	mutex_lock(&port->lock);
	rdmafsd_port_stop(port);
	mutex_unlock(&port->lock);
	config_item_put(item);
}

static struct configfs_group_operations rdmafsd_ports_ops = {
	.make_item = rdmafsd_ports_make,
	.drop_item = rdmafsd_ports_drop,
};

/* The directory of ports. */
const struct config_item_type rdmafsd_ports_type = {
	.ct_owner = THIS_MODULE,
	.ct_group_ops = &rdmafsd_ports_ops,
};
