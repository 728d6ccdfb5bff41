"""Find pairs of submissions that are more alike than the stub and the known answers explain.

A pair is a reason to read both files, and no proof. The library copydetect makes fingerprints of a
file: it writes one letter for each name and each string, drops layout and comments, and hashes
every run of a few characters of the rest. Fingerprints of a known text do not count, and the more
students have a fingerprint, the less it counts.
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

# Measured on our own answers and on classes of textbook answers (tests/test_similarity.py):
# independent answers share up to 0.47, copies with other names 0.6 to 1.
LEAST_SHARED = 50.0  # fingerprints, each counted by its weight
LEAST_SHARE = 0.6  # of the fingerprints of the file that has fewer
LEAST_SHARE_OF_FEW = 0.8  # a small class does not show which lines everybody writes
_FEW = 5  # different files; fewer are a small class
_SHARED_BY_COPIES = 25.0  # is enough if names and strings are the same too

_RUN = 8  # characters of one fingerprint, after names became letters
_OTHERS = 6  # files assumed in addition to the class; else nothing is rare in a class of two
_MOST_CHARACTERS = 10_000  # of a file are read; our own answers have 4,000
_LONGEST_LINE = 400
_MOST_PAIRS = 3  # reported for each student, identical files aside
_MOST_PASSAGES = 3

Lines = tuple[int, int]  # first and last line, counted from 1


@dataclass(frozen=True)
class Pair:
    """Two students whose files are alike.

    share        0 to 1: weight of the shared fingerprints, relative to all of the smaller file
    shared       number of fingerprints that both files have
    rare         0 to 1: mean weight of the shared fingerprints; 1 if nobody else has them
    lines        the longest shared passages in the file of `student`, from top to bottom
    other_lines  the same in the file of `other`
    same         whether the files differ only in layout and comments
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
    """Return the pairs of students whose files are alike, the most alike first.

    Files that differ only in layout and comments form a group: each student of a group is paired
    with its first student, and only the first is compared with other students.

    Args:
        sources: the text of each student's file, for one challenge. It need not be valid Python.
        known: texts that explain a likeness: stubs, the reference, other right answers.
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

    Winnowing keeps only some of the hashes, and others in each process, because Python's hash of
    a string differs between processes. A window of 1 keeps all of them.
    """
    from copydetect import CodeFingerprint  # noqa: PLC0415  # an extra; slow to import

    # pygments takes quadratic time for long runs of blanks. It removes empty lines at the top, which
    # would shift the line numbers, unless there is a blank before them.
    lines = re.split(r"\r\n|\r|\n", text)
    short = "\n".join(line[:_LONGEST_LINE].rstrip() for line in lines)[:_MOST_CHARACTERS]
    stream = io.StringIO(f" {short}")
    fingerprint = CodeFingerprint("", k=_RUN, win_size=1, language="python", fp=stream)
    # copydetect 0.5.0 enters too small an offset for the name of a class; offsets only grow.
    offsets = fingerprint.offsets[:, 1]
    fingerprint.offsets[:, 1] = list(accumulate(offsets.tolist(), max))
    return fingerprint


def _without_layout(source: str) -> str:
    return re.sub(r"#[^\n]*|\s+|\\\n", "", source)


def _weights(files: Sequence[set[int]]) -> dict[int, float]:
    """Return the weight of each fingerprint: 1 if two files have it, 0 if half of the class has.

    Between these it falls with the logarithm of the number of files.
    """
    half = (len(files) + _OTHERS) / 2
    counts = Counter(mark for file in files for mark in file)
    return {
        mark: min(1.0, max(0.0, math.log(half / count) / math.log(half / 2)))
        for mark, count in counts.items()
    }


def _weight(marks: Iterable[int], weights: Mapping[int, float]) -> float:
    """Return the sum of the weights, the same in whatever order the set has."""
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
    """Return the longest passages, given the start and end of each shared piece of the text.

    Pieces with at most one line between them are one passage.
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
    """Return the pairs that are among the strongest few of one of the two students."""
    kept: list[Pair] = []
    stronger = Counter[str]()  # pairs of each student
    for pair in sorted(pairs, key=_order):
        if min(stronger[pair.student], stronger[pair.other]) < _MOST_PAIRS:
            kept.append(pair)
        stronger.update((pair.student, pair.other))
    return kept


def _order(pair: Pair) -> tuple[bool, float, float, str, str]:
    return (not pair.same, -pair.share, -pair.shared * pair.rare, pair.student, pair.other)
