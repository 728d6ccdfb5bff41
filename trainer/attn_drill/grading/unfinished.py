"""Recognise a file that is not finished yet, so that it does not count as a wrong answer.

An editor with automatic saving saves every state of a file. A state is unfinished if it does not
parse, lacks a part, returns nothing, or still has the stub's NotImplementedError.
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
    """Return why a file is unfinished, or "": "does not parse: line 12, invalid syntax"."""
    reply = comparison.reply
    if comparison.worker_result.how == "timeout":  # it ran
        return ""
    failure = reply.load_failure
    if failure is not None and failure.type in _PARSE_ERRORS:
        last = failure.frames[-1] if failure.frames else None
        # A SyntaxError that a function raised at run time is not a parse error of the file.
        if last is None or not last.function:
            place = f"line {last.line}, " if last and last.line else ""
            return f"does not parse: {place}{failure.message.strip()}"
    required = [signature.name for signature in comparison.case_set.content.signatures]
    missing = [name for name, kind in reply.not_callable.items() if kind == "missing"]
    if reply.signatures:  # the file was loaded and its callables were inspected
        missing += [name for name in required if name not in reply.signatures]
        missing += _methods_of_torch(comparison)
    if missing:
        return f"is not finished: {missing[0]} is missing"
    failures = [reply.load_failure]
    for run in reply.runs:
        failures += [run.failure, *(call.failure for call in run.calls)]
    raised = [_not_implemented(failure) for failure in failures if failure is not None]
    for words in (*_placeholders(source, required), *raised):
        if words:
            return f"is not finished: {words}"
    return "is not finished: it returns nothing yet" if _returns_nothing(comparison) else ""


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
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    for owner in tree.body:
        if isinstance(owner, ast.ClassDef):
            methods = [node for node in owner.body if isinstance(node, ast.FunctionDef)]
            functions |= {f"{owner.name}.{node.name}": node for node in methods}
    for function in (functions[name] for name in required if name in functions):
        last = function.body[-1]
        returns = any(isinstance(node, ast.Return) for node in ast.walk(function))
        if isinstance(last, ast.Raise) and _PLACEHOLDER.match(ast.unparse(last)) and not returns:
            yield f"{function.name} raises NotImplementedError (line {last.lineno})"
        texts = [node.value for node in function.body if isinstance(node, ast.Expr)]
        without_text = [node for node in function.body if not isinstance(node, ast.Pass | ast.Expr)]
        if not without_text and all(isinstance(text, ast.Constant) for text in texts):
            yield f"{function.name} is empty"


def _methods_of_torch(comparison: Comparison) -> Iterator[str]:
    """Yield the method of the class that the first case needs and that only nn.Module has."""
    reply, entry = comparison.reply, comparison.case_set.challenge.entry[0]
    failure = reply.runs[0].failure if reply.runs else None
    if failure is None or failure.frames:
        return
    if 'is missing the required "forward" function' in failure.message:
        yield f"{entry}.forward"
    arguments = reply.signatures.get(f"{entry}.__init__") or ()
    takes_anything = bool(arguments) and all(have.kind.startswith("VAR_") for have in arguments)
    if failure.phase == "construct" and failure.type == "TypeError" and takes_anything:
        yield f"{entry}.__init__"


def _returns_nothing(comparison: Comparison) -> bool:
    """Return whether the first case returned None."""
    run = next(iter(comparison.reply.runs), RunReply())
    if run.failure is not None:
        return run.failure.type == "UnexpectedReturnError" and NOTHING in run.failure.message
    returned = run.outputs.values()
    return bool(returned) and all(output.description == NOTHING for output in returned)
