"""Read the interface that a submission must have from the challenge's stub.

The stub is parsed with `ast` and never run.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

from attn_drill.model.challenge import Challenge, Expression, Parameter, Signature
from attn_drill.model.errors import PackError
from attn_drill.packs.pack_reader import not_python, stub

_DTYPE = re.compile(r"torch\.(float|int|uint|bfloat|complex)\d+|torch\.bool")


def signatures(challenge: Challenge) -> tuple[Signature, ...]:
    """Return the signatures of the stub's functions, constructors and public methods."""
    path = challenge.folder / "stub.py"
    try:
        tree = ast.parse(stub(challenge, "guided"))
    except (SyntaxError, ValueError) as error:
        raise not_python(path, error) from None
    nodes = {getattr(node, "name", ""): node for node in tree.body}
    read: list[Signature] = []
    for entry in challenge.entry:
        node = nodes.get(entry)
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            raise PackError(
                f"{path} defines no {entry}, which challenge.toml names as `entry`. "
                "Define it, or correct `entry`."
            )
        must_be_class = challenge.kind != "function" and entry == challenge.entry[0]
        if must_be_class and not isinstance(node, ast.ClassDef):
            raise PackError(
                f"{path} defines {entry} as a function, but `kind` in challenge.toml is "
                f'"{challenge.kind}". Define a class, or write kind = "function".'
            )
        if isinstance(node, ast.FunctionDef):
            read.append(Signature(entry, _parameters(path, node)))
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and (
                method.name == "__init__" or not method.name.startswith("_")
            ):
                _, *parameters = _parameters(path, method)  # without `self`
                read.append(Signature(f"{entry}.{method.name}", tuple(parameters)))
    return tuple(read)


def _parameters(path: Path, function: ast.FunctionDef) -> tuple[Parameter, ...]:
    arguments, defaults = function.args.args, function.args.defaults
    required = len(arguments) - len(defaults)
    parameters = [Parameter(argument.arg) for argument in arguments[:required]]
    for argument, node in zip(arguments[required:], defaults, strict=True):
        text = ast.unparse(node)
        try:
            default = Expression(text) if _DTYPE.fullmatch(text) else ast.literal_eval(node)
        except ValueError:
            raise PackError(
                f"{path}, line {argument.lineno}: the default of {argument.arg} must be a literal, "
                "for example None, 1 or True, or a dtype, for example torch.float32."
            ) from None
        parameters.append(Parameter(argument.arg, required=False, default=default))
    return tuple(parameters)
