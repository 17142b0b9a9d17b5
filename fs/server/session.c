// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: what belongs to one client, from the moment transport tells of it
 * until it says that the session is over.  They stand in a list so that an
 * export that ends can close what clients have open in it.
 */
#include <linux/slab.h>
#include "server.h"

static DEFINE_MUTEX(rdmafsd_sessions_lock);
static LIST_HEAD(rdmafsd_sessions);

static int rdmafsd_session_open(struct rdmafs_xprt_session *xs, void *ctx)
{
	struct rdmafsd_session *ses;

	ses = kzalloc(sizeof(*ses), GFP_KERNEL);
	if (!ses)
		return -ENOMEM;
	xa_init(&ses->idents);
	mutex_init(&ses->idents_lock);
	xa_init_flags(&ses->states, XA_FLAGS_ALLOC1);

	mutex_lock(&rdmafsd_sessions_lock);
	list_add_tail(&ses->link, &rdmafsd_sessions);
	mutex_unlock(&rdmafsd_sessions_lock);
	rdmafs_xprt_session_set_priv(xs, ses);
	return 0;
}

static void rdmafsd_session_close(struct rdmafs_xprt_session *xs, void *ctx)
{
	struct rdmafsd_session *ses = rdmafs_xprt_session_priv(xs);

	/* Under the lock, so that an export that ends meanwhile waits for it. */
	mutex_lock(&rdmafsd_sessions_lock);
	rdmafsd_states_close(ses, NULL);
	list_del(&ses->link);
	mutex_unlock(&rdmafsd_sessions_lock);
	rdmafs_xprt_session_set_priv(xs, NULL);

	xa_destroy(&ses->states);
	rdmafsd_idents_free(ses);
	mutex_destroy(&ses->idents_lock);
	kfree(ses);
}

/**
 * rdmafsd_sessions_close_export - close what clients have open in an export
 * @exp: the export, with no request at work and none to come
 */
void rdmafsd_sessions_close_export(struct rdmafsd_export *exp)
{
	struct rdmafsd_session *ses;

	mutex_lock(&rdmafsd_sessions_lock);
	list_for_each_entry(ses, &rdmafsd_sessions, link)
		rdmafsd_states_close(ses, exp);
	mutex_unlock(&rdmafsd_sessions_lock);
}

const struct rdmafs_xprt_service rdmafsd_service = {
	.session_open = rdmafsd_session_open,
	.session_close = rdmafsd_session_close,
	.handle = rdmafsd_handle,
	.handle_now = rdmafsd_handle_now,
};
