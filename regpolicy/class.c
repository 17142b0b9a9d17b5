// SPDX-License-Identifier: GPL-2.0
/*
 * The few sizes in which MRs are made.
 *
 * Few, so that an idle MR fits the next I/O; not one, so that a 64 KiB read
 * does not take the translations of a megabyte.  A device whose MRs hold less
 * than a class wants (siw: 256) has that class cut to its limit: a transfer
 * that no longer fits is split by whoever submits it.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/minmax.h>
#include "regpolicy/regpolicy.h"

static const u32 class_entries[RPOL_NR_CLASSES] = {
	8, 33, 129, RPOL_CLASS_USUAL, 513, RPOL_CLASS_MAX
};

/**
 * rpol_class_entries - what an MR of a class holds, and is charged
 * @class: 0..RPOL_NR_CLASSES - 1
 * @device_max: entries that one MR of the device can hold
 *
 * Return: entries, 0 if there is no such class.
 */
u32 rpol_class_entries(unsigned int class, u32 device_max)
{
	if (class >= RPOL_NR_CLASSES)
		return 0;
	return min(class_entries[class], device_max);
}
EXPORT_SYMBOL_GPL(rpol_class_entries);

/**
 * rpol_class_for - the smallest class for a transfer
 * @entries: translations that the transfer takes
 * @device_max: entries that one MR of the device can hold
 *
 * Return: the class; -EINVAL for no entries; -E2BIG if not even the largest
 * class of this device holds them.
 */
int rpol_class_for(u32 entries, u32 device_max)
{
	int class;

	if (!entries)
		return -EINVAL;
	for (class = 0; class < RPOL_NR_CLASSES; class++)
		if (entries <= rpol_class_entries(class, device_max))
			return class;
	return -E2BIG;
}
EXPORT_SYMBOL_GPL(rpol_class_for);
