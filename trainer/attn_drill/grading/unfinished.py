"""Recognise a file that is not finished yet, so that it does not count as a wrong answer.

An editor with automatic saving saves every state of a file. A state is unfinished if it does not
parse, lacks a part that the challenge requires, returns nothing, or still contains the stub's
NotImplementedError. An unfinished state is not a failed attempt.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from attn_drill.grading.comparison import Comparison
from attn_drill.worker.protocol import CallFailure, RunReply
from attn_drill.worker.returns import NOTHING

_PARSE_ERRORS = ("SyntaxError", "IndentationError", "TabError")
_PLACEHOLDER = re.compile(r"\braise\s+NotImplementedError\b")


def unfinished(comparison: Comparison, source: str) -> str:
    """Return the reason why a file is unfinished, or "" if the file is finished.

    A file that reaches the time limit is finished: it ran.

    Returns:
        For example "does not parse: line 12, invalid syntax" or
        "is not finished: forward raises NotImplementedError (line 9)".
    """
    reply = comparison.reply
    if comparison.worker_result.how == "timeout":
        return ""
    if reply.load_failure is not None and (words := _parse_error(reply.load_failure)):
        return words
    required = [signature.name for signature in comparison.case_set.content.signatures]
    missing = [name for name, kind in reply.not_callable.items() if kind == "missing"]
    if reply.signatures:  # the file was loaded and its callables were inspected
        missing += [name for name in required if name not in reply.signatures]
        missing += _methods_of_torch(comparison)
    if missing:
        return f"is not finished: {missing[0]} is missing"
    for words in (*_placeholders(source, required), *map(_not_implemented, _failures(comparison))):
        if words:
            return f"is not finished: {words}"
    return "is not finished: it returns nothing yet" if _returns_nothing(comparison) else ""


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
    last = failure.frames[-1] if failure.frames else None
    if failure.type != "NotImplementedError" or last is None or not _PLACEHOLDER.search(last.text):
        return ""
    subject = "the file" if last.function in ("", "<module>") else last.function
    return f"{subject} raises NotImplementedError (line {last.line})"


def _placeholders(source: str, required: Collection[str]) -> Iterator[str]:
    """Yield words for each required callable that is empty or ends with the stub's placeholder.

    A run does not find all of them: if the constructor lacks a layer, `forward` is never called.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    found = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for owner in tree.body:
        if isinstance(owner, ast.ClassDef):
            methods = [node for node in owner.body if isinstance(node, ast.FunctionDef)]
            found |= {f"{owner.name}.{node.name}": node for node in methods}
    for function in (found[name] for name in required if name in found):
        last = function.body[-1]
        returns = any(isinstance(node, ast.Return) for node in ast.walk(function))
        if isinstance(last, ast.Raise) and _PLACEHOLDER.match(ast.unparse(last)) and not returns:
            yield f"{function.name} raises NotImplementedError (line {last.lineno})"
        without_text = [node for node in function.body if not _is_text(node)]
        if all(isinstance(node, ast.Pass) for node in without_text):
            yield f"{function.name} is empty"


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _methods_of_torch(comparison: Comparison) -> Iterator[str]:
    """Yield the method of the class that the first case needs and that only nn.Module has."""
    reply, entry = comparison.reply, comparison.case_set.challenge.entry[0]
    failure = reply.runs[0].failure if reply.runs else None
    if failure is None or failure.frames:
        return
    if 'is missing the required "forward" function' in failure.message:
        yield f"{entry}.forward"
    found = reply.signatures.get(f"{entry}.__init__") or ()
    takes_anything = bool(found) and all(have.kind.startswith("VAR_") for have in found)
    if failure.phase == "construct" and failure.type == "TypeError" and takes_anything:
        yield f"{entry}.__init__"


def _returns_nothing(comparison: Comparison) -> bool:
    """Return whether the first case returned None."""
    run = next(iter(comparison.reply.runs), RunReply())
    if run.failure is not None:
        return run.failure.type == "UnexpectedReturnError" and NOTHING in run.failure.message
    returned = run.outputs.values()
    return bool(returned) and all(output.description == NOTHING for output in returned)
