"""Make a Python file from the answers in a Jupyter notebook. No code is run.

The wanted functions and classes are kept, with the definitions, imports and assignments whose names
they read. Everything else becomes an empty line, so no plot and no test of the notebook runs.
"""

from __future__ import annotations

import ast
import difflib
import re
import symtable
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from trainer.model.errors import DrillError
from trainer.model.listing import first_of

MOST_NOTEBOOK_BYTES = 8 << 20  # a notebook holds its plots
# Files are parsed in the process that grades a class, so a long file must not take seconds.
MOST_PARSED_BYTES = 1 << 18
_MOST_NAMED = 5  # definitions in one sentence

_CELL_HEADER = re.compile(r"# cell ([0-9]{1,9})")
_CELL_MAGIC = re.compile(r"\s*%%(\w+).*")
_FOREIGN = frozenset(
    "bash cmd html javascript js julia latex markdown perl r ruby script sh sql svg system".split()
)
_LINE_MAGIC = re.compile(r"(\s*+)(%\w.*|!(?!=).*|\?.*|[\w.]+\?{1,2}\s*|[\w, ]+=\s*[!%].*)")
_DEFINITION_LINE = re.compile(r"^[ \t]*+(?:async\s+def|def|class)\s+(\w+)", re.MULTILINE)
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Import = ast.Import | ast.ImportFrom


class _Cell(msgspec.Struct, gc=False):
    cell_type: str = ""
    source: str | list[str] = ""


class _Notebook(msgspec.Struct):
    cells: list[_Cell]


@dataclass(frozen=True, eq=False)
class _Statement:
    """A statement outside of all functions and classes.

    Attributes:
        cell: the number of its code cell, from 1.
        node: the statement.
        binds: the names that it defines, or whose attributes and items it sets.
    """

    cell: int
    node: ast.stmt
    binds: frozenset[str]


def python_of(text: str, name: str, wanted: Collection[str]) -> str:
    """Return the Python source of the wanted names of a notebook, and of everything they need.

    Before each cell comes the comment `# cell N`; N counts the code cells. A line of the result is
    as far below this comment as in the cell.

    Args:
        text: the text of the .ipynb.
        name: the name of the file in messages.
        wanted: the names that the challenges ask for.

    Raises:
        DrillError: the text is not a notebook, is too large, or defines no wanted name.
    """
    cells = {
        number: _without_magics(cell)
        for number, cell in enumerate(_code_cells(text, name), start=1)
    }
    size = sum(map(len, cells.values()))
    if size > MOST_PARSED_BYTES:
        raise DrillError(
            f"{name} has {size:,} characters of code; at most {MOST_PARSED_BYTES:,} are read. Is it"
            " the right file?"
        )
    trees = {number: _parsed(cell) for number, cell in cells.items()}
    statements = [
        _statement(number, node)
        for number, tree in trees.items()
        if tree is not None
        for node in tree.body
    ]
    kept, needed = _needed(statements, wanted)
    # A broken cell never ran. The student reads its error only if the answer needs the cell.
    missing = needed - {name for statement in statements for name in statement.binds}
    broken = [
        number
        for number, tree in trees.items()
        if tree is None and missing.intersection(_DEFINITION_LINE.findall(cells[number]))
    ]
    if not kept and not broken:
        raise DrillError(undefined(name, wanted, _defined_by(each.node for each in statements)))
    return _source(cells, kept, broken, needed)


def cell_line(source: str, line: int) -> tuple[int, int] | None:
    """Return the number of a code cell and the line in it, both from 1, or None.

    Args:
        source: a result of `python_of`.
        line: a line of the source, from 1.
    """
    lines = source.split("\n")[:line]
    for index in range(len(lines) - 1, -1, -1):
        if header := _CELL_HEADER.fullmatch(lines[index]):
            below = line - index - 1
            return (int(header[1]), below) if below else None
    return None


def defined_names(source: str) -> tuple[set[str], bool]:
    """Return the names that a source defines outside of functions, and whether Python can read it.

    An imported name is not defined: a test that imports the answer is not the answer. If Python
    cannot read the source, its `def` and `class` lines count.
    """
    tree = _parsed(source) if len(source) <= MOST_PARSED_BYTES else None
    if tree is None:
        return set(_DEFINITION_LINE.findall(source)), False
    return _defined_by(tree.body), True


def undefined(name: str, wanted: Collection[str], defined: Iterable[str]) -> str:
    """Return the sentence about a file that defines no wanted name, with the nearest name."""
    defined = sorted(defined)
    for want in wanted:
        for near in difflib.get_close_matches(want, defined, n=1, cutoff=0.8):
            return f"{name} defines {near}, and not {want}: correct the name."
    others = f", only {first_of(defined, _MOST_NAMED)}" if defined else ""
    return f"{name} does not define {' or '.join(wanted)}{others}."


# Cells


def _code_cells(text: str, name: str) -> list[str]:
    """Return the texts of the code cells."""
    try:
        data = text.removeprefix("\ufeff").encode()
        notebook = msgspec.json.decode(data, type=_Notebook)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise DrillError(
            f"{name} cannot be read as a notebook. Save it again in Jupyter, or hand in a Python"
            " file."
        ) from None
    return ["".join(cell.source) for cell in notebook.cells if cell.cell_type == "code"]


def _without_magics(text: str) -> str:
    """Return a cell with empty lines for its magics; "" for a cell in another language."""
    lines = re.split("\r\n?|\n", text.replace("\0", "\ufffd"))
    for index, line in enumerate(lines):
        if magic := _CELL_MAGIC.fullmatch(line):
            if magic[1].lower() in _FOREIGN:
                return ""
            lines[index] = ""
        elif line.strip():
            break
    if _parsed("\n".join(lines)) is None:  # a line of a formula may look like a magic
        is_continued = False
        for index, line in enumerate(lines):
            match = None if is_continued else _LINE_MAGIC.fullmatch(line)
            if is_continued or match:
                # In a block, `pass` takes the place of the magic.
                lines[index] = f"{match[1]}pass" if match and match[1] else ""
                is_continued = line.endswith("\\")
    return textwrap.dedent("\n".join(lines))


def _parsed(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about strange escapes in strings
            return ast.parse(text)
    except _UNREADABLE:
        return None


# Statements


def _defined_by(nodes: Iterable[ast.stmt]) -> set[str]:
    """Return the names that definitions and assignments define, also in `if` and `try`."""
    return {
        name
        for node in nodes
        for inner in _inner_statements(node)
        if not isinstance(inner, _Import)
        for name in _bound_by(inner)
    }


def _inner_statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Yield a statement and the statements in it, but not those of functions and classes."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(node, _Definition | ast.expr):
            waiting += ast.iter_child_nodes(node)


def _bound_by(node: ast.stmt) -> Iterator[str]:
    """Yield the names that one statement binds, or whose attributes and items it sets."""
    if isinstance(node, _Definition):
        yield node.name
    elif isinstance(node, _Import):
        yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for each in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                while isinstance(each, ast.Attribute | ast.Subscript | ast.Starred):
                    each = each.value
                if isinstance(each, ast.Name):
                    yield each.id


def _statement(cell: int, node: ast.stmt) -> _Statement:
    # A loop or a `with` in a notebook is a test or a training, and not a part of the answer.
    inner = _inner_statements(node) if isinstance(node, ast.If | ast.Try) else [node]
    return _Statement(cell, node, frozenset(name for each in inner for name in _bound_by(each)))


def _needed(
    statements: Sequence[_Statement], wanted: Collection[str]
) -> tuple[list[_Statement], set[str]]:
    """Return the statements that the wanted names need, and all needed names.

    No statement is needed if no wanted name is defined.
    """
    definitions = _defined_by(
        each.node for each in statements if isinstance(each.node, _Definition)
    )
    by_name: dict[str, list[_Statement]] = defaultdict(list)
    for statement in statements:
        for name in statement.binds:
            # A test often writes `attention = attention(q, k, v)` below the definition. And a
            # module that `%%writefile` makes of a cell does not exist when the file is graded.
            if not (name in definitions and _is_result(statement.node)):
                by_name[name].append(statement)
    if all(isinstance(each.node, _Import) for name in wanted for each in by_name[name]):
        return [], set(wanted)
    kept = dict.fromkeys(each for each in statements if "*" in each.binds or _is_future(each.node))
    needed, waiting = set(wanted), list(wanted)
    while waiting:
        for statement in by_name[waiting.pop()]:
            if statement not in kept:
                kept[statement] = None
                new = _read_by(statement.node) - needed
                needed |= new
                waiting += new
    return list(kept), needed


def _is_result(node: ast.stmt) -> bool:
    """Return whether a statement imports something, or assigns the result of a call."""
    is_call = any(isinstance(each, ast.Call) for each in ast.walk(node))
    return not isinstance(node, _Definition) and (isinstance(node, _Import) or is_call)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _read_by(node: ast.stmt) -> set[str]:
    """Return the names of the notebook that a statement reads, also in its functions."""
    names: set[str] = set()
    try:
        scopes = [symtable.symtable(ast.unparse(node), "cell", "exec")]
    except _UNREADABLE:
        return names  # the student reads the error when the file is graded
    while scopes:
        scope = scopes.pop()
        is_module = scope.get_type() == "module"
        names |= {
            symbol.get_name()
            for symbol in scope.get_symbols()
            if (symbol.is_referenced() if is_module else symbol.is_global())
        }
        scopes += scope.get_children()
    return names


# The source


def _source(
    cells: Mapping[int, str],
    kept: Sequence[_Statement],
    broken: Collection[int],
    needed: Collection[str],
) -> str:
    """Return the source. Imports from __future__ come first, because Python requires it."""
    futures = sorted({ast.unparse(each.node) for each in kept if _is_future(each.node)})
    parts = ["\n".join(futures)] if futures else []
    for number, cell in cells.items():
        lines = cell.split("\n")
        nodes = [each.node for each in kept if each.cell == number and not _is_future(each.node)]
        if number not in broken:
            lines = _only(nodes, lines, needed)
        if nodes or number in broken:
            parts.append("\n".join([f"# cell {number}", *lines]).rstrip())
    return "\n\n".join(parts) + "\n"


def _only(nodes: Iterable[ast.stmt], lines: Sequence[str], needed: Collection[str]) -> list[str]:
    """Return the lines of a cell with only these statements, as many lines as before."""
    result = [""] * len(lines)
    for node in sorted(nodes, key=lambda node: (node.lineno, node.col_offset)):
        decorators = node.decorator_list if isinstance(node, _Definition) else []
        first = min([node.lineno, *(each.lineno for each in decorators)]) - 1
        part = [*lines[first : node.end_lineno]]
        part[-1] = part[-1].encode()[: node.end_col_offset].decode()
        part[0] = part[0].encode()[0 if decorators else node.col_offset :].decode()
        if isinstance(node, _Import):
            part = [_shorter(node, needed)]
        for index, text in enumerate(part, start=first):
            result[index] = f"{result[index]}; {text}" if result[index] else text
    return result


def _shorter(node: _Import, needed: Collection[str]) -> str:
    """Return an import of the needed names only: a package that a plot needs may be missing."""
    names = [
        alias
        for alias in node.names
        if alias.name == "*" or (alias.asname or alias.name).split(".")[0] in needed
    ]
    if isinstance(node, ast.Import):
        return ast.unparse(ast.Import(names))
    return ast.unparse(ast.ImportFrom(node.module, names, node.level))
