# SPDX-License-Identifier: GPL-2.0
"""A worker of storm.py: a repository of git, by git itself."""

import glob
import os
import random
import subprocess

SETTINGS = {
    "user.name": "storm", "user.email": "storm@localhost", "init.defaultBranch": "main",
    "advice.detachedHead": "false", "gc.auto": "0", "core.fsync": "all", "safe.directory": "*",
}


class Repository:
    """
    Commands of git, each repeated for as long as it fails by what may fail: a change of a
    name whose answer was lost with the session says EIO.  git then ends in the middle of
    things, and leaves its locks.  It does not always say what it was told: where mkdir()
    fails it names the ENOENT of the open before that.  So a command that a session's end
    fell into is excused, too, but no command more often than sessions end.
    """

    def __init__(self, where, ends, remove):
        self.where, self.remove = where, remove
        self.ends, self.settled = ends
        self.again = 0
        self.environment = {**os.environ, "HOME": where, "GIT_CONFIG_NOSYSTEM": "1", "LANG": "C"}

    def run(self, *args, done=lambda: False):
        begin, lost = self.ends.value, 0
        settings = [word for key, value in SETTINGS.items() for word in ("-c", f"{key}={value}")]
        while True:
            settled = self.settled.value
            # pylint: disable-next=subprocess-run-check
            p = subprocess.run(["git", *settings, *args], cwd=self.where, env=self.environment,
                               capture_output=True, text=True)
            if not p.returncode:
                return p.stdout
            lost += 1
            locks = glob.glob(self.where + "/.git/**/*.lock", recursive=True)
            unanswered = "Input/output error" in p.stderr or locks or self.ends.value > settled
            if not unanswered and not self.again:
                raise AssertionError(f"git {' '.join(args)}: {p.stdout}{p.stderr}")
            if lost > self.ends.value - begin + 2:
                raise AssertionError(f"git {' '.join(args)}, {lost} times: {p.stdout}{p.stderr}")
            self.again += 1
            for lock in locks:
                self.remove(lock)
            if done():
                return p.stdout

    def clean(self):
        return not self.run("status", "--porcelain")

    def commits(self):
        return int(self.run("rev-list", "--count", "HEAD"))


def work(where, stop, ends, remove):
    """Commits of changed and new files, packed now and then, each found again in the end."""
    rng, n = random.Random(4), 0
    git = Repository(where, ends, remove)
    git.run("init", "-q", ".")
    os.makedirs(where + "/src", exist_ok=True)
    contents = {}
    while not stop.is_set() or not n:
        for _ in range(3):
            name = f"src/f{rng.randrange(40)}"
            contents[name] = rng.randbytes(rng.choice((100, 3000, 40000)))
            with open(f"{where}/{name}", "wb") as f:
                f.write(contents[name])
        git.run("add", "-A")
        git.run("commit", "-q", "-m", f"number {n}", done=git.clean)
        n += 1
        if n % 6 == 0:
            git.run("gc", "-q", "--prune=now")
        elif n % 6 == 3:
            git.run("fsck", "--no-progress")
    git.run("fsck", "--full", "--strict", "--no-progress")
    if git.commits() != n:
        raise AssertionError(f"{git.commits()} commits of {n}")
    if not git.clean():
        raise AssertionError("files are not what was committed: " + git.run("status"))
    for name, data in contents.items():
        with open(f"{where}/{name}", "rb") as f:
            if f.read() != data:
                raise AssertionError(f"{name} has other contents")
    return n
