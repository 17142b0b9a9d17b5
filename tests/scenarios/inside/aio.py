# SPDX-License-Identifier: GPL-2.0
"""One request of libaio's, by its system calls (x86_64)."""

import ctypes
import mmap
import os
import signal
import struct

IO_SETUP, IO_DESTROY, IO_GETEVENTS, IO_SUBMIT, IO_CANCEL = 206, 207, 208, 209, 210
PREAD, PWRITE = 0, 1
libc = ctypes.CDLL(None, use_errno=True)


def _call(what, number, *args):
    result = libc.syscall(number, *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


CLONE_VM = 0x100
# io_submit(arg[0], 1, arg[1]); exit(0): nothing of libc's, which the child shares
SUBMIT_AND_EXIT = bytes.fromhex("488b5708 488b3f be01000000 b8d1000000 0f05 31ff b83c000000 0f05")


def _submit_elsewhere(context, pointer):
    """In a process of its own with this one's memory, which ends then."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(SUBMIT_AND_EXIT)
    stack = mmap.mmap(-1, 4 * mmap.PAGESIZE)
    start, top = (ctypes.addressof(ctypes.c_char.from_buffer(m)) for m in (code, stack))
    args = (ctypes.c_ulong * 2)(context.value, ctypes.addressof(pointer))
    pid = libc.clone(ctypes.c_void_p(start), ctypes.c_void_p(top + len(stack)),
                     CLONE_VM | signal.SIGCHLD, args)
    if pid < 0 or os.waitpid(pid, 0)[1]:
        raise OSError("clone")


class Request:
    """
    Is under way when this returns, with the first length bytes of a buffer (an mmap).
    another: for another process, which has ended, and had the same memory.
    """

    def __init__(self, fd, buffer, length, write, offset=0, another=False):
        self.context = ctypes.c_ulong(0)
        _call("io_setup", IO_SETUP, 8, ctypes.byref(self.context))
        address = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
        self.iocb = ctypes.create_string_buffer(struct.pack(
            "<QIIHhIQQqQII", 0, 0, 0, PWRITE if write else PREAD, 0, fd, address, length, offset, 0, 0, 0))
        pointer = ctypes.c_void_p(ctypes.addressof(self.iocb))
        if another:
            _submit_elsewhere(self.context, pointer)
        elif _call("io_submit", IO_SUBMIT, self.context, ctypes.c_long(1), ctypes.byref(pointer)) != 1:
            raise OSError("io_submit took nothing")

    def destroy(self):
        """io_destroy(2), which waits for what is under way."""
        _call("io_destroy", IO_DESTROY, self.context)

    def cancel(self):
        """io_cancel(2): whether it was called off."""
        event = ctypes.create_string_buffer(32)
        return not libc.syscall(IO_CANCEL, self.context, self.iocb, event)

    def wait(self):
        """What it was told: bytes, or a negative errno."""
        event = ctypes.create_string_buffer(32)
        one = ctypes.c_long(1)
        if _call("io_getevents", IO_GETEVENTS, self.context, one, one, event, None) != 1:
            raise OSError("io_getevents has nothing")
        return struct.unpack_from("<q", event, 16)[0]
