"""Define the tables of the journal, version by version.

Never change a released version. A new version adds a step that migrates from the version before.
"""

from __future__ import annotations

# Every row has a random id and never changes, so two journals can be merged any number of times.
_ID = "id TEXT PRIMARY KEY NOT NULL"
# Rows of version 1 have no ids. This id is the same in every copy of the journal, and two
# different rows hardly ever get the same id.
_GIVEN = "'1-' || rowid || '-' || printf('%.6f', at)"

_FIRST = (
    "CREATE TABLE started (challenge TEXT NOT NULL, path TEXT NOT NULL, at REAL NOT NULL)",
    """CREATE TABLE attempts (
        challenge TEXT NOT NULL, at REAL NOT NULL, seed INTEGER NOT NULL, verdict TEXT NOT NULL,
        checks_passed INTEGER NOT NULL, checks_total INTEGER NOT NULL, source TEXT NOT NULL
    )""",
    "CREATE TABLE hints (challenge TEXT NOT NULL, level INTEGER NOT NULL, at REAL NOT NULL)",
    "CREATE TABLE solutions (challenge TEXT NOT NULL, at REAL NOT NULL)",
    "CREATE INDEX attempts_by_challenge ON attempts (challenge, at)",
)

_SECOND = (
    *(
        f"ALTER TABLE {table} RENAME TO {table}_1"
        for table in ("started", "attempts", "hints", "solutions")
    ),
    "DROP INDEX attempts_by_challenge",
    f"CREATE TABLE started ({_ID}, challenge TEXT NOT NULL, at REAL NOT NULL, path TEXT NOT NULL, "
    "level TEXT NOT NULL)",
    f"CREATE TABLE attempts ({_ID}, challenge TEXT NOT NULL, at REAL NOT NULL, "
    "seed INTEGER NOT NULL, verdict TEXT NOT NULL, checks TEXT NOT NULL, "
    "checks_passed INTEGER NOT NULL, checks_total INTEGER NOT NULL, seconds REAL, "
    "hints INTEGER NOT NULL, solution INTEGER NOT NULL, purpose TEXT NOT NULL, "
    "source TEXT NOT NULL)",
    f"CREATE TABLE diagnoses ({_ID}, attempt TEXT NOT NULL, mistakes TEXT NOT NULL, line INTEGER)",
    f"CREATE TABLE hints ({_ID}, challenge TEXT NOT NULL, at REAL NOT NULL, "
    "level INTEGER NOT NULL)",
    f"CREATE TABLE solutions ({_ID}, challenge TEXT NOT NULL, at REAL NOT NULL)",
    f"CREATE TABLE reviews ({_ID}, item TEXT NOT NULL, at REAL NOT NULL, rating INTEGER NOT NULL, "
    "reason TEXT NOT NULL)",
    f"CREATE TABLE overrules ({_ID}, review TEXT NOT NULL, at REAL NOT NULL, "
    "rating INTEGER NOT NULL)",
    f"CREATE TABLE hunts ({_ID}, challenge TEXT NOT NULL, at REAL NOT NULL, "
    "mistakes TEXT NOT NULL, path TEXT NOT NULL)",
    f"CREATE TABLE interviews ({_ID}, at REAL NOT NULL, plan TEXT NOT NULL)",
    f"CREATE TABLE interview_events ({_ID}, interview TEXT NOT NULL, at REAL NOT NULL, "
    "kind TEXT NOT NULL, data TEXT NOT NULL)",
    f"INSERT INTO started SELECT {_GIVEN}, challenge, at, path, 'standard' "
    "FROM started_1 ORDER BY rowid",
    f"INSERT INTO attempts SELECT {_GIVEN}, challenge, at, seed, verdict, '{{}}', checks_passed, "
    "checks_total, NULL, 0, 0, 'practice', source FROM attempts_1 ORDER BY rowid",
    f"INSERT INTO hints SELECT {_GIVEN}, challenge, at, level FROM hints_1 ORDER BY rowid",
    f"INSERT INTO solutions SELECT {_GIVEN}, challenge, at FROM solutions_1 ORDER BY rowid",
    *(f"DROP TABLE {table}_1" for table in ("started", "attempts", "hints", "solutions")),
    *(
        f"CREATE INDEX {table}_by_challenge ON {table} (challenge, at)"
        for table in ("started", "attempts", "hints", "solutions", "hunts")
    ),
    "CREATE INDEX diagnoses_by_attempt ON diagnoses (attempt)",
    "CREATE INDEX reviews_by_item ON reviews (item, at)",
    "CREATE INDEX overrules_by_review ON overrules (review)",
    "CREATE INDEX events_by_interview ON interview_events (interview)",
)

_THIRD = (
    f"CREATE TABLE replaced ({_ID}, attempt TEXT NOT NULL, at REAL NOT NULL)",
    "CREATE INDEX replaced_by_attempt ON replaced (attempt)",
)

_FOURTH = (f"CREATE TABLE resumed ({_ID}, challenge TEXT NOT NULL, at REAL NOT NULL)",)

# From an empty file to version 1, from 1 to 2, from 2 to 3, from 3 to 4.
STEPS = (_FIRST, _SECOND, _THIRD, _FOURTH)
VERSION = len(STEPS)
# The first version whose rows have ids. Later versions have all tables of an export of version 2.
FIRST_EXPORT = 2

# The columns of every table, in order. Export and import use this list.
COLUMNS: dict[str, tuple[str, ...]] = {
    "started": ("id", "challenge", "at", "path", "level"),
    "attempts": (
        *("id", "challenge", "at", "seed", "verdict", "checks", "checks_passed", "checks_total"),
        *("seconds", "hints", "solution", "purpose", "source"),
    ),
    "diagnoses": ("id", "attempt", "mistakes", "line"),
    "hints": ("id", "challenge", "at", "level"),
    "solutions": ("id", "challenge", "at"),
    "reviews": ("id", "item", "at", "rating", "reason"),
    "overrules": ("id", "review", "at", "rating"),
    "hunts": ("id", "challenge", "at", "mistakes", "path"),
    "interviews": ("id", "at", "plan"),
    "interview_events": ("id", "interview", "at", "kind", "data"),
    "replaced": ("id", "attempt", "at"),
    "resumed": ("id", "challenge", "at"),
}
