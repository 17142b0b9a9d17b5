# SPDX-License-Identifier: GPL-2.0
"""
What namespaces and mapped share: id-mapped mounts and exports of their own, callers with other
ids, and steps whose results are compared.
"""
import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import struct
import subprocess
import sys

from guest import write_text

BACKING, OPTS = os.environ["RDMAFS_BACKING"], os.environ["RDMAFS_MOUNT_OPTS"]
SOURCE = os.environ["RDMAFS_SOURCE"]
LOCAL, FAR = "/mnt/idmapped", "/mnt/far"
AT_FDCWD, AT_EMPTY_PATH = -100, 0x1000
NEWUSER, NEWNS = 0x10000000, 0x00020000
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR = 428, 429, 442
MOUNT_ATTR_IDMAP = 0x100000
GETFLAGS, SETFLAGS, NODUMP = 0x80086601, 0x40086602, 0x40
ACL = "system.posix_acl_access"
NOBODY = 65534
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, cwd="/")
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: {done.returncode}: {done.stdout}")
    return done.stdout


def equal(have, want, what=""):
    if have != want:
        raise AssertionError(f"{what}: have {have!r}, want {want!r}")


def checked(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def syscall(number, *args):
    return checked(libc.syscall(*(ctypes.c_long(a) if isinstance(a, int) else a
                                  for a in (number, *args))), f"system call {number}")


def outcome(call, *args, **kwargs):
    """A result, or the name of an errno."""
    try:
        return call(*args, **kwargs)
    except OSError as e:
        return errno.errorcode.get(e.errno, e.errno)


def put(path, data=b"", mode=0o644):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, mode)
    try:
        return os.write(fd, data)
    finally:
        os.close(fd)


def get(path):
    with open(path, "rb") as f:
        return f.read()


def owner(path):
    st = os.lstat(path)
    return st.st_uid, st.st_gid


def kinds(top):
    """Names, types, modes and owners below a directory."""
    found = []
    for where, dirs, files in os.walk(top):
        for name in dirs + files:
            path = os.path.join(where, name)
            found.append((path[len(top):], oct(os.lstat(path).st_mode), *owner(path)))
    return sorted(found)


@contextlib.contextmanager
def as_user(uid):
    os.setgroups([])
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def in_child(action, flags=0, ids=None):
    """
    What action() returns in a process of its own, as repr() has it, or what it raises.  With flags
    the process has new namespaces, of which that of users has these ids.
    """
    ready_out, ready = os.pipe()
    go, go_in = os.pipe()
    out, into = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        try:
            if flags:
                checked(libc.unshare(flags), "unshare")
            os.write(ready, b"x")
            os.read(go, 1)
            said = repr(action())
        except BaseException as e:
            said = f"raised: {e!r}"
        with os.fdopen(into, "w") as f:
            f.write(said)
        os._exit(0)
    for fd in ready, go, into:
        os.close(fd)
    os.read(ready_out, 1)
    if ids:
        for kind in "uid", "gid":
            write_text(f"/proc/{pid}/{kind}_map", ids)
    os.write(go_in, b"x")
    with os.fdopen(out) as f:
        said = f.read()
    os.waitpid(pid, 0)
    os.close(ready_out)
    os.close(go_in)
    return said


def keep_capabilities(*numbers):
    """Have these and no others, whatever the user."""
    bits = sum(1 << number for number in numbers)
    low, high = bits & 0xffffffff, bits >> 32
    header = struct.pack("Ii", 0x20080522, 0)
    checked(libc.capset(header, struct.pack("6I", low, low, 0, high, high, 0)), "capset")


def user_namespace(ids):
    """A descriptor of a user namespace with these lines of "inside outside count"."""
    ready, into = os.pipe()
    pid = os.fork()
    if not pid:
        os.write(into, b"x" if libc.unshare(NEWUSER) == 0 else b"-")
        signal.pause()
    equal(os.read(ready, 1), b"x", "a user namespace")
    os.close(ready)
    os.close(into)
    try:
        for kind in "uid", "gid":
            write_text(f"/proc/{pid}/{kind}_map", ids)
        return os.open(f"/proc/{pid}/ns/user", os.O_RDONLY)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def idmapped(source, where, ids):
    """Mount a directory once more, with a map from the file system's ids to the mount's."""
    ns = user_namespace(ids)
    tree = syscall(OPEN_TREE, AT_FDCWD, os.fsencode(source), 0x80001)
    try:
        attr = ctypes.create_string_buffer(struct.pack("QQQQ", MOUNT_ATTR_IDMAP, 0, 0, ns), 32)
        syscall(MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH, attr, 32)
        syscall(MOVE_MOUNT, tree, b"", AT_FDCWD, os.fsencode(where), 0x4)
    finally:
        os.close(tree)
        os.close(ns)


@contextlib.contextmanager
def exported(name, path, options, mount=""):
    """An export of its own, mounted at FAR, with more options of the mount."""
    os.makedirs(FAR, exist_ok=True)
    run("rdmafsctl", "export", "add", name, path, "-o", options)
    try:
        run("mount", "-t", "rdmafs", "-o", f"{OPTS},{mount}" if mount else OPTS,
            f"{SOURCE.rpartition('/')[0]}/{name}", FAR)
        try:
            yield
        finally:
            run("umount", FAR)
    finally:
        run("rdmafsctl", "export", "remove", name)


def acl(user):
    """rw for one user, nothing for others but the owner, as an extended attribute."""
    entries = ((1, 6, 0xffffffff), (2, 6, user), (4, 0, 0xffffffff), (0x10, 6, 0xffffffff),
               (0x20, 0, 0xffffffff))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *e) for e in entries)


def acl_user(path):
    """The one user that an ACL names."""
    value = os.getxattr(path, ACL)
    found = [struct.unpack_from("<HHI", value, at) for at in range(4, len(value), 8)]
    return [ident for tag, _, ident in found if tag == 2]


# Those of the file system, and what the mount makes of them; who has none has no id there.
IDS = "0 0 1\n1000 5000 10\n"
ME, NONE = 5000, 1000


def lay(raw):
    """What there is already, made with ids of the file system."""
    for name, ident, mode in (("own", 1000, 0o600), ("roots", 0, 0o600), ("strange", 2000, 0o644),
                              ("open/strange", 2000, 0o666), ("foreign/f", 2000, 0o644),
                              ("users/f", 1000, 0o644), ("acled", 0, 0o600),
                              ("flags", 1000, 0o644)):
        os.makedirs(os.path.dirname(f"{raw}/{name}"), exist_ok=True)
        put(f"{raw}/{name}", name.encode())
        os.chown(f"{raw}/{name}", ident, ident)
        os.chmod(f"{raw}/{name}", mode)
    os.mkdir(f"{raw}/sgid")
    for name, uid, gid, mode in (("", 0, 0, 0o755), ("open", 0, 0, 0o777),
                                 ("sgid", 0, 1001, 0o2777), ("users", 1000, 1000, 0o755),
                                 ("foreign", 2000, 2000, 0o755)):
        os.chown(f"{raw}/{name}", uid, gid)
        os.chmod(f"{raw}/{name}", mode)
    os.setxattr(f"{raw}/acled", ACL, acl(1000))


def nameless(where):
    """A file that is made without a name, and gets one."""
    fd = os.open(where, os.O_TMPFILE | os.O_RDWR, 0o640)
    try:
        os.write(fd, b"nameless")
        return checked(libc.linkat(fd, b"", AT_FDCWD, os.fsencode(f"{where}/named"), AT_EMPTY_PATH),
                       "linkat")
    finally:
        os.close(fd)


def unlinked(path):
    """A file that loses its name while it is open."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.unlink(path)
        os.write(fd, b"still there")
        st = os.fstat(fd)
        return os.pread(fd, 100, 0), st.st_nlink, st.st_uid
    finally:
        os.close(fd)


def no_dump(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        flags = struct.unpack("i", fcntl.ioctl(fd, GETFLAGS, bytes(4)))[0]
        fcntl.ioctl(fd, SETFLAGS, struct.pack("i", flags | NODUMP))
        return struct.unpack("i", fcntl.ioctl(fd, GETFLAGS, bytes(4)))[0] & NODUMP
    finally:
        os.close(fd)


def steps(top):
    """What programs get in the mount: a list of (what, result or name of an errno)."""
    said = []

    def step(call, *args):
        said.append((call.__name__, args[0] if args and isinstance(args[0], str) else "",
                     outcome(call, *args)))

    os.chdir(top)
    try:
        all_steps(step)
    finally:
        os.chdir("/")
    return said


def all_steps(step):
    step(kinds, ".")
    with as_user(ME):
        step(get, "own")
        step(put, "own", b"mine")
        step(os.chmod, "own", 0o640)
        step(os.utime, "own", (1000, 2000))
        step(os.truncate, "own", 2)
        step(os.setxattr, "own", "user.x", b"mine")
        step(os.setxattr, "own", ACL, acl(5001))
        step(acl_user, "own")
        step(no_dump, "flags")
        for where in "open", "users", "sgid":
            step(put, f"{where}/new", b"new")
            step(os.mkdir, f"{where}/dir")
            step(os.symlink, "new", f"{where}/sym")
            step(os.mkfifo, f"{where}/fifo")
            step(nameless, where)
            step(unlinked, f"{where}/lost")
            step(os.link, f"{where}/new", f"{where}/link")
            step(os.rename, f"{where}/link", f"{where}/moved")
        step(put, "users/gone")
        step(os.unlink, "users/gone")
        step(get, "acled")
        step(put, "acled", b"by its ACL")
        for name in "roots", "strange", "foreign/f":
            step(get, name)
            step(put, name, b"not mine")
            step(os.chmod, name, 0o777)
        step(put, "foreign/new")
        step(os.chown, "own", 5001, 5001)
    with as_user(NONE):
        step(get, "own")
        step(get, "strange")
        step(put, "open/others")
        step(os.mkdir, "open/others")
        step(os.symlink, "x", "open/others")
        step(os.unlink, "open/moved")
    step(os.chown, "open/new", 5001, 5002)
    step(os.chown, "open/dir", 7000, 7000)
    step(os.chown, "open/dir", -1, 5003)
    step(os.chmod, "strange", 0o600)
    step(os.truncate, "strange", 0)
    step(os.unlink, "open/strange")
    step(os.unlink, "foreign/f")
    step(put, "foreign/new")
    step(acl_user, "acled")
    step(os.setxattr, "roots", ACL, acl(5004))
    step(acl_user, "roots")
    step(os.setxattr, "roots", ACL, acl(7000))
    step(kinds, ".")
