// SPDX-License-Identifier: GPL-2.0
/*
 * The administrator's interface, at /sys/kernel/config/rdmafs:
 *
 *	exports/LABEL/name	the name by which clients mount it; LABEL unless set
 *	exports/LABEL/path	the directory
 *	exports/LABEL/id	names the export in handles; crc32 of LABEL unless set
 *	exports/LABEL/secret	signs handles, 64 hex digits, readable by root only;
 *				random unless set
 *	exports/LABEL/read_only	0 or 1
 *	exports/LABEL/devices	1: clients may make device nodes there
 *	exports/LABEL/xattrs	user: user. attributes and ACLs; all: also trusted.
 *				and security.
 *	exports/LABEL/squash	none, root or all
 *	exports/LABEL/anonuid	the user that squashed callers become
 *	exports/LABEL/anongid	the group that squashed callers become
 *	exports/LABEL/mountpoint 1: don't enable the export if nothing is mounted there
 *	exports/LABEL/enable	1 starts the export; 0 ends it: once no request is at
 *				work in it, the files that clients have open are
 *				closed; clients then wait until it is 1 again (EBUSY
 *				before it has ended), or LABEL is removed
 *	ending			the ids of exports that have not ended yet
 *	opens			opens of all clients
 *	ports/NUMBER/enable	1 listens there, on all addresses
 *	ports/NUMBER/max_connections	of all clients together, and more limits
 *	max_opens		files that all clients may have open, and more limits
 *
 * Limits may be written at any time.  An enabled export's other attributes can't be written
 * (EBUSY).  Removing a directory ends the export.  To end an export waits for its file system
 * for a second at most: configfs lets no other task make or remove anything meanwhile.  To
 * enable one does wait for its file system.  Handles survive a restart if id and secret are set
 * to what they were; rdmafsctl saves them.
 *
 * configfs holds a reference to the module for each directory.
 */
#define pr_fmt(fmt) "rdmafsd: " fmt

#include <linux/configfs.h>
#include <linux/crc32.h>
#include <linux/hex.h>
#include <linux/kstrtox.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include "server.h"

#define RDMAFSD_ANON_ID	65534	/* "nobody" */

/**
 * struct rdmafsd_cfg - an export as it is configured, live or not
 * @item:  its directory; owns this memory
 * @known: tells the rest of the server that there is this export
 * @lock:  guards the rest; some fields of @p are also read without it
 * @p:     its settings
 * @path:  path of its root, or NULL; not looked up before the export is enabled
 * @live:  the export while it is enabled, a reference
 */
struct rdmafsd_cfg {
	struct config_item item;
	struct rdmafsd_known known;
	struct mutex lock;	/* @p, @path, @live */
	struct rdmafsd_export_params p;
	char *path;
	struct rdmafsd_export *live;
};

static struct rdmafsd_cfg *to_cfg(struct config_item *item)
{
	return container_of(item, struct rdmafsd_cfg, item);
}

/* Take the lock of an export that is not enabled; -EBUSY, without the lock, if it is enabled. */
static int rdmafsd_cfg_lock_off(struct rdmafsd_cfg *cfg)
{
	mutex_lock(&cfg->lock);
	if (!cfg->live)
		return 0;
	mutex_unlock(&cfg->lock);
	return -EBUSY;
}

static ssize_t rdmafsd_cfg_name_show(struct config_item *item, char *page)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	ssize_t len;

	mutex_lock(&cfg->lock);
	len = sysfs_emit(page, "%s\n", cfg->p.name);
	mutex_unlock(&cfg->lock);
	return len;
}

/* Copy a name without the newline that echo adds and without the slashes at both ends. */
static int rdmafsd_name_trim(char *to, const char *from, size_t len)
{
	while (len && (from[len - 1] == '\n' || from[len - 1] == '/'))
		len--;
	while (len && *from == '/') {
		from++;
		len--;
	}
	if (!len || memchr(from, '\0', len) || memchr(from, '\n', len))
		return -EINVAL;
	if (len > RFP_EXPORT_NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(to, from, len);
	to[len] = '\0';
	return 0;
}

static ssize_t rdmafsd_cfg_name_store(struct config_item *item, const char *page, size_t count)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	char name[RFP_EXPORT_NAME_MAX + 1];
	int err;

	err = rdmafsd_name_trim(name, page, count);
	if (!err)
		err = rdmafsd_cfg_lock_off(cfg);
	if (err)
		return err;
	strscpy(cfg->p.name, name);
	mutex_unlock(&cfg->lock);
	return count;
}

static ssize_t rdmafsd_cfg_path_show(struct config_item *item, char *page)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	ssize_t len;

	mutex_lock(&cfg->lock);
	len = sysfs_emit(page, "%s\n", cfg->path ? cfg->path : "");
	mutex_unlock(&cfg->lock);
	return len;
}

static ssize_t rdmafsd_cfg_path_store(struct config_item *item, const char *page, size_t count)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	size_t len = count;
	char *path;
	int err;

	if (len && page[len - 1] == '\n')
		len--;
	if (!len || page[0] != '/' || memchr(page, '\0', len))
		return -EINVAL;
	if (len >= PATH_MAX)
		return -ENAMETOOLONG;
	path = kmemdup_nul(page, len, GFP_KERNEL);
	if (!path)
		return -ENOMEM;
	err = rdmafsd_cfg_lock_off(cfg);
	if (err) {
		kfree(path);
		return err;
	}
	swap(cfg->path, path);
	mutex_unlock(&cfg->lock);
	kfree(path);
	return count;
}

static ssize_t rdmafsd_cfg_id_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(to_cfg(item)->p.id));
}

static ssize_t rdmafsd_cfg_id_store(struct config_item *item, const char *page, size_t count)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	u32 id;
	int err;

	err = kstrtou32(page, 0, &id);
	if (!err && !id)
		err = -EINVAL;
	if (!err)
		err = rdmafsd_cfg_lock_off(cfg);
	if (err)
		return err;
	WRITE_ONCE(cfg->p.id, id);
	rdmafsd_known_change(&cfg->known, id);
	mutex_unlock(&cfg->lock);
	return count;
}

static ssize_t rdmafsd_cfg_secret_show(struct config_item *item, char *page)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	char *end;

	mutex_lock(&cfg->lock);
	end = bin2hex(page, cfg->p.secret, RDMAFSD_SECRET_LEN);
	mutex_unlock(&cfg->lock);
	*end++ = '\n';
	return end - page;
}

static ssize_t rdmafsd_cfg_secret_store(struct config_item *item, const char *page, size_t count)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	u8 secret[RDMAFSD_SECRET_LEN];
	size_t len = count;
	int err;

	if (len && page[len - 1] == '\n')
		len--;
	if (len != 2 * RDMAFSD_SECRET_LEN || hex2bin(secret, page, RDMAFSD_SECRET_LEN))
		return -EINVAL;
	err = rdmafsd_cfg_lock_off(cfg);
	if (!err) {
		memcpy(cfg->p.secret, secret, sizeof(secret));
		cfg->p.unknown = true;
		mutex_unlock(&cfg->lock);
	}
	memzero_explicit(secret, sizeof(secret));
	return err ? err : count;
}

/* Set a boolean of an export that is not enabled. */
static ssize_t rdmafsd_cfg_bool_store(struct rdmafsd_cfg *cfg, const char *page, size_t count,
				      bool *to)
{
	bool on;
	int err;

	err = kstrtobool(page, &on);
	if (!err)
		err = rdmafsd_cfg_lock_off(cfg);
	if (err)
		return err;
	WRITE_ONCE(*to, on);
	mutex_unlock(&cfg->lock);
	return count;
}

static ssize_t rdmafsd_cfg_read_only_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_cfg(item)->p.read_only));
}

static ssize_t rdmafsd_cfg_read_only_store(struct config_item *item, const char *page,
					   size_t count)
{
	return rdmafsd_cfg_bool_store(to_cfg(item), page, count, &to_cfg(item)->p.read_only);
}

static ssize_t rdmafsd_cfg_devices_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_cfg(item)->p.devices));
}

static ssize_t rdmafsd_cfg_devices_store(struct config_item *item, const char *page, size_t count)
{
	return rdmafsd_cfg_bool_store(to_cfg(item), page, count, &to_cfg(item)->p.devices);
}

static const char * const rdmafsd_xattrs_names[] = { "user", "all" };

static ssize_t rdmafsd_cfg_xattrs_show(struct config_item *item, char *page)
{
	bool all = READ_ONCE(to_cfg(item)->p.all_xattrs);

	return sysfs_emit(page, "%s\n", rdmafsd_xattrs_names[all]);
}

static ssize_t rdmafsd_cfg_xattrs_store(struct config_item *item, const char *page, size_t count)
{
	int all = sysfs_match_string(rdmafsd_xattrs_names, page);
	struct rdmafsd_cfg *cfg = to_cfg(item);
	int err;

	if (all < 0)
		return all;
	err = rdmafsd_cfg_lock_off(cfg);
	if (err)
		return err;
	WRITE_ONCE(cfg->p.all_xattrs, all);
	mutex_unlock(&cfg->lock);
	return count;
}

static ssize_t rdmafsd_cfg_mountpoint_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_cfg(item)->p.mountpoint));
}

static ssize_t rdmafsd_cfg_mountpoint_store(struct config_item *item, const char *page,
					    size_t count)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	bool on;
	int err;

	err = kstrtobool(page, &on);
	if (!err)
		err = rdmafsd_cfg_lock_off(cfg);
	if (err)
		return err;
	WRITE_ONCE(cfg->p.mountpoint, on);
	mutex_unlock(&cfg->lock);
	return count;
}

static const char * const rdmafsd_squash_names[] = {
	[RDMAFSD_SQUASH_NONE] = "none",
	[RDMAFSD_SQUASH_ROOT] = "root",
	[RDMAFSD_SQUASH_ALL] = "all",
};

static ssize_t rdmafsd_cfg_squash_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%s\n", rdmafsd_squash_names[READ_ONCE(to_cfg(item)->p.squash)]);
}

static ssize_t rdmafsd_cfg_squash_store(struct config_item *item, const char *page, size_t count)
{
	int squash = sysfs_match_string(rdmafsd_squash_names, page);
	struct rdmafsd_cfg *cfg = to_cfg(item);
	int err;

	if (squash < 0)
		return squash;
	err = rdmafsd_cfg_lock_off(cfg);
	if (err)
		return err;
	WRITE_ONCE(cfg->p.squash, squash);
	mutex_unlock(&cfg->lock);
	return count;
}

static ssize_t rdmafsd_cfg_anonuid_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", from_kuid(&init_user_ns, to_cfg(item)->p.anonuid));
}

static ssize_t rdmafsd_cfg_anonuid_store(struct config_item *item, const char *page, size_t count)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	kuid_t uid;
	u32 id;
	int err;

	err = kstrtou32(page, 0, &id);
	if (err)
		return err;
	uid = make_kuid(&init_user_ns, id);
	if (!uid_valid(uid))
		return -EINVAL;
	err = rdmafsd_cfg_lock_off(cfg);
	if (err)
		return err;
	cfg->p.anonuid = uid;
	mutex_unlock(&cfg->lock);
	return count;
}

static ssize_t rdmafsd_cfg_anongid_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", from_kgid(&init_user_ns, to_cfg(item)->p.anongid));
}

static ssize_t rdmafsd_cfg_anongid_store(struct config_item *item, const char *page, size_t count)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	kgid_t gid;
	u32 id;
	int err;

	err = kstrtou32(page, 0, &id);
	if (err)
		return err;
	gid = make_kgid(&init_user_ns, id);
	if (!gid_valid(gid))
		return -EINVAL;
	err = rdmafsd_cfg_lock_off(cfg);
	if (err)
		return err;
	cfg->p.anongid = gid;
	mutex_unlock(&cfg->lock);
	return count;
}

static ssize_t rdmafsd_cfg_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", !!READ_ONCE(to_cfg(item)->live));
}

static int rdmafsd_cfg_start(struct rdmafsd_cfg *cfg)
{
	struct rdmafsd_export *exp;

	lockdep_assert_held(&cfg->lock);
	if (cfg->live)
		return 0;
	if (!cfg->path) {
		pr_err("%s: set a path before enabling the export\n", cfg->p.name);
		return -EINVAL;
	}
	if (rdmafsd_known_unknown(&cfg->known))
		cfg->p.unknown = true;
	exp = rdmafsd_export_start(&cfg->p, cfg->path);
	if (IS_ERR(exp))
		return PTR_ERR(exp);
	/*
	 * Until the export was live, notes of opens in it could give way: those opens are
	 * unknown now.
	 */
	if (rdmafsd_known_unknown(&cfg->known))
		WRITE_ONCE(exp->unknown, true);
	WRITE_ONCE(cfg->live, exp);
	return 0;
}

static void rdmafsd_cfg_end(struct rdmafsd_cfg *cfg)
{
	lockdep_assert_held(&cfg->lock);
	if (!cfg->live)
		return;
	/*
	 * If clients may yet come back for opens that the server does not know of, they have all
	 * of their time again after the next start.  Else there are none: all that is open is
	 * noted.
	 */
	cfg->p.unknown = rdmafsd_export_unknown(cfg->live);
	rdmafsd_export_end(cfg->live);
	WRITE_ONCE(cfg->live, NULL);
}

static ssize_t rdmafsd_cfg_enable_store(struct config_item *item, const char *page, size_t count)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	bool on;
	int err;

	err = kstrtobool(page, &on);
	if (err)
		return err;
	mutex_lock(&cfg->lock);
	if (on)
		err = rdmafsd_cfg_start(cfg);
	else
		rdmafsd_cfg_end(cfg);
	mutex_unlock(&cfg->lock);
	return err ? err : count;
}

CONFIGFS_ATTR(rdmafsd_cfg_, name);
CONFIGFS_ATTR(rdmafsd_cfg_, path);
CONFIGFS_ATTR(rdmafsd_cfg_, id);
CONFIGFS_ATTR(rdmafsd_cfg_, read_only);
CONFIGFS_ATTR(rdmafsd_cfg_, devices);
CONFIGFS_ATTR(rdmafsd_cfg_, xattrs);
CONFIGFS_ATTR(rdmafsd_cfg_, squash);
CONFIGFS_ATTR(rdmafsd_cfg_, anonuid);
CONFIGFS_ATTR(rdmafsd_cfg_, anongid);
CONFIGFS_ATTR(rdmafsd_cfg_, mountpoint);
CONFIGFS_ATTR(rdmafsd_cfg_, enable);

/* A process that can read it can make handles to every file of the file system. */
static struct configfs_attribute rdmafsd_cfg_attr_secret = {
	.ca_name = "secret",
	.ca_mode = 0600,
	.ca_owner = THIS_MODULE,
	.show = rdmafsd_cfg_secret_show,
	.store = rdmafsd_cfg_secret_store,
};

static struct configfs_attribute *rdmafsd_cfg_attrs[] = {
	&rdmafsd_cfg_attr_name,
	&rdmafsd_cfg_attr_path,
	&rdmafsd_cfg_attr_id,
	&rdmafsd_cfg_attr_secret,
	&rdmafsd_cfg_attr_read_only,
	&rdmafsd_cfg_attr_devices,
	&rdmafsd_cfg_attr_xattrs,
	&rdmafsd_cfg_attr_squash,
	&rdmafsd_cfg_attr_anonuid,
	&rdmafsd_cfg_attr_anongid,
	&rdmafsd_cfg_attr_mountpoint,
	&rdmafsd_cfg_attr_enable,
	NULL,
};

static void rdmafsd_cfg_release(struct config_item *item)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);

	mutex_destroy(&cfg->lock);
	kfree(cfg->path);
	kfree_sensitive(cfg);
}

static struct configfs_item_operations rdmafsd_cfg_ops = {
	.release = rdmafsd_cfg_release,
};

static const struct config_item_type rdmafsd_cfg_type = {
	.ct_owner = THIS_MODULE,
	.ct_item_ops = &rdmafsd_cfg_ops,
	.ct_attrs = rdmafsd_cfg_attrs,
};

static u32 rdmafsd_default_id(const char *label)
{
	u32 crc = ~crc32_le(~0U, (const u8 *)label, strlen(label));

	return crc ? crc : 1;
}

static struct config_item *rdmafsd_exports_make(struct config_group *group, const char *label)
{
	struct rdmafsd_cfg *cfg;

	if (strlen(label) > RFP_EXPORT_NAME_MAX)
		return ERR_PTR(-ENAMETOOLONG);
	cfg = kzalloc(sizeof(*cfg), GFP_KERNEL);
	if (!cfg)
		return ERR_PTR(-ENOMEM);
	mutex_init(&cfg->lock);
	strscpy(cfg->p.name, label);
	cfg->p.id = rdmafsd_default_id(label);
	get_random_bytes(cfg->p.secret, sizeof(cfg->p.secret));
	cfg->p.squash = RDMAFSD_SQUASH_ROOT;
	cfg->p.anonuid = KUIDT_INIT(RDMAFSD_ANON_ID);
	cfg->p.anongid = KGIDT_INIT(RDMAFSD_ANON_ID);
	config_item_init_type_name(&cfg->item, label, &rdmafsd_cfg_type);
	rdmafsd_known_add(&cfg->known, cfg->p.id);
	return &cfg->item;
}

static void rdmafsd_exports_drop(struct config_group *group, struct config_item *item)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);

	/* This comes first: from now on clients are told that the export will not come back. */
	rdmafsd_known_remove(&cfg->known);
	mutex_lock(&cfg->lock);
	rdmafsd_cfg_end(cfg);
	mutex_unlock(&cfg->lock);
	config_item_put(item);
}

static struct configfs_group_operations rdmafsd_exports_ops = {
	.make_item = rdmafsd_exports_make,
	.drop_item = rdmafsd_exports_drop,
};

static const struct config_item_type rdmafsd_exports_type = {
	.ct_owner = THIS_MODULE,
	.ct_group_ops = &rdmafsd_exports_ops,
};

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
	server = rdmafs_xprt_listen(&init_net, port->port, &rdmafsd_service, NULL, &port->limits);
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

static const struct config_item_type rdmafsd_ports_type = {
	.ct_owner = THIS_MODULE,
	.ct_group_ops = &rdmafsd_ports_ops,
};

static ssize_t rdmafsd_root_opens_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", rdmafsd_opens_now());
}

static ssize_t rdmafsd_root_limit_store(const char *page, size_t count, u32 *limit, u32 least,
					u32 most)
{
	u32 value;
	int err;

	err = kstrtou32(page, 0, &value);
	if (err)
		return err;
	if (value < least || value > most)
		return -ERANGE;
	WRITE_ONCE(*limit, value);
	return count;
}

static ssize_t rdmafsd_root_max_opens_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(rdmafsd_opens_limits.all));
}

static ssize_t rdmafsd_root_max_opens_store(struct config_item *item, const char *page,
					    size_t count)
{
	return rdmafsd_root_limit_store(page, count, &rdmafsd_opens_limits.all, 1, INT_MAX / 2);
}

static ssize_t rdmafsd_root_max_opens_client_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(rdmafsd_opens_limits.client));
}

static ssize_t rdmafsd_root_max_opens_client_store(struct config_item *item, const char *page,
						   size_t count)
{
	return rdmafsd_root_limit_store(page, count, &rdmafsd_opens_limits.client, 1, INT_MAX / 2);
}

static ssize_t rdmafsd_root_max_credentials_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(rdmafsd_idents_max));
}

static ssize_t rdmafsd_root_max_credentials_store(struct config_item *item, const char *page,
						  size_t count)
{
	return rdmafsd_root_limit_store(page, count, &rdmafsd_idents_max, RDMAFSD_IDENTS_LEAST,
					1 << 20);
}

static ssize_t rdmafsd_root_ending_show(struct config_item *item, char *page)
{
	return rdmafsd_exports_ending(page);
}

CONFIGFS_ATTR_RO(rdmafsd_root_, ending);
CONFIGFS_ATTR_RO(rdmafsd_root_, opens);
CONFIGFS_ATTR(rdmafsd_root_, max_opens);
CONFIGFS_ATTR(rdmafsd_root_, max_opens_client);
CONFIGFS_ATTR(rdmafsd_root_, max_credentials);

static struct configfs_attribute *rdmafsd_root_attrs[] = {
	&rdmafsd_root_attr_ending,
	&rdmafsd_root_attr_opens,
	&rdmafsd_root_attr_max_opens,
	&rdmafsd_root_attr_max_opens_client,
	&rdmafsd_root_attr_max_credentials,
	NULL,
};

static const struct config_item_type rdmafsd_root_type = {
	.ct_owner = THIS_MODULE,
	.ct_attrs = rdmafsd_root_attrs,
};

static struct config_group rdmafsd_exports_group;
static struct config_group rdmafsd_ports_group;

static struct configfs_subsystem rdmafsd_subsys = {
	.su_group = {
		.cg_item = {
			.ci_namebuf = "rdmafs",
			.ci_type = &rdmafsd_root_type,
		},
	},
};

/**
 * rdmafsd_configfs_init - make the server's directories in configfs
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno of configfs_register_subsystem().
 */
int rdmafsd_configfs_init(void)
{
	config_group_init(&rdmafsd_subsys.su_group);
	mutex_init(&rdmafsd_subsys.su_mutex);
	config_group_init_type_name(&rdmafsd_exports_group, "exports", &rdmafsd_exports_type);
	configfs_add_default_group(&rdmafsd_exports_group, &rdmafsd_subsys.su_group);
	config_group_init_type_name(&rdmafsd_ports_group, "ports", &rdmafsd_ports_type);
	configfs_add_default_group(&rdmafsd_ports_group, &rdmafsd_subsys.su_group);
	return configfs_register_subsystem(&rdmafsd_subsys);
}

/**
 * rdmafsd_configfs_exit - remove the server's directories, which have no items left
 *
 * Context: process, may sleep.
 */
void rdmafsd_configfs_exit(void)
{
	configfs_unregister_subsystem(&rdmafsd_subsys);
}
