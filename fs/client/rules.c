// SPDX-License-Identifier: GPL-2.0
/*
 * What holds for an export: whether it is read-only, whom it maps to other users (RFP_EXPORT_*).
 *
 * The answer to the ATTACH or CROSS that a superblock was made of says so, and it stays so until
 * the export ends: the administrator changes settings of an export that is disabled.  So the server
 * is asked again whenever the export may have started anew: after an answer that says that it is
 * not served (OFFLINE), or that an open is unknown (BADSTATE); when the client is told to take its
 * locks again, or is rung for no other reason (EVENT, events.c); and after a new connection, as
 * with an older one a ring may have been lost.
 *
 * A file system below the mount has the settings of the export, but that it may be read-only by
 * itself: only a remount asks for that.
 *
 * Nobody waits for the answer, and a call that can't be sent at once is not sent: the next answer
 * from the export has it tried again.  A remount that depends on the answer asks by itself.
 *
 * What was kept by other rules is not used any more: answers about rights (access.c), and listings
 * (dir.c).  They have the number of the rules that they were kept by.
 */
#include "client.h"
#include "op.h"
#include "options.h"
#include "transport/points.h"

/* What is the same for the file systems below an export. */
#define RDMAFS_RULES_OF_ALL	(RFP_EXPORT_SQUASH | RFP_EXPORT_ROOT_SQUASH)

/* The server is asked no more often than this, in jiffies. */
#define RDMAFS_RULES_PAUSE	HZ

/* Make an ATTACH; or, with the handle of a directory, a CROSS from there. */
static struct rdmafs_op *rdmafs_rules_op(struct rdmafs_mount *mnt, const struct rfp_fh *over)
{
	struct rdmafs_op *op;

	op = rdmafs_op_new_cred(&mnt->super, over ? RFP_CROSS : RFP_ATTACH, sizeof(struct rfp_req),
				mnt->cred, RDMAFS_POOL_COMMON);
	/* Its time does not end the session; nor does another export that got the name tell. */
	op->call.flags |= RDMAFS_CALL_UNTIL_SENT;
	op->bare = true;
	op->once = true;
	if (over)
		rfp_enc_fh(&op->enc, over);
	else
		rfp_enc_str(&op->enc, mnt->opts.export, strlen(mnt->opts.export),
			    RFP_EXPORT_NAME_MAX);
	return op;
}

static bool rdmafs_rules_same_root(const struct rdmafs_super *super, const struct rfp_fh *root)
{
	return super->root_fh.len == root->len &&
	       !memcmp(super->root_fh.data, root->data, root->len);
}

static void rdmafs_rules_set(struct rdmafs_super *super, u32 flags)
{
	lockdep_assert_held(&super->mnt->supers_lock);
	if (super->export_flags == flags)
		return;
	WRITE_ONCE(super->export_flags, flags);
	WRITE_ONCE(super->rules, super->rules + 1);
}

/*
 * Take over what an answer says of the superblock with the root that it tells.  Another export may
 * have got the name, or another file system the place: that is not taken for it.  Any context.
 */
static void rdmafs_rules_take(struct rdmafs_mount *mnt, struct rdmafs_op *op)
{
	struct rdmafs_attached at = { .op = op };
	struct rdmafs_super *super;
	unsigned long irq;
	bool all = false;
	u32 flags;

	if (rdmafs_attach_decode(&at))
		return;
	flags = le32_to_cpu(at.rep->flags);
	spin_lock_irqsave(&mnt->supers_lock, irq);
	list_for_each_entry(super, &mnt->supers, link) {
		if (!rdmafs_rules_same_root(super, &at.root))
			continue;
		rdmafs_rules_set(super, flags);
		all |= super == &mnt->super;
	}
	if (all)
		list_for_each_entry(super, &mnt->supers, link)
			rdmafs_rules_set(super, (super->export_flags & ~RDMAFS_RULES_OF_ALL) |
						(flags & RDMAFS_RULES_OF_ALL));
	spin_unlock_irqrestore(&mnt->supers_lock, irq);
}

static void rdmafs_rules_done(struct rdmafs_xprt_call *call)
{
	struct rdmafs_op *op = container_of(call, struct rdmafs_op, call);

	if (!rdmafs_op_status(op))
		rdmafs_rules_take(op->mnt, op);
	else if (op->call.status)
		/* umount -f has ended it, say: it is not known what the server would have said. */
		rdmafs_rules_doubt(op->mnt);
	rdmafs_op_put(op);
}

/* Send the op, without waiting for anything; its reference goes. */
static int rdmafs_rules_send(struct rdmafs_op *op)
{
	int err;

	op->call.done = rdmafs_rules_done;
	op->call.flags |= RDMAFS_CALL_NOWAIT;
	/* The superblock may go before the answer comes: the mount's end waits for all calls. */
	op->super = NULL;
	op->call.deadline = 0;
	err = rdmafs_op_prepare(op, true);
	if (!err)
		err = rdmafs_xprt_submit(op->mnt->xprt, &op->call);
	if (err)
		rdmafs_op_put(op);
	return err;
}

static void rdmafs_rules_work(struct work_struct *work)
{
	struct rdmafs_mount *mnt = container_of(to_delayed_work(work), struct rdmafs_mount,
						rules_work);
	int doubts = atomic_read(&mnt->doubts);
	struct rdmafs_op *op;

	rdmafs_test_point("rules_ask", 0);
	WRITE_ONCE(mnt->rules_asked, jiffies);
	op = rdmafs_rules_op(mnt, NULL);
	/* Else the next answer has this work queued once more. */
	if (!rdmafs_rules_send(op))
		WRITE_ONCE(mnt->rules_known, doubts);
}

/**
 * rdmafs_rules_ask - ask the server, if it is not sure what holds for the export
 * @mnt: the mount
 *
 * Context: any.
 */
void rdmafs_rules_ask(struct rdmafs_mount *mnt)
{
	unsigned long next = READ_ONCE(mnt->rules_asked) + RDMAFS_RULES_PAUSE;

	/* One that is being made has no root yet, and asks by itself. */
	if (likely(READ_ONCE(mnt->rules_known) == atomic_read(&mnt->doubts)) ||
	    !READ_ONCE(mnt->super.root_fh.len))
		return;
	queue_delayed_work(mnt->io_wq, &mnt->rules_work,
			   time_before(jiffies, next) ? next - jiffies : 0);
}

/**
 * rdmafs_rules_doubt - note that the export may have been started anew
 * @mnt: the mount
 *
 * The next answer of the export has the server asked; the caller may have it asked at once
 * (rdmafs_rules_ask()).
 *
 * Context: any.
 */
void rdmafs_rules_doubt(struct rdmafs_mount *mnt)
{
	atomic_inc(&mnt->doubts);
}

/**
 * rdmafs_rules_renew - ask the server what holds for an export, and wait for the answer
 * @super: its superblock
 *
 * If there is no answer in the time that mounting has (connect_s), nothing changes.
 *
 * Context: process, waits killably.
 */
void rdmafs_rules_renew(struct rdmafs_super *super)
{
	struct rdmafs_mount *mnt = super->mnt;
	struct rdmafs_op *op = rdmafs_rules_op(mnt, super->above ? &super->over : NULL);

	op->leave = jiffies + mnt->opts.connect_s * HZ ?: 1;
	op->call.deadline = op->leave;
	if (!rdmafs_op_run(op))
		rdmafs_rules_take(mnt, op);
	rdmafs_op_put(op);
}

/**
 * rdmafs_rules_init - begin with what a mount has been told
 * @mnt: the mount, zeroed
 *
 * Context: any.
 */
void rdmafs_rules_init(struct rdmafs_mount *mnt)
{
	INIT_DELAYED_WORK(&mnt->rules_work, rdmafs_rules_work);
	mnt->rules_asked = jiffies - RDMAFS_RULES_PAUSE;
}

/**
 * rdmafs_rules_exit - ask no more
 * @mnt: the mount, which has no superblock any more, but still its session
 *
 * Context: process, may sleep.
 */
void rdmafs_rules_exit(struct rdmafs_mount *mnt)
{
	disable_delayed_work_sync(&mnt->rules_work);
}
