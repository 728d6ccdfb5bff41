"""Helpers for tests of packs."""

from __future__ import annotations

import ast
import functools
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from attn_drill.model.challenge import Challenge
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.packs.stub_levels import Piece, completed, shuffled_pieces
from tests.support.paths import TINY_PACK

BUILT_IN = pack_reader.built_in_pack()
# A topic file with one question. Its fields are the title and the id of the question.
BANK = """title = "{}"
[[question]]
id = "{}"
kind = "number"
asks = "2?"
explains = "{{answer}}"
answer = "2"
"""


def make_pack(root: Path, *folders: str, minutes: int = 5) -> Path:
    """Write a pack whose challenges are copies of the tiny prefix sum, and return its folder."""
    for folder in folders:
        for part in ("challenges", "solutions"):
            shutil.copytree(TINY_PACK / part / "prefix_sum", root / part / folder)
        file = root / "challenges" / folder / "challenge.toml"
        file.write_text(file.read_text().replace("minutes = 5", f"minutes = {minutes}"))
    return root


def install_pack(site: Path, package: str, entry_points: str) -> None:
    """Write the metadata of a package into a folder of installed packages, as an installer does."""
    folder = site / f"{package}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(entry_points)


GUIDED = '''"""A docstring of the module."""

import torch  # a comment after code stays


class A:
    """Doc.

    More.
    """

    def f(self, x="# no comment"):
        """Doc of f."""
        # 1. First. -> [B]
        # 2. Second, which
        #    goes on. -> [L]
        raise NotImplementedError
'''
STANDARD = GUIDED.replace(
    "        # 1. First. -> [B]\n        # 2. Second, which\n        #    goes on. -> [L]\n", ""
)


Pieces = dict[str, list[Piece]]


@functools.cache
def pieces_in_file(challenge: Challenge) -> Pieces:
    """Return the pieces of every function, in the order of the stub."""
    reference = pack_reader.solution(challenge)
    code = completed(pack_reader.stub(challenge), reference)
    return shuffled_pieces(code, reference, read_mistakes(challenge), challenge.id)


def right_order(pieces: Pieces) -> Pieces:
    """Return the right pieces of every function, in the order of the reference."""
    return {
        function: sorted(
            (piece for piece in of_function if not piece.mistake), key=lambda piece: piece.place
        )
        for function, of_function in pieces.items()
    }


def with_wrong(pieces: Pieces, wrong: Piece) -> Pieces:
    """Return the pieces with a wrong piece in place of the right piece."""
    return {
        function: [
            wrong if (piece.function, piece.place) == (wrong.function, wrong.place) else piece
            for piece in of_function
        ]
        for function, of_function in pieces.items()
    }


def wrong_in(pieces: Pieces) -> list[Piece]:
    """Return the wrong pieces of all functions."""
    return [piece for of_function in pieces.values() for piece in of_function if piece.mistake]


def functions_of(text: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield the functions and methods of a text with their names."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef):
                    yield f"{node.name}.{method.name}", method


def comments_under(text: str, function: ast.FunctionDef) -> list[str]:
    """Return the comments under the last line of a function, without `# `."""
    found = []
    indent = " " * (function.col_offset + 4)
    for line in text.splitlines()[function.end_lineno or 0 :]:
        if not line.startswith(f"{indent}#"):
            break
        found.append(line.removeprefix(f"{indent}#").removeprefix(" "))
    return found


def solved(text: str, answer: Pieces) -> str:
    """Return the stub with these pieces in place of each `raise` and the comments under it."""
    lines = text.splitlines()
    for name, function in reversed(list(functions_of(text))):
        comments = comments_under(text, function)
        row = function.body[-1].lineno - 1
        if comments:
            body = "\n".join(piece.text for piece in answer[name])
            lines[row : row + 1 + len(comments)] = textwrap.indent(
                body, " " * (function.col_offset + 4)
            ).splitlines()
    return "\n".join(lines) + "\n"


def another_order(pieces: Sequence[Piece], rng: Random) -> list[Piece]:
    """Return the right pieces of a function in a random order that respects their values.

    A piece stays behind those that store what it uses, and before those that store it anew.
    A `return` stays in its place.
    """
    waiting = list(pieces)
    order: list[Piece] = []
    while waiting:
        ready = [
            piece
            for index, piece in enumerate(waiting)
            if not any(_depends(piece, earlier) for earlier in waiting[:index])
        ]
        order.append(rng.choice(ready))
        waiting.remove(order[-1])
    return order


def _depends(later: Piece, earlier: Piece) -> bool:
    """Return whether two pieces must keep their order."""
    stored, used = _names(earlier)
    stored_later, used_later = _names(later)
    returns = any("return" in piece.text.split() for piece in (later, earlier))
    return returns or bool(stored & (stored_later | used_later) or used & stored_later)


def _names(piece: Piece) -> tuple[set[str], set[str]]:
    """Return the names that a piece stores and those that it uses, such as `q` and `self.cos`."""
    names: tuple[set[str], set[str]] = (set(), set())
    for node in ast.walk(ast.parse(piece.text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names[isinstance(node.ctx, ast.Load)].add(f"{node.value.id}.{node.attr}")
        elif isinstance(node, ast.Name):
            names[isinstance(node.ctx, ast.Load)].add(node.id)
    return names
