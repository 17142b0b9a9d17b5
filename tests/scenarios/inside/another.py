# SPDX-License-Identifier: GPL-2.0
"""Other clients of the directory that a test runs in, and what they cost in requests."""
import os
import subprocess

from guest import counters, proc_of

HERE = os.path.relpath(os.getcwd(), os.environ["RDMAFS_MNT"])
BACK = os.path.join(os.environ["RDMAFS_BACKING"], HERE)


class Mount:
    """Another client, which knows nothing yet."""

    def __init__(self, where, options=""):
        self.where = where
        self.options = options

    def __enter__(self):
        os.makedirs(self.where, exist_ok=True)
        options = ",".join(filter(None, (os.environ["RDMAFS_MOUNT_OPTS"], self.options)))
        subprocess.run(["mount", "-t", os.environ["RDMAFS_FSTYPE"],
                        *(["-o", options] if options else []),
                        os.environ["RDMAFS_SOURCE"], self.where], check=True)
        self.stats = proc_of(self.where) + "/stats"
        self.dir = os.path.join(self.where, HERE)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", self.where], check=True)

    def cost(self, action):
        """Of what action() does: all requests, those that read, and the bytes that these got."""
        before = counters(self.stats)
        action()
        after = counters(self.stats)
        grown = {k: after[k] - before.get(k, 0)
                 for k in ("calls", "read_inline", "read_rdma", "bytes_read")}
        return grown["calls"], grown["read_inline"] + grown["read_rdma"], grown["bytes_read"]
