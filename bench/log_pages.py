#!/usr/bin/env python3
"""Which pages the commits in a store's log wrote, by table and index. For a store that is in use: its log is there.

bench/log_pages.py FILE [--last COMMITS]
"""

from __future__ import annotations

import argparse
import collections
import sqlite3
import struct
from pathlib import Path

header_bytes = 32
frame_head_bytes = 24


def frames(log: bytes, page: int) -> list[tuple[int, bool]]:
    """Page number, and whether it ends a transaction; only those of the log's present round."""
    salt = log[16:24]
    found = []
    for at in range(header_bytes, len(log) - frame_head_bytes - page + 1, frame_head_bytes + page):
        number, size, *_ = struct.unpack(">II", log[at : at + 8])
        if log[at + 8 : at + 16] != salt:
            break
        found.append((number, size != 0))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--last", type=int, default=0, help="only so many commits, the newest")
    options = parser.parse_args()
    log = Path(f"{options.file}-wal").read_bytes()
    page = struct.unpack(">I", log[8:12])[0]
    commits: list[list[int]] = [[]]
    for number, ends in frames(log, page):
        commits[-1].append(number)
        if ends:
            commits.append([])
    commits.pop()  # not complete
    commits = commits[-options.last :]
    database = sqlite3.connect(f"file:{options.file}?mode=ro", uri=True)
    names = {number: name for number, name in database.execute("SELECT pageno, name FROM dbstat")} | {1: "page 1"}
    written = collections.Counter(names.get(number, "(free)") for commit in commits for number in commit)
    pages = sum(written.values())
    bytes_each = pages * (page + frame_head_bytes) / len(commits)
    print(f"{len(commits)} commits, {pages / len(commits):.2f} pages and {bytes_each:.0f} bytes each")
    for name, count in written.most_common():
        print(f"{name:32} {count / len(commits):.3f}")


if __name__ == "__main__":
    main()
