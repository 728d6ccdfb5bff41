"""Find the student whom a person or a file name means. No other module compares names."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from attn_drill.classroom.anonymity import anonymous_ids
from attn_drill.classroom.csv_file import plain_heading
from attn_drill.classroom.records import Student
from attn_drill.model.errors import DrillError
from attn_drill.model.listing import first_of

# The columns of a roster with an id, in the form of `plain_heading`. Earlier headings come first.
ID = (
    *("sisuserid", "studentid", "idnumber", "studentnumber", "studentno", "sid", "userid"),
    *("matriculationnumber", "id"),
)
Value = TypeVar("Value")

_MOST_NAMED = 5  # students in one sentence
_LEAST_PART = 4  # a short number in a file name, for example `gqa_2`, is hardly an id
_PARTS = re.compile(r"[\s,;()\[\]_]+")
# The addition that makes a name unique: "Ana Lee (101)".
_ADDITION = re.compile(r" \([^()]*\)\Z")
# Letters with a stroke or a ligature, which Unicode does not take apart.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
_SUFFIXES = frozenset(("jr", "sr", "ii", "iii", "iv"))  # "Sammy Davis, Jr." is not turned around


def key_form(text: str) -> str:
    """Return the form in which ids, user names and addresses are compared.

    >>> key_form(" Ana.Lee ")
    'ana.lee'
    """
    text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(unicodedata.normalize("NFKC", text).split())


def folded(name: str) -> str:
    """Return a name in small letters without accents, blanks and punctuation.

    >>> folded("O'Neil-Łuk, Zoë")
    'oneillukzoe'
    """
    apart = unicodedata.normalize("NFD", key_form(name)).translate(_PLAIN)
    kinds = ((each, unicodedata.category(each)) for each in apart)
    return "".join(each for each, kind in kinds if kind[0] in "LNM" and kind != "Mn")


def in_order(name: str) -> str:
    """Return a name with the first name first.

    >>> in_order("Lee, Ana")
    'Ana Lee'
    """
    last, comma, first = (part.strip() for part in name.partition(","))
    is_turned = comma and first and last and "," not in first and folded(first) not in _SUFFIXES
    return " ".join((f"{first} {last}" if is_turned else name).split())


class StudentIndex:
    """The students of a class, by everything that identifies them.

    A student may be named by id, user name, e-mail address, the part of the address before the @,
    anonymous id, or name. A name has its first or its last word first, with or without blanks,
    punctuation and accents. With "" for the salt, there are no anonymous ids.
    """

    def __init__(self, students: Sequence[Student], salt: str = "") -> None:
        self._by_exact_name = {student.name: student for student in students}
        self._by_key: dict[str, list[Student]] = defaultdict(list)
        self._by_name: dict[str, list[Student]] = defaultdict(list)
        hidden = anonymous_ids(self._by_exact_name, salt) if salt else {}
        for student in students:
            # A row may have several ids, for example Canvas' own id and the university's.
            ids = [cell for heading, cell in student.row.items() if plain_heading(heading) in ID]
            keys = (
                *(student.id, student.system_id, *ids, student.login, student.email),
                *(student.email.partition("@")[0], hidden.get(student.name, "")),
            )
            for key in {key_form(key) for key in keys} - {""}:
                self._by_key[key].append(student)
            for name in _name_forms(student.name) | _name_forms(_ADDITION.sub("", student.name)):
                self._by_name[name].append(student)

    def find_all(self, words: str) -> list[Student]:
        """Return every student whom the words fit; of an exact name, only its student.

        An id or an address may be a part of the words: `12345_gqa`.
        """
        if words in self._by_exact_name:
            return [self._by_exact_name[words]]
        parts = [
            student
            for part in _PARTS.split(words)
            if len(part) >= _LEAST_PART and ("@" in part or any(map(str.isdigit, part)))
            for student in self._by_key.get(key_form(part), [])
        ]
        fitting = (
            self._by_key.get(key_form(words)) or self._by_name.get(folded(in_order(words))) or parts
        )
        return list({student.name: student for student in fitting}.values())

    def find(self, words: str) -> Student:
        """Return the only student whom the words fit, or raise DrillError."""
        fitting = self.find_all(words)
        if len(fitting) == 1:
            return fitting[0]
        if fitting:
            raise DrillError(_several(words, fitting))
        near = difflib.get_close_matches(words, self._by_exact_name, n=3, cutoff=0.5)
        hint = (
            f"Did you mean {' or '.join(map(repr, near))}?" if near else "grades.csv has all names."
        )
        raise DrillError(f"No student of this class is called {words!r}. {hint}")


def by_student(
    table: Iterable[tuple[str, Value]], students: Sequence[Student], source: str
) -> tuple[dict[str, Value], list[str]]:
    """Return a table of a person by the names of the students, and its keys that fit nobody.

    Raise DrillError if a key fits several students, or a student has two different values.
    """
    index = StudentIndex(students)
    values: dict[str, Value] = {}
    unknown: list[str] = []
    for key, value in table:
        fitting = index.find_all(key)
        if len(fitting) > 1:
            raise DrillError(f"{source}: {_several(key, fitting)}")
        if not fitting:
            unknown.append(key)
        elif values.setdefault(fitting[0].name, value) != value:
            raise DrillError(
                f"{source} has two different values for {fitting[0].name}. Remove the line that"
                " does not count."
            )
    return values, unknown


def _several(words: str, students: Sequence[Student]) -> str:
    names = [
        f"{student.name.removesuffix(f' ({student.id})')} ({student.id or student.email})"
        for student in students
    ]
    return (
        f"{words!r} fits {len(names)} students: {first_of(names, _MOST_NAMED)}. Name the student"
        " by id."
    )


def with_unique_names(students: Sequence[Student]) -> list[Student]:
    """Return the students with distinct names, as far as ids or addresses distinguish them."""
    counts = Counter(key_form(student.name) for student in students)
    unique: list[Student] = []
    for student in students:
        addition = student.id or student.email
        if addition and counts[key_form(student.name)] > 1:
            student = replace(student, name=f"{student.name} ({addition})")
        unique.append(student)
    return unique


def _name_forms(name: str) -> set[str]:
    """Return the `folded` forms of a name with first and last names in either order.

    Nobody can tell from "Ana Maria Lopez" where the last name begins. So each word may be the
    first word of the last name.
    """
    words = [word for word in map(folded, in_order(name).split()) if word]
    return {"".join(words[start:] + words[:start]) for start in range(len(words))}
