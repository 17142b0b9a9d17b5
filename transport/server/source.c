// SPDX-License-Identifier: GPL-2.0
/*
 * What is counted as one client: the address that its packets come from, as far as it is known.
 *
 * On iWARP that is the address of the TCP peer.  On InfiniBand and RoCE a server gets an address
 * from the connection manager that the client has written into the private data of its request,
 * unchecked.  But the path of the request has the GID that all packets of the connection are sent
 * to, from the first answer on: on RoCE an IP address, on InfiniBand the port, whatever addresses
 * that has.  (Within a subnet of InfiniBand packets are routed by LID: there a peer that forges
 * the whole request, not only its private data, can claim any GID.)
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/string.h>
#include "transport/server/source.h"

#define RXS_GID_LEN	16
#define RXS_GUID_LEN	8	/* a port's, behind the prefix of its subnet */

/* The whole address counts: a network of 64 bits has hosts that are different clients. */
static void rxs_source_ipv6(const void *addr, struct rdmafs_xprt_source *source)
{
	source->family = AF_INET6;
	memcpy(source->addr, addr, sizeof(struct in6_addr));
}

static void rxs_source_ipv4(const void *addr, struct rdmafs_xprt_source *source)
{
	source->family = AF_INET;
	memcpy(source->addr, addr, sizeof(struct in_addr));
}

/**
 * rxs_source - compute what is counted as one client
 * @said:   the address that the connection manager has of the client
 * @gid:    the GID of the client's port, RXS_GID_LEN bytes; NULL: there is none (iWARP)
 * @roce:   whether GIDs are IP addresses
 * @source: out: the client
 *
 * Context: any.
 */
void rxs_source(const struct sockaddr_storage *said, const u8 *gid, bool roce,
		struct rdmafs_xprt_source *source)
{
	static const u8 mapped[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

	memset(source, 0, sizeof(*source));
	if (gid && !roce) {
		/* All clients have the same subnet; the GUID behind it is the port's alone. */
		source->family = AF_IB;
		memcpy(source->addr, gid + RXS_GID_LEN - RXS_GUID_LEN, RXS_GUID_LEN);
	} else if (gid && !memcmp(gid, mapped, sizeof(mapped))) {
		rxs_source_ipv4(gid + sizeof(mapped), source);
	} else if (gid) {
		rxs_source_ipv6(gid, source);
	} else if (said->ss_family == AF_INET6) {
		rxs_source_ipv6(&((const struct sockaddr_in6 *)said)->sin6_addr, source);
	} else {
		rxs_source_ipv4(&((const struct sockaddr_in *)said)->sin_addr, source);
	}
}
