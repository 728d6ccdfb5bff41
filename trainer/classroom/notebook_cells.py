"""Make a Python file from the answer in a Jupyter notebook. No code is run.

The answer is kept, with everything that it needs. All other statements become empty lines, so a
plot or a test in the notebook does not run when the file is graded.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from trainer.classroom.archives import MOST_NOTEBOOK_BYTES, FileError
from trainer.classroom.needed_statements import (
    Statement,
    imported_modules,
    needed,
    position,
    shorter_import,
    statement_of,
)
from trainer.model.listing import first_of

# A notebook is read in the process that grades the class, so a file that takes seconds is refused.
MOST_CODE_BYTES = 1 << 18
MOST_STATEMENTS = 5_000
_MOST_LANGUAGE = 40  # characters
_MOST_NAMED = 5  # definitions in one sentence

_SAVE_AGAIN = "Save it again in Jupyter, or hand in a Python file."

_CELL_HEADER = re.compile(r"# cell ([0-9]{1,9})")
_WRITE_FILE = re.compile(
    r"%%(?:writefile|file)[ \t]+(?:-a[ \t]+)?(?:[\w.]*/)*+(\w+)\.py\s*$", re.MULTILINE
)
_CELL_MAGIC = re.compile(r"%%(\w+)")
# Cells in another language.
_FOREIGN = frozenset(
    "bash cmd html javascript js julia latex markdown perl r ruby script sh sql svg system".split()
)
_LINE_MAGIC = re.compile(r"(\s*+)(%\w.*|!(?!=).*|\?.*|[\w.]+\?{1,2}\s*|[\w, ]+=\s*[!%].*)")
_DEFINITION_LINE = re.compile(r"^[ \t]*+(?:async\s+def|def|class)\s+(\w+)", re.MULTILINE)


class _Cell(msgspec.Struct, gc=False):
    """A cell. Format 4 calls the text `source`, format 3 `input`."""

    cell_type: str = ""
    source: str | list[str] = ""
    input: str | list[str] = ""


class _Worksheet(msgspec.Struct):
    cells: list[_Cell] = []


class _Notebook(msgspec.Struct):
    """A notebook. Format 3 has its cells in worksheets. Everything else is not read."""

    cells: list[_Cell] | None = None
    worksheets: list[_Worksheet] | None = None
    metadata: Any = None


@dataclass
class _CodeCell:
    """A code cell without magics.

    Attributes:
        number: the position among the code cells, from 1.
        lines: the lines of the text.
        statements: the statements; None if the cell is not valid Python.
        module: the name of the module that `%%writefile` makes of this cell, or "".
    """

    number: int
    lines: list[str]
    statements: list[Statement] | None
    module: str = ""


def definitions(text: str, name: str, entry: Collection[str]) -> str:
    """Return a Python source with the answer of a notebook and everything that it needs.

    Before each cell comes the comment `# cell N`; N counts the code cells. Lines that are left out
    are empty, so a line of the result is as far below this comment as in the cell.

    Args:
        text: the text of the .ipynb.
        name: the name of the file in messages.
        entry: the names that the challenge asks for.

    Raises:
        FileError: the text is not a notebook, is too large, or defines no name of `entry`.
    """
    try:
        return _definitions(text, name, entry)
    except (RecursionError, MemoryError):
        raise FileError(
            f"{name} has code that is nested too deeply to be read. Hand in a Python file."
        ) from None


def _definitions(text: str, name: str, entry: Collection[str]) -> str:
    texts = _code_cells(text, name)
    _check_size(sum(len(cell_text.encode()) for cell_text in texts), name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns about strange escapes in strings
        cells = [
            cell
            for number, cell_text in enumerate(texts, start=1)
            if (cell := _code_cell(number, cell_text, name)) is not None
        ]
    modules = {cell.module for cell in cells} - {""}
    statements = [
        statement
        for cell in cells
        for statement in cell.statements or ()
        # The cell of the module is a part of the source, so the module is not imported.
        if modules.isdisjoint(imported_modules(statement.node))
    ]
    kept, names = needed(statements, entry)
    defined = {name for statement in statements for name in statement.binds}
    missing = {*entry, *names} - defined
    cells = [
        cell
        for cell in cells
        # A cell that Python cannot read never ran. The student learns its syntax error only if the
        # answer needs it.
        if cell.statements is not None or missing.intersection(_definitions_in(cell))
    ]
    if not kept and all(cell.statements is not None for cell in cells):
        raise FileError(_undefined(name, entry, statements))
    source = _source(cells, kept, names)
    if "\0" in source:
        raise FileError(f"{name} holds a NUL character in its code. {_SAVE_AGAIN}")
    _check_size(len(source.encode()), name)
    return source


def _definitions_in(cell: _CodeCell) -> list[str]:
    return _DEFINITION_LINE.findall("\n".join(cell.lines))


def _undefined(name: str, entry: Collection[str], statements: Sequence[Statement]) -> str:
    """Return the sentence about a notebook that defines none of the names."""
    defined = [
        statement.node.name
        for statement in statements
        if isinstance(statement.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    others = f" It defines {first_of(defined, _MOST_NAMED)}." if defined else ""
    return (
        f"No code cell of {name} defines {' or '.join(entry)}.{others} Hand in the notebook that"
        " holds the answer."
    )


def cell_line(source: str, line: int) -> tuple[int, int] | None:
    """Return the number of a code cell and the line in it, both from 1.

    Args:
        source: a result of `definitions`.
        line: a line of the source, from 1.

    Returns:
        The cell and the line in it; None if the line is in no cell.
    """
    lines = source.split("\n")[:line]
    for index in range(len(lines) - 1, -1, -1):
        if header := _CELL_HEADER.fullmatch(lines[index]):
            own = line - index - 1
            return (int(header[1]), own) if own else None
    return None


def _check_size(size: int, name: str) -> None:
    if size > MOST_CODE_BYTES:
        raise FileError(
            f"{name} has {size:,} bytes of code; at most {MOST_CODE_BYTES:,} are graded. Is it"
            " the right file?"
        )


# The cells of a notebook


def _code_cells(text: str, name: str) -> list[str]:
    """Return the texts of the code cells."""
    data = text.removeprefix("\ufeff").encode("utf-8", "surrogatepass")
    if len(data) > MOST_NOTEBOOK_BYTES:
        raise FileError(
            f"{name} has {len(data):,} bytes; notebooks have at most {MOST_NOTEBOOK_BYTES:,}. Clear"
            " the outputs and save it again."
        )
    try:
        notebook = msgspec.json.decode(data, type=_Notebook)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise FileError(f"{name} cannot be read as a notebook. {_SAVE_AGAIN}") from None
    if notebook.cells is None and notebook.worksheets is None:
        raise FileError(f"{name} has no cells, so it is not a notebook. {_SAVE_AGAIN}")
    language = _language(notebook.metadata)
    if language.casefold() not in ("", "python", "ipython"):
        raise FileError(
            f"{name} is a notebook for {language}, and not for Python. Choose a Python kernel in"
            " Jupyter and save it again."
        )
    cells = [*(notebook.cells or ())]
    for worksheet in notebook.worksheets or ():
        cells += worksheet.cells
    return [
        "".join(cell.source) or "".join(cell.input) for cell in cells if cell.cell_type == "code"
    ]


def _language(metadata: Any) -> str:
    """Return the programming language of a notebook, or ""."""
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        about = metadata.get(key) if isinstance(metadata, dict) else None
        language = about.get(name) if isinstance(about, dict) else None
        if isinstance(language, str) and language.strip():
            return language.strip()[:_MOST_LANGUAGE]
    return ""


def _code_cell(number: int, text: str, name: str) -> _CodeCell | None:
    """Return a cell without its magics, or None if it is in another language."""
    all_lines = re.split("\r\n?|\n", text)
    lines, is_foreign = _without_cell_magic(all_lines)
    if is_foreign:
        return None
    written = _WRITE_FILE.match(text.lstrip())
    module = written[1] if written else ""
    tree = _parsed(lines)
    if tree is None:
        lines = _without_line_magics(lines)
        tree = _parsed(lines)
    if tree is None:  # Jupyter ignores an indentation that all lines have
        lines = textwrap.dedent("\n".join(lines)).split("\n")
        tree = _parsed(lines)
    if tree is not None and len(tree.body) > MOST_STATEMENTS:
        raise FileError(
            f"{name} has {len(tree.body):,} statements in one cell; at most {MOST_STATEMENTS:,} are"
            " read. Is it the right file?"
        )
    if tree is not None:
        return _CodeCell(number, lines, [statement_of(node, lines) for node in tree.body], module)
    return _CodeCell(number, lines, None, module)


def _without_cell_magic(lines: list[str]) -> tuple[list[str], bool]:
    """Return the lines with `%%magic` as empty lines, and whether it names another language."""
    lines = [*lines]
    for index, line in enumerate(lines):
        match = _CELL_MAGIC.match(line)
        if match and match[1].lower() in _FOREIGN:
            return lines, True
        if match:
            lines[index] = ""
        elif line.strip():
            break
    return lines, False


def _without_line_magics(lines: Sequence[str]) -> list[str]:
    """Return the lines without `%magic`, `!shell` and `name?`, as many lines as before.

    A backslash at the end of such a line continues it. In a block, `pass` takes its place.
    """
    result: list[str] = []
    is_continued = False
    for line in lines:
        match = None if is_continued else _LINE_MAGIC.fullmatch(line)
        if is_continued or match:
            result.append(f"{match[1]}pass" if match and match[1] else "")
            is_continued = line.endswith("\\")
        else:
            result.append(line)
    return result


def _parsed(lines: Sequence[str]) -> ast.Module | None:
    try:
        return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


# The source


def _source(cells: Sequence[_CodeCell], kept: set[Statement], names: Collection[str]) -> str:
    """Return the source. Imports from __future__ come first, because Python requires it."""
    futures: dict[str, None] = {}
    parts: list[str] = []
    for cell in cells:
        lines = cell.lines
        if cell.statements is not None:
            staying: dict[ast.stmt, str | None] = {}
            for statement in cell.statements:
                if statement in kept and statement.is_future:
                    futures[ast.unparse(statement.node)] = None
                elif statement in kept:
                    staying[statement.node] = shorter_import(statement.node, names)
            if not staying:
                continue
            lines = _only(staying, [statement.node for statement in cell.statements], lines)
        parts.append("\n".join([f"# cell {cell.number}", *lines]).rstrip())
    return "\n\n".join([*(["\n".join(futures)] if futures else []), *parts]) + "\n"


def _only(
    staying: Mapping[ast.stmt, str | None], nodes: Sequence[ast.stmt], lines: Sequence[str]
) -> list[str]:
    """Return the lines of a cell with some of its statements only, as many lines as before.

    A statement that shares a line with a statement that stays becomes `pass`.

    Args:
        staying: the statements that stay, each with its new text; None if the text stays, too.
        nodes: all statements of the cell, in order.
        lines: the lines of the cell.
    """
    result = [line.encode() for line in lines]
    for group in _on_shared_lines(nodes):
        is_shared = any(node in staying for node in group)
        for node in reversed(group):  # from the end, so that the columns on a line stay right
            text = staying.get(node, "pass" if is_shared else "")
            if text is None:
                continue
            first, column, last, end_column = position(node)
            start, rest = result[first - 1][:column], result[last - 1][end_column:]
            result[first - 1 : last] = [b""] * (last - first + 1)
            if is_shared:
                result[last - 1] = text.encode() + rest
                result[first - 1] = start + (result[first - 1] if first == last else b"")
    return [line.decode() for line in result]


def _on_shared_lines(nodes: Sequence[ast.stmt]) -> list[list[ast.stmt]]:
    """Return the statements in groups. Only statements of one group share a line."""
    groups: list[list[ast.stmt]] = []
    last_line = 0
    for node in nodes:
        first, _, last, _ = position(node)
        if first <= last_line:
            groups[-1].append(node)
        else:
            groups.append([node])
        last_line = last
    return groups
