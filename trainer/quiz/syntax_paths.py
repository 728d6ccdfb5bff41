"""Find expressions in a syntax tree by their paths, and the expression that a change is in."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

# The steps from a tree to a node: the name of a field, and the position in it if it is a list.
SyntaxPath = tuple[tuple[str, int | None], ...]

_NO_CODE = ("ctx", "type_comment", "kind")


def node_at(tree: ast.AST, path: SyntaxPath) -> ast.AST:
    """Return the node at a path."""
    node = tree
    for field, index in path:
        value = getattr(node, field)
        node = value if index is None else value[index]
    return node


def children(node: ast.AST) -> Iterator[tuple[SyntaxPath, ast.AST]]:
    """Yield the children of a node, each with its path from the node."""
    for field, value in ast.iter_fields(node):
        if isinstance(value, list):
            for index, child in enumerate(value):
                if isinstance(child, ast.AST):
                    yield ((field, index),), child
        elif isinstance(value, ast.AST):
            yield ((field, None),), value


def expressions(node: ast.AST, path: SyntaxPath = ()) -> Iterator[tuple[SyntaxPath, ast.expr]]:
    """Yield all expressions below a node, each with its path.

    Leave out the parts of f-strings, whose positions Python 3.11 does not know.
    """
    for step, child in children(node):
        if isinstance(child, ast.expr):
            yield path + step, child
        if not isinstance(child, ast.JoinedStr):
            yield from expressions(child, path + step)


def statement_path(tree: ast.AST, path: SyntaxPath) -> SyntaxPath:
    """Return the path of the innermost statement that contains a node."""
    while not isinstance(node_at(tree, path), ast.stmt):
        path = path[:-1]
    return path


def changed_expression(
    text: str, before: ast.Module, after: ast.Module
) -> tuple[SyntaxPath, ast.expr | None] | None:
    """Return the smallest expression that contains the whole change between two trees.

    Args:
        text: The text of the first tree.
        before: The first tree.
        after: The second tree.

    Returns:
        The path of the expression in the first tree and the expression in the second tree. The
        latter is None if the second tree lacks the statement. None if the change is not in a
        single expression of a statement.
    """
    path = _smallest(before, after)
    if path is None:
        return None
    if removed := _removed_statement(node_at(before, path), node_at(after, path)):
        value_path = widened(text, before, (*path, *removed, ("value", None)))
        return None if value_path is None else (value_path, None)
    wider = widened(text, before, path)
    if wider is None:
        return None
    expression = node_at(after, wider)
    return (wider, expression) if isinstance(expression, ast.expr) else None


def _smallest(before: ast.AST, after: ast.AST) -> SyntaxPath | None:
    """Return the path of the smallest node that contains the change, or None without a change."""
    if type(before) is not type(after):
        return ()
    changed: list[SyntaxPath] = []
    for field in before._fields:
        if field in _NO_CODE:
            continue
        old, new = getattr(before, field), getattr(after, field)
        if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
            pairs = list(zip(old, new, strict=True))
        else:
            pairs = [(old, new)]
        for index, (child, other) in enumerate(pairs):
            if isinstance(child, ast.AST) and isinstance(other, ast.AST):
                if (inner := _smallest(child, other)) is not None:
                    position = index if isinstance(old, list) else None
                    changed.append(((field, position), *inner))
            elif repr(child) != repr(other):
                return ()
    if not changed:
        return None
    return changed[0] if len(changed) == 1 else ()


def _removed_statement(before: ast.AST, after: ast.AST) -> SyntaxPath | None:
    """Return the path from a block to the only statement that the second block lacks."""
    old, new = getattr(before, "body", None), getattr(after, "body", None)
    if not isinstance(old, list) or not isinstance(new, list) or len(old) != len(new) + 1:
        return None
    old_dumps, new_dumps = ([ast.dump(node) for node in body] for body in (old, new))
    for index, statement in enumerate(old):
        if old_dumps[:index] + old_dumps[index + 1 :] == new_dumps:
            has_value = isinstance(getattr(statement, "value", None), ast.expr)
            return (("body", index),) if has_value else None
    return None


def widened(text: str, tree: ast.Module, path: SyntaxPath) -> SyntaxPath | None:
    """Return the path of the smallest expression around a node that has a text of its own.

    `1:` in `x[1:]`, `x.view` in `x.view(2)` and `1` in `-1` have none: the expressions around them
    are `x[1:]`, `x.view(2)` and `-1`.

    Returns:
        The path, or None if the node is in no expression of a statement's code.
    """
    ancestors = [node_at(tree, path[:length]) for length in range(len(path))]
    if any(isinstance(node, ast.arguments) for node in ancestors):
        return None  # the stub shows the arguments of a function
    while path:
        node = node_at(tree, path)
        if isinstance(node, ast.stmt):
            return None
        if _is_whole(tree, path) and isinstance(node, ast.expr) and _stands_alone(text, node):
            return path
        path = path[:-1]
    return None


def _is_whole(tree: ast.Module, path: SyntaxPath) -> bool:
    """Return whether a node is neither the name of a called function nor the 1 of `-1`."""
    parent = node_at(tree, path[:-1])
    if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub):
        return not isinstance(parent.operand, ast.Constant)
    return path[-1][0] != "func"


def _stands_alone(text: str, node: ast.expr) -> bool:
    """Return whether the text of an expression, alone, is the same expression."""
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return False
    segment = ast.get_source_segment(text, node) or ""
    try:
        return ast.dump(ast.parse(segment, mode="eval").body) == ast.dump(node)
    except (SyntaxError, ValueError):
        return False


def shows_same(tree: ast.Module, unnamed: ast.Module, path: SyntaxPath) -> list[SyntaxPath] | None:
    """Return the paths of other expressions that would show a learner the code at `path`.

    They are equal to the expression, or differ in names only. A name, an attribute and a constant
    are too common, so the expressions around them are compared.

    Args:
        tree: The tree.
        unnamed: The same tree from `without_names`.
        path: The path of the expression.

    Returns:
        The paths, or None if there is nothing to compare.
    """
    around = path
    while is_common(node_at(tree, around)):
        around = around[:-1]
        if isinstance(node_at(tree, around), ast.stmt):
            return None
    inner, node = path[len(around) :], node_at(tree, around)
    has_shape = any(isinstance(part, ast.Call | ast.Subscript) for part in ast.walk(node))
    compared = unnamed if has_shape else tree
    dumped = ast.dump(node_at(compared, around))
    return [
        other + inner
        for other, expression in expressions(compared)
        if other != around and type(expression) is type(node) and ast.dump(expression) == dumped
    ]


def is_common(node: ast.AST) -> bool:
    """Return whether a node is a name, an attribute of a name, a constant, or no expression."""
    if isinstance(node, ast.UnaryOp):
        return is_common(node.operand)
    if isinstance(node, ast.Attribute):
        return is_common(node.value)
    return isinstance(node, ast.Name | ast.Constant) or not isinstance(node, ast.expr)


def without_names(tree: ast.Module) -> ast.Module:
    """Return a copy of a tree without the names of variables and of the attributes of `self`."""
    unnamed = copy.deepcopy(tree)
    names = [part for part in ast.walk(unnamed) if isinstance(part, ast.Name)]
    for part in ast.walk(unnamed):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            part.attr = "" if part.value.id == "self" else part.attr
    for name in names:
        name.id = ""
    return unnamed
