"""Choose the statements of a notebook that its answer needs. No code is run.

The answer is everything with a name that the challenge asks for. It needs the names that it reads,
the statements that define or change these names, the names that those statements read, and so on.
"""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Import = ast.Import | ast.ImportFrom
_BUILTINS = frozenset(dir(builtins))
_COMPREHENSIONS = frozenset(("listcomp", "setcomp", "dictcomp", "genexpr"))
# Functions that change their first argument.
_CHANGERS = frozenset(("setattr", "delattr"))
# A function that reads one of these may use every name of the notebook.
_ALL_NAMES = frozenset(("eval", "exec", "globals", "vars"))


@dataclass(eq=False)
class Statement:
    """A statement outside of all functions and classes.

    Attributes:
        node: the statement.
        binds: the names that it defines.
        changes: the names whose values it changes: `table` in `table[0] = 1`.
        loads: the names that it reads when it runs.
        later: the names that the functions in it read when they are called.
    """

    node: ast.stmt
    binds: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)
    later: set[str] = field(default_factory=set)

    @property
    def is_import(self) -> bool:
        """True for `import` and `from ... import`."""
        return isinstance(self.node, _Import)

    @property
    def is_future(self) -> bool:
        """True for an import from __future__."""
        return isinstance(self.node, ast.ImportFrom) and self.node.module == "__future__"


def defined_names(source: str) -> set[str]:
    """Return the names that a source defines outside of functions; none if it cannot be parsed.

    An imported name is not defined: a test that imports the answer is not the answer.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns about strange escapes in strings
            tree = ast.parse(source)
            return {name for node in _inner_statements(tree) for name in _bound_by(node)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()


def _bound_by(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a definition or an assignment defines."""
    if isinstance(node, _Definition):
        yield node.name
    elif isinstance(node, ast.Assign):
        yield from (target.id for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id


def statement_of(node: ast.stmt, lines: Sequence[str]) -> Statement:
    """Return a statement with its names.

    If Python refuses the statement, only the name of a function or a class is known.

    Args:
        node: the statement.
        lines: the lines of its cell.
    """
    statement = Statement(node)
    try:
        table = symtable.symtable(_text_of(node, lines), "cell", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        if isinstance(node, _Definition):
            statement.binds.add(node.name)  # so that the student learns the error
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
    if not isinstance(node, _Definition):
        statement.changes = set(_changed(node))
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
    first, column, last, end_column = position(node)
    own = [line.encode() for line in lines[first - 1 : last]]
    own[-1] = own[-1][:end_column]
    own[0] = own[0][column:]
    return b"\n".join(own).decode()


def position(node: ast.stmt) -> tuple[int, int, int, int]:
    """Return the first line and column of a statement with its decorators, and the last."""
    line, column = node.lineno, node.col_offset
    if isinstance(node, _Definition) and node.decorator_list:
        first = node.decorator_list[0]
        line, column = first.lineno, 0
    return line, column, node.end_lineno or line, node.end_col_offset or column


# The names whose values a statement changes


def _changed(node: ast.stmt) -> Iterator[str]:
    """Yield the names whose values a statement changes, but not the names that it binds."""
    for inner in (node, *_inner_statements(node)):
        if isinstance(inner, ast.Expr) and isinstance(inner.value, ast.Call):
            yield from _changed_by(inner.value)
        elif isinstance(inner, ast.Assign):
            yield from _roots(inner.targets)
        elif isinstance(inner, ast.AnnAssign | ast.AugAssign | ast.For | ast.AsyncFor):
            yield from _roots([inner.target])


def _inner_statements(block: ast.AST) -> Iterator[ast.stmt]:
    """Yield the statements in a block, but not those of functions and classes."""
    for child in ast.iter_child_nodes(block):
        if isinstance(child, ast.stmt):
            yield child
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case) and not isinstance(
            child, _Definition
        ):
            yield from _inner_statements(child)


def _changed_by(call: ast.Call) -> Iterator[str]:
    """Yield the names whose values `table.append(1)` and `setattr(A, "f", f)` may change."""
    if isinstance(call.func, ast.Attribute):
        yield from _roots([call.func])
    elif isinstance(call.func, ast.Name) and call.func.id in _CHANGERS:
        yield from (arg.id for arg in call.args[:1] if isinstance(arg, ast.Name))


def _roots(targets: Iterable[ast.expr]) -> Iterator[str]:
    """Yield the first name of each attribute and item: `a` of `a.b[0]`."""
    for target in targets:
        if isinstance(target, ast.Tuple | ast.List):
            yield from _roots(target.elts)
        inner: ast.expr = target
        while isinstance(inner, ast.Attribute | ast.Subscript | ast.Starred):
            inner = inner.value
        if isinstance(inner, ast.Name) and inner is not target:
            yield inner.id


# The choice


def needed(
    statements: Sequence[Statement], entry: Collection[str]
) -> tuple[set[Statement], set[str]]:
    """Return the statements that the answer needs, and the names that it needs.

    Both are empty if no statement defines a name of `entry`.

    Args:
        statements: all statements of a notebook, in order.
        entry: the names that the challenge asks for.
    """
    return _Choice(statements, entry).needed()


class _Choice:
    """The statements of a notebook by the names that they define, change and decorate."""

    def __init__(self, statements: Sequence[Statement], entry: Collection[str]) -> None:
        self._statements = statements
        self._entry = entry
        self._own = {name for found in statements if not found.is_import for name in found.binds}
        self._bound = self._own.union(*(found.binds for found in statements))
        self._known = self._bound | _BUILTINS
        self._definitions: dict[str, list[Statement]] = defaultdict(list)
        for statement in statements:
            if isinstance(statement.node, _Definition):
                for name in statement.binds:
                    self._definitions[name].append(statement)
        self._has_star = any("*" in _imported(found.node) for found in statements)
        self._by_name: dict[str, list[Statement]] = defaultdict(list)
        for statement, binds in zip(statements, self._counting_binds(), strict=True):
            for name in binds | self._changed_by(statement):
                self._by_name[name].append(statement)

    def needed(self) -> tuple[set[Statement], set[str]]:
        names = {name for name in self._entry if name in self._by_name}
        if not names:
            return set(), set()
        kept = {
            statement
            for statement in self._statements
            if statement.is_future or "*" in _imported(statement.node)
        }
        self._follow(set(names), kept, names)
        if names - self._known:  # `globals().update(settings)` may define them
            for statement in self._statements:
                if isinstance(statement.node, ast.Expr) and self._reads_all_names(statement):
                    kept.add(statement)
                    self._follow(statement.loads - names, kept, names)
        return kept, names

    def _follow(self, new: set[str], kept: set[Statement], names: set[str]) -> None:
        """Add all statements that define or change the new names, and so on."""
        names |= new
        waiting = list(new)
        while waiting:
            for statement in self._by_name.get(waiting.pop(), ()):
                if statement in kept or not self._can_run(statement):
                    continue
                kept.add(statement)
                found = statement.loads | statement.later
                if self._reads_all_names(statement):
                    found = found | self._bound
                waiting += found - names
                names |= found

    def _can_run(self, statement: Statement) -> bool:
        """Return whether all names of a statement may exist. A definition always counts."""
        is_definition = isinstance(statement.node, _Definition)
        return is_definition or self._has_star or statement.loads <= self._known

    def _reads_all_names(self, statement: Statement) -> bool:
        return bool((statement.loads | statement.later) & _ALL_NAMES - self._bound)

    def _changed_by(self, statement: Statement) -> set[str]:
        """Return the names whose values a statement changes, or whose definition it completes."""
        changed = set(statement.changes)
        if isinstance(statement.node, ast.Expr) and not _is_changer(statement.node):
            # A method of a module or a class is hardly a change: `torch.manual_seed(0)`.
            changed &= self._own - self._definitions.keys()
        for decorator in _decorator_names(statement.node) & self._own:
            # `@patch_to(A) def f(self)` belongs to A, and `@register class A` to the names that
            # `register` uses. A decorator of a library does not add f to A.
            changed |= statement.loads & self._definitions.keys()
            for definition in self._definitions[decorator]:
                changed |= definition.later & self._own
        return changed

    def _counting_binds(self) -> Iterator[set[str]]:
        """Yield the names that each statement defines for the answer.

        Later cells often give a name of the answer another value, for example `attention =
        attention(q, k, v)` in a test. So only functions and classes, and statements that wrap
        them, replace a value that existed before the last definition of the answer.
        """
        last = max(
            (
                index
                for index, statement in enumerate(self._statements)
                if isinstance(statement.node, _Definition)
                and not statement.binds.isdisjoint(self._entry)
            ),
            default=len(self._statements),
        )
        before: set[str] = set()
        for index, statement in enumerate(self._statements):
            if index <= last or isinstance(statement.node, _Definition):
                yield statement.binds
            else:
                yield statement.binds - before | {
                    name for name in statement.binds & before if self._wraps(statement.node, name)
                }
            if index <= last:
                before |= statement.binds

    def _wraps(self, node: ast.stmt, name: str) -> bool:
        """Return whether an assignment wraps a definition: `A = torch.compile(A)` or `A = B`."""
        if not isinstance(node, ast.Assign) or name not in self._definitions:
            return False
        value = node.value
        if isinstance(value, ast.Name):
            return value.id in self._definitions
        if not isinstance(value, ast.Call):
            return isinstance(value, ast.Lambda)
        arguments = [*value.args, *(keyword.value for keyword in value.keywords)]
        return any(isinstance(own, ast.Name) and own.id == name for own in arguments)


def _is_changer(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in _CHANGERS
    )


def _decorator_names(node: ast.stmt) -> set[str]:
    decorators = node.decorator_list if isinstance(node, _Definition) else []
    return {
        inner.id
        for decorator in decorators
        for inner in ast.walk(decorator)
        if isinstance(inner, ast.Name)
    }


def _imported(node: ast.stmt) -> list[str]:
    return [alias.name for alias in node.names] if isinstance(node, _Import) else []


def imported_modules(node: ast.stmt) -> set[str]:
    """Return the names of the modules that a statement imports."""
    if isinstance(node, ast.ImportFrom):
        return {node.module or ""}
    return {alias.name for alias in node.names} if isinstance(node, ast.Import) else set()


def shorter_import(node: ast.stmt, names: Collection[str]) -> str | None:
    """Return an import with only these names, or None if it is no import or needs no change.

    A package that only a plot needs may not exist where the file is graded.
    """
    if not isinstance(node, _Import) or "*" in _imported(node):
        return None
    wanted = [alias for alias in node.names if (alias.asname or alias.name.split(".")[0]) in names]
    if not wanted or len(wanted) == len(node.names):
        return None
    if isinstance(node, ast.Import):
        return ast.unparse(ast.Import(wanted))
    return ast.unparse(ast.ImportFrom(node.module, wanted, node.level))
