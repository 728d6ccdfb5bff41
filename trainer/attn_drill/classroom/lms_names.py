"""Read the file names that Canvas, Moodle and Blackboard write into the zip of a class.

Each system writes the student's data first and the student's own file name last. So the first mark
of the system in a name counts, and the text after it, which the student chose, decides nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from attn_drill.classroom.records import System

# The groups `student` are lazy, so that the first mark counts. If two forms fit equally many names
# of a class, the first of them counts.
_FORMS: Mapping[System, re.Pattern[str]] = {
    "moodle": re.compile(
        r"(?P<student>.+?)_(?P<id>[0-9]{1,18})_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL
    ),
    # The receipt of an attempt ends in .txt at once.
    "blackboard": re.compile(
        r"(?P<student>.+?)_attempt_(?P<attempt>[0-9]{4}(?:-[0-9]{2}){5})"
        r"(?:_(?P<file>.+)|\.txt)",
        re.DOTALL,
    ),
    "canvas": re.compile(
        r"(?P<student>.+?)(?P<late>_LATE)?_(?P<id>[0-9]{1,18})_(?P<upload>[0-9]{1,18})"
        r"_(?P<file>.+)",
        re.DOTALL,
    ),
}


@dataclass(frozen=True)
class LmsName:
    """The parts of a name that a learning management system wrote.

    Attributes:
        system: "" for a name that a person chose.
        student: for Blackboard, `<assignment>_<user>`.
        id: Canvas' user id, or the number of Moodle's participant.
        file: the student's own name of the file; "" for a folder and for a receipt.
        attempt: the time of Blackboard's attempt as text that sorts by time.
        upload: Canvas' number of the upload, which grows with time.
    """

    system: System = ""
    student: str = ""
    id: str = ""
    file: str = ""
    attempt: str = ""
    upload: int = 0
    is_marked_late: bool = False

    @property
    def order(self) -> tuple[str, int]:
        """The attempt and the number of the upload, which grow with time."""
        return self.attempt, self.upload

    @property
    def is_receipt(self) -> bool:
        """True for Blackboard's receipt of an attempt."""
        return self.system == "blackboard" and not self.file

    @property
    def submitted(self) -> float | None:
        """The time of the attempt, which is local, in seconds since the epoch, or None."""
        try:
            return datetime.strptime(self.attempt, "%Y-%m-%d-%H-%M-%S").timestamp()
        except (ValueError, OverflowError, OSError):
            return None


def system_of_names(names: Collection[tuple[str, bool]]) -> System:
    """Return the system that wrote most of the names, each with True for a folder; "" for none.

    One class comes from one system. So a student cannot look like somebody else with a file name
    in the form of another system.
    """
    counts = Counter(dict.fromkeys(_FORMS, 0))
    for name, is_folder in names:
        counts.update(system for system in _FORMS if read_name(name, is_folder, system))
    system, count = counts.most_common(1)[0]
    return system if count and 2 * count >= len(names) else ""


def read_name(name: str, is_folder: bool, system: System) -> LmsName | None:
    """Return the parts of a name that the system wrote, or None."""
    parts = _FORMS[system].fullmatch(name) if system in _FORMS else None
    if parts is None or (is_folder and system != "moodle"):
        return None
    groups = parts.groupdict()
    return LmsName(
        system,
        parts["student"],
        groups.get("id") or "",
        parts["file"] or "",
        attempt=groups.get("attempt") or "",
        upload=int(groups.get("upload") or 0),
        is_marked_late=bool(groups.get("late")),
    )


def blackboard_user(head: str, users: Iterable[str]) -> str:
    """Return the user in `<assignment>_<user>`. Both parts may have underscores.

    The longest user of the roster that fits counts. Otherwise the user begins after the last
    underscore.

    >>> blackboard_user("HW_3_jane_doe", ["doe", "jane_doe"]), blackboard_user("HW_3_bob", [])
    ('jane_doe', 'bob')
    """
    end = f"_{head}".casefold()
    fitting = [user for user in users if user and end.endswith(f"_{user}".casefold())]
    return max(fitting, key=len, default=head.rpartition("_")[2] or head)
