"""Make the level `arrange` of a stub: the reference's lines, shuffled among wrong lines.

The level is for a learner who cannot start from a blank page. The file has the code of the stub.
Under every function is a comment with the pieces of the reference's function in a wrong order. A
piece is a statement without its comments. Some pieces are wrong: a known mistake puts them in place
of a right piece.

Nothing in the text may show which piece is right. So all pieces look alike, and a right and a wrong
piece of the same place have equal chances to come first.
"""

from __future__ import annotations

import ast
import copy
import functools
import io
import re
import textwrap
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from trainer.model.challenge import Mistake
from trainer.model.errors import PackError
from trainer.packs.mistakes import patch
from trainer.packs.stub_levels import at_level

_INSTRUCTION = (
    "Put the lines that belong here into the right order, in place of the raise.",
    "Some lines are wrong: leave them out. Lines that stand together stay together.",
)
_INDENT = "    "
_SHARE_OF_WRONG = 3  # a wrong piece for every third right piece
_FEWEST_WRONG = 2
_CONSTANT_TEST = re.compile(r"\b(if|while) (True|False)\b")  # a reader notices it at once
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Piece:
    """A statement of a function that the learner moves as a whole.

    Attributes:
        text: its lines without comments, indented relative to the body of the function.
        place: the index of the right piece in the function. A wrong piece has the place of the
            right piece that it replaces.
        meaning: the syntax tree as text.
    """

    text: str
    place: int
    meaning: str


@dataclass(frozen=True)
class WrongPiece:
    """A piece that a known mistake puts in place of a right piece of a function."""

    function: str
    piece: Piece


def pieces_by_function(source: str) -> dict[str, tuple[Piece, ...]]:
    """Return the pieces of every function and method in order, by names such as `Layer.forward`."""
    lines = _lines_without_comments(source)
    return {
        name: tuple(
            Piece(textwrap.indent(text, _INDENT * depth), place, f"{depth} {ast.dump(node)}")
            for place, (node, text, depth) in enumerate(_statements(_body(function), lines))
        )
        for name, function in _functions(ast.parse(source))
    }


def wrong_pieces(reference: str, mistakes: Sequence[Mistake]) -> list[WrongPiece]:
    right = pieces_by_function(reference)
    frame = _frame(reference)
    found: list[WrongPiece] = []
    for mistake in mistakes:
        if _CONSTANT_TEST.search(mistake.now):
            continue
        try:
            patched = patch(reference, mistake, "")
        except PackError:
            continue
        if _frame(patched) != frame:
            continue
        changed = pieces_by_function(patched)
        if any(len(changed[name]) != len(right[name]) for name in right):
            continue
        different = [
            WrongPiece(name, new)
            for name in right
            for old, new in zip(right[name], changed[name], strict=True)
            if new.meaning != old.meaning
        ]
        if len(different) == 1:
            found += different
    return found


def _frame(source: str) -> str:
    """Return the syntax tree without the bodies of functions, as text."""
    tree = ast.parse(source)
    for _, function in _functions(tree):
        function.body = []
    return ast.dump(tree)


def _functions(
    node: ast.Module | ast.ClassDef, prefix: str = ""
) -> Iterator[tuple[str, _Function]]:
    """Yield all functions and methods with their names. Skip functions within functions."""
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, _Function):
            yield f"{prefix}{child.name}", child


def _body(function: _Function) -> list[ast.stmt]:
    """Return the statements of a function without its docstring."""
    return function.body[1:] if ast.get_docstring(function) is not None else function.body


def _statements(
    body: Sequence[ast.stmt], lines: Sequence[str], depth: int = 0
) -> Iterator[tuple[ast.stmt, str, int]]:
    """Yield the statements that are pieces, with their text and their depth of indentation.

    A loop is opened: its first line is a piece, and so is every statement of its body. All other
    statements stay whole.
    """
    for statement in body:
        if isinstance(statement, ast.For | ast.While | ast.With) and not getattr(
            statement, "orelse", None
        ):
            header = copy.copy(statement)
            header.body = [ast.Pass()]
            yield header, _text(header, lines, statement.body[0].lineno - 1, "\n    pass"), depth
            yield from _statements(statement.body, lines, depth + 1)
        else:
            yield statement, _text(statement, lines, statement.end_lineno or 0), depth


def _text(node: ast.stmt, lines: Sequence[str], last: int, completion: str = "") -> str:
    """Return the text of a statement without indentation, as the source has it if possible.

    Statements that share a line, and strings of several lines, are written by Python itself.
    """
    text = textwrap.dedent("\n".join(line for line in lines[node.lineno - 1 : last] if line))
    try:
        if ast.dump(ast.parse(text + completion)) == ast.dump(ast.Module([node], [])):
            return text
    except SyntaxError:
        pass
    return ast.unparse(node).removesuffix(completion)


def _lines_without_comments(source: str) -> list[str]:
    """Return the lines of the source without comments and without spaces at the end."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return [line.rstrip() for line in lines]
