// SPDX-License-Identifier: GPL-2.0
/*
 * The administrator's interface: exports, below /sys/kernel/config/rdmafs/exports:
 *
 *	LABEL/name	the name by which clients mount it; LABEL unless set
 *	LABEL/path	the directory
 *	LABEL/id	names the export in handles; crc32 of LABEL unless set
 *	LABEL/secret	signs handles, 64 hex digits, readable by root only; random unless
 *			set
 *	LABEL/read_only	0 or 1
 *	LABEL/devices	1: clients may make device nodes there
 *	LABEL/xattrs	user: user. attributes and ACLs; all: also trusted. and security.
 *	LABEL/security_label 1: clients are told security labels, and may set them
 *	LABEL/squash	none, root or all
 *	LABEL/anonuid	the user that squashed callers become
 *	LABEL/anongid	the group that squashed callers become
 *	LABEL/mountpoint 1: don't enable the export if nothing is mounted there
 *	LABEL/crossmnt	1: clients may cross into file systems that are mounted below it, and into
 *			subvolumes of btrfs
 *	LABEL/crossed	how many of these are in use; if it is written those are let go that are not
 *			used now, so that they can be unmounted
 *	LABEL/grace_s	for so many seconds after the start clients take again the locks that they
 *			had before, and no others are granted
 *	LABEL/grace	read-only: how many clients are waited for so, and for how many seconds yet
 *	LABEL/enable	1 starts the export; 0 ends it: once no request is at work in it, the
 *			files that clients have open are closed; clients then wait until it is 1
 *			again (EBUSY before it has ended), or LABEL is removed
 *
 * An enabled export's other attributes can't be written (EBUSY).  Removing a directory ends the
 * export.  To end an export waits for its file system for a second at most: configfs lets no other
 * task make or remove anything meanwhile.  To enable one does wait for its file system.  Handles
 * survive a restart if id and secret are set to what they were; rdmafsctl saves them.
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
#include "server.h"
#include "grace.h"

#define RDMAFSD_ANON_ID	65534	/* "nobody" */

/**
 * struct rdmafsd_cfg - an export as it is configured, live or not
 * @item:  its directory; owns this memory
 * @known: tells the rest of the server that there is this export
 * @lock:  guards the rest; some fields of @p are also read without it
 * @p:     its settings
 * @path:  path of its root, or NULL; not looked up before the export is enabled
 * @live:  the export while it is enabled, a reference
 * @ran:   it was enabled before, with the next two
 * @squash: @p.squash then
 * @read_only: @p.read_only then
 */
struct rdmafsd_cfg {
	struct config_item item;
	struct rdmafsd_known known;
	struct mutex lock;	/* @p, @path, @live */
	struct rdmafsd_export_params p;
	char *path;
	struct rdmafsd_export *live;
	bool ran;
	enum rdmafsd_squash squash;
	bool read_only;
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

static ssize_t rdmafsd_cfg_security_label_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_cfg(item)->p.seclabel));
}

static ssize_t rdmafsd_cfg_security_label_store(struct config_item *item, const char *page,
						size_t count)
{
	return rdmafsd_cfg_bool_store(to_cfg(item), page, count, &to_cfg(item)->p.seclabel);
}

static ssize_t rdmafsd_cfg_mountpoint_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_cfg(item)->p.mountpoint));
}

static ssize_t rdmafsd_cfg_mountpoint_store(struct config_item *item, const char *page,
					    size_t count)
{
	return rdmafsd_cfg_bool_store(to_cfg(item), page, count, &to_cfg(item)->p.mountpoint);
}

static ssize_t rdmafsd_cfg_crossmnt_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", READ_ONCE(to_cfg(item)->p.crossmnt));
}

static ssize_t rdmafsd_cfg_crossmnt_store(struct config_item *item, const char *page, size_t count)
{
	return rdmafsd_cfg_bool_store(to_cfg(item), page, count, &to_cfg(item)->p.crossmnt);
}

static ssize_t rdmafsd_cfg_crossed_show(struct config_item *item, char *page)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	int nr;

	mutex_lock(&cfg->lock);
	nr = cfg->live ? atomic_read(&cfg->live->nr_crossed) : 0;
	mutex_unlock(&cfg->lock);
	return sysfs_emit(page, "%d\n", nr);
}

static ssize_t rdmafsd_cfg_crossed_store(struct config_item *item, const char *page, size_t count)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	unsigned int nr;
	int err;

	err = kstrtouint(page, 0, &nr);
	if (!err && nr)
		err = -EINVAL;
	if (err)
		return err;
	mutex_lock(&cfg->lock);
	if (cfg->live)
		rdmafsd_crossed_drop(cfg->live);
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

static ssize_t rdmafsd_cfg_grace_s_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%u\n", READ_ONCE(to_cfg(item)->p.grace_s));
}

static ssize_t rdmafsd_cfg_grace_s_store(struct config_item *item, const char *page, size_t count)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	u32 seconds;
	int err;

	err = kstrtou32(page, 0, &seconds);
	if (!err && seconds > RDMAFSD_GRACE_MAX)
		err = -EINVAL;
	if (!err)
		err = rdmafsd_cfg_lock_off(cfg);
	if (err)
		return err;
	WRITE_ONCE(cfg->p.grace_s, seconds);
	mutex_unlock(&cfg->lock);
	return count;
}

static ssize_t rdmafsd_cfg_grace_show(struct config_item *item, char *page)
{
	struct rdmafsd_cfg *cfg = to_cfg(item);
	ssize_t len;

	mutex_lock(&cfg->lock);
	len = rdmafsd_grace_show(cfg->live, page);
	mutex_unlock(&cfg->lock);
	return len;
}

static ssize_t rdmafsd_cfg_enable_show(struct config_item *item, char *page)
{
	return sysfs_emit(page, "%d\n", !!READ_ONCE(to_cfg(item)->live));
}

/*
 * Clients that use nothing of the export at present have not noticed that it was off, and believe
 * what they were told when they mounted it.
 */
static void rdmafsd_cfg_tell(struct rdmafsd_cfg *cfg)
{
	lockdep_assert_held(&cfg->lock);
	if (cfg->ran && (cfg->squash != cfg->p.squash || cfg->read_only != cfg->p.read_only))
		rdmafsd_sessions_ring();
	cfg->ran = true;
	cfg->squash = cfg->p.squash;
	cfg->read_only = cfg->p.read_only;
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
	if (rdmafsd_known_take_note_lost(&cfg->known))
		cfg->p.unknown = true;
	exp = rdmafsd_export_start(&cfg->p, cfg->path);
	if (IS_ERR(exp))
		return PTR_ERR(exp);
	/*
	 * Until the export was live, notes of opens in it could give way: those opens are
	 * unknown now.
	 */
	if (rdmafsd_known_take_note_lost(&cfg->known))
		WRITE_ONCE(exp->unknown, true);
	WRITE_ONCE(cfg->live, exp);
	rdmafsd_cfg_tell(cfg);
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
CONFIGFS_ATTR(rdmafsd_cfg_, security_label);
CONFIGFS_ATTR(rdmafsd_cfg_, squash);
CONFIGFS_ATTR(rdmafsd_cfg_, anonuid);
CONFIGFS_ATTR(rdmafsd_cfg_, anongid);
CONFIGFS_ATTR(rdmafsd_cfg_, mountpoint);
CONFIGFS_ATTR(rdmafsd_cfg_, crossmnt);
CONFIGFS_ATTR(rdmafsd_cfg_, crossed);
CONFIGFS_ATTR(rdmafsd_cfg_, grace_s);
CONFIGFS_ATTR_RO(rdmafsd_cfg_, grace);
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
	&rdmafsd_cfg_attr_security_label,
	&rdmafsd_cfg_attr_squash,
	&rdmafsd_cfg_attr_anonuid,
	&rdmafsd_cfg_attr_anongid,
	&rdmafsd_cfg_attr_mountpoint,
	&rdmafsd_cfg_attr_crossmnt,
	&rdmafsd_cfg_attr_crossed,
	&rdmafsd_cfg_attr_grace_s,
	&rdmafsd_cfg_attr_grace,
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
	cfg->p.grace_s = RDMAFSD_GRACE_USUAL;
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

/* The directory of exports. */
const struct config_item_type rdmafsd_exports_type = {
	.ct_owner = THIS_MODULE,
	.ct_group_ops = &rdmafsd_exports_ops,
};
