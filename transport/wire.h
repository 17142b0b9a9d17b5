/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The wire format of transport, draft-10.  All fields are little-endian and of fixed size;
 * reserved fields are zero, and the receiver checks that.  Documentation/protocol.rst has the
 * message sequences.
 *
 * A message is one or several frames without gaps, and exactly as long as its frames say.  A
 * frame is struct rxp_wire_hdr, followed by:
 *
 *  CALL             struct rxp_wire_call, hdr.body_len bytes of body, hdr.data_len bytes
 *                   of inline data
 *  REPLY            struct rxp_wire_reply, hdr.body_len bytes of body, struct
 *                   rxp_wire_tag if it has RXP_F_GRANT, hdr.data_len bytes of inline data
 *  CONTROL, NOTIFY  the struct that its op names; both lengths are 0
 *
 * A message of several frames has CALLs alone or replies alone, each of another slot, and must not
 * invalidate a key.
 *
 * (slot, seq) names an RPC.  It serves as the XID of RFC 8166, as the key of the reply cache, and
 * as the CWTAG that binds an STCRW to the CRW held for it (Ou et al., section 3).
 */
#ifndef RDMAFS_TRANSPORT_WIRE_H
#define RDMAFS_TRANSPORT_WIRE_H

#include <linux/types.h>

#define RXP_WIRE_MAGIC		0x53464452	/* "RDFS" */
#define RXP_WIRE_VERSION	0x800a		/* draft-10 */

/**
 * struct rxp_wire_cm - private data of a connection request and its accept; 48 bytes
 * @magic:     RXP_WIRE_MAGIC
 * @version:   RXP_WIRE_VERSION; must match exactly while it is a draft
 * @index:     this connection's place in its session, below @count
 * @count:     connections that the session is to have
 * @recv_size: bytes of each of the sender's receive buffers
 * @data_max:  most bytes of data in one RPC
 * @features:  feature bits; none is defined, so 0
 * @slots:     request: slots wanted for the session; accept: slots granted
 * @reserve:   receives posted beyond two for each slot that this connection carries
 * @incarnation: the one in the WELCOME of the session's connection 0, so never 0; in connection 0
 *	       itself 0
 * @heartbeat_ms: request: while the client lives, it sends something at least this often; 0: it
 *	       does not say.  Accept: 0
 * @session:   the session to join; in connection 0 all zero
 *
 * The accept repeats @index, @count, @incarnation and @session.
 */
struct rxp_wire_cm {
	__le32 magic;
	__le16 version;
	__u8 index;
	__u8 count;
	__le32 recv_size;
	__le32 data_max;
	__le32 features;
	__le16 slots;
	__le16 reserve;
	__le32 incarnation;
	__le32 heartbeat_ms;
	__u8 session[16];
} __packed;

/* struct rxp_wire_reject.reason */
#define RXP_REJECT_VERSION	1	/* @version is the server's */
#define RXP_REJECT_PARAMS	2	/* sizes or slots out of bounds */
#define RXP_REJECT_RESOURCES	3	/* try again later */
#define RXP_REJECT_STOPPING	4	/* the server is being stopped */
#define RXP_REJECT_COUNT	5	/* more connections than the @limit of a session */
#define RXP_REJECT_JOIN		6	/* no such session, or no such free place in it */
#define RXP_REJECT_LIMIT	7	/* this client has @limit connections, its maximum */

/**
 * struct rxp_wire_reject - private data of a reject; 12 bytes
 * @magic:   RXP_WIRE_MAGIC
 * @version: the server's
 * @reason:  RXP_REJECT_*
 * @limit:   RXP_REJECT_COUNT: connections that a session may have; RXP_REJECT_LIMIT: connections
 *	     that a client may have; else 0
 */
struct rxp_wire_reject {
	__le32 magic;
	__le16 version;
	__le16 reason;
	__le32 limit;
} __packed;

enum rxp_wire_type {
	RXP_CALL	= 1,	/* client to server */
	RXP_REPLY	= 2,	/* server to client */
	RXP_CONTROL	= 3,	/* client to server */
	RXP_NOTIFY	= 4,	/* server to client */
};

/* struct rxp_wire_hdr.op of a CONTROL */
#define RXP_CONTROL_HELLO	1	/* struct rxp_wire_hello: bind the connection */
#define RXP_CONTROL_DATA	2	/* struct rxp_wire_tag: a CRW fired, its data is there */
#define RXP_CONTROL_PING	3	/* nothing follows */
#define RXP_CONTROL_BYE		4	/* nothing follows: the session ends */
#define RXP_CONTROL_STCRW	5	/* struct rxp_wire_tag: fire the CRW of (slot, seq) */
#define RXP_CONTROL_CANCEL	6	/* nothing follows: take back (slot, seq)'s data or room */
#define RXP_CONTROL_RETURN	7	/* struct rxp_wire_keys: give these grants back unused */

/* struct rxp_wire_hdr.op of a NOTIFY */
#define RXP_NOTIFY_WELCOME	1	/* struct rxp_wire_welcome: answer to a HELLO */
#define RXP_NOTIFY_STCRW	2	/* struct rxp_wire_tag: fire the CRW of (slot, seq) */
#define RXP_NOTIFY_PONG		3	/* nothing follows: answer to a PING */
#define RXP_NOTIFY_RECALL	4	/* struct rxp_wire_keys: use these grants or return them */
#define RXP_NOTIFY_REVOKED	5	/* nothing follows: no data for (slot, seq); key invalid */
#define RXP_NOTIFY_EVENT	6	/* nothing follows: the service has something to tell */

/* struct rxp_wire_hdr.flags of a CALL */
#define RXP_F_READ		0x1	/* the client has room for bulk_len bytes of data */
#define RXP_F_WRITE		0x2	/* bulk_len bytes of data wait for an STCRW */
#define RXP_F_RKEY		0x4	/* rkey and iova name the room; else an STCRW will */
#define RXP_F_ALL		0x7
/*
 * RXP_F_WRITE with RXP_F_RKEY: the data is in the granted sink of that key already, and the CALL
 * invalidates the key; there is no STCRW.
 */

/* Grants that a session may have, not counting used ones */
#define RXP_WIRE_GRANTS		256

/* Grants that one RECALL or RETURN may name */
#define RXP_WIRE_KEYS		32

/*
 * If the data of a call fits into its messages, the REPLY tells the server's time only if the
 * call's sequence number is a multiple of this.
 */
#define RXP_WIRE_SAMPLE		16

/* struct rxp_wire_hdr.flags of a REPLY */
#define RXP_F_GRANT		0x1	/* a tag follows the body: a sink for one later WRITE */

/**
 * struct rxp_wire_hdr - the header of every frame; 16 bytes
 * @type:     enum rxp_wire_type
 * @op:       op of a CONTROL or NOTIFY, else 0
 * @slot:     slot of the RPC, 0 if there is none
 * @seq:      sequence number in that slot, 0 if there is none
 * @body_len: bytes of body
 * @flags:    RXP_F_* of a CALL or REPLY, else 0
 * @data_len: bytes of inline data
 */
struct rxp_wire_hdr {
	__u8 type;
	__u8 op;
	__le16 slot;
	__le32 seq;
	__le16 body_len;
	__le16 flags;
	__le32 data_len;
} __packed;

/**
 * struct rxp_wire_call - follows the header of a CALL; 16 bytes
 * @bulk_len: RXP_F_READ: bytes of room; RXP_F_WRITE: bytes of data to come; else 0
 * @rkey:     RXP_F_RKEY: key of the room, or of the granted sink; else 0
 * @iova:     RXP_F_RKEY with RXP_F_READ: address of the room; else 0
 */
struct rxp_wire_call {
	__le32 bulk_len;
	__le32 rkey;
	__le64 iova;
} __packed;

/* struct rxp_wire_reply.status */
#define RXP_STATUS_OK		0	/* executed: the body has the result */
#define RXP_STATUS_RETRY_LATER	1	/* nothing was changed: no room now, send the call again */
#define RXP_STATUS_CANCELLED	2	/* the client took its data or its room back */
#define RXP_STATUS_TOO_LARGE	3	/* not executed: the client may never have so much room */

/**
 * struct rxp_wire_reply - follows the header of a REPLY; 16 bytes
 * @status:     RXP_STATUS_*
 * @bulk_len:   bytes that RDMA WRITEs put into the client's room; 0 if the data is inline
 * @service_us: time from the CALL's arrival to this reply, in microseconds; 0 if not measured
 * @pad:        0
 */
struct rxp_wire_reply {
	__le32 status;
	__le32 bulk_len;
	__le32 service_us;
	__le32 pad;
} __packed;

/**
 * struct rxp_wire_tag - STCRW and DATA of (hdr.slot, hdr.seq), and grants; 16 bytes
 * @length: STCRW, grant: bytes of the sink or room; DATA: bytes written
 * @rkey:   STCRW, grant: its key; DATA: the same key
 * @iova:   STCRW, grant: its address; DATA: 0
 */
struct rxp_wire_tag {
	__le32 length;
	__le32 rkey;
	__le64 iova;
} __packed;

/**
 * struct rxp_wire_keys - RECALL and RETURN; 4 bytes and 4 for each key
 * @nr:   number of keys, 1..RXP_WIRE_KEYS
 * @pad:  0
 * @rkey: the keys, one of each grant
 */
struct rxp_wire_keys {
	__le16 nr;
	__le16 pad;
	__le32 rkey[];
} __packed;

/**
 * struct rxp_wire_hello - HELLO; 40 bytes
 * @session: the session to go on with; all zero: make a new one
 * @boot:    the server's boot id when @session was made, or 0
 * @client:  random id of the mount
 */
struct rxp_wire_hello {
	__u8 session[16];
	__le64 boot;
	__u8 client[16];
} __packed;

/* struct rxp_wire_welcome.status */
#define RXP_WELCOME_BOUND	0	/* the session goes on where it was */
#define RXP_WELCOME_NEW		1	/* a new session was made */
#define RXP_WELCOME_REFUSED	2	/* no session now: connect again later */
#define RXP_WELCOME_LIMIT	3	/* this client has its maximum of sessions */

/**
 * struct rxp_wire_welcome - WELCOME; 40 bytes
 * @session:  id of the session
 * @boot:     id of the server's instance; another one after a restart
 * @lease_ms: the server ends a session that has sent no message for this long
 * @status:   RXP_WELCOME_*
 * @incarnation: changes each time the session's connection 0 is bound; 0 if refused
 * @pad:      0
 */
struct rxp_wire_welcome {
	__u8 session[16];
	__le64 boot;
	__le32 lease_ms;
	__le32 status;
	__le32 incarnation;
	__le32 pad;
} __packed;

#endif
