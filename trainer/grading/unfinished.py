"""Recognise a file that is not finished yet, so that it does not count as a wrong answer.

An editor with automatic saving saves every state of a file. A state is unfinished if it does not
parse, lacks a part that the challenge requires, or still contains the stub's NotImplementedError.
An unfinished state is not a failed attempt.
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
# Part of torch's message for a module without `forward`.
_NO_FORWARD = 'is missing the required "forward" function'
_MODULE_BASES = ("nn.Module", "torch.nn.Module", "Module", "object")


def unfinished(comparison: Comparison, source: str) -> str:
    """Return the reason why a file is unfinished, or "" if the file is finished.

    Returns:
        For example "does not parse: line 12, invalid syntax" or
        "is not finished: forward raises NotImplementedError".
    """
    reply = comparison.reply
    if reply.load_failure is not None and (words := _parse_error(reply.load_failure)):
        return words
    missing = [name for name, kind in reply.not_callable.items() if kind == "missing"]
    if missing:
        return f"is not finished: the file defines no {missing[0]}"
    signatures = comparison.case_set.content.signatures
    for words in _open_parts(comparison.case_set.challenge, source, signatures):
        return f"is not finished: {words}"
    for failure in _failures(comparison):
        if words := _not_implemented(failure):
            return f"is not finished: {words}"
    if reply.signatures:  # the file was loaded and its callables were inspected
        absent = [wanted.name for wanted in signatures if wanted.name not in reply.signatures]
        if absent:
            return f"is not finished: {absent[0]} is missing"
    return ""


def _parse_error(failure: CallFailure) -> str:
    """Return words for the place where the file does not parse, or "".

    A SyntaxError that the file's code raised at run time is not a parse error of the file.
    """
    if failure.type not in _PARSE_ERRORS or (failure.frames and failure.frames[-1].function):
        return ""
    line = failure.frames[-1].line if failure.frames else 0
    return f"does not parse: {f'line {line}, ' if line else ''}{failure.message.strip()}"


def _failures(comparison: Comparison) -> Iterator[CallFailure]:
    """Yield the exceptions that the file raised while it was loaded and called."""
    found = [comparison.reply.load_failure]
    for run in comparison.reply.runs:
        found += [run.failure, *(call.failure for call in run.calls)]
    yield from (failure for failure in found if failure is not None)


def _not_implemented(failure: CallFailure) -> str:
    """Return words for the function that raises NotImplementedError itself, or "".

    torch also raises NotImplementedError, for other reasons.
    """
    if failure.type != "NotImplementedError":
        return ""
    if _NO_FORWARD in failure.message:
        return "forward is missing"
    last = failure.frames[-1] if failure.frames else None
    if last is None or not _PLACEHOLDER.search(last.text):
        return ""
    subject = "the file" if last.function in ("", "<module>") else last.function
    return f"{subject} raises NotImplementedError (line {last.line})"


def _open_parts(
    challenge: Challenge, source: str, signatures: Sequence[Signature]
) -> Iterator[str]:
    """Yield words for each part that is missing or empty in the text of the file.

    A run does not find all of these parts: if the constructor lacks a layer, `forward` is never
    called.
    """
    submission, reference = _parsed(source), _parsed(pack_reader.solution(challenge))
    if submission is None or reference is None:
        return
    for signature in signatures:
        found, known = _function(submission, signature.name)
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

    The second value is True if the definition is certainly missing. Otherwise None only means that
    the file may define the name in another way.
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
        return None, False  # the method may be defined in another way
    for base in node.bases:
        text = ast.unparse(base)
        if text in _MODULE_BASES:
            continue
        found, known = _method(classes, text, method, seen | {owner})
        if found is not None or not known:
            return found, known
    return None, True


def _last(body: list[ast.stmt], name: str) -> Function | None:
    """Return the last plain definition of a name, which is the valid one in Python."""
    found = [node for node in body if isinstance(node, Function) and node.name == name]
    return found[-1] if found else None


def _open_body(found: Function, wanted: Function | None) -> str:
    """Return words for the missing part of a function, compared with the reference, or ""."""
    body = found.body[1:] if ast.get_docstring(found) is not None else found.body
    for node in body:
        if isinstance(node, ast.Return):
            break  # a line of the stub after the return is never reached
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
    """Return whether the function's own body has a `yield` or a `return` with a value."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom) or (
            isinstance(node, ast.Return) and node.value is not None
        ):
            return True
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False
