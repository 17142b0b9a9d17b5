// SPDX-License-Identifier: GPL-2.0
/*
 * What is counted as one client: where its packets come from, as far as that is known.
 *
 * On iWARP that is the address of the TCP peer.  On InfiniBand and RoCE the address that
 * the connection manager gives a server is what the client has written into the private
 * data of its request, and nobody compares it with anything.  What the path of the request
 * says is the GID that all of the connection's packets go to, from the first answer on: on
 * RoCE an IP address, on InfiniBand the port, whatever addresses it has.  (Within a subnet
 * of InfiniBand they find their way by LID: there, who makes up the whole request, and not
 * its private data alone, can say what he likes.)
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/socket.h>
#include <linux/string.h>
#include "transport/source.h"

#define RXP_GID_LEN	16
#define RXP_GUID_LEN	8	/* of a port, behind the prefix of its subnet */

/* All of it: a network has 64 bits of it, and hosts that have nothing to do with each other. */
static void rxp_source_ipv6(const void *addr, struct rdmafs_xprt_source *source)
{
	source->family = AF_INET6;
	memcpy(source->addr, addr, sizeof(struct in6_addr));
}

static void rxp_source_ipv4(const void *addr, struct rdmafs_xprt_source *source)
{
	source->family = AF_INET;
	memcpy(source->addr, addr, sizeof(struct in_addr));
}

/**
 * rxp_source - what is counted as one client
 * @said:   the address that the connection manager has of it
 * @gid:    that of its port, RXP_GID_LEN bytes; NULL: there is none, on iWARP
 * @roce:   GIDs are IP addresses
 * @source: gets it
 */
void rxp_source(const struct sockaddr_storage *said, const u8 *gid, bool roce,
		struct rdmafs_xprt_source *source)
{
	static const u8 mapped[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

	memset(source, 0, sizeof(*source));
	if (gid && !roce) {
		/* The subnet is that of all; behind it comes what no two ports share. */
		source->family = AF_IB;
		memcpy(source->addr, gid + RXP_GID_LEN - RXP_GUID_LEN, RXP_GUID_LEN);
	} else if (gid && !memcmp(gid, mapped, sizeof(mapped))) {
		rxp_source_ipv4(gid + sizeof(mapped), source);
	} else if (gid) {
		rxp_source_ipv6(gid, source);
	} else if (said->ss_family == AF_INET6) {
		rxp_source_ipv6(&((const struct sockaddr_in6 *)said)->sin6_addr, source);
	} else {
		rxp_source_ipv4(&((const struct sockaddr_in *)said)->sin_addr, source);
	}
}
