#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: metadata.py OPERATIONS
#
# Operations on names and attributes in small directories, all of whose answers
# fit one message; at least as many as asked for.
import os
import sys

wanted = int(sys.argv[1])
done = 0
while done < wanted:
    os.mkdir("m")
    for i in range(12):
        name = f"m/file-{i}"
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.chmod(name, 0o644)
        os.utime(name, ns=(i, i))
        os.truncate(name, i * 1000)
        os.rename(name, name + "-r")
        os.link(name + "-r", name)
        os.unlink(name + "-r")
        os.setxattr(name, "user.a", b"value")
        if os.stat(name).st_size != i * 1000 or os.getxattr(name, "user.a") != b"value":
            sys.exit(f"{name} is not as it was made")
        done += 9
    os.symlink("target", "m/link")
    os.readlink("m/link")
    if len(os.listdir("m")) != 13:
        sys.exit(f"{os.listdir('m')}")
    os.statvfs("m")
    for entry in os.scandir("m"):
        os.unlink(entry.path)
        done += 1
    os.rmdir("m")
    done += 6
