"""Exceptions of a submission become failures with the lines of its file."""

import errno
from collections.abc import Callable
from typing import Any

import pytest

from attn_drill.worker.execution import GuardedCall, is_out_of_memory
from attn_drill.worker.returns import UnexpectedReturnError

PATH = "/submission/answer.py"


def function_of(source: str) -> Callable[[], Any]:
    """Return the function `f` of a source that has the path of a submission."""
    names: dict[str, Any] = {}
    exec(compile(source, PATH, "exec"), names)
    function: Callable[[], Any] = names["f"]
    return function


def test_result_is_passed_on() -> None:
    """A call that raises nothing has no failure."""
    assert GuardedCall(PATH).call("forward", lambda: 5) == (5, None)


@pytest.mark.parametrize("kind", ["ValueError", "SystemExit", "KeyboardInterrupt"])
def test_exceptions_of_all_kinds_become_failures(kind: str) -> None:
    """The failure has the phase, the type, the message and the lines of the file only."""
    function = function_of(f"def g():\n    raise {kind}('no')\ndef f():\n    return g()\n")
    result, failure = GuardedCall(PATH).call("forward", function)
    assert result is None
    assert failure is not None
    assert (failure.phase, failure.type, failure.message) == ("forward", kind, "no")
    assert [(frame.line, frame.function) for frame in failure.frames] == [(4, "f"), (2, "g")]


def test_exception_that_cannot_be_shown_is_a_failure() -> None:
    """The message of an exception may raise again when it is read."""
    function = function_of(
        "class Bad(Exception):\n    def __str__(self):\n        raise RuntimeError\n"
        "def f():\n    raise Bad\n"
    )
    failure = GuardedCall(PATH).call("forward", function)[1]
    assert failure is not None
    assert (failure.type, failure.message) == ("Bad", "(its message cannot be shown)")


def test_syntax_error_has_the_line_of_the_file() -> None:
    """A syntax error has no frame of the file, so its own line is used."""
    call = GuardedCall(PATH)
    failure = call.call("import", lambda: compile("a = 1\nb = (\n", PATH, "exec"))[1]
    assert failure is not None
    assert [(frame.line, frame.text) for frame in failure.frames] == [(2, "b = (")]


def test_unexpected_return_has_no_frames() -> None:
    """The value was returned already, so no line of the file is at fault."""

    def raise_error() -> None:
        raise UnexpectedReturnError("the return value must be (out, cache)")

    failure = GuardedCall(__file__).call("forward", raise_error)[1]
    assert failure is not None
    assert failure.frames == []


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (MemoryError(), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried …"), True),
        (OSError(errno.ENOENT, "No such file"), False),
        (RuntimeError("shape mismatch"), False),
    ],
)
def test_errors_of_python_and_torch_without_memory_are_recognised(
    error: BaseException, *, is_memory: bool
) -> None:
    """Python, the system and torch's allocator report missing memory in different ways."""
    assert is_out_of_memory(error) == is_memory
