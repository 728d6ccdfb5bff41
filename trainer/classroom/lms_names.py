"""Find the student of a file from the file name that a learning management system wrote.

The systems are Canvas, Moodle (a folder for each student, or all files in one folder) and
Blackboard. Each system writes the student's data first and the student's own file name last.
So the first mark of a system in a name counts. The student chose the text after the mark, so
that text decides nothing.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from trainer.classroom.records import System

# The groups `name` are lazy, so that the first mark counts.
_CANVAS = re.compile(
    r"(?P<name>.+?)(?P<late>_LATE)?_(?P<id>[0-9]{1,18})_(?P<upload>[0-9]{1,18})_(?P<file>.+)",
    re.DOTALL,
)
_MOODLE = re.compile(
    r"(?P<name>.+?)_(?P<id>[0-9]{1,18})_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL
)
_BLACKBOARD = re.compile(
    r"(?P<name>.+?)_attempt_(?P<attempt>[0-9]{4}(?:-[0-9]{2}){5})(?:_(?P<file>.+)|(?P<note>\.txt))",
    re.DOTALL,
)
# The first line of Blackboard's receipt, in any language: `Name: Ana Lee (alee)`.
_RECEIPT = re.compile(r"\s*+[^:：\n]*+[:：][^\n]*\((?P<user>[^()\n]+)\)\s*?(?:\n|$)")
_RECEIPT_START = 1000  # characters. A student may hand in a long file with the name of a receipt


@dataclass(frozen=True)
class LmsName:
    """The parts of a file name that a learning management system wrote.

    Attributes:
        key: different for different students, even if they have the same name.
        student: the name of the student.
        system: the system that wrote the name.
        id: the system's id of the student: Canvas' user id, the number of Moodle's participant,
            Blackboard's user name.
        file: the student's own name of the file; "" for a folder.
        attempt: the time of the attempt as text that sorts by time, or "".
        upload: the number of the upload, which grows with time, or 0.
        is_marked_late: True if the name says that the file is late.
        certain: True if files from other sources hardly ever have a name like this.
    """

    key: tuple[str, ...]
    student: str
    system: System = ""
    id: str = ""
    file: str = ""
    attempt: str = ""
    upload: int = 0
    is_marked_late: bool = False
    certain: bool = True


@dataclass(frozen=True)
class LmsNames:
    """The parsed names of a whole class.

    Attributes:
        by_name: the parts of each name that a system wrote, by name and is_folder.
        guessed: the guessed users in Blackboard's names, by `<assignment>_<user>`. These names
            do not show where the user begins.
    """

    by_name: Mapping[tuple[str, bool], LmsName]
    guessed: Mapping[str, str]


def is_lms_name(name: str, is_folder: bool) -> bool:
    """Return whether a system may have written this name."""
    return bool(_readings(name, is_folder))


def read_names(
    names: Iterable[tuple[str, bool]],
    known: Collection[str] = (),
    receipts: Mapping[str, str] | None = None,
) -> LmsNames:
    """Parse all names of a class together.

    Args:
        names: the names of files and folders, each with True for a folder.
        known: likely names of the assignment, in the form of `normalised_name`. They count only
            if nothing else decides.
        receipts: the text of each of Blackboard's receipts, by its file name.
    """
    names = list(names)
    readings = {(name, is_folder): _readings(name, is_folder) for name, is_folder in names}
    chosen = {key: _first(found) for key, found in readings.items() if found}
    for key in _misread_as_canvas(readings, chosen):
        chosen[key] = readings[key]["blackboard"]
    blackboard = [found for found in chosen.values() if found.re is _BLACKBOARD]
    by_receipt = _by_receipt(receipts or {}, {found.string for found in blackboard})
    users, guessed = _users({found["name"] for found in blackboard}, by_receipt, known)
    return LmsNames({key: _named(found, users) for key, found in chosen.items()}, guessed)


def is_receipt(name: str) -> bool:
    """Return whether this is the name of Blackboard's receipt of an attempt."""
    found = _BLACKBOARD.fullmatch(name)
    return found is not None and found["note"] is not None


def _readings(name: str, is_folder: bool) -> dict[str, re.Match[str]]:
    """Return every possible reading of a name, by system."""
    found: dict[str, re.Match[str]] = {}
    if (moodle := _MOODLE.fullmatch(name)) and (is_folder or moodle["file"]):
        found["moodle"] = moodle
    if is_folder:
        return found
    if blackboard := _BLACKBOARD.fullmatch(name):
        found["blackboard"] = blackboard
    if canvas := _CANVAS.fullmatch(name):
        found["canvas"] = canvas
    return found


def _first(readings: Mapping[str, re.Match[str]]) -> re.Match[str]:
    """Return the reading whose mark comes first, because the student's own words come later."""
    return min(readings.values(), key=lambda found: found.end("name"))


def _misread_as_canvas(
    readings: Mapping[tuple[str, bool], Mapping[str, re.Match[str]]],
    chosen: Mapping[tuple[str, bool], re.Match[str]],
) -> list[tuple[str, bool]]:
    """Return the names from Blackboard that look like names from Canvas.

    An assignment `Lab_3_1` produces names like these. A student on Canvas can also give a file a
    name in Blackboard's form. But no student can give two files the same upload number, or remove
    the numbers that Canvas writes first.
    """
    doubtful = {
        key: found
        for key, found in chosen.items()
        if found.re is _CANVAS and "blackboard" in readings[key]
    }
    heads = Counter(found.string[: found.end("upload")] for found in doubtful.values())
    systems = [set(found) for found in readings.values()]
    is_blackboard = {"blackboard"} in systems and {"canvas"} not in systems
    return [
        key
        for key, found in doubtful.items()
        if is_blackboard or heads[found.string[: found.end("upload")]] > 1
    ]


def _named(found: re.Match[str], users: Mapping[str, str]) -> LmsName:
    """Return the parts of a name.

    Args:
        found: the match of the name.
        users: the user of each `<assignment>_<user>`.
    """
    name = found["name"]
    if found.re is _MOODLE:
        key = ("moodle", name, found["id"])
        return LmsName(key, name, "moodle", found["id"], found["file"] or "")
    if found.re is _CANVAS:
        return LmsName(
            ("canvas", name, found["id"]),
            name,
            "canvas",
            found["id"],
            found["file"],
            upload=int(found["upload"]),
            is_marked_late=found["late"] is not None,
            certain=False,
        )
    return LmsName(
        ("blackboard", name),
        users[name],
        "blackboard",
        users[name],
        found["file"] or found["note"],
        attempt=found["attempt"],
    )


def _by_receipt(receipts: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Return the user of each `<assignment>_<user>` that has a receipt."""
    found: dict[str, str] = {}
    for name, text in receipts.items():
        match, line = _BLACKBOARD.fullmatch(name), _RECEIPT.match(text[:_RECEIPT_START])
        if name in names and match and line and match["name"].endswith(f"_{line['user']}"):
            found[match["name"]] = line["user"]
    return found


def _users(
    heads: Collection[str], by_receipt: Mapping[str, str], known: Collection[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the user in each `<assignment>_<user>`, and the users that are guesses.

    Both parts may have underscores. Receipts decide first: one receipt shows the assignment for
    all names. Otherwise the assignment is the part that several names have in common. For a single
    name without a receipt, the user begins as early as possible. Then the user is never shortened
    to the name of another student.
    """
    users = dict(by_receipt)
    assignments = {head.removesuffix(f"_{user}") for head, user in by_receipt.items()}
    groups: dict[str, list[list[str]]] = defaultdict(list)
    for head in sorted(set(heads) - set(users)):
        prefixes = [
            text for text in assignments if head.startswith(f"{text}_") and head != f"{text}_"
        ]
        if prefixes:
            users[head] = head[len(max(prefixes, key=len)) + 1 :]
        else:
            groups[head.partition("_")[0]].append(head.split("_"))
    guessed: dict[str, str] = {}
    for group in groups.values():
        if len(group) > 1:
            count = _shared(group)
            is_guess = count > 1
        else:
            count = _known(group[0], known)
            is_guess = count == 0
        for parts in group:
            head = "_".join(parts)
            users[head] = "_".join(parts[count or 1 :]) or head
            if is_guess and len(parts) > 2:
                guessed[head] = users[head]
    return users, guessed


def _shared(heads: Sequence[Sequence[str]]) -> int:
    """Return how many first parts all heads share. At least one part of each head must remain."""
    most = min(map(len, heads)) - 1
    count = 0
    while count < most and len({parts[count] for parts in heads}) == 1:
        count += 1
    while count and not all(any(parts[count:]) for parts in heads):
        count -= 1
    return count


def _known(parts: Sequence[str], known: Collection[str]) -> int:
    """Return the number of first parts that are a known name of the assignment, or 0."""
    for count in range(len(parts) - 1, 0, -1):
        if normalised_name("_".join(parts[:count]).replace(" ", "_")) in known:
            return count
    return 0


def handed_in_at(attempt: str) -> float | None:
    """Return the time of an attempt in seconds since the epoch, or None for "".

    The attempt is in local time.
    """
    try:
        return datetime.strptime(attempt, "%Y-%m-%d-%H-%M-%S").timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def normalised_name(file_name: str) -> str:
    """Return a file name in lower case, with underscores in place of hyphens."""
    return file_name.lower().replace("-", "_")
