"""Submissions that are alike beyond what the stub and the known answers explain: a hint for a person to look, never a verdict.

A file is read as the sequence of its operations, in the order in which they are evaluated: functions and methods that are not its own, operators by
the name of the torch function that does the same, constants, branches, loops. Names of its own, types, comments, docstrings, messages, imports and layout
leave no trace, nor does whether a step has a line and a name to itself. Each run of a few operations has a hash, and of these some are chosen by winnowing:
Schleimer, Wilkerson and Aiken 2003, "Winnowing: local algorithms for document fingerprinting". A hash that a known text has says nothing; one that many
students have says little.
"""

from __future__ import annotations

import ast
import heapq
import math
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from typing import NamedTuple

# Measured on the project's own answers and on classes put together from textbook lines, as tests/test_likeness.py does: no two independent answers of the
# project share more than 13 and 0.57, and of a disguised copy at least 0.88 is shared.
LEAST_SHARED = 10.0  # fingerprints, each counted by how rare it is
LEAST_SHARE = 0.7  # of the shorter one's
_SAME_NEEDS = 0.5  # of LEAST_SHARED, where names and all are the same: those are evidence too

_RUN = 5  # operations of a fingerprint: about a line of tensor code
_WINDOW = 3  # of so many runs one is chosen
_OTHERS = 6  # so many more files are thought of, without the fingerprint: else nothing would be rare in a class of two
_NEIGHBOURS = 16  # of many who have a fingerprint each is compared with so many; so time grows with the class, not with its square
_LOOKED_AT = 8  # the most likely partners of each, which are compared in full
_MOST_PAIRS = 3  # that are reported for one student, identical copies aside
_MOST_PASSAGES = 3
_MOST_CHARACTERS = 50_000  # a longer file is read line by line. The project's own answers have 4,000 at most, and 200 operations
_MOST_LINES, _LONGEST_LINE = 2_000, 400
_MOST_JOINED, _LONGEST_JOINED = 30, 2_000  # lines that one statement takes, and their characters
_MOST_WORDS = 3_000

# What hostile text does to Python's parser, and to recursion over a tree.
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)

# Of a module, what it has from torch; all else after `self.` is the file's own.
_INHERITED = frozenset(
    {
        "training",
        "register_buffer",
        "register_parameter",
        "add_module",
        "parameters",
        "children",
        "modules",
    }
)
_ALIASES = {
    "view": "reshape",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "multiply": "mul",
}

# How a node is read: the names of fields that are visited, `=word` what is said, `else=orelse` a word before a field that is there, `op` an operator.
_STEPS: Mapping[type[ast.AST], str] = {
    **dict.fromkeys((ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Pass), ""),
    **dict.fromkeys((ast.If, ast.IfExp), "test =if body else=orelse"),
    **dict.fromkeys((ast.For, ast.AsyncFor), "iter target =for body orelse"),
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp), "generators elt"),
    **{
        ast.Assign: "value targets",
        ast.AnnAssign: "value target",
        ast.AugAssign: "target value op",
        ast.Return: "value =return",
    },
    **{
        ast.Raise: "=raise",
        ast.Assert: "test =assert",
        ast.While: "test =while body orelse",
        ast.comprehension: "iter target =for ifs",
    },
    **{
        ast.DictComp: "generators key value",
        ast.Lambda: "body",
        ast.Subscript: "value slice =index",
        ast.JoinedStr: "=text",
    },
    **{
        ast.BinOp: "left right op",
        ast.UnaryOp: "operand op",
        ast.BoolOp: "values op",
        ast.Compare: "left comparators ops",
    },
}
_OPERATORS: Mapping[type[ast.AST], str] = {
    **{
        ast.Add: "add",
        ast.Sub: "sub",
        ast.Mult: "mul",
        ast.Div: "div",
        ast.MatMult: "matmul",
        ast.Pow: "pow",
        ast.FloorDiv: "floor_divide",
    },
    **{
        ast.Mod: "remainder",
        ast.BitAnd: "logical_and",
        ast.BitOr: "logical_or",
        ast.BitXor: "logical_xor",
        ast.Invert: "logical_not",
        ast.USub: "neg",
    },
    **{ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq", ast.NotEq: "ne"},
}
_EQUATION = re.compile(r"[A-Za-z0-9.,()]+->[A-Za-z0-9.()]*")

_Lines = tuple[int, int]  # first and last, counted from 1


@dataclass(frozen=True)
class Passage:
    """Lines of both files that hold the same operations; first and last, counted from 1."""

    one: _Lines
    other: _Lines


@dataclass(frozen=True)
class Pair:
    """Two students whose files are alike.

    share      0 to 1: how much of what is the shorter one's own the other has too, each fingerprint counted by how rare it is
    shared     how many fingerprints of their own both have
    rare       0 to 1: how few others have these; 1 is nobody else
    passages   the longest of what both have, in the order of the first file
    same       whether the files differ in layout and comments alone
    """

    one: str
    other: str
    share: float
    shared: int
    rare: float
    passages: tuple[Passage, ...]
    same: bool = False


def likenesses(
    sources: Mapping[str, str],
    known: Sequence[str],
    *,
    least_shared: float = LEAST_SHARED,
    least_share: float = LEAST_SHARE,
) -> list[Pair]:
    """The pairs that are alike beyond what is known, the most alike first; the same for the same input, in whatever order and process.

    Of several who have the same file but for layout and comments, each is paired with the first by name, and only that one with students who have
    other files: 500 copies are 499 pairs. Of files that differ, the three strongest pairs of each student are reported.

    Args:
        sources: the text of each student's file, for one challenge. Any text; what Python cannot parse is read line by line.
        known: texts that explain likeness: the stub, the reference, other known answers.
        least_shared: so many fingerprints must be shared, each counted by how rare it is.
        least_share: so much of the shorter one's own must be shared, 0 to 1.
    """
    explained = {one.hash for text in known for run in _runs(text) for one in run}
    marks_of = cache(lambda source: _chosen(source, explained))
    marks = {student: marks_of(sources[student]) for student in sorted(sources)}
    copies: dict[str, list[str]] = defaultdict(list)
    for student in marks:
        copies[_bare(sources[student])].append(student)
    groups = sorted(copies.values())
    firsts = [group[0] for group in groups]
    held = [frozenset(one.hash for one in marks[student]) for student in firsts]
    weights = _weights(held)
    totals = [math.fsum(weights[one] for one in mine) for mine in held]

    found: dict[tuple[int, int], Pair] = {}
    for i, j in _candidates(held, weights):
        common = held[i] & held[j]
        score = math.fsum(weights[one] for one in common)
        share = score / max(min(totals[i], totals[j]), 1e-9)
        if score >= least_shared and share >= least_share:
            passages = _passages(marks[firsts[i]], marks[firsts[j]], common)
            found[i, j] = Pair(
                firsts[i], firsts[j], share, len(common), score / len(common), passages
            )
    pairs = list(_strongest(found))
    for group, mine, total in zip(groups, held, totals, strict=True):
        if len(group) > 1 and mine and total >= least_shared * _SAME_NEEDS:
            pairs += [
                Pair(
                    group[0],
                    other,
                    1.0,
                    len(mine),
                    total / len(mine),
                    _passages(marks[group[0]], marks[other], mine),
                    same=True,
                )
                for other in group[1:]
            ]
    return sorted(pairs, key=_order)


def _order(pair: Pair) -> tuple[bool, float, float, str, str]:
    return (not pair.same, -pair.share, -pair.shared * pair.rare, pair.one, pair.other)


def _strongest(found: Mapping[tuple[int, int], Pair]) -> Iterator[Pair]:
    """The pairs that are among the few strongest of one of the two."""
    of: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for key in sorted(found, key=lambda key: _order(found[key])):
        for index in key:
            of[index].append(key)
    kept = {key for keys in of.values() for key in keys[:_MOST_PAIRS]}
    return (found[key] for key in sorted(kept))


# Who may be alike: from fingerprints to files, never every file with every other


def _weights(held: Sequence[frozenset[int]]) -> dict[int, float]:
    """What each fingerprint counts: 1 where at most two files have it, nothing where half of the class does, and between these by the logarithm."""
    half = (len(held) + _OTHERS) / 2
    counts = Counter(one for mine in held for one in mine)
    return {
        one: min(1.0, max(0.0, math.log(half / count) / math.log(half / 2)))
        for one, count in counts.items()
    }


def _candidates(
    held: Sequence[frozenset[int]], weights: Mapping[int, float]
) -> list[tuple[int, int]]:
    """Pairs of files that are worth comparing in full, by their indices: the few of each file that have most in common with it."""
    holders: dict[int, list[int]] = defaultdict(list)
    for index, mine in enumerate(held):
        for one in mine:
            holders[one].append(index)
    common: dict[tuple[int, int], float] = defaultdict(float)
    for one, indices in holders.items():
        for position, index in enumerate(indices if weights[one] else ()):
            for other in indices[position + 1 : position + 1 + _NEIGHBOURS]:
                common[index, other] += weights[one]
    partners: dict[int, list[tuple[float, int, int]]] = defaultdict(list)
    for (i, j), score in common.items():
        partners[i].append((score, i, j))
        partners[j].append((score, i, j))
    return sorted(
        {(i, j) for them in partners.values() for _, i, j in heapq.nlargest(_LOOKED_AT, them)}
    )


# Fingerprints of one file


class _Mark(NamedTuple):
    """The hash of a few operations that follow each other, and the lines on which they stand."""

    hash: int
    first: int
    last: int


def _runs(source: str) -> Iterator[list[_Mark]]:
    """All runs of each function's operations. The hash is the same in every process, which Python's own is not."""
    room = _MOST_WORDS
    for words in _segments(source):
        words, room = words[:room], max(0, room - len(words))
        marks: list[_Mark] = []
        for start in range(len(words) - _RUN + 1):
            run = words[start : start + _RUN]
            digest = blake2b("\0".join(word for word, _ in run).encode(), digest_size=8).digest()
            lines = [line for _, line in run]
            marks.append(_Mark(int.from_bytes(digest, "big"), min(lines), max(lines)))
        yield marks


def _chosen(source: str, explained: set[int]) -> list[_Mark]:
    """Of every few runs in a row the one with the least hash, and of equal ones the last; what is explained is not chosen."""
    found: list[_Mark] = []
    for run in _runs(source):
        positions: set[int] = set()
        for start in range(max(1, len(run) - _WINDOW + 1)):
            own = [
                (-run[at].hash, at)
                for at in range(start, min(start + _WINDOW, len(run)))
                if run[at].hash not in explained
            ]
            if own:
                positions.add(max(own)[1])
        found += [run[at] for at in sorted(positions)]
    return sorted(found, key=lambda mark: mark.first)


def _passages(
    one: Sequence[_Mark], other: Sequence[_Mark], common: frozenset[int]
) -> tuple[Passage, ...]:
    """The longest stretches of both files in which their common fingerprints follow each other."""
    places: dict[int, list[_Mark]] = defaultdict(list)
    for mark in other:
        places[mark.hash].append(mark)
    found: list[tuple[int, Passage]] = []
    for mark in one:
        if mark.hash not in common:
            continue
        count, last = found[-1] if found else (0, Passage((-9, -9), (-9, -9)))
        goes_on = [at for at in places[mark.hash] if last.other[0] <= at.first <= last.other[1] + 2]
        if goes_on and mark.first <= last.one[1] + 2:
            longer = Passage(
                (last.one[0], max(last.one[1], mark.last)),
                (last.other[0], max(last.other[1], goes_on[0].last)),
            )
            found[-1] = (count + 1, longer)
        else:
            at = places[mark.hash][0]
            found.append((1, Passage((mark.first, mark.last), (at.first, at.last))))
    longest = sorted(found, key=lambda item: (-item[0], item[1].one))[:_MOST_PASSAGES]
    return tuple(
        sorted(
            (passage for _, passage in longest), key=lambda passage: (passage.one, passage.other)
        )
    )


def _bare(source: str) -> str:
    """The text without comments and layout: what two files have in common of which one is the other's copy, names and all."""
    return re.sub(r"#[^\n]*|\s+|\\\n", "", source)


# A file as operations. A word is what is done, and the line


_Word = tuple[str, int]


@dataclass(frozen=True)
class _Names:
    """What names of a file stand for: imported things by their own names; what the file binds itself; what methods call their module."""

    imported: Mapping[str, str]
    own: frozenset[str]
    modules: frozenset[str]


def _segments(source: str) -> list[list[_Word]]:
    """The operations of each function's body, and of the statements outside. Text that does not parse is read line by line."""
    try:
        if len(source) > _MOST_CHARACTERS:
            return _line_by_line(source)
        tree = _parsed(source)
        reader = _Reader(_names(tree.body))
        reader.block(tree.body)
        return reader.segments
    except _UNREADABLE:
        return _line_by_line(source)


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a submission's strings and literals
        return ast.parse(text)


def _line_by_line(source: str) -> list[list[_Word]]:
    """The operations of the lines that can be read on their own, in one segment from one `def` to the next."""
    lines = source.split("\n", _MOST_LINES)[:_MOST_LINES]
    statements = list(
        _statements([line.strip() if len(line) <= _LONGEST_LINE else "" for line in lines])
    )
    names = _names(statements)
    segments: list[list[_Word]] = [[]]
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            segments.append([])
        reader = _Reader(names)
        with suppress(RecursionError):
            reader.block([statement])
        segments[-1] += [word for segment in reader.segments for word in segment]
    return segments


def _statements(lines: Sequence[str]) -> Iterator[ast.stmt]:
    """Each line as statements, where it can be read; a line with open brackets together with those that close them."""
    number = 0
    while number < len(lines):
        taken, text = 1, lines[number]
        depth = _depth(text)
        while depth > 0 and taken < _MOST_JOINED and number + taken < len(lines):
            more = lines[number + taken]
            text, depth, taken = f"{text}\n{more}", depth + _depth(more), taken + 1
        body: list[ast.stmt] = []
        if depth <= 0 and len(text) <= _LONGEST_JOINED:
            with suppress(*_UNREADABLE):
                body = _parsed(f"{text} pass" if text.endswith(":") else text).body
        for statement in body:
            ast.increment_lineno(statement, number)
            yield statement
        number += taken if body else 1


def _depth(text: str) -> int:
    """How many more brackets a line opens than it closes; those in strings are counted too."""
    return sum(text.count(bracket) for bracket in "([{") - sum(
        text.count(bracket) for bracket in ")]}"
    )


def _names(body: Iterable[ast.stmt]) -> _Names:
    imported: dict[str, str] = {}
    own: set[str] = set()
    modules = {"self"}
    for node in ast.walk(ast.Module(list(body), [])):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imported |= {
                one.asname or one.name.split(".")[0]: one.name.split(".")[-1] for one in node.names
            }
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            own.add(node.id)
        elif isinstance(node, ast.arg):
            own.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            own.add(node.name)
        elif isinstance(node, ast.ClassDef):
            own.add(node.name)
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef)]
            modules |= {
                one.args.args[0].arg for one in methods if one.args.args and not one.decorator_list
            }
    return _Names(imported, frozenset(own), frozenset(modules))


class _Reader:
    """Writes down operations after their operands, so that a step on a line of its own and one within another read the same."""

    def __init__(self, names: _Names) -> None:
        self.names = names
        self.segments: list[list[_Word]] = []
        self.words: list[_Word] = []
        self.line = 1

    def block(self, body: Iterable[ast.AST]) -> None:
        """The file's body or a function's: a segment of its own, so that the order of functions does not matter."""
        outer, self.words = self.words, []
        self.each(body)
        self.segments.append(self.words)
        self.words = outer

    def each(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            self.visit(node)

    def say(self, word: str) -> None:
        self.words.append((_ALIASES.get(word, word), self.line))

    def visit(self, node: ast.AST) -> None:
        """Any node. A word has the line on which its own node begins."""
        outer, self.line = self.line, getattr(node, "lineno", self.line)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self.block(node.body)
        elif isinstance(node, ast.Constant):
            self.say(_literal(node.value))
        elif isinstance(node, ast.Name | ast.Attribute):
            if word := self.meaning(node):
                self.say(word)
        elif isinstance(node, ast.Call):
            self.call(node)
        elif type(node) in _STEPS:
            for step in _STEPS[type(node)].split():
                self.step(node, step)
        elif not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):  # a docstring
            self.each(ast.iter_child_nodes(node))
        self.line = outer

    def step(self, node: ast.AST, step: str) -> None:
        """One of `_STEPS`."""
        before, is_word, name = step.rpartition("=")
        if is_word and not before:
            self.say(name)
            return
        value = getattr(node, name)
        found = value if isinstance(value, list) else [value] if value is not None else []
        if before and found:
            self.say(before)
        for one in found:
            if name in ("op", "ops"):
                self.say(_OPERATORS.get(type(one), type(one).__name__))
            else:
                self.visit(one)

    def meaning(self, node: ast.Name | ast.Attribute) -> str | None:
        """What a name says, or None for one of the file's own. What stands before the dot is visited, unless it is a module that was imported."""
        names = self.names
        if isinstance(node, ast.Name):
            return names.imported.get(
                node.id, None if node.id in names.own or node.id in names.modules else node.id
            )
        if (
            isinstance(node.value, ast.Name)
            and node.value.id in names.modules
            and node.attr not in _INHERITED
        ):
            return None
        root: ast.expr = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if not (isinstance(root, ast.Name) and root.id in names.imported):
            self.visit(node.value)
        return (
            node.attr if node.attr.startswith("_") else node.attr.rstrip("_")
        )  # what works in place does the same

    def call(self, node: ast.Call) -> None:
        """Arguments, by position or name, then the function. What stands before its dot comes first: `x.exp()` and `torch.exp(x)` read the same."""
        match node:
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]) if (
                "inf" in text
            ):
                self.say("inf")  # as `math.inf` and `torch.inf` are read
                if "-" in text:
                    self.say("neg")
                return
            case ast.Call(func=ast.Name() | ast.Attribute() as function):
                word = self.meaning(function)
            case _:
                self.visit(node.func)
                word = None
        self.each(node.args)
        self.each(keyword.value for keyword in node.keywords)
        self.say(word or "call")


def _literal(value: object) -> str:
    """A number by its value, however it is spelt; an equation of einsum up to its letters' names; of any other text only that it is one."""
    if isinstance(value, str):
        bare, letters = value.replace(" ", ""), dict[str, str]()
        if len(bare) > 100 or not _EQUATION.fullmatch(bare):
            return "text"
        return "".join(
            letters.setdefault(one, chr(ord("a") + len(letters))) if one.isalpha() else one
            for one in bare
        )
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:.6g}" if abs(value) < 1e15 else "number"
    return str(value) if value is None or value is ... or isinstance(value, bool) else "number"
