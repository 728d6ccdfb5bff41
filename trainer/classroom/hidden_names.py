"""Hide the names of students in texts."""

from __future__ import annotations

import keyword
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from trainer.classroom.excerpts import HIDDEN, identifies, name_words
from trainer.classroom.name_forms import in_order
from trainer.classroom.records import Student

# A shorter user name or id can be a word or a number of the report.
_LEAST_KEY, _LEAST_NUMBER = 4, 6
_WORD = re.compile(r"\w+")
_PART = re.compile(r"[^\W_]+")
_MOST_BETWEEN = 3  # characters between two words of a name, as in "Lee, Ana"

_Phrase = tuple[str, ...]


class HiddenNames:
    """The names, ids, user names and addresses of a class.

    Every word of its author's name is hidden in a text. Of all other students, the whole names are
    hidden, and not each word, because a word like "May" or "Long" can have another meaning.
    """

    def __init__(self, students: Sequence[Student]) -> None:
        self._by_name = {student.name: student for student in students}
        self._by_first: dict[str, list[_Phrase]] = defaultdict(list)
        for phrase in sorted({phrase for student in students for phrase in _phrases(student)}):
            self._by_first[phrase[0]].insert(0, phrase)  # a longer phrase comes first

    def words_of(self, student: str) -> frozenset[str]:
        """Return the words that identify a student. An identifier may contain them."""
        known = self._by_name.get(student, Student(student))
        local_part = known.email.partition("@")[0]
        keys = (known.id, known.login, known.system_id, local_part)
        return name_words(known.name, 2).union(*(name_words(key, _LEAST_KEY) for key in keys))

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
            length = self._length_at(index, words, parts)
            if length:
                pieces += [text[done : parts[index].start()], HIDDEN]
                done = parts[index + length - 1].end()
            index += length or 1
        return "".join([*pieces, text[done:]])

    def _length_at(self, index: int, words: Sequence[str], parts: Sequence[re.Match[str]]) -> int:
        """Return the number of words of the name that begins at a word, or 0."""
        for phrase in self._by_first.get(words[index], ()):
            end = index + len(phrase)
            are_close = all(
                right.start() - left.end() <= _MOST_BETWEEN
                for left, right in zip(parts[index:end], parts[index + 1 : end], strict=False)
            )
            if tuple(words[index:end]) == phrase and are_close:
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
