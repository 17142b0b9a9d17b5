// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that does not take messages, so that the other end's send queue stands.
 *
 * InfiniBand and RoCE: it has posted fewer receives than it needs, and the other end sends
 * again, for some seconds.  iWARP: its end of the stream is not read, and as little data as
 * possible is on its way.
 */
#include <linux/tcp.h>
#include <net/inet_hashtables.h>
#include <net/sock.h>
#include "xprt_stall.h"

#define STALL_WINDOW	4096

/* Find the socket of @here, connected to @there; both are addresses of this machine. */
static struct sock *stall_sock(struct raw *raw, const struct sockaddr_storage *here,
			       const struct sockaddr_storage *there)
{
	const struct sockaddr_in *to = (const struct sockaddr_in *)there;
	const struct sockaddr_in *at = (const struct sockaddr_in *)here;
	struct net_device *dev = ib_device_get_netdev(raw->id->device, raw->id->port_num);
	struct sock *sk;

	local_bh_disable();
	sk = __inet_lookup_established(&init_net, init_net.ipv4.tcp_death_row.hashinfo,
				       to->sin_addr.s_addr, to->sin_port, at->sin_addr.s_addr,
				       ntohs(at->sin_port), dev ? dev->ifindex : 0, 0);
	local_bh_enable();
	dev_put(dev);
	return sk;
}

static void stall_not_ready(struct sock *sk)
{
}

/**
 * stall_begin - take no more messages
 * @st:    out: state for stall_end()
 * @raw:   the end that is to take none
 * @recvs: receives that it was opened with: as many messages have come, or will still come
 *
 * Context: process, may sleep.
 *
 * Return: 0; -ENOTCONN: iWARP, and there is no such stream.
 */
int stall_begin(struct stall *st, struct raw *raw, u32 recvs)
{
	const struct rdma_addr *addr = &raw->id->route.addr;
	struct sock *peer;

	*st = (struct stall) { .raw = raw, .next = recvs };
	if (!raw_iwarp(raw))
		return 0;
	st->sk = stall_sock(raw, &addr->src_addr, &addr->dst_addr);
	peer = stall_sock(raw, &addr->dst_addr, &addr->src_addr);
	if (!st->sk || !peer) {
		if (st->sk)
			sock_put(st->sk);
		if (peer)
			sock_put(peer);
		return -ENOTCONN;
	}
	/*
	 * Leave little room in the other end's buffer, and little for data on its way.  The
	 * stream is idle, so the window that was announced can be taken back.
	 */
	lock_sock(peer);
	peer->sk_userlocks |= SOCK_SNDBUF_LOCK;
	WRITE_ONCE(peer->sk_sndbuf, SOCK_MIN_SNDBUF);
	tcp_sk(peer)->snd_wnd = STALL_WINDOW;
	tcp_sk(peer)->max_window = STALL_WINDOW;
	release_sock(peer);
	sock_put(peer);
	lock_sock(st->sk);
	st->sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	WRITE_ONCE(st->sk->sk_rcvbuf, 8 * STALL_WINDOW);
	WRITE_ONCE(tcp_sk(st->sk)->window_clamp, STALL_WINDOW);
	tcp_sk(st->sk)->rcv_wnd = STALL_WINDOW;
	release_sock(st->sk);
	write_lock_bh(&st->sk->sk_callback_lock);
	st->ready = st->sk->sk_data_ready;
	st->sk->sk_data_ready = stall_not_ready;
	write_unlock_bh(&st->sk->sk_callback_lock);
	return 0;
}

/**
 * stall_end - take all messages
 * @st: state of stall_begin(); may have ended already
 *
 * Context: process, may sleep.
 *
 * Return: 0, or the error of ib_post_recv().
 */
int stall_end(struct stall *st)
{
	void (*ready)(struct sock *sk) = NULL;
	int ret = 0;

	if (!st->raw)
		return 0;
	for (; !ret && st->next < RAW_RECVS; st->next++)
		ret = raw_repost(st->raw, &st->raw->recv[st->next]);
	st->raw = NULL;
	if (!st->sk)
		return ret;
	lock_sock(st->sk);
	write_lock_bh(&st->sk->sk_callback_lock);
	/* Otherwise the connection has ended, and the callback is no longer ours. */
	if (st->sk->sk_data_ready == stall_not_ready) {
		ready = st->ready;
		st->sk->sk_data_ready = ready;
	}
	write_unlock_bh(&st->sk->sk_callback_lock);
	local_bh_disable();
	if (ready)
		ready(st->sk);
	local_bh_enable();
	release_sock(st->sk);
	sock_put(st->sk);
	st->sk = NULL;
	return ret;
}
