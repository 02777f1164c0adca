"""Notes in SQLite: `notes.py save N [SYNCHRONOUS]` saves N notes, each in a transaction of its own."""

import sqlite3
import sys


def main(count, synchronous):
    notes = sqlite3.connect("notes.db", isolation_level=None)
    notes.execute("pragma journal_mode = wal")
    notes.execute(f"pragma synchronous = {synchronous}")
    notes.execute("create table if not exists note (id integer primary key, text text)")
    for number in range(count):
        notes.execute("insert into note (text) values (?)", (f"note {number} " * 10,))


if __name__ == "__main__":
    main(int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "full")
