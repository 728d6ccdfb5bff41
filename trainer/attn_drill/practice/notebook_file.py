"""Make a Python file from the answers in a Jupyter notebook. No code is run.

The wanted functions and classes are kept, with the definitions, imports and assignments whose names
they read. All other lines become empty, so no plot and no test of the notebook runs.
"""

from __future__ import annotations

import ast
import difflib
import re
import symtable
import textwrap
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from attn_drill.model.errors import DrillError
from attn_drill.model.words import first_of

MOST_NOTEBOOK_BYTES = 8 << 20  # a notebook holds its plots
# Files are parsed in the process that grades a class, so a long file must not take seconds.
MOST_PARSED_BYTES = 1 << 18
_MOST_NAMED = 5  # definitions in one sentence

_CELL_HEADER = re.compile(r"# cell ([0-9]{1,9})")
# A cell in another language.
_FOREIGN = re.compile(
    r"\s*%%(bash|html|javascript|js|latex|markdown|perl|r|ruby|script|sh|sql|svg)\b", re.IGNORECASE
)
# A magic of a line or of a cell, with the lines that continue it.
_MAGIC = re.compile(
    r"^([ \t]*+)(?:%%?\w|!(?!=)|\?|[\w.]+\?{1,2}[ \t]*$|[\w, ]+=[ \t]*[!%])(?:.*\\\n)*.*$",
    re.MULTILINE,
)
_DEFINITION_LINE = re.compile(r"^[ \t]*+(?:async\s+def|def|class)\s+(\w+)", re.MULTILINE)
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Import = ast.Import | ast.ImportFrom


class _Cell(msgspec.Struct, gc=False):
    cell_type: str = ""
    source: str | list[str] = ""


class _Notebook(msgspec.Struct):
    cells: list[_Cell]


def python_of(text: str, name: str, wanted: Collection[str]) -> str:
    """Return the Python source of the wanted names of a notebook, and of everything they need.

    Before each cell comes the comment `# cell N`; N counts the code cells. A line of the result is
    as far below this comment as in the cell. Raise a DrillError, which calls the notebook `name`,
    if the text is not a notebook, is too large, or defines no wanted name.
    """
    cells = dict(enumerate(map(_without_magics, _code_cells(text, name)), start=1))
    size = sum(map(len, cells.values()))
    if size > MOST_PARSED_BYTES:
        raise DrillError(
            f"{name} has {size:,} characters of code; at most {MOST_PARSED_BYTES:,} are read. "
            "Is it the right file?"
        )
    trees = {number: _parsed(cell) for number, cell in cells.items()}
    statements = [node for tree in trees.values() if tree for node in tree.body]
    kept, missing = _needed(statements, wanted)
    # A broken cell never ran. The student reads its error only if the answer needs the cell.
    broken = [
        number
        for number, tree in trees.items()
        if tree is None and missing.intersection(_DEFINITION_LINE.findall(cells[number]))
    ]
    if not kept and not broken:
        raise DrillError(undefined(name, wanted, _defined_by(statements)))
    # Python requires that imports from __future__ come first.
    futures = {ast.unparse(node): None for node in statements if _is_future(node)}
    parts = ["\n".join(futures)] if futures else []
    for number, cell in cells.items():
        tree = trees[number]
        text = cell if number in broken else _lines_of(kept, tree, cell) if tree else ""
        if text.strip():
            parts.append(f"# cell {number}\n{text}".rstrip())
    return "\n\n".join(parts) + "\n"


def cell_line(source: str, line: int) -> tuple[int, int] | None:
    """Return the code cell and the line in it of a line of `python_of`, all from 1, or None."""
    for below, text in enumerate(reversed(source.split("\n")[:line])):
        if header := _CELL_HEADER.fullmatch(text):
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
    try:
        data = text.removeprefix("\ufeff").encode()
        notebook = msgspec.json.decode(data, type=_Notebook)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        advice = "Save it again in Jupyter, or hand in a Python file."
        raise DrillError(f"{name} cannot be read as a notebook. {advice}") from None
    return ["".join(cell.source) for cell in notebook.cells if cell.cell_type == "code"]


def _without_magics(text: str) -> str:
    """Return a cell with empty lines for its magics; "" for a cell in another language."""
    text = "\n".join(re.split("\r\n?|\n", text.replace("\0", "\ufffd")))
    if _FOREIGN.match(text):
        return ""

    def blank(magic: re.Match[str]) -> str:
        """Return as many lines as the magic has. In a block, `pass` takes its place."""
        return (f"{magic[1]}pass" if magic[1] else "") + "\n" * magic[0].count("\n")

    if _parsed(text) is None:  # a line of a formula may look like a magic
        text = _MAGIC.sub(blank, text)
    return textwrap.dedent(text)


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
    return {name for node in nodes for name in _bound_by(node, imports=False)}


def _bound_by(node: ast.AST, *, imports: bool = True) -> Iterator[str]:
    """Yield the names that a statement binds, or whose attributes and items it sets.

    A loop or a `with` in a notebook is a test or a training, and not a part of the answer.
    """
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If | ast.Try | ast.ExceptHandler):
            children = ast.iter_child_nodes(node)
            waiting += [child for child in children if not isinstance(child, ast.expr)]
        elif isinstance(node, _Definition):
            yield node.name
        elif isinstance(node, _Import) and imports:
            yield from ((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.Assign):
            waiting += node.targets
        elif isinstance(node, ast.AnnAssign | ast.AugAssign):
            waiting.append(node.target)
        elif isinstance(node, ast.Tuple | ast.List):
            waiting += node.elts
        elif isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
            waiting.append(node.value)
        elif isinstance(node, ast.Name):
            yield node.id


def _needed(
    statements: Sequence[ast.stmt], wanted: Collection[str]
) -> tuple[set[ast.stmt], set[str]]:
    """Return the statements that the wanted names need, and the needed names that none binds."""
    definitions = _defined_by(node for node in statements if isinstance(node, _Definition))
    by_name: dict[str, list[ast.stmt]] = defaultdict(list)
    for node in statements:
        for name in () if _is_future(node) else _bound_by(node):
            # A test often writes `attention = attention(q, k, v)` below the definition. And a
            # module that `%%writefile` makes of a cell does not exist when the file is graded.
            if not (name in definitions and _is_result(node)):
                by_name[name].append(node)
    # No statement is needed if no wanted name is defined.
    if all(isinstance(node, _Import) for name in wanted for node in by_name[name]):
        return set(), set(wanted)
    kept = set(by_name["*"])
    needed, waiting = set(wanted), list(wanted)
    while waiting:
        for node in by_name[waiting.pop()]:
            if node not in kept:
                kept.add(node)
                new = _read_by(node) - needed
                needed |= new
                waiting += new
    return kept, {name for name in needed if not by_name[name]}


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


def _lines_of(kept: Collection[ast.stmt], tree: ast.Module, cell: str) -> str:
    """Return the lines of a cell with the kept statements, and empty lines for all others."""
    needed: set[int] = set()
    for node in tree.body:
        if node in kept or node.lineno in needed:
            decorators = node.decorator_list if isinstance(node, _Definition) else []
            first = min([node.lineno, *(each.lineno for each in decorators)])
            needed.update(range(first, (node.end_lineno or first) + 1))
    lines = enumerate(cell.split("\n"), start=1)
    return "\n".join(line if number in needed else "" for number, line in lines)
