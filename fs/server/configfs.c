// SPDX-License-Identifier: GPL-2.0
/*
 * The administrator's interface, at /sys/kernel/config/rdmafs:
 *
 *	exports/LABEL	an export (configfs_export.c)
 *	ports/NUMBER	a port that the server listens on (configfs_port.c)
 *	ending		the ids of exports that have not ended yet
 *	opens		opens of all clients
 *	max_opens	files that all clients may have open, and more limits, which may be written
 *			at any time
 *
 * configfs holds a reference to the module for each directory.
 */
#include <linux/configfs.h>
#include <linux/kstrtox.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include "server.h"

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
