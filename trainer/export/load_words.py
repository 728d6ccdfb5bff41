"""Say why a file does not load, in words that cannot reveal a hidden case.

The inputs of the cases are in the worker's memory before the file is imported. So the text of an
exception could hold them, and the worker could report any exception. These words hold only a
syntax error that this process finds itself, a known sentence of Python with names from the file,
or the type of the exception.
"""

from __future__ import annotations

import ast
import builtins
import re
import warnings
from collections.abc import Set

from trainer.model.report import Outcome, Report

# Sentences of Python that a student needs. Each group is a name of the file.
_SENTENCES = tuple(
    map(
        re.compile,
        (
            r"ModuleNotFoundError: No module named '([\w.]+)'",
            r"ImportError: cannot import name '(\w+)' from '([\w.]+)'",
            r"NameError: name '(\w+)' is not defined",
            r"AttributeError: module '([\w.]+)' has no attribute '(\w+)'",
            r"AttributeError: type object '(\w+)' has no attribute '(\w+)'",
        ),
    )
)
_EXIT = "it called sys.exit"


def load_words(report: Report, source: str) -> str:
    """Return the reason why a file does not load, or "" if it loads or was never run.

    Args:
        report: the report on the file.
        source: the text of the file.
    """
    failed = next(
        (
            outcome
            for outcome in report.outcomes
            if outcome.check == "loads" and outcome.status == "failed"
        ),
        None,
    )
    if failed is None or report.seed is None:
        return ""
    place = f" at line {failed.frames[-1].line}" if failed.frames else ""
    if report.verdict == "timeout":
        return f"the import of the file was still running at the time limit{place}"
    if report.verdict == "memory":
        return f"the import of the file used more memory than the limit allows{place}"
    return _syntax_error(source) or f"{_exception(failed, source)}{place}"


def _syntax_error(source: str) -> str:
    """Return the syntax error of a text with its line, or "".

    The text is only parsed, because deeply nested code can end the process that compiles it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except SyntaxError as error:
        place = f" at line {error.lineno}" if error.lineno else ""
        return f"{type(error).__name__}: {error.msg}{place}"
    except (ValueError, OverflowError, RecursionError, MemoryError):
        return "Python cannot read the file"
    return ""


def _exception(failed: Outcome, source: str) -> str:
    """Return the exception at the import of a file, without words that the file could choose."""
    names = frozenset(re.findall(r"[\w.]+", source) + re.findall(r"\w+", source))
    for sentence in _SENTENCES:
        found = sentence.match(failed.message)
        if found is not None and _are_written(found.groups(), names):
            return found[0]
    if failed.message.startswith(_EXIT):
        return _EXIT
    kind = failed.message.partition(":")[0].split(" ")[0]
    known = getattr(builtins, kind, None)
    if isinstance(known, type) and issubclass(known, BaseException):
        return f"the import of the file raised {kind}"
    return "the import of the file failed"


def _are_written(wanted: tuple[str, ...], names: Set[str]) -> bool:
    return all(name in names for name in wanted)
