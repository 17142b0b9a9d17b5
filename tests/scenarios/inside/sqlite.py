#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
#
# Usage: sqlite.py fill FILE ROWS JOURNAL-MODE
#        sqlite.py verify FILE ROWS
#
# Rows whose content follows from their number, 100 to a transaction.
import hashlib
import sqlite3
import sys


def text(i):
    return hashlib.sha256(b"%d" % i).hexdigest() * (1 + i % 3)


def fill(path, rows, mode):
    db = sqlite3.connect(path, isolation_level=None)
    got = db.execute(f"PRAGMA journal_mode={mode}").fetchone()[0]
    if got != mode:
        sys.exit(f"journal mode is {got}")
    db.execute("PRAGMA synchronous=FULL")
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, hash TEXT, n INTEGER)")
    db.execute("CREATE INDEX i ON t (hash)")
    for first in range(0, rows, 100):
        db.execute("BEGIN")
        db.executemany("INSERT INTO t VALUES (?, ?, ?)",
                       ((i, text(i), i * 7) for i in range(first, first + 100)))
        db.execute("COMMIT")
    db.close()


def verify(path, rows):
    db = sqlite3.connect(path)
    result = db.execute("PRAGMA integrity_check").fetchall()
    if result != [("ok",)]:
        sys.exit(f"integrity_check: {result[:5]}")
    have = 0
    for i, hashed, n in db.execute("SELECT id, hash, n FROM t ORDER BY id"):
        if (i, hashed, n) != (have, text(have), have * 7):
            sys.exit(f"row {have} is {(i, hashed, n)}")
        have += 1
    if have != rows:
        sys.exit(f"{have} rows instead of {rows}")
    found = db.execute("SELECT id FROM t WHERE hash = ?", (text(rows // 2),)).fetchall()
    if found != [(rows // 2,)]:
        sys.exit(f"by the index: {found}")


if sys.argv[1] == "fill":
    fill(sys.argv[2], int(sys.argv[3]), sys.argv[4])
else:
    verify(sys.argv[2], int(sys.argv[3]))
