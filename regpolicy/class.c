// SPDX-License-Identifier: GPL-2.0
/*
 * The few sizes in which MRs are made.
 *
 * There are few sizes, so that an idle MR fits the next I/O, and more than one, so
 * that a read of 64 KiB does not take the translations of a megabyte.  If the MRs of a
 * device hold less than a class wants (siw: 256), the class is cut to the device's
 * limit, and the submitter of a transfer that does not fit any more splits it.
 *
 * A device has a limited number of MRs as well as of entries, but the policy shares
 * out entries only.  So an MR that holds fewer entries than its equal part of the
 * capacity is charged that part: then the entries run out before the MRs do.
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
 * rpol_class_entries - look up the entries that an MR of a class holds
 * @class: 0..RPOL_NR_CLASSES - 1
 * @device_max: entries that one MR of the device can hold
 *
 * Context: any.
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
 * rpol_class_charge - compute the entries that an MR of a class is charged
 * @class: 0..RPOL_NR_CLASSES - 1
 * @device_max: entries that one MR of the device can hold
 * @least: entries that each MR of the device is charged at least
 *
 * Context: any.
 * Return: entries, 0 if there is no such class.
 */
u32 rpol_class_charge(unsigned int class, u32 device_max, u32 least)
{
	u32 entries = rpol_class_entries(class, device_max);

	return entries ? max(entries, least) : 0;
}
EXPORT_SYMBOL_GPL(rpol_class_charge);

/**
 * rpol_capacity_for - choose the capacity of a device by its number of MRs
 * @mrs: number of MRs that may be made on the device, at least 1
 * @device_max: entries that one MR of the device can hold
 * @most: capacity of a device that has enough MRs
 * @least: out: entries that each MR must be charged at least
 *
 * With few MRs the capacity is what they would hold if all were of the class for
 * 128 KiB.  If the capacity were what they can hold at most, the smallest MR would be
 * charged as much as the largest.
 *
 * Context: any.
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
 * rpol_class_for - find the smallest class for a transfer
 * @entries: translations that the transfer takes
 * @device_max: entries that one MR of the device can hold
 *
 * Context: any.
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
