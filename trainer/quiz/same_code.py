"""Decide whether two pieces of Python certainly mean the same. Nothing is executed.

Two pieces of code mean the same if their syntax trees agree after these differences are removed:
spaces, quotes, parentheses, the order of keyword arguments, the order of the two dimensions of
`transpose`, the order of factors, of masks joined with `&` or `|`, and of the terms of a sum of
products, and the direction of a comparison (`a < b` is `b > a`).

The answer False does not mean that the code is wrong. `q @ k` and `torch.matmul(q, k)` are the
same for tensors, but only a run could show it.
"""

from __future__ import annotations

import ast
import warnings

_TRANSPOSES = ("transpose", "swapaxes", "swapdims")
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_PRODUCTS = (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.MatMult, ast.Pow)


def same_code(first: str, second: str) -> bool:
    """Return whether two expressions or statements certainly mean the same.

    Text that is no Python means nothing, so the result is False.
    """
    try:
        first_dump, second_dump = _dump(first), _dump(second)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return first_dump == second_dump != _dump("")


def parsed(text: str) -> ast.Module:
    """Return the syntax tree of a text, without Python's warnings about odd code.

    Raises:
        SyntaxError: If the text is no Python. ValueError, RecursionError and MemoryError are
            possible too.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text.strip())


def _dump(text: str) -> str:
    return ast.dump(_Normaliser().visit(parsed(text)))


class _Normaliser(ast.NodeTransformer):
    """Rewrite a syntax tree so that code of the same meaning has the same tree."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Sort the keyword arguments, and the dimensions of a transpose."""
        self.generic_visit(node)
        # A stable sort keeps the order of several `**options`.
        node.keywords.sort(key=lambda keyword: keyword.arg or "")
        if isinstance(node.func, ast.Attribute) and node.func.attr in _TRANSPOSES:
            dims = [keyword.value for keyword in node.keywords if keyword.arg in ("dim0", "dim1")]
            if len(dims) == 2 == len(node.keywords):
                node.args, node.keywords = [*node.args, *dims], []
            node.args[-2:] = sorted(node.args[-2:], key=ast.dump)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Sort the operands of an operator whose operands may change places."""
        self.generic_visit(node)
        operands = _operands(node, type(node.op))
        if not _may_change_places(node.op, operands):
            return node
        operands.sort(key=ast.dump)
        joined = operands[0]
        for operand in operands[1:]:
            joined = ast.BinOp(joined, node.op, operand)
        return joined

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Turn `a > b` into `b < a`, and sort the operands of `==` and `!=`."""
        self.generic_visit(node)
        if len(node.ops) != 1:
            return node
        left, operator, right = node.left, node.ops[0], node.comparators[0]
        if mirrored := _MIRRORED.get(type(operator)):
            return ast.Compare(right, [mirrored()], [left])
        if isinstance(operator, ast.Eq | ast.NotEq):
            left, right = sorted((left, right), key=ast.dump)
        return ast.Compare(left, [operator], [right])


def _operands(node: ast.expr, operator: type[ast.operator]) -> list[ast.expr]:
    """Return the operands of a chain of the same operator, for example a, b, c of `a * b * c`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, operator):
        return [*_operands(node.left, operator), *_operands(node.right, operator)]
    return [node]


def _may_change_places(operator: ast.operator, operands: list[ast.expr]) -> bool:
    if isinstance(operator, ast.Mult | ast.BitAnd | ast.BitOr):
        return True
    # Sums of lists, tuples and strings depend on the order. A sum with a product has numbers.
    return isinstance(operator, ast.Add) and any(
        isinstance(operand, ast.BinOp)
        and isinstance(operand.op, _PRODUCTS)
        and not any(
            isinstance(part, ast.List | ast.Tuple | ast.JoinedStr) for part in ast.walk(operand)
        )
        for operand in operands
    )
