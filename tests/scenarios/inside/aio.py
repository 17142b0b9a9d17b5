# SPDX-License-Identifier: GPL-2.0
"""One request of libaio's, by its system calls (x86_64)."""

import ctypes
import os
import struct

IO_SETUP, IO_DESTROY, IO_GETEVENTS, IO_SUBMIT = 206, 207, 208, 209
PREAD, PWRITE = 0, 1
libc = ctypes.CDLL(None, use_errno=True)


def _call(what, number, *args):
    result = libc.syscall(number, *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


class Request:
    """Is under way when this returns, with the first length bytes of a buffer (an mmap)."""

    def __init__(self, fd, buffer, length, write, offset=0):
        self.context = ctypes.c_ulong(0)
        _call("io_setup", IO_SETUP, 8, ctypes.byref(self.context))
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        self.iocb = ctypes.create_string_buffer(struct.pack(
            "<QIIHhIQQqQII", 0, 0, 0, PWRITE if write else PREAD, 0, fd, address, length, offset, 0, 0, 0))
        pointer = ctypes.c_void_p(ctypes.addressof(self.iocb))
        if _call("io_submit", IO_SUBMIT, self.context, ctypes.c_long(1), ctypes.byref(pointer)) != 1:
            raise OSError("io_submit took nothing")

    def destroy(self):
        """io_destroy(2), which waits for what is under way."""
        _call("io_destroy", IO_DESTROY, self.context)

    def wait(self):
        """What it was told: bytes, or a negative errno."""
        event = ctypes.create_string_buffer(32)
        one = ctypes.c_long(1)
        if _call("io_getevents", IO_GETEVENTS, self.context, one, one, event, None) != 1:
            raise OSError("io_getevents has nothing")
        return struct.unpack_from("<q", event, 16)[0]
