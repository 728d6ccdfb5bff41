"""Where a live class or function is defined: in a cell or file of the learner's own, by the lines that Python keeps of both (`linecache`).

`inspect.getsource` finds no class of a notebook's cell; the code of its methods still names the cell.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from types import CodeType, FunctionType, ModuleType
from typing import Any

from trainer.core.words import DrillError

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ELSEWHERE = "Define it at the top of a cell without a %% line, or save it to a file and run `attn-drill check ID FILE`."


@dataclass(frozen=True)
class Definition:
    """The statement that defines something, where it stands. `lines` are those of the whole file."""

    file: str
    lines: Sequence[str]
    node: ast.stmt
    name: str

    @property
    def span(self) -> range:
        """The numbers of its lines from 1, decorators included."""
        first = min(
            [self.node.lineno, *(one.lineno for one in getattr(self.node, "decorator_list", []))]
        )
        return range(first, (self.node.end_lineno or first) + 1)

    @property
    def text(self) -> str:
        """Its lines; below an `if` of their own where they are indented."""
        text = "".join(self.lines[self.span.start - 1 : self.span.stop - 1]).rstrip() + "\n"
        return f"if True:\n{text}" if text[0].isspace() else text


def find_definition(value: object, called: str) -> Definition:
    """The definition of an own class or function; `called`: its name where it is used.

    Raises:
        DrillError: where there is none at the top level of a cell or file, or the live thing is another than the one defined there.
    """
    name = name_of(value)
    codes = codes_of(value)
    if isinstance(value, type):
        qualname = value.__qualname__
        if "." in qualname:
            raise DrillError(f"{name} is defined inside {qualname.split('.')[0]}. {_ELSEWHERE}")
        found = _first(
            _at(ast.ClassDef, name, codes[0])
            if codes
            else _by_name(ast.ClassDef, name, value, lambda node: _has_attributes(value, node))
        )
    elif codes and "." not in codes[0].co_qualname:
        found = _first(_at(_FUNCTIONS, codes[0].co_name, codes[0]))
    else:  # what a decorator returned has its own code, not the function's
        found = _first(
            _by_name(
                _FUNCTIONS, called, value, lambda node: bool(getattr(node, "decorator_list", []))
            )
        )
        if found is None and codes:
            raise DrillError(
                f"{called} is a function made inside {codes[0].co_qualname.split('.')[0]}. {_ELSEWHERE}"
            )
    if found is None:
        where = f", which was made in {codes[0].co_filename}," if codes else ""
        raise DrillError(f"The source of {name}{where} cannot be had. {_ELSEWHERE}")
    if isinstance(value, type):
        _refuse_patched(value, found)
    return found


def name_of(value: object) -> str:
    """What a class or function calls itself."""
    return str(getattr(value, "__name__", None) or type(value).__name__)


def is_own(value: object) -> bool:
    """Whether it is a class or function that comes from no installed package."""
    value = _unwrapped(value)
    if isinstance(value, type):
        return _is_own_name(value.__module__)
    if not isinstance(value, FunctionType):
        return False
    file = value.__code__.co_filename
    return _is_own_name(value.__module__) if file.startswith("<") else not _is_installed(file)


def is_own_module(module: ModuleType) -> bool:
    """Whether a module's file lies outside of the installed packages."""
    file = getattr(module, "__file__", None)
    return module.__name__ == "__main__" or (isinstance(file, str) and not _is_installed(file))


def _is_own_name(name: str | None) -> bool:
    module = sys.modules.get(name or "")
    return module is None or is_own_module(module)


@cache
def _is_installed(file: str) -> bool:
    roots = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    real = os.path.realpath(file)
    named = {"site-packages", "dist-packages"} & set(
        real.split(os.sep)
    )  # another environment's, on the path of this one
    return (
        bool(named)
        or file.startswith("<frozen")
        or any(real.startswith(os.path.realpath(root) + os.sep) for root in roots)
    )


def scope_of(value: object) -> Mapping[str, Any]:
    """The global names that a class or function sees; empty where nothing of it tells."""
    functions = list(_functions(value))
    if functions:
        return functions[0].__globals__
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    return (
        vars(module)
        if isinstance(value, type) and module is not None and module.__name__ != "__main__"
        else {}
    )


def codes_of(value: object) -> list[CodeType]:
    """The code of a function, or of the functions that were written in a class's body."""
    return [function.__code__ for function in _functions(value)]


def _functions(value: object) -> Iterator[FunctionType]:
    value = _unwrapped(value)
    if isinstance(value, FunctionType):
        yield value
    elif isinstance(value, type):
        yield from (
            function
            for _, function in _methods(value)
            if function.__code__.co_qualname.startswith(f"{value.__qualname__}.")
        )


def _methods(owner: type) -> Iterator[tuple[str, FunctionType]]:
    """Every function among a class's own attributes, decorated or not."""
    for name, value in vars(owner).items():
        if isinstance(value, property):
            inner = [value.fget, value.fset, value.fdel]
        else:
            inner = [
                value.func
                if isinstance(value, cached_property)
                else getattr(value, "__func__", value)
            ]
        for one in map(_unwrapped, inner):
            if isinstance(one, FunctionType):
                yield name, one


def _unwrapped(value: object) -> object:
    """What a chain of decorators with functools.wraps was put around."""
    for _ in range(100):
        inner = (
            getattr(value, "__dict__", {}).get("__wrapped__")
            if not isinstance(value, type)
            else None
        )
        if inner is None:
            return value
        value = inner
    return value


def _at(
    kinds: type[ast.stmt] | tuple[type[ast.stmt], ...], name: str, code: CodeType
) -> Iterator[Definition]:
    """Definitions of this name, or assignments of a lambda, whose lines hold the code's first."""
    file = code.co_filename
    linecache.checkcache(file)
    for one in _definitions(file, linecache.getlines(file)):
        fits = isinstance(one.node, kinds) and one.name == name
        if (
            fits
            or (name == "<lambda>" and isinstance(getattr(one.node, "value", None), ast.Lambda))
        ) and code.co_firstlineno in one.span:
            yield one


def _by_name(
    kinds: type[ast.stmt] | tuple[type[ast.stmt], ...],
    name: str,
    value: object,
    fits: Callable[[ast.stmt], bool],
) -> Iterator[Definition]:
    """Definitions of this name in the value's module, or in the cells from the newest on: for what has no code of its own."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    # A cell: its text has no time
    texts = [
        (cell, kept[2])
        for cell, kept in reversed(list(linecache.cache.items()))
        if len(kept) == 4 and kept[1] is None
    ]
    if isinstance(file, str):
        texts = [
            *(texts if getattr(module, "__name__", "") == "__main__" else []),
            (file, linecache.getlines(file)),
        ]
    for place, lines in texts:
        yield from (
            one
            for one in reversed(list(_definitions(place, lines)))
            if isinstance(one.node, kinds) and one.name == name and fits(one.node)
        )


def _definitions(file: str, lines: Sequence[str]) -> Iterator[Definition]:
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError):
        return
    for node in _top_level(tree.body):
        if isinstance(node, (ast.ClassDef, *_FUNCTIONS)):
            yield Definition(file, lines, node, node.name)
        elif (
            isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and isinstance(node.targets[0], ast.Name)
        ):
            yield Definition(file, lines, node, node.targets[0].id)


def _top_level(nodes: Iterable[ast.AST]) -> Iterator[ast.stmt]:
    """Statements that run when the cell does, those under an `if` or `try` too."""
    for node in nodes:
        if isinstance(node, ast.stmt):
            yield node
        if isinstance(node, ast.stmt | ast.ExceptHandler) and not isinstance(
            node, (ast.ClassDef, *_FUNCTIONS)
        ):
            yield from _top_level(ast.iter_child_nodes(node))


def _first(found: Iterator[Definition]) -> Definition | None:
    return next(found, None)


def _assigned(node: ast.AST) -> set[str]:
    return {
        one.id
        for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }


def _has_attributes(value: type, node: ast.stmt) -> bool:
    """Whether a class without methods has what this definition gives it."""
    return _assigned(node) <= {*vars(value), *vars(value).get("__annotations__", {})}


def _refuse_patched(value: type, found: Definition) -> None:
    """A method that was put on the class later is not in its text."""
    for name, function in _methods(value):
        code = function.__code__
        written = code.co_filename == found.file and code.co_firstlineno in found.span
        generated = code.co_filename == "<string>" and not linecache.getlines("<string>")
        if not written and not generated and is_own(function) and name not in _assigned(found.node):
            raise DrillError(
                f"{value.__name__}.{name} was put on the class after it was made. Write it in the class and run its cell again."
            )


def refuse_old_bases(value: object, used: Iterable[object]) -> None:
    """A class whose base was defined anew is another class than its text would make.

    Raises:
        DrillError: where an own base is not among the values that the definition uses.
    """
    known = [id(one) for one in used]
    for base in value.__bases__ if isinstance(value, type) else ():
        if is_own(base) and "." not in base.__qualname__ and id(base) not in known:
            raise DrillError(
                f"{name_of(value)} is built on an older {base.__name__} than the one there is now. Run the cell of {name_of(value)} again."
            )
