# SPDX-License-Identifier: GPL-2.0
"""A client of NFSv3 that has no caches: each call is one request to the NFS server of this machine.

What programs get of an NFS mount its client has looked up before, so that the server knows it.
"""
import contextlib
import itertools
import socket
import struct
import time

PORTMAP, NFS, MOUNT = (100000, 2), (100003, 3), (100005, 3)
JUKEBOX = 10008  # not now
PATIENCE = 60


def xdr(data):
    return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)


def words(data, nr, at=0):
    return struct.unpack_from(f">{nr}I", data, at)


def unxdr(data, at):
    (length,) = words(data, 1, at)
    return data[at + 4:at + 4 + length]


class Program:
    """A connection to an RPC program, as root."""

    def __init__(self, port, program):
        self.program = program
        self.xids = itertools.count(1)
        self.sock = socket.socket()
        # mountd may want a port that only root can use; some are in use.
        for mine in range(1000, 600, -1):
            with contextlib.suppress(OSError):
                self.sock.bind(("127.0.0.1", mine))
                self.sock.settimeout(PATIENCE)
                self.sock.connect(("127.0.0.1", port))
                return
            self.sock.close()
            self.sock = socket.socket()
        raise AssertionError(f"no connection to port {port} for RPC program {program}")

    def close(self):
        self.sock.close()

    def receive(self, length):
        data = b""
        while len(data) < length:
            part = self.sock.recv(length - len(data))
            if not part:
                raise AssertionError(f"program {self.program} ends the connection")
            data += part
        return data

    def record(self):
        data = b""
        last = False
        while not last:
            (mark,) = words(self.receive(4), 1)
            last = mark >> 31
            data += self.receive(mark & 0x7fffffff)
        return data

    def call(self, procedure, arguments):
        """The results of a procedure."""
        xid = next(self.xids)
        # AUTH_SYS: a stamp, this machine's name, uid, gid and no other groups; and no verifier
        root = struct.pack(">I", 0) + xdr(b"localhost") + struct.pack(">3I", 0, 0, 0)
        call = (struct.pack(">6I", xid, 0, 2, *self.program, procedure) +
                struct.pack(">I", 1) + xdr(root) + struct.pack(">2I", 0, 0) + arguments)
        self.sock.sendall(struct.pack(">I", 1 << 31 | len(call)) + call)
        reply = self.record()
        have, kind, denied, _, length = words(reply, 5)
        if have != xid or kind != 1 or denied:
            raise AssertionError(f"program {self.program} denies a call: {reply[:24].hex()}")
        at = 20 + length + -length % 4
        (accepted,) = words(reply, 1, at)
        if accepted:
            raise AssertionError(f"program {self.program}, procedure {procedure}: {accepted}")
        return reply[at + 4:]


def port_of(program):
    with contextlib.closing(Program(111, PORTMAP)) as portmap:
        (port,) = words(portmap.call(3, struct.pack(">4I", *program, socket.IPPROTO_TCP, 0)), 1)
    if not port:
        raise AssertionError(f"RPC program {program} has no port")
    return port


class Client:
    """Of an export; what it is told of are handles of directories, and names in them."""

    def __init__(self, export):
        with contextlib.closing(Program(port_of(MOUNT), MOUNT)) as mountd:
            said = mountd.call(1, xdr(export.encode()))
        if words(said, 1)[0]:
            raise AssertionError(f"mountd does not give {export}: {words(said, 1)[0]}")
        self.top = unxdr(said, 4)
        self.nfs = Program(port_of(NFS), NFS)

    def close(self):
        self.nfs.close()

    def request(self, what, procedure, arguments):
        ends = time.monotonic() + PATIENCE
        while True:
            said = self.nfs.call(procedure, arguments)
            (status,) = words(said, 1)
            if not status:
                return said[4:]
            if status != JUKEBOX or time.monotonic() > ends:
                raise AssertionError(f"{what}: the NFS server says {status}")
            time.sleep(0.1)

    def lookup(self, directory, name):
        """The handle of an object."""
        return unxdr(self.request(f"LOOKUP {name}", 3, xdr(directory) + xdr(name.encode())), 0)

    def remove(self, directory, name):
        self.request(f"REMOVE {name}", 12, xdr(directory) + xdr(name.encode()))

    def rename(self, directory, old, new):
        self.request(f"RENAME {old} {new}", 14, b"".join(
            xdr(directory) + xdr(name.encode()) for name in (old, new)))
