"""Find pairs of submissions that are more similar than the stub and the known answers explain.

A pair is a reason to read both files, and not a proof. The library copydetect makes fingerprints
of a file: it writes one letter for each name and each string, drops layout and comments, and
hashes every run of a few characters of the rest. Fingerprints of a known text do not count. The
more students have a fingerprint, the less the fingerprint counts.
"""

from __future__ import annotations

import io
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations
from typing import TYPE_CHECKING

from trainer.model.errors import DrillError

if TYPE_CHECKING:
    from copydetect import CodeFingerprint

# Measured in tests/classroom/test_similarity.py on our own answers and on classes of textbook
# answers: independent answers share up to 0.47, copies with other names 0.6 to 1.
LEAST_SHARED = 50.0  # fingerprints, each counted by its weight
LEAST_SHARE = 0.6  # of the fingerprints of the file that has fewer
LEAST_SHARE_OF_FEW = 0.8  # a small class does not show which lines everybody writes
_FEW = 5  # a class with fewer different files is small
_SHARED_BY_COPIES = 25.0  # enough if names and strings are the same too

_RUN = 8  # characters of one fingerprint, after names became letters
_OTHERS = 6  # files assumed in addition to the class; otherwise nothing is rare in a class of two
_MOST_CHARACTERS = 10_000  # of a file are read; our own answers have 4,000
_LONGEST_LINE = 400
_MOST_PAIRS = 3  # reported for each student, without identical files
_MOST_PASSAGES = 3

Lines = tuple[int, int]  # first and last line, counted from 1


@dataclass(frozen=True)
class Pair:
    """Two students whose files are similar.

    Attributes:
        student: the first student.
        other: the second student.
        share: the weight of the shared fingerprints, relative to the weight of all fingerprints
            of the smaller file, 0 to 1.
        shared: the number of fingerprints that both files have.
        rare: the mean weight of the shared fingerprints, 0 to 1. 1 if nobody else has them.
        lines: the longest shared passages in the file of `student`, from top to bottom.
        other_lines: the longest shared passages in the file of `other`.
        same: True if the files differ only in layout and comments.
    """

    student: str
    other: str
    share: float
    shared: int
    rare: float
    lines: tuple[Lines, ...]
    other_lines: tuple[Lines, ...]
    same: bool = False


def check_similarity() -> None:
    """Raise DrillError if the library that compares submissions is not installed."""
    try:
        import copydetect  # noqa: F401, PLC0415  # an extra; slow to import
    except ImportError:
        raise DrillError(
            "--similar needs the package copydetect, which is not installed. "
            "Install it: pip install 'attn-drill[similar]'."
        ) from None


def similar_pairs(sources: Mapping[str, str], known: Iterable[str]) -> list[Pair]:
    """Return the pairs of students whose files are similar, the most similar pair first.

    Files that differ only in layout and comments form a group. Each student of a group is paired
    with the first student of the group. Only the first student is compared with other students.

    Args:
        sources: the text of each student's file, for one challenge. The text may be invalid
            Python.
        known: texts that explain a similarity: stubs, the reference, other right answers.
    """
    explained = set[int]().union(*(_fingerprint(text).hashes for text in known))
    files = {student: _fingerprint(sources[student]) for student in sorted(sources)}
    for file in files.values():
        file.hashes -= explained
    groups: dict[str, list[str]] = defaultdict(list)
    for student in files:
        groups[_without_layout(sources[student])].append(student)
    firsts = [group[0] for group in groups.values()]
    weights = _weights([files[student].hashes for student in firsts])
    totals = {student: _weight(files[student].hashes, weights) for student in firsts}

    pairs = []
    least_share = LEAST_SHARE if len(firsts) >= _FEW else LEAST_SHARE_OF_FEW
    long_enough = [student for student in firsts if totals[student] >= LEAST_SHARED]
    for student, other in combinations(long_enough, 2):
        most = min(totals[student], totals[other])
        shared = _weight(files[student].hashes & files[other].hashes, weights)
        if shared >= LEAST_SHARED and shared >= least_share * most:
            pairs.append(_pair(student, other, files, shared, most))
    pairs = _strongest(pairs)
    for first, *copies in groups.values():
        if totals[first] >= _SHARED_BY_COPIES:
            for copy in copies:
                pairs.append(_pair(first, copy, files, totals[first], totals[first], same=True))
    return sorted(pairs, key=_order)


def _fingerprint(text: str) -> CodeFingerprint:
    """Return the fingerprint of a file, with the hash of every run.

    Winnowing keeps only some of the hashes. Python's hash of a string differs between processes,
    so winnowing keeps other hashes in each process. A window of 1 keeps all hashes.
    """
    from copydetect import CodeFingerprint  # noqa: PLC0415  # an extra; slow to import

    # pygments needs quadratic time for long runs of blanks. pygments also removes empty lines at
    # the top, which would shift the line numbers. A blank before the text prevents that.
    lines = re.split(r"\r\n|\r|\n", text)
    short = "\n".join(line[:_LONGEST_LINE].rstrip() for line in lines)[:_MOST_CHARACTERS]
    stream = io.StringIO(f" {short}")
    fingerprint = CodeFingerprint("", k=_RUN, win_size=1, language="python", fp=stream)
    # copydetect 0.5.0 records a too small offset for the name of a class. Offsets must not fall.
    offsets = fingerprint.offsets[:, 1]
    fingerprint.offsets[:, 1] = list(accumulate(offsets.tolist(), max))
    return fingerprint


def _without_layout(source: str) -> str:
    return re.sub(r"#[^\n]*|\s+|\\\n", "", source)


def _weights(files: Sequence[set[int]]) -> dict[int, float]:
    """Return the weight of each fingerprint.

    The weight is 1 if two files have the fingerprint, and 0 if half of the class has it. Between
    the two, the weight falls with the logarithm of the number of files.
    """
    half = (len(files) + _OTHERS) / 2
    counts = Counter(mark for file in files for mark in file)
    return {
        mark: min(1.0, max(0.0, math.log(half / count) / math.log(half / 2)))
        for mark, count in counts.items()
    }


def _weight(marks: Iterable[int], weights: Mapping[int, float]) -> float:
    """Return the sum of the weights. `fsum` gives the same sum for every order of the set."""
    return math.fsum(weights[mark] for mark in marks)


def _pair(
    student: str,
    other: str,
    files: Mapping[str, CodeFingerprint],
    shared_weight: float,
    whole_weight: float,
    *,
    same: bool = False,
) -> Pair:
    from copydetect import compare_files  # noqa: PLC0415  # an extra; slow to import

    shared = len(files[student].hashes & files[other].hashes)
    _, _, (slices, other_slices) = compare_files(files[student], files[other])
    return Pair(
        student,
        other,
        share=shared_weight / whole_weight,
        shared=shared,
        rare=shared_weight / shared,
        lines=_passages(files[student].raw_code, slices.T.tolist()),
        other_lines=_passages(files[other].raw_code, other_slices.T.tolist()),
        same=same,
    )


def _passages(text: str, slices: Iterable[tuple[int, int]]) -> tuple[Lines, ...]:
    """Return the longest shared passages of a text.

    Pieces with at most one line between them are one passage.

    Args:
        text: the text of a file.
        slices: the start and the end of each shared piece of the text, in characters.
    """
    passages: list[Lines] = []
    for start, end in slices:
        first = text.count("\n", 0, start) + 1
        last = text[:end].rstrip().count("\n") + 1
        if passages and first <= passages[-1][1] + 2:
            passages[-1] = (passages[-1][0], last)
        else:
            passages.append((first, last))
    longest = sorted(passages, key=lambda lines: lines[0] - lines[1])[:_MOST_PASSAGES]
    return tuple(sorted(longest))


def _strongest(pairs: Iterable[Pair]) -> list[Pair]:
    """Return the pairs that are among the strongest pairs of at least one of their students."""
    strongest: list[Pair] = []
    counts = Counter[str]()  # of stronger pairs, by student
    for pair in sorted(pairs, key=_order):
        if min(counts[pair.student], counts[pair.other]) < _MOST_PAIRS:
            strongest.append(pair)
        counts.update((pair.student, pair.other))
    return strongest


def _order(pair: Pair) -> tuple[bool, float, float, str, str]:
    return (not pair.same, -pair.share, -pair.shared * pair.rare, pair.student, pair.other)
