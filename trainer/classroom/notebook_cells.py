"""Make a Python file from the definitions in a Jupyter notebook. No code is run.

Functions, classes and the imports and constants that they need are kept. All other statements
become empty lines, so a plot or a test in the notebook does not run when the file is graded.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from trainer.classroom.archives import MOST_NOTEBOOK_BYTES, FileError

# A notebook is read in the process that grades the class, so a file that takes seconds is refused.
MOST_CODE_BYTES = 1 << 18
MOST_STATEMENTS = 5_000

_SAVE_AGAIN = "Save it again in Jupyter, or hand in a Python file."

_CELL_MAGIC = re.compile(r"%%(\w+)")
# Cells in another language.
_FOREIGN = frozenset(
    "bash cmd html javascript js julia latex markdown perl r ruby script sh sql svg system".split()
)
_LINE_MAGIC = re.compile(r"(\s*+)(%\w.*|!(?!=).*|\?.*|[\w.]+\?{1,2}\s*|[\w, ]+=\s*[!%].*)")
_DEFINITION_LINE = re.compile(r"^[ \t]*+(async\s+def|def|class)\s+\w", re.MULTILINE)

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Import = ast.Import | ast.ImportFrom
_Assignment = ast.Assign | ast.AnnAssign | ast.AugAssign
_Block = ast.If | ast.Try | ast.With
_BUILTINS = frozenset(dir(builtins))
# A chain of constants that need each other is followed to this length.
_MOST_ROUNDS = 50
_COMPREHENSIONS = frozenset(("listcomp", "setcomp", "dictcomp", "genexpr"))
# Calls of these compute a constant. A call of anything else could read a file, draw a plot or run
# a test.
_PURE_BUILTINS = frozenset(
    "abs bool complex dict float frozenset int len list max min object pow range round set slice"
    " sorted str sum tuple type zip".split()
)
_PURE_PACKAGES = frozenset(
    "collections dataclasses enum functools itertools math numpy operator torch typing"
    " typing_extensions".split()
)


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


@dataclass(eq=False)
class _Statement:
    """A statement outside of all functions and classes.

    Attributes:
        node: the statement.
        binds: the names that it defines.
        loads: the names that it reads when it runs.
        later: the names that the functions in it read when they are called.
        calls: the calls in it.
    """

    node: ast.stmt
    binds: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)
    calls: Sequence[ast.Call | ast.Await] = ()


@dataclass
class _CodeCell:
    """A code cell without magics.

    Attributes:
        number: the position among the code cells, from 1.
        lines: the lines of the text.
        statements: the statements; None if the cell is not valid Python.
    """

    number: int
    lines: list[str]
    statements: list[_Statement] | None


def definitions(text: str, name: str) -> str:
    """Return a Python source with the definitions of a notebook.

    Before each cell comes the comment `# cell N`; N counts the code cells. Lines that are left out
    are empty, so a line of the result is as far below this comment as in the cell.

    Args:
        text: the text of the .ipynb.
        name: the name of the file in messages.

    Raises:
        FileError: the text is not a notebook, is too large, or holds no definition.
    """
    try:
        return _definitions(text, name)
    except (RecursionError, MemoryError):
        raise FileError(
            f"{name} has code that is nested too deeply to be read. Hand in a Python file."
        ) from None


def _definitions(text: str, name: str) -> str:
    texts = _code_cells(text, name)
    _check_size(sum(len(cell_text.encode()) for cell_text in texts), name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns about strange escapes in strings
        cells = [
            cell
            for number, cell_text in enumerate(texts, start=1)
            if (cell := _code_cell(number, cell_text, name)) is not None
        ]
    kept = _kept([statement for cell in cells for statement in cell.statements or ()])
    if all(cell.statements is not None for cell in cells) and not any(map(_defines, kept)):
        raise FileError(
            f"{name} holds no definition: none of its code cells defines a function or a class."
            " Hand in the notebook that holds the answer."
        )
    source = _source(cells, kept)
    if "\0" in source:
        raise FileError(f"{name} holds a NUL character in its code. {_SAVE_AGAIN}")
    _check_size(len(source.encode()), name)
    return source


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
    cells = [*(notebook.cells or ())]
    for worksheet in notebook.worksheets or ():
        cells += worksheet.cells
    return [
        "".join(cell.source) or "".join(cell.input) for cell in cells if cell.cell_type == "code"
    ]


def _code_cell(number: int, text: str, name: str) -> _CodeCell | None:
    """Return a cell without its magics, or None if it can hold no definition."""
    lines, is_foreign = _without_cell_magic(re.split("\r\n?|\n", text))
    if is_foreign:
        return None
    tree = _parsed(lines)
    if tree is None:
        lines = [_without_line_magic(line) for line in lines]
        tree = _parsed(lines)
    if tree is not None and len(tree.body) > MOST_STATEMENTS:
        raise FileError(
            f"{name} has {len(tree.body):,} statements in one cell; at most {MOST_STATEMENTS:,} are"
            " read. Is it the right file?"
        )
    if tree is not None:
        return _CodeCell(number, lines, [_statement(node, lines) for node in tree.body])
    if _DEFINITION_LINE.search("\n".join(lines)):
        return _CodeCell(number, lines, None)  # so that the student learns the syntax error
    return None


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


def _without_line_magic(line: str) -> str:
    """Return an empty line for `%magic`, `!shell` and `name?`; `pass` inside a block."""
    match = _LINE_MAGIC.fullmatch(line)
    if match is None:
        return line
    return f"{match[1]}pass" if match[1] else ""


def _parsed(lines: Sequence[str]) -> ast.Module | None:
    try:
        return ast.parse("\n".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


# The names of a statement


def _statement(node: ast.stmt, lines: Sequence[str]) -> _Statement:
    """Return a statement with its names. They are empty if Python refuses the statement."""
    statement = _Statement(node)
    if isinstance(node, (_Assignment, _Block)):
        statement.calls = [
            inner for inner in ast.walk(node) if isinstance(inner, (ast.Call, ast.Await))
        ]
    try:
        table = symtable.symtable(_text_of(node, lines), "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return statement
    for symbol in table.get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            statement.binds.add(symbol.get_name())
        if symbol.is_referenced():
            statement.loads.add(symbol.get_name())
    for child in table.get_children():
        (statement.loads if _runs_at_once(child) else statement.later).update(
            _global_names(child, statement.later)
        )
    return statement


def _runs_at_once(scope: symtable.SymbolTable) -> bool:
    """Return whether a scope runs together with its statement. A function runs only when called."""
    return scope.get_type() == "class" or scope.get_name() in _COMPREHENSIONS


def _global_names(scope: symtable.SymbolTable, later: set[str]) -> set[str]:
    """Return the global names that a scope reads.

    The names in a function are returned together with the names in its inner functions.

    Args:
        scope: a function, a class or a comprehension.
        later: gets the names that the methods of a class read.
    """
    names = {symbol.get_name() for symbol in scope.get_symbols() if symbol.is_global()}
    for child in scope.get_children():
        inner = _global_names(child, later)
        (names if _runs_at_once(child) or not _runs_at_once(scope) else later).update(inner)
    return names


def _text_of(node: ast.stmt, lines: Sequence[str]) -> str:
    """Return the text of a statement with its decorators."""
    first, column, last, end_column = _position(node)
    own = [line.encode() for line in lines[first - 1 : last]]
    own[-1] = own[-1][:end_column]
    own[0] = own[0][column:]
    return b"\n".join(own).decode()


def _position(node: ast.stmt) -> tuple[int, int, int, int]:
    """Return the first line and column of a statement with its decorators, and the last."""
    line, column = node.lineno, node.col_offset
    if isinstance(node, _Definition) and node.decorator_list:
        first = node.decorator_list[0]
        line, column = first.lineno, 0
    return line, column, node.end_lineno or line, node.end_col_offset or column


# The choice of statements


def _kept(statements: Sequence[_Statement]) -> set[_Statement]:
    """Return the statements that define something, and those that these need."""
    kept = {statement for statement in statements if _defines(statement)}
    defined = {name for statement in kept for name in statement.binds}
    packages = _packages(statements)
    available = _BUILTINS | defined | packages.keys()
    for _ in range(_MOST_ROUNDS):
        now = {name for statement in kept for name in statement.loads}
        later = {name for statement in kept for name in statement.later}
        count = len(kept)
        for statement in statements:
            # After `from x import *`, every name may exist.
            exists = "*" in packages or statement.loads <= available
            if statement not in kept and exists and _is_needed(statement, now, later):
                is_safe = statement.binds & now or _is_constant(statement, defined, packages)
                if is_safe:
                    kept.add(statement)
                    available |= statement.binds
        if len(kept) == count:
            break
    return kept


def _defines(statement: _Statement) -> bool:
    """Return whether a statement defines a function or a class, also inside `if` or `try`."""
    node = statement.node
    if isinstance(node, _Block):
        return any(isinstance(inner, _Definition) for inner in _inner_statements(node))
    is_lambda = isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)
    return is_lambda or isinstance(node, _Definition)


def _inner_statements(block: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements of `if`, `try` and `with`, but not of functions and classes."""
    for child in ast.iter_child_nodes(block):
        if isinstance(child, ast.stmt):
            yield child
        if isinstance(child, (_Block, ast.ExceptHandler)):
            yield from _inner_statements(child)


def _packages(statements: Sequence[_Statement]) -> dict[str, str]:
    """Return the package of each name that an import defines: F comes from torch."""
    packages: dict[str, str] = {}
    for statement in statements:
        for node in (statement.node, *_inner_statements(statement.node)):
            if isinstance(node, _Import):
                for alias in node.names:
                    source = alias.name if isinstance(node, ast.Import) else node.module or ""
                    bound = alias.asname or alias.name.split(".")[0]
                    packages[bound] = source.split(".")[0]
    return packages


def _is_needed(statement: _Statement, now: set[str], later: set[str]) -> bool:
    """Return whether a statement may be kept for the sake of the definitions.

    An assignment without a call is always kept: `gqa = GroupedQueryAttention` can be the answer.

    Args:
        statement: a statement that defines no function and no class.
        now: the names that the kept statements read when they run.
        later: the names that the kept functions read when they are called.
    """
    node = statement.node
    if isinstance(node, _Assignment) and not statement.calls:
        return True
    if isinstance(node, _Import) and (_is_future(node) or "*" in (a.name for a in node.names)):
        return True
    is_candidate = isinstance(node, (_Import, _Assignment, _Block))
    return is_candidate and bool(statement.binds & (now | later))


def _is_constant(statement: _Statement, defined: set[str], packages: Mapping[str, str]) -> bool:
    """Return whether a statement imports something or computes a constant.

    An assignment like `model = GQA(64)` belongs to a test. `CONFIG = Config()` does not.

    Args:
        statement: an import, an assignment or a block.
        defined: the names of the functions and classes of the notebook.
        packages: the package of each imported name.
    """
    imports = any(isinstance(inner, _Import) for inner in _inner_statements(statement.node))
    if imports or (statement.binds and all(name.isupper() for name in statement.binds)):
        return True
    return all(_is_pure(call, defined, packages) for call in statement.calls)


def _is_pure(call: ast.Call | ast.Await, defined: set[str], packages: Mapping[str, str]) -> bool:
    """Return whether a call computes a constant and runs no code of the notebook."""
    function: ast.AST = call.func if isinstance(call, ast.Call) else call
    while isinstance(function, (ast.Attribute, ast.Subscript, ast.Call)):
        function = function.func if isinstance(function, ast.Call) else function.value
    if not isinstance(function, ast.Name):
        return isinstance(function, ast.Constant)  # "a b".split()
    name = function.id
    if name in defined:
        return False
    return packages[name] in _PURE_PACKAGES if name in packages else name in _PURE_BUILTINS


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


# The source


def _source(cells: Sequence[_CodeCell], kept: set[_Statement]) -> str:
    """Return the source. Imports from __future__ come first, because Python requires it."""
    futures: dict[str, None] = {}
    parts: list[str] = []
    for cell in cells:
        lines = cell.lines
        if cell.statements is not None:
            staying = {statement.node for statement in cell.statements if statement in kept}
            future = [s.node for s in cell.statements if s in kept and _is_future(s.node)]
            futures |= dict.fromkeys(ast.unparse(node) for node in future)
            staying.difference_update(future)
            if not staying:
                continue
            lines = _only(staying, [statement.node for statement in cell.statements], lines)
        parts.append("\n".join([f"# cell {cell.number}", *lines]).rstrip())
    return "\n\n".join([*(["\n".join(futures)] if futures else []), *parts]) + "\n"


def _only(staying: set[ast.stmt], nodes: Sequence[ast.stmt], lines: Sequence[str]) -> list[str]:
    """Return the lines of a cell with some of its statements only, as many lines as before.

    A statement that shares a line with a statement that stays becomes `pass`.
    """
    result = [line.encode() for line in lines]
    for group in _on_shared_lines(nodes):
        is_shared = not staying.isdisjoint(group)
        for node in reversed(group):  # from the end, so that the columns on a line stay right
            if node in staying:
                continue
            first, column, last, end_column = _position(node)
            start, rest = result[first - 1][:column], result[last - 1][end_column:]
            result[first - 1 : last] = [b""] * (last - first + 1)
            if is_shared:
                result[last - 1] = b"pass" + rest
                result[first - 1] = start + (result[first - 1] if first == last else b"")
    return [line.decode() for line in result]


def _on_shared_lines(nodes: Sequence[ast.stmt]) -> list[list[ast.stmt]]:
    """Return the statements in groups. Only statements of one group share a line."""
    groups: list[list[ast.stmt]] = []
    last_line = 0
    for node in nodes:
        first, _, last, _ = _position(node)
        if first <= last_line:
            groups[-1].append(node)
        else:
            groups.append([node])
        last_line = last
    return groups
