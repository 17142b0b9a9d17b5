// SPDX-License-Identifier: GPL-2.0
/*
 * The few sizes in which MRs are made.
 *
 * Few, so that an idle MR fits the next I/O; not one, so that a 64 KiB read
 * does not take the translations of a megabyte.  A device whose MRs hold less
 * than a class wants (siw: 256) has that class cut to its limit: a transfer
 * that no longer fits is split by whoever submits it.
 *
 * A device has so many MRs, as well as so many entries.  Only entries are shared out, so
 * an MR is charged what its part of all of them would be, if it holds less: then the
 * entries are gone before the MRs are.
 */
#include <linux/errno.h>
#include <linux/export.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include "regpolicy/regpolicy.h"

static const u32 class_entries[RPOL_NR_CLASSES] = {
	8, 33, 129, RPOL_CLASS_USUAL, 513, RPOL_CLASS_MAX
};

/**
 * rpol_class_entries - what an MR of a class holds
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
 * rpol_class_charge - what an MR of a class is charged
 * @class: 0..RPOL_NR_CLASSES - 1
 * @device_max: entries that one MR of the device can hold
 * @least: what each of its MRs is charged at least
 *
 * Return: entries, 0 if there is no such class.
 */
u32 rpol_class_charge(unsigned int class, u32 device_max, u32 least)
{
	u32 entries = rpol_class_entries(class, device_max);

	return entries ? max(entries, least) : 0;
}
EXPORT_SYMBOL_GPL(rpol_class_charge);

/**
 * rpol_capacity_for - what a device with so many MRs is to be taken for
 * @mrs: that may be made there, at least 1
 * @device_max: entries that one of them can hold
 * @most: capacity of one that has enough
 * @least: out: what each MR must be charged at least
 *
 * With few MRs the capacity is such that each is one of the class for 128 KiB: to make
 * it as large as they could hold together would have the smallest one cost as much as
 * the largest.
 *
 * Return: the capacity, RPOL_CAPACITY_MIN..@most.
 */
u64 rpol_capacity_for(u64 mrs, u32 device_max, u64 most, u32 *least)
{
	u64 capacity = clamp_t(u64, mrs * rpol_class_entries(1, device_max), RPOL_CAPACITY_MIN,
			       most);

	*least = div64_u64(capacity + mrs - 1, mrs);
	return capacity;
}
EXPORT_SYMBOL_GPL(rpol_capacity_for);

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
