#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: maps.py write|verify|beyond FILE
#
# Shared and private maps against reads, writes and truncation of the same file.
import mmap
import os
import signal
import sys

PAGE = 4096
PAGES = 300
SIZE = PAGES * PAGE + 1000


def page(i, generation):
    return (b"%06d %d " % (i, generation)) * (PAGE // 9 + 1)


def content(generation):
    return b"".join(page(i, generation)[:PAGE] for i in range(PAGES + 1))[:SIZE]


def expect(have, want, what):
    if have != want:
        sys.exit(f"{what}: {have[:40]!r} instead of {want[:40]!r}")


def expect_signal(action, number, what):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGBUS, signal.SIG_DFL)
        action()
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != number:
        sys.exit(f"{what}: status {status}")


def direct_read(path, length):
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, (length + PAGE - 1) // PAGE * PAGE)
    done = 0
    while done < length:
        n = os.preadv(fd, [memoryview(buffer)[done:]], done)
        if n == 0:
            break
        done += n
    os.close(fd)
    return buffer[:done]


def write(path):
    with open(path, "wb") as f:
        f.write(content(0))
    fd = os.open(path, os.O_RDWR)

    private = mmap.mmap(fd, SIZE, flags=mmap.MAP_PRIVATE)
    expect(private[:], content(0), "a private map reads the file")
    private[PAGE:PAGE + 9] = b"unwritten"
    expect(os.pread(fd, 9, PAGE), content(0)[PAGE:PAGE + 9], "a private map's store stays private")

    shared = mmap.mmap(fd, SIZE)
    shared[:] = content(1)
    expect(os.pread(fd, SIZE, 0), content(1), "read() sees a shared map's stores")
    expect(private[PAGE:PAGE + 9], b"unwritten", "the private page is still its own")
    expect(private[5 * PAGE:6 * PAGE], page(5, 1)[:PAGE], "its untouched pages follow the file")
    shared.flush()
    expect(direct_read(path, SIZE), content(1), "after msync the server has it")

    os.pwrite(fd, b"by write", 7 * PAGE + 5)
    expect(shared[7 * PAGE + 5:7 * PAGE + 13], b"by write", "a shared map sees write()")

    # two processes, each through a map of its own
    pid = os.fork()
    if pid == 0:
        mine = mmap.mmap(os.open(path, os.O_RDWR), SIZE)
        for i in range(0, PAGES, 2):
            mine[i * PAGE:(i + 1) * PAGE] = page(i, 2)[:PAGE]
        os._exit(0)
    for i in range(1, PAGES, 2):
        shared[i * PAGE:(i + 1) * PAGE] = page(i, 2)[:PAGE]
    if os.waitpid(pid, 0)[1] != 0:
        sys.exit("the other process failed")
    shared[PAGES * PAGE:SIZE] = page(PAGES, 2)[:1000]
    expect(os.pread(fd, SIZE, 0), content(2), "two processes' stores")

    # beyond the end: the rest of the last page is zero and never written
    whole = mmap.mmap(fd, 0)
    expect(len(whole).to_bytes(4, "big"), SIZE.to_bytes(4, "big"), "the map's length")
    copy = path + ".copy"
    with open(copy, "wb") as f:
        f.write(b"x" * (3 * PAGE))
    cfd = os.open(copy, os.O_RDWR)
    cut = mmap.mmap(cfd, 3 * PAGE)
    expect(cut[:], b"x" * (3 * PAGE), "the copy")
    os.ftruncate(cfd, PAGE + 100)
    expect(cut[PAGE:2 * PAGE], b"x" * 100 + bytes(PAGE - 100), "after truncation the page's rest is zero")
    expect_signal(lambda: cut[2 * PAGE], signal.SIGBUS, "a load beyond the end")

    def store():
        cut[2 * PAGE] = 1
    expect_signal(store, signal.SIGBUS, "a store beyond the end")
    os.ftruncate(cfd, 3 * PAGE)
    expect(os.pread(cfd, 3 * PAGE, 0), b"x" * (PAGE + 100) + bytes(2 * PAGE - 100),
           "what was cut off is zero after extension")
    os.close(cfd)
    os.unlink(copy)

    # a map outlives its descriptor and the file's name
    gone = path + ".gone"
    gfd = os.open(gone, os.O_RDWR | os.O_CREAT, 0o600)
    os.write(gfd, bytes(PAGE))
    last = mmap.mmap(gfd, PAGE)
    os.close(gfd)
    os.unlink(gone)
    last[0:4] = b"here"
    last.flush()
    expect(last[0:4], b"here", "a map of an unlinked and closed file")
    last.close()

    # a read into a map of the same file, and a write from it
    os.preadv(fd, [memoryview(private)[9 * PAGE:10 * PAGE]], 11 * PAGE)
    expect(private[9 * PAGE:10 * PAGE], page(11, 2)[:PAGE], "read() into a private map of the file")
    os.pwrite(fd, memoryview(shared)[12 * PAGE:13 * PAGE], 12 * PAGE)
    expect(os.pread(fd, SIZE, 0), content(2), "write() from a map of the same page")
    shared.flush()
    os.close(fd)


def verify(path):
    with open(path, "rb") as f:
        expect(f.read(), content(2), "what was stored")


def beyond(path):
    with open(path, "wb") as f:
        f.write(b"x" * 100)
    for extend in (lambda fd: os.ftruncate(fd, PAGE + 1), lambda fd: os.pwrite(fd, bytes(1), PAGE)):
        fd = os.open(path, os.O_RDWR)
        os.ftruncate(fd, PAGE)
        m = mmap.mmap(fd, PAGE)
        os.ftruncate(fd, 100)
        m[200:204] = b"lost"
        m.flush()
        expect(direct_read(path, PAGE), b"x" * 100, "the server keeps the file's end")
        extend(fd)
        expect(os.pread(fd, 2 * PAGE, 0), b"x" * 100 + bytes(PAGE - 99), "what was stored beyond the end")
        m.close()
        os.close(fd)


{"write": write, "verify": verify, "beyond": beyond}[sys.argv[1]](sys.argv[2])
