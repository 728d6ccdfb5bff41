"""Read the interface that a submission must have from the challenge's stub.

The stub is parsed with `ast` and never run.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from trainer.model.challenge import Challenge, Expression, Parameter, Signature
from trainer.model.errors import PackError
from trainer.packs.pack_reader import not_python, stub


def signatures(challenge: Challenge) -> tuple[Signature, ...]:
    """Return the signatures of the stub's entries.

    A function gives one signature. A class gives one for `__init__` and one for each public method.

    Raises:
        PackError: if the stub does not parse or does not define an entry.
    """
    path = challenge.folder / "stub.py"
    try:
        tree = ast.parse(stub(challenge, "guided"))
    except (SyntaxError, ValueError) as error:
        raise not_python(path, error) from None
    defined = {
        node.name: node for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    found: list[Signature] = []
    for entry in challenge.entry:
        if entry not in defined:
            others = f"It defines {', '.join(defined)}." if defined else "It defines nothing."
            raise PackError(
                f"{path} defines no {entry}, which challenge.toml names as `entry`. {others} "
                "Define it, or correct `entry`."
            )
        node = defined[entry]
        must_be_class = challenge.kind != "function" and entry == challenge.entry[0]
        if must_be_class and not isinstance(node, ast.ClassDef):
            raise PackError(
                f"{path} defines {entry} as a function, but `kind` in challenge.toml is "
                f'"{challenge.kind}". Define a class, or write kind = "function".'
            )
        if isinstance(node, ast.FunctionDef):
            found.append(Signature(entry, _parameters(path, node, skip_self=False)))
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and (
                method.name == "__init__" or not method.name.startswith("_")
            ):
                found.append(
                    Signature(f"{entry}.{method.name}", _parameters(path, method, skip_self=True))
                )
    return tuple(found)


def _parameters(path: Path, function: ast.FunctionDef, *, skip_self: bool) -> tuple[Parameter, ...]:
    arguments = function.args.args
    missing = len(arguments) - len(function.args.defaults)
    found: list[Parameter] = []
    for index, argument in enumerate(arguments):
        if index < missing:
            found.append(Parameter(argument.arg))
            continue
        default = _default(function.args.defaults[index - missing])
        if default is _UNREADABLE:
            raise PackError(
                f"{path}, line {argument.lineno}: the default of {argument.arg} must be a literal, "
                "for example None, 1 or True, or a dtype, for example torch.float32."
            )
        found.append(Parameter(argument.arg, required=False, default=default))
    return tuple(found[1:] if skip_self else found)


_UNREADABLE = object()
_DTYPE = re.compile(r"torch\.(float|int|uint|bfloat|complex)\d+|torch\.bool")


def _default(node: ast.expr) -> object:
    """Return a default of the stub; `_UNREADABLE` if it is neither a literal nor a dtype."""
    text = ast.unparse(node)
    if _DTYPE.fullmatch(text):
        return Expression(text)
    try:
        return ast.literal_eval(node)
    except ValueError:
        return _UNREADABLE
