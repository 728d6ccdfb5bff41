"""Hide the names of students in texts."""

from __future__ import annotations

import builtins
import keyword
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from trainer.classroom.excerpts import HIDDEN, identifies, name_words
from trainer.classroom.records import Student
from trainer.classroom.students import in_order
from trainer.model.checks import CHECK_ORDER

# A shorter user name or id can be a word or a number of the report.
_LEAST_KEY, _LEAST_NUMBER = 4, 6
_LEAST_AUTHORS = 2
# Words of Python, of the checks and of common tensor code, which are names of people, too.
_ORDINARY = frozenset(
    word
    for text in (
        *keyword.kwlist,
        *dir(builtins),
        *CHECK_ORDER,
        "case head key long mask query value",
    )
    for word in name_words(text, 2)
)
_WORD = re.compile(r"\w+")
_PART = re.compile(r"[^\W_]+")
# The characters between two words of a name or an address: "Lee, Ana", "ana.lee@uni".
_BETWEEN = re.compile(r"[\s,._@'’-]{0,3}")

_Phrase = tuple[str, ...]


class HiddenNames:
    """The names, ids, user names and addresses of a class.

    Every word of its author's name is hidden in a text, except ordinary words: if "max" were hidden
    only in the text of Max Long, it would give the name away. Of all other students, the whole
    names are hidden, and not each word.

    Args:
        students: the students of the class.
        texts: texts of the class, each with the name of its author. A word is ordinary if two
            other students have it in their texts.
    """

    def __init__(self, students: Sequence[Student], texts: Iterable[tuple[str, str]] = ()) -> None:
        self._by_name = {student.name: student for student in students}
        self._authors: dict[str, set[str]] = {
            word: set() for student in students for word in self._all_words_of(student)
        }
        for author, text in texts:
            for word in name_words(text, 2) & self._authors.keys():
                self._authors[word].add(author)
        self._by_first: dict[str, list[_Phrase]] = defaultdict(list)
        for phrase in sorted({phrase for student in students for phrase in _phrases(student)}):
            self._by_first[phrase[0]].insert(0, phrase)  # a longer phrase comes first

    def words_of(self, student: str) -> frozenset[str]:
        """Return the words that identify a student. An identifier may contain them."""
        known = self._by_name.get(student, Student(student))
        return frozenset(
            word
            for word in self._all_words_of(known)
            if word not in _ORDINARY
            and len(self._authors.get(word, set()) - {student}) < _LEAST_AUTHORS
        )

    @staticmethod
    def _all_words_of(student: Student) -> frozenset[str]:
        local_part = student.email.partition("@")[0]
        keys = (student.id, student.login, student.system_id, local_part)
        return name_words(student.name, 2).union(*(name_words(key, _LEAST_KEY) for key in keys))

    def hide(self, text: str, author: str) -> str:
        """Return a text with `…` for all names.

        Args:
            text: a text of or about a student.
            author: the name of this student.
        """
        words = self.words_of(author)

        def word(match: re.Match[str]) -> str:
            is_named = not keyword.iskeyword(match[0]) and identifies(match[0], words)
            return HIDDEN if is_named else match[0]

        return _WORD.sub(word, self._without_phrases(text))

    def _without_phrases(self, text: str) -> str:
        parts = list(_PART.finditer(text))
        words = [part[0].casefold() for part in parts]
        pieces: list[str] = []
        done = index = 0
        while index < len(parts):
            length = self._length_at(index, text, words, parts)
            if length:
                pieces += [text[done : parts[index].start()], HIDDEN]
                done = parts[index + length - 1].end()
            index += length or 1
        return "".join([*pieces, text[done:]])

    def _length_at(
        self, index: int, text: str, words: Sequence[str], parts: Sequence[re.Match[str]]
    ) -> int:
        """Return the number of words of the name that begins at a word, or 0."""
        for phrase in self._by_first.get(words[index], ()):
            end = index + len(phrase)
            if tuple(words[index:end]) == phrase and all(
                _BETWEEN.fullmatch(text, left.end(), right.start())
                for left, right in pairwise(parts[index:end])
            ):
                return len(phrase)
        return 0


def _phrases(student: Student) -> Iterator[_Phrase]:
    """Yield the names of a student in each order, and the ids, as words."""
    name = in_order(student.name.removesuffix(f" ({student.id})"))
    words = _words(name)
    if len(words) > 1:
        for start in range(len(words)):
            turned = words[start:] + words[:start]
            yield turned
            yield ("".join(turned),)
    for key in (student.id, student.login, student.system_id, student.email):
        least = _LEAST_NUMBER if key.isdigit() else _LEAST_KEY
        if len(key) >= least and _words(key):
            yield _words(key)


def _words(text: str) -> _Phrase:
    return tuple(word.casefold() for word in _PART.findall(text))
