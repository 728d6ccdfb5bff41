"""Tell a file that is not finished yet from a wrong answer.

An editor that saves by itself saves every state of a file. A state that does not parse, lacks a part
that the challenge asks for, or still has the stub's NotImplementedError in it, is no answer, so it is
no failed attempt.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from trainer.grading.comparison import Comparison
from trainer.model.challenge import Challenge, Signature
from trainer.packs import pack_reader
from trainer.worker.protocol import CallFailure

Function = ast.FunctionDef | ast.AsyncFunctionDef

_PARSE_ERRORS = ("SyntaxError", "IndentationError", "TabError")
_PLACEHOLDER = re.compile(r"\braise\s+NotImplementedError\b")
_NO_FORWARD = (
    'is missing the required "forward" function'  # torch says this of a module without one
)
_MODULE_BASES = ("nn.Module", "torch.nn.Module", "Module", "object")


def unfinished(comparison: Comparison, source: str) -> str:
    """Return why this file is no finished answer, or "" if it is one.

    Args:
        comparison: of a submission that did not pass.
        source: its text.

    Returns:
        For example "does not parse: line 12, invalid syntax" or
        "is not finished: forward raises NotImplementedError".
    """
    reply = comparison.reply
    if reply.load_failure is not None and (words := _parse_error(reply.load_failure)):
        return words
    missing = [name for name, what in reply.not_callable.items() if what == "missing"]
    if missing:
        return f"is not finished: the file defines no {missing[0]}"
    signatures = comparison.case_set.content.signatures
    for words in _open_parts(comparison.case_set.challenge, source, signatures):
        return f"is not finished: {words}"
    for failure in _failures(comparison):
        if words := _not_implemented(failure):
            return f"is not finished: {words}"
    if reply.signatures:  # the file was loaded and its parts were looked at
        absent = [one.name for one in signatures if one.name not in reply.signatures]
        if absent:
            return f"is not finished: {absent[0]} is missing"
    return ""


def _parse_error(failure: CallFailure) -> str:
    """Say where the file does not parse; "" for a SyntaxError that its code raised while it ran."""
    if failure.type not in _PARSE_ERRORS or (failure.frames and failure.frames[-1].function):
        return ""
    line = failure.frames[-1].line if failure.frames else 0
    return f"does not parse: {f'line {line}, ' if line else ''}{failure.message.strip()}"


def _failures(comparison: Comparison) -> Iterator[CallFailure]:
    """Yield what the file raised while it was loaded and called."""
    found = [comparison.reply.load_failure]
    for run in comparison.reply.runs:
        found += [run.failure, run.gradient_failure, run.again_failure]
    yield from (failure for failure in found if failure is not None)


def _not_implemented(failure: CallFailure) -> str:
    """Say which function raised NotImplementedError itself; torch raises it too, for other reasons."""
    if failure.type != "NotImplementedError":
        return ""
    if _NO_FORWARD in failure.message:
        return "forward is missing"
    last = failure.frames[-1] if failure.frames else None
    if last is None or not _PLACEHOLDER.search(last.text):
        return ""
    where = "the file" if last.function in ("", "<module>") else last.function
    return f"{where} raises NotImplementedError (line {last.line})"


def _open_parts(
    challenge: Challenge, source: str, signatures: Sequence[Signature]
) -> Iterator[str]:
    """Yield each part that is missing or still empty, as far as the text alone tells.

    A run does not tell all of it: if the constructor lacks a layer, `forward` is never called.
    """
    mine, reference = _parsed(source), _parsed(pack_reader.solution(challenge))
    if mine is None or reference is None:
        return
    for signature in signatures:
        found, known = _function(mine, signature.name)
        wanted, _ = _function(reference, signature.name)
        if found is None:
            if known:
                yield f"{signature.name} is missing"
        elif words := _open_body(found, wanted):
            yield f"{found.name} {words}"


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _function(tree: ast.Module, name: str) -> tuple[Function | None, bool]:
    """Return the definition of `function` or `Class.method`, or None.

    The second value says whether None means that there is none; else it may be made in another way.
    """
    owner, _, method = name.rpartition(".")
    if not owner:
        return _last(tree.body, name), False
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    return _method(classes, owner, method, frozenset())


def _method(
    classes: dict[str, ast.ClassDef], owner: str, method: str, seen: frozenset[str]
) -> tuple[Function | None, bool]:
    node = classes.get(owner)
    if node is None or owner in seen:
        return None, False
    if found := _last(node.body, method):
        return found, True
    names = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    names |= {inner.name for inner in ast.walk(node) if isinstance(inner, Function)}
    if method in names or node.decorator_list or node.keywords:
        return None, False  # made in some other way
    for base in node.bases:
        text = ast.unparse(base)
        if text in _MODULE_BASES:
            continue
        found, known = _method(classes, text, method, seen | {owner})
        if found is not None or not known:
            return found, known
    return None, True


def _last(body: list[ast.stmt], name: str) -> Function | None:
    """Return the last plain definition of this name: it is the one that counts."""
    found = [node for node in body if isinstance(node, Function) and node.name == name]
    return found[-1] if found else None


def _open_body(found: Function, wanted: Function | None) -> str:
    """Say what is left to write in a function, compared with the reference's; "" for nothing."""
    body = found.body[1:] if ast.get_docstring(found) is not None else found.body
    for node in body:
        if isinstance(node, ast.Return):
            break  # the stub's line was left behind, and is never reached
        if isinstance(node, ast.Raise) and _PLACEHOLDER.search(ast.unparse(node)):
            return f"raises NotImplementedError (line {node.lineno})"
    if wanted is None:
        return ""
    if all(_is_nothing(node) for node in body):
        return "" if all(_is_nothing(node) for node in wanted.body[1:]) else "is empty"
    if _gives_something(wanted) and not _gives_something(found):
        return "returns nothing yet"
    return ""


def _is_nothing(node: ast.stmt) -> bool:
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant or isinstance(node, ast.Pass)


def _gives_something(function: Function) -> bool:
    """Whether a `return` with a value, or a `yield`, stands in the function itself."""
    left: list[ast.AST] = list(function.body)
    while left:
        node = left.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom) or (
            isinstance(node, ast.Return) and node.value is not None
        ):
            return True
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            left += ast.iter_child_nodes(node)
    return False
