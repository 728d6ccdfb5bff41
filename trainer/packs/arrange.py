"""Make the level `arrange` of a stub: the lines of the reference, shuffled among wrong lines.

The level is for a learner who cannot start from a blank page. The file has the code of the stub and
those imports and helper functions of the reference that the stub lacks. Under every function is a
comment with the pieces of the reference's function in a wrong order. A piece is a statement without
its comments. Some pieces are wrong: a known mistake puts them in place of a right piece.

Nothing in the text may show which pieces are right. So all pieces look alike, and the rule for a
wrong order treats the right and the wrong piece of a place in the same way.
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
from dataclasses import dataclass, replace
from random import Random

from trainer.model.challenge import Mistake
from trainer.model.errors import PackError
from trainer.packs.mistakes import patch

_INSTRUCTION = """\
# Under every function are its lines in a wrong order. Some lines are wrong:
# leave them out. Put the right lines into the right order in place of the
# `raise`. A line keeps its indentation after "# ". Empty comments set apart
# lines that stay together, such as an `if` and its body.

"""
_INDENT = "    "
_RIGHT_PER_WRONG = 3
_FEWEST_WRONG = 2
_MOST_LONGER = 7  # characters: `int(...)` is natural, a long expression is conspicuous
# `if False` and `x = x` stand for a line that is missing. A reader notices them at once.
_GIVEAWAY = re.compile(r"\b(if|while) (True|False)\b|^\s*(\w+) = \3$", re.MULTILINE)
_FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
_LOOP = ast.For | ast.While | ast.With
_PlacedStatement = tuple[ast.stmt, int]  # with its depth in loops


@dataclass(frozen=True)
class Piece:
    """A statement of a function, which the learner moves as a whole.

    Attributes:
        function: the name of the function, such as `Layer.forward`.
        place: the index of the right piece in the function. A wrong piece has the place of the
            right piece that it replaces.
        text: the lines without comments, indented relative to the body of the function.
        meaning: the syntax tree with its depth, as text.
        mistake: the id of the known mistake that makes a wrong piece; "" for a right piece.
    """

    function: str
    place: int
    text: str
    meaning: str
    mistake: str = ""


@functools.lru_cache(maxsize=64)
def arranged(stub: str, reference: str, mistakes: tuple[Mistake, ...], seed: str) -> str:
    """Return the text of the stub at the level `arrange`.

    Args:
        stub: the text of the stub at the level standard.
        reference: the text of the reference.
        mistakes: the known mistakes of the challenge.
        seed: the id of the challenge. The same id gives the same text.

    Raises:
        SyntaxError: if the stub or the reference does not parse.
    """
    code = completed(stub, reference)
    blocks = {
        function: _block(pieces)
        for function, pieces in shuffled_pieces(code, reference, mistakes, seed).items()
    }
    return _INSTRUCTION + _with_blocks(code, blocks)


def shuffled_pieces(
    code: str, reference: str, mistakes: Sequence[Mistake], seed: str
) -> dict[str, list[Piece]]:
    """Return the right and the wrong pieces of every function in the order of the file.

    Args:
        code: the text of the stub. Statements of its functions are no pieces.
        reference: the text of the reference.
        mistakes: the known mistakes of the challenge.
        seed: the id of the challenge.
    """
    rng = Random(seed)
    right = _without_live_code(pieces_of(reference), code)
    pieces = [*right, *_chosen_wrong(right, reference, mistakes, rng)]
    return {
        function: _shuffled([piece for piece in pieces if piece.function == function], rng)
        for function in dict.fromkeys(piece.function for piece in right)
    }


def pieces_of(source: str) -> list[Piece]:
    """Return the pieces of all functions and methods of the source, in order."""
    lines = _lines_without_comments(source)
    return [
        _piece(place, statement, lines) for place, statement in _places(ast.parse(source)).items()
    ]


def wrong_piece(reference: str, mistake: Mistake) -> Piece | None:
    """Return the piece that a mistake puts in place of a piece of the reference.

    Return None if the mistake changes more, removes a piece, or is noticed at once.
    """
    try:
        patched = patch(reference, mistake, "")
    except PackError:  # `pack check` reports it
        return None
    right, changed = _places(ast.parse(reference)), _places(ast.parse(patched))
    if right.keys() != changed.keys() or _frame(reference) != _frame(patched):
        return None
    wrong = [place for place in right if _meaning(right[place]) != _meaning(changed[place])]
    if len(wrong) != 1:
        return None
    piece = _piece(wrong[0], changed[wrong[0]], _lines_without_comments(patched))
    return None if _GIVEAWAY.search(piece.text) else replace(piece, mistake=mistake.id)


def _frame(source: str) -> str:
    """Return the syntax tree without the bodies of its functions, as text."""
    tree = ast.parse(source)
    for _, function in _functions(tree):
        function.body = []
    return ast.dump(tree)


def _chosen_wrong(
    right: Sequence[Piece], reference: str, mistakes: Sequence[Mistake], rng: Random
) -> list[Piece]:
    """Return wrong pieces for about a third of the right pieces, at most one for each place.

    Mistakes that make a line much longer are the last choice.
    """
    count = max(_FEWEST_WRONG, round(len(right) / _RIGHT_PER_WRONG))
    places = {(piece.function, piece.place) for piece in right}
    meanings = {(piece.function, piece.meaning) for piece in right}
    chosen: list[Piece] = []
    for mistake in sorted(rng.sample(mistakes, len(mistakes)), key=_is_conspicuous):
        if len(chosen) == count:
            break
        piece = wrong_piece(reference, mistake)
        if (
            piece is not None
            and (piece.function, piece.place) in places
            and (piece.function, piece.meaning) not in meanings
        ):
            places.remove((piece.function, piece.place))
            chosen.append(piece)
    return chosen


def _is_conspicuous(mistake: Mistake) -> bool:
    """Return whether a mistake makes a line so much longer that a reader suspects it."""
    return len(mistake.now) - len(mistake.was) > _MOST_LONGER


def _shuffled(pieces: Sequence[Piece], rng: Random) -> list[Piece]:
    """Return the pieces in an order that is wrong, whichever piece of a place is the right piece.

    The pieces of a place all come before the pieces of an earlier place. A function with only one
    place has no wrong order.
    """
    order = list(pieces)
    while True:
        rng.shuffle(order)
        positions: dict[int, list[int]] = {}
        for position, piece in enumerate(order):
            positions.setdefault(piece.place, []).append(position)
        if len(positions) == 1 or any(
            max(positions[later]) < min(positions[earlier])
            for earlier in positions
            for later in positions
            if earlier < later
        ):
            return order


def _block(pieces: Sequence[Piece]) -> list[str]:
    """Return the lines of the comment. An empty comment separates pieces of several lines."""
    lines: list[str] = []
    for index, piece in enumerate(pieces):
        if index and "\n" in pieces[index - 1].text + piece.text:
            lines.append("#")
        lines += [f"# {line}" for line in piece.text.splitlines()]
    return lines


def _with_blocks(code: str, blocks: Mapping[str, Sequence[str]]) -> str:
    """Return the code with a comment under the last line of every function that has a block."""
    lines = code.splitlines()
    for name, function in reversed(list(_functions(ast.parse(code)))):
        indent = " " * (function.col_offset + len(_INDENT))
        last = function.end_lineno or 0
        lines[last:last] = [indent + line for line in blocks.get(name, ())]
    return "\n".join(lines) + "\n"


def _without_live_code(pieces: Sequence[Piece], code: str) -> list[Piece]:
    """Leave out the pieces that the code has as statements, and those of unknown functions."""
    statements = {
        name: {_meaning((statement, 0)) for statement in function.body}
        for name, function in _functions(ast.parse(code))
    }
    return [
        piece
        for piece in pieces
        if piece.function in statements and piece.meaning not in statements[piece.function]
    ]


def completed(stub: str, reference: str) -> str:
    """Return the stub with the imports, constants and functions that only the reference has.

    Added functions have their docstring, and raise NotImplementedError like those of the stub.
    """
    lines = stub.splitlines()
    skeleton = _skeleton(reference)
    insertions = _insertions(
        ast.parse(stub), ast.parse("\n".join(skeleton)), skeleton, len(lines), most_empty=2
    )
    for row, added in reversed(list(insertions)):
        lines[row:row] = added
    return "\n".join(lines) + "\n"


def _insertions(
    stub: ast.Module | ast.ClassDef,
    reference: ast.Module | ast.ClassDef,
    skeleton: Sequence[str],
    end: int,
    most_empty: int,
) -> Iterator[tuple[int, list[str]]]:
    """Yield a line index of the stub and the lines of the reference that it lacks there, in order.

    Args:
        stub: the module or a class of the stub.
        reference: the same of the reference.
        skeleton: the lines of the reference without the bodies of its functions.
        end: the line index after the last line of `stub`.
        most_empty: how many empty lines separate functions.
    """
    known = {_identity(statement): statement for statement in stub.body}
    added: list[str] = []
    previous_end = 0
    for statement in reference.body:
        first, last = _first_row(statement), statement.end_lineno or 0
        present = known.get(_identity(statement))
        if present is not None:
            if added:
                gap = min(first - previous_end, most_empty)
                yield _first_row(present), [*added, *[""] * gap]
            added = []
            if isinstance(present, ast.ClassDef) and isinstance(statement, ast.ClassDef):
                class_end = present.end_lineno or 0
                yield from _insertions(present, statement, skeleton, class_end, 1)
        elif not _is_docstring(statement):
            if added:
                added += [""] * min(first - previous_end, most_empty)
            added += skeleton[first:last]
        previous_end = last
    if added:
        yield end, [*[""] * most_empty, *added]


def _skeleton(reference: str) -> list[str]:
    """Return the lines of the reference without comments. All functions are unfinished."""
    functions = list(_functions(ast.parse(reference)))
    lines = _lines_without_comments(reference)
    for _, function in reversed(functions):
        if body := _body(function):
            row = body[0].lineno - 1
            before = lines[row].encode()[: body[0].col_offset].decode().rstrip()
            indent = " " * (function.col_offset + len(_INDENT))
            raised = [f"{indent}raise NotImplementedError"]
            lines[row : function.end_lineno] = [before, *raised] if before else raised
    return lines


def _identity(statement: ast.stmt) -> str:
    """Return the name that a statement defines with `def` or `class`, or the whole statement."""
    if isinstance(statement, _FUNCTION | ast.ClassDef):
        return statement.name
    return ast.dump(statement)


def _first_row(statement: ast.stmt) -> int:
    """Return the index of the first line of a statement, with its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)]) - 1


def _is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement is only a string."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _places(tree: ast.Module) -> dict[tuple[str, int], _PlacedStatement]:
    """Return the statements that are pieces, by the name of the function and their index in it."""
    return {
        (name, place): statement
        for name, function in _functions(tree)
        for place, statement in enumerate(_statements(_body(function)))
    }


def _functions(
    node: ast.Module | ast.ClassDef, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield all functions and methods with their names. Skip functions within functions."""
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, _FUNCTION):
            yield f"{prefix}{child.name}", child


def _body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
    """Return the statements of a function without its docstring."""
    return function.body[1:] if _is_docstring(function.body[0]) else function.body


def _statements(body: Sequence[ast.stmt], depth: int = 0) -> Iterator[_PlacedStatement]:
    """Yield the statements that are pieces, with their depth in loops.

    A loop is opened: its first line is a piece, and so is every statement of its body. All other
    statements stay whole.
    """
    for statement in body:
        if isinstance(statement, _LOOP) and not getattr(statement, "orelse", []):
            first_line = copy.copy(statement)
            first_line.body = []
            first_line.end_lineno = _first_row(statement.body[0])
            yield first_line, depth
            yield from _statements(statement.body, depth + 1)
        else:
            yield statement, depth


def _piece(place: tuple[str, int], placed: _PlacedStatement, lines: Sequence[str]) -> Piece:
    """Return a statement of a source with these lines as a piece."""
    statement, depth = placed
    text = textwrap.indent(_text(statement, lines), _INDENT * depth)
    return Piece(*place, text, _meaning(placed))


def _meaning(placed: _PlacedStatement) -> str:
    """Return the syntax tree of a statement and its depth as text."""
    statement, depth = placed
    return f"{depth} {ast.dump(statement)}"


def _text(statement: ast.stmt, lines: Sequence[str]) -> str:
    """Return the text of a statement without indentation, as the source has it if possible.

    If the statement shares a line with another, or contains a string of several lines, Python
    writes the text itself.
    """
    rows = lines[_first_row(statement) : statement.end_lineno]
    text = textwrap.dedent("\n".join(line for line in rows if line))
    is_first_line = isinstance(statement, _LOOP) and not statement.body
    try:
        parsed = ast.parse(f"{text}\n{_INDENT}pass" if is_first_line else text).body
    except SyntaxError:
        return ast.unparse(statement)
    if is_first_line and isinstance(parsed[0], _LOOP):
        parsed[0].body = []
    same = [ast.dump(node) for node in parsed] == [ast.dump(statement)]
    return text if same else ast.unparse(statement)


def _lines_without_comments(source: str) -> list[str]:
    """Return the lines of the source without comments and without spaces at the end."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    return [line.rstrip() for line in lines]
