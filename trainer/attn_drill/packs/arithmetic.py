"""Evaluate formulas that a pack contains as text. A formula is arithmetic over named values."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

Value = float | int | str

_OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: math.pow,  # `**` of large whole numbers would take for ever
    ast.USub: operator.neg,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "sqrt": math.sqrt,
    "log": math.log,
    "log2": math.log2,
    "exp": math.exp,
    "ceil": math.ceil,
    "min": min,
    "max": max,
    "bytes_of": {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2, "int8": 1}.__getitem__,
}


def evaluate(formula: str, names: Mapping[str, Value]) -> float:
    """Return the value of a formula, or raise ValueError if it is not arithmetic over these names.

    >>> evaluate("2 * layers * bytes_of(dtype)", {"layers": 3, "dtype": "float16"})
    12
    """
    try:
        value = _value(ast.parse(formula, mode="eval").body, names)
    except (SyntaxError, KeyError, TypeError, ArithmeticError) as error:
        raise ValueError(f"{formula!r}: {type(error).__name__}: {error}") from None
    if isinstance(value, str):
        raise ValueError(f"{formula!r} gives the word {value!r}, not a number")
    return value


def _value(node: ast.expr, names: Mapping[str, Value]) -> Value:
    match node:
        case ast.Constant(value=int() | float() as scalar):
            return scalar
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.UnaryOp(op=op, operand=operand):
            return _OPERATORS[type(op)](_value(operand, names))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return _FUNCTIONS[name](*(_value(argument, names) for argument in arguments))
    raise ValueError(
        f"{ast.unparse(node)!r} is not arithmetic; use + - * / // % ** and {', '.join(_FUNCTIONS)}"
    )
