"""Make the four levels of a stub: `guided`, `standard`, `blank` and `arrange`.

The first three come from one text. `guided` has comments with steps, `standard` has docstrings
only, and `blank` has signatures only. A comment on a separate line is a step: it describes the next
result and, after `->`, the shape or type of that result. `arrange` has shuffled lines of the
reference.
"""

from __future__ import annotations

import ast
import copy
import functools
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random
from typing import Literal, get_args

from attn_drill.model.challenge import Mistake
from attn_drill.model.errors import PackError
from attn_drill.packs.mistakes import patch

Level = Literal["arrange", "guided", "standard", "blank"]
LEVELS: tuple[Level, ...] = get_args(Level)  # from most help to least
TextLevel = Literal["guided", "standard", "blank"]  # made from the text of `stub.py` alone

_INSTRUCTION = """\
# Under every function are its lines in a wrong order. Some lines are wrong:
# leave them out. Put the right lines into the right order in place of the
# `raise`. A line keeps its indentation after "# ". Empty comments set apart
# lines that stay together, such as an `if` and its body.

"""
_INDENT = "    "
_RIGHT_PER_WRONG = 3
_FEWEST_WRONG = 2
# Characters: `int(...)` is natural. A mistake that makes a line longer is the last choice, because
# a reader suspects it.
_MOST_LONGER = 7
_UNFINISHED = ast.parse("raise NotImplementedError").body
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_LOOP = ast.For | ast.While | ast.With


def at_level(stub: str, level: TextLevel) -> str:
    """Return the stub at this level. The text of `stub.py`, the guided level, must compile."""
    if level == "guided":
        return stub
    dropped = set(_step_lines(stub))
    if level == "blank":
        for node in ast.walk(ast.parse(stub)):
            if (
                isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
                and ast.get_docstring(node) is not None
            ):
                docstring = node.body[0]
                dropped |= set(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    lines = enumerate(stub.splitlines(keepends=True), start=1)
    text = "".join(line for number, line in lines if number not in dropped)
    # No empty lines at the beginning, and after the first line of a class.
    return re.sub(r"(?m)^(class .*:\n)\n+", r"\1", text).lstrip("\n")


def steps(stub: str) -> list[str]:
    """Return the steps of the guided level in order. A comment of several lines is one step."""
    lines = stub.splitlines()
    texts: list[str] = []
    last = -1
    for number in _step_lines(stub):
        text = lines[number - 1].strip().removeprefix("#").strip()
        if number == last + 1 and not re.match(r"\d+\.", text):
            texts[-1] += f" {text}"
        else:
            texts.append(text)
        last = number
    return texts


def _step_lines(stub: str) -> list[int]:
    """Return the numbers of the lines that contain only a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(stub).readline)
    return [
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip()
    ]


@dataclass(frozen=True)
class Piece:
    """A statement of a function, which the learner moves as a whole."""

    function: str  # its name, such as `Layer.forward`
    # The index of the right piece in the function. A wrong piece has the place of the right piece
    # that it replaces.
    place: int
    text: str  # the lines, indented relative to the body of the function
    mistake: str = ""  # the id of the known mistake that makes a wrong piece; "" for a right piece


@functools.lru_cache(maxsize=64)
def arranged(stub: str, reference: str, mistakes: tuple[Mistake, ...], seed: str) -> str:
    """Return the text of the stub at the level `arrange`. The same seed gives the same text."""
    code = completed(stub, reference)
    blocks = shuffled_pieces(code, reference, mistakes, seed)
    tree = ast.parse(code)
    for name, function in _functions(tree):
        if name in blocks:  # a text stands for the comment, which a syntax tree cannot have
            function.body.append(ast.Expr(ast.Constant(f"pieces of {name}")))

    def comment(match: re.Match[str]) -> str:
        return textwrap.indent("\n".join(_block(blocks[match["name"]])), match["indent"])

    text = re.sub(r"(?m)^(?P<indent> *)'pieces of (?P<name>.*)'$", comment, ast.unparse(tree))
    return f"{_INSTRUCTION}{text}\n"


def shuffled_pieces(
    code: str, reference: str, mistakes: Sequence[Mistake], seed: str
) -> dict[str, list[Piece]]:
    """Return the right and the wrong pieces of every function in the order of the file.

    `code` is the completed stub. Statements of its functions are no pieces.
    """
    rng = Random(seed)
    live = {name: set(map(ast.unparse, function.body)) for name, function in _functions(code)}
    right = [
        piece
        for piece in pieces_of(reference)
        if piece.function in live and piece.text not in live[piece.function]
    ]
    by_function: dict[str, list[Piece]] = {}
    for piece in [*right, *_chosen_wrong(right, reference, mistakes, rng)]:
        by_function.setdefault(piece.function, []).append(piece)
    return {function: _shuffled(pieces, rng) for function, pieces in by_function.items()}


@functools.lru_cache(maxsize=2)
def pieces_of(source: str) -> tuple[Piece, ...]:
    """Return the pieces of all functions and methods of the source, in order."""
    return tuple(
        Piece(name, place, text)
        for name, function in _functions(source)
        for place, text in enumerate(_statements(function.body[_has_docstring(function) :]))
    )


def wrong_piece(reference: str, mistake: Mistake) -> Piece | None:
    """Return the piece that a mistake puts in place of a right piece; None if it does more."""
    try:
        patched = patch(reference, mistake, "")
    except PackError:  # `pack check` reports it
        return None
    right, changed = pieces_of(reference), pieces_of(patched)
    wrong = [piece for piece in changed if piece not in right]
    if len(wrong) != 1 or len(right) != len(changed):
        return None
    return replace(wrong[0], mistake=mistake.id)


def _chosen_wrong(
    right: Sequence[Piece], reference: str, mistakes: Sequence[Mistake], rng: Random
) -> list[Piece]:
    """Return wrong pieces for about a third of the right pieces, at most one for each place."""
    count = max(_FEWEST_WRONG, round(len(right) / _RIGHT_PER_WRONG))
    places = {(piece.function, piece.place) for piece in right}
    texts = {(piece.function, piece.text) for piece in right}
    candidates = [mistake for mistake in mistakes if not mistake.contrived]
    rng.shuffle(candidates)
    candidates.sort(key=lambda mistake: len(mistake.now) - len(mistake.was) > _MOST_LONGER)
    chosen: list[Piece] = []
    for mistake in candidates:
        if len(chosen) == count:
            break
        piece = wrong_piece(reference, mistake)
        if piece is None or (piece.function, piece.text) in texts:
            continue
        if (piece.function, piece.place) in places:
            places.remove((piece.function, piece.place))
            chosen.append(piece)
    return chosen


def _shuffled(pieces: Sequence[Piece], rng: Random) -> list[Piece]:
    """Return the pieces in an order that is wrong, whichever piece of a place is the right piece.

    The pieces of a place all come before the pieces of an earlier place. A function with only one
    place has no wrong order.
    """
    order = list(pieces)
    while True:
        rng.shuffle(order)
        places = [piece.place for piece in order]
        last = {place: index for index, place in enumerate(places)}
        pairs = combinations(sorted(last), 2)
        if len(last) == 1 or any(last[later] < places.index(earlier) for earlier, later in pairs):
            return order


def _block(pieces: Sequence[Piece]) -> list[str]:
    """Return the lines of the comment. An empty comment separates pieces of several lines."""
    lines: list[str] = []
    before = ""
    for piece in pieces:
        if before and "\n" in before + piece.text:
            lines.append("#")
        lines += [f"# {line}" for line in piece.text.splitlines()]
        before = piece.text
    return lines


def completed(stub: str, reference: str) -> str:
    """Return the reference with the docstrings and the functions of the stub.

    Functions that only the reference has keep their docstring, and raise NotImplementedError.
    """
    tree = ast.parse(reference)
    for _, function in _functions(tree):
        function.body = function.body[: _has_docstring(function)] + _UNFINISHED
    _take_over(tree, ast.parse(stub))
    return ast.unparse(tree)


def _take_over(reference: ast.Module | ast.ClassDef, stub: ast.Module | ast.ClassDef) -> None:
    """Put the docstrings and the functions of the stub into the reference."""
    by_name = {getattr(node, "name", ""): node for node in stub.body}
    body = stub.body[: _has_docstring(stub)]
    for statement in reference.body[_has_docstring(reference) :]:
        if isinstance(statement, _FUNCTION | ast.ClassDef) and statement.name in by_name:
            in_stub = by_name[statement.name]
            if isinstance(statement, ast.ClassDef) and isinstance(in_stub, ast.ClassDef):
                _take_over(statement, in_stub)
            else:
                statement = in_stub
        body.append(statement)
    reference.body = body


def _has_docstring(node: ast.Module | ast.ClassDef | _FUNCTION) -> bool:
    return ast.get_docstring(node, clean=False) is not None


def _statements(body: Sequence[ast.stmt], depth: int = 0) -> Iterator[str]:
    """Yield the text of each piece. A loop is opened, all other statements stay whole."""
    for statement in body:
        if isinstance(statement, _LOOP) and not getattr(statement, "orelse", []):
            first_line = copy.copy(statement)
            first_line.body = []
            yield textwrap.indent(ast.unparse(first_line), _INDENT * depth)
            yield from _statements(statement.body, depth + 1)
        else:
            yield textwrap.indent(ast.unparse(statement), _INDENT * depth)


def _functions(
    node: str | ast.Module | ast.ClassDef, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield all functions and methods with their names. Skip functions within functions."""
    if isinstance(node, str):
        node = ast.parse(node)
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, _FUNCTION):
            yield f"{prefix}{child.name}", child
