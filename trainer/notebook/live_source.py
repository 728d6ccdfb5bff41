"""The source of live classes and functions: their definitions and what they use of the learner's own, put together into one file.

Installed packages are imported again, constants become literals, own classes and functions come with their text, which is found through the lines
that Python keeps of every cell and file (`linecache`). What has no such form is named in a DrillError.
"""

from __future__ import annotations

import ast
import math
import symtable
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

from trainer.core.words import DrillError
from trainer.notebook.definitions import (
    codes_of,
    find_definition,
    is_own,
    is_own_module,
    name_of,
    refuse_old_bases,
    scope_of,
)

_FUTURE = "from __future__ import annotations\n"
_MOST_LITERAL = 10_000
Scope = Mapping[str, Any]


def assembled(entries: Mapping[str, object]) -> str:
    """The text of one file that defines every entry.

    Args:
        entries: each name that the file must define, with the live class or function.

    Raises:
        DrillError: where a source cannot be had, or something that it uses cannot be taken along.
    """
    luggage = Luggage()
    for entry, value in entries.items():
        luggage.pack_entry(entry, value)
    return luggage.text()


@dataclass(frozen=True)
class Piece:
    """One statement of the file to be.

    text   of the statement
    eager  global names that it reads while it runs: bases, decorators, defaults
    later  global names that its functions read when they are called
    """

    text: str
    eager: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()


class Luggage:
    """The pieces of the file to be, by the name that each defines."""

    def __init__(self) -> None:
        self._pieces: dict[str, Piece] = {}
        self._values: dict[str, object] = {}
        self._imports: dict[str, None] = {}
        self._aliases: list[str] = []
        self._future = False

    def pack_entry(self, entry: str, value: object) -> None:
        """Take along what the file must define as `entry`, whatever it is called."""
        if not is_own(value):
            where = getattr(value, "__module__", None) or "an installed package"
            raise DrillError(
                f"{name_of(value)} comes from {where}, not from you. Give check a class or function that you wrote."
            )
        name = self._pack_own(value, entry, {})
        if name == entry:
            return
        # A base or a decorator of that name is used before the name is taken over; a function would look it up too late
        other = self._values.get(entry, value)
        if other is not value and any(entry in piece.later for piece in self._pieces.values()):
            raise DrillError(
                f"{name} uses another {entry} of yours, and the file that is graded needs that name for {name}. Rename the other one."
            )
        self._aliases.append(f"{entry} = {name}\n")

    def text(self) -> str:
        """The file: imports, then each piece after what it needs, then the entries that are called otherwise."""
        text = "".join(
            [_FUTURE if self._future else "", *(f"{line}\n" for line in sorted(self._imports))]
        )
        for piece in [
            *(self._pieces[name].text for name in _ordered(self._pieces)),
            *self._aliases,
        ]:
            text += f"\n\n{piece}"
        return text.lstrip("\n")

    def _pack_own(self, value: object, called: str, scope: Scope) -> str:
        """Take an own class or function along, and what it uses; returns the name that its text defines."""
        found = find_definition(value, called)
        name = found.name
        if name in self._values:
            self._refuse_second(name, value)
            return name
        scope = scope_of(value) or scope
        eager, later = _names(found.text)
        refuse_old_bases(value, [scope.get(one) for one in eager])
        self._future |= any(code.co_flags & annotations.compiler_flag for code in codes_of(value))
        self._values[name] = value
        self._pieces[name] = Piece(found.text, eager, later)
        needed = frozenset().union(*_names(_FUTURE + found.text))
        for used in sorted(eager | later):
            if used in scope and not used.startswith(
                "__"
            ):  # else a builtin, or a name that is not there, and the report will say so
                self._pack_used(used, scope, name, needed=used in needed)
        for line in _submodules(found.text, scope):
            self._imports[line] = None
        return name

    def _pack_used(self, name: str, scope: Scope, user: str, *, needed: bool) -> None:
        try:
            self._pack(name, scope[name], user, scope)
        except DrillError:
            if needed:
                raise
            self._future = True  # it stands in annotations alone, and these need not be evaluated

    def _pack(self, name: str, value: object, user: str, scope: Scope) -> None:
        """Take along what `user` calls `name`."""
        if name in self._values:
            self._refuse_second(name, value)
            return
        literal = _literal(value)
        if literal is not None:
            self._pieces[name] = Piece(f"{name} = {literal}\n")
        elif _is_torch_constant(value):
            self._pack("torch", sys.modules["torch"], user, scope)
            self._pieces[name] = Piece(f"{name} = torch.{repr(value).removeprefix('torch.')}\n")
        elif is_own(value):
            defined = self._pack_own(value, name, scope)
            if defined == name:
                return
            self._pieces[name] = Piece(f"{name} = {defined}\n", frozenset({defined}))
        else:
            self._imports[_import_line(name, value, user)] = None
        self._values[name] = value

    def _refuse_second(self, name: str, value: object) -> None:
        """Two things of one name cannot stand in one file."""
        there = self._values[name]
        if there is not value and (_literal(there) is None or _literal(there) != _literal(value)):
            raise DrillError(
                f"Two different things are called {name}: one was made before the other. Run the cells that use it again, or rename one."
            )


def _ordered(pieces: Mapping[str, Piece]) -> list[str]:
    """Names so that each comes after what its statement reads, and, where there is no circle, after what its functions read."""
    rough: dict[str, None] = {}
    seen: set[str] = set()

    def visit(name: str, order: dict[str, None], links: tuple[str, ...]) -> None:
        if name in seen or name not in pieces:
            return
        seen.add(name)
        for link in links:
            for other in sorted(getattr(pieces[name], link)):
                visit(other, order, links)
        order[name] = None

    for name in pieces:
        visit(name, rough, ("eager", "later"))
    seen.clear()
    exact: dict[str, None] = {}
    for name in rough:
        visit(name, exact, ("eager",))
    return list(exact)


def _names(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Global names that a statement reads while it runs, and those that its functions read later."""
    eager: set[str] = set()
    later: set[str] = set()

    def walk(table: symtable.SymbolTable, *, inside: bool) -> None:
        top = table.get_type() == "module"
        inside |= table.get_type() not in ("module", "class")
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (symbol.is_global() or top):
                (later if inside else eager).add(symbol.get_name())
        for child in table.get_children():
            walk(child, inside=inside)

    table = symtable.symtable(text, "<cell>", "exec")
    walk(table, inside=False)
    own = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_assigned() or symbol.is_imported()
    }
    return frozenset(eager - own), frozenset(later - own)


def _submodules(text: str, scope: Scope) -> Iterator[str]:
    """`import a.b` for every module that is reached through another, as in `a.b.function`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        parts: list[str] = []
        inner: ast.AST = node
        while isinstance(inner, ast.Attribute):
            parts.insert(0, inner.attr)
            inner = inner.value
        root = scope.get(inner.id) if isinstance(inner, ast.Name) else None
        if (
            parts
            and isinstance(root, ModuleType)
            and ".".join([root.__name__, *parts]) in sys.modules
        ):
            found.add(".".join([root.__name__, *parts]))
    yield from (
        f"import {name}"
        for name in found
        if not any(other.startswith(f"{name}.") for other in found)
    )


def _import_line(name: str, value: object, user: str) -> str:
    """The import that binds `name` to this module, class, function or other thing of an installed package."""
    if isinstance(value, ModuleType):
        if is_own_module(value):
            file = getattr(value, "__file__", None) or "no file"
            raise DrillError(
                f"check can't take the module `{name}` ({file}), which {user} uses, along: answers run with installed packages only. Define what you need here."
            )
        if sys.modules.get(value.__name__) is value:
            return (
                f"import {value.__name__}"
                if value.__name__ == name
                else f"import {value.__name__} as {name}"
            )
    for attribute, module in _homes(name, value):
        return f"from {module} import {attribute}" + ("" if attribute == name else f" as {name}")
    raise DrillError(
        f"check can't take `{name}` ({_kind(value)}), which {user} uses, along; make it inside {user}."
    )


def _homes(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Attribute and module where the value is found: its own module first, then the shortest name."""
    attributes = [
        one
        for one in (getattr(value, "__name__", None), getattr(value, "_name", None), name)
        if isinstance(one, str) and one.isidentifier()
    ]
    own = getattr(value, "__module__", None)
    modules = sorted(
        (key for key in list(sys.modules) if key != own),
        key=lambda key: (any(part.startswith("_") for part in key.split(".")), len(key)),
    )
    for module in [own, *modules] if isinstance(own, str) else modules:
        there = sys.modules.get(module)
        if isinstance(there, ModuleType) and not is_own_module(there):
            for attribute in attributes:
                if vars(there).get(attribute) is value:
                    yield attribute, module


def _literal(value: object, depth: int = 0) -> str | None:
    """A constant as Python text, or None."""
    text = None
    if value is None or value is Ellipsis or type(value) in (bool, int, str, bytes):
        text = repr(value)
    elif type(value) is float:
        text = repr(value) if math.isfinite(value) else f"float('{value}')"
    elif type(value) in (tuple, list, set) and depth < 8:
        parts = [_literal(one, depth + 1) for one in value]  # type: ignore[attr-defined]  # one of the three
        inner = ", ".join(map(str, parts))
        brackets = f"({inner}{',' * (len(parts) == 1)})" if type(value) is tuple else f"[{inner}]"
        text = None if None in parts else f"set({brackets})" if type(value) is set else brackets
    elif type(value) is dict and depth < 8:
        pairs = [(_literal(key, depth + 1), _literal(one, depth + 1)) for key, one in value.items()]
        text = (
            None
            if any(None in pair for pair in pairs)
            else "{" + ", ".join(f"{key}: {one}" for key, one in pairs) + "}"
        )
    return text if text is not None and len(text) <= _MOST_LITERAL else None


def _is_torch_constant(value: object) -> bool:
    return (type(value).__module__, type(value).__name__) in (
        ("torch", "dtype"),
        ("torch", "device"),
    )


def _kind(value: object) -> str:
    """`a Tensor`, `a function made inside make_mask`."""
    code = getattr(value, "__code__", None)
    if isinstance(code, CodeType) and "<locals>" in code.co_qualname:
        return f"a function made inside {code.co_qualname.split('.')[0]}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"
