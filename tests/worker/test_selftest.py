"""The self-test agrees with the isolation and finds a missing part of the sandbox."""

from functools import cache

import pytest

from attn_drill.sandbox import confine
from attn_drill.sandbox.isolation import Isolation
from attn_drill.worker.selftest import SelfTestResult
from tests.support.isolation import linux, needs_bubblewrap, needs_kernel, selftest_by
from tests.support.rows import each_row

# Only a sandbox prevents these actions.
ONLY_BY_SANDBOX = {
    *(
        "open a network socket",
        "read the solutions",
        "read the engine",
        "read the home folder",
        "read another submission",
    ),
    *("start a process", "see the grader", "signal the grader", "bypass the memory limit"),
    "use shared memory of the system",
}


# Without a sandbox, these actions may be possible or not. It depends on the user, on the user's
# right to mount, and on the version of the kernel.
DEPENDS_ON_THE_USER = {
    *(
        "trace the grader",
        "read the grader's memory",
        "raise its own limits",
        "gain privileges",
        "hold a lease on a file",
    ),
    *(
        "write outside its own folder",
        "change attributes of a file outside its folder",
        "use an unknown system call",
    ),
}


EACH = [
    pytest.param("kernel", marks=needs_kernel),
    pytest.param("bubblewrap", marks=needs_bubblewrap),
    pytest.param("limits", marks=linux),
]


@cache
def result_of(how: Isolation) -> SelfTestResult:
    """Return the result of one self-test for all tests with this isolation."""
    return selftest_by(how)


@pytest.mark.thorough
@pytest.mark.parametrize("how", EACH)
def test_a_sandbox_leaves_nothing_open(how: Isolation) -> None:
    """With limits alone, exactly the actions are open that limits do not prevent."""
    found = result_of(how)
    assert found.isolation == how
    if how != "limits":
        assert found.open == []
        return
    assert set(found.open) >= ONLY_BY_SANDBOX
    assert set(found.open) <= ONLY_BY_SANDBOX | DEPENDS_ON_THE_USER
    assert {action for action in found.refused if action not in found.open} >= {
        "live on after its time limit",
        "fill the disk",
        "start too many threads",
    }


@pytest.mark.thorough
@pytest.mark.parametrize("how", EACH)
def test_required_features_work(how: Isolation) -> None:
    """torch's threads and the worker's own folder work with every isolation."""
    assert result_of(how).works == {
        "threads that torch needs": True,
        "its own folder to write to": True,
    }


@pytest.mark.thorough
@pytest.mark.parametrize("how", EACH)
def test_every_isolation_gets_the_same_trials(how: Isolation) -> None:
    """The rows of the result do not depend on the isolation."""
    assert set(result_of(how).refused) == ONLY_BY_SANDBOX | DEPENDS_ON_THE_USER | {
        "live on after its time limit",
        "fill the disk",
        "start too many threads",
    }


def everything_readable(hidden: object) -> list[str]:
    """Return readable paths that hide nothing."""
    return ["/"]


@needs_kernel
@each_row(
    "part, opened",
    {
        "Landlock": (
            "Landlock.restrict",
            {
                *("read the solutions", "read another submission", "see the grader"),
                "write outside its own folder",
            },
        ),
        "seccomp": (
            "has_seccomp",
            {
                *("open a network socket", "start a process", "use shared memory of the system"),
                *("change attributes of a file outside its folder", "use an unknown system call"),
            },
        ),
        "hidden paths": (
            "readable_paths",
            {"read the solutions", "read the engine", "read another submission"},
        ),
    },
)
def test_a_missing_part_of_the_sandbox_is_found(
    monkeypatch: pytest.MonkeyPatch, part: str, opened: set[str]
) -> None:
    """Without a part of the sandbox, the self-test reports the actions that this part prevents."""
    instead = everything_readable if part == "readable_paths" else lambda *given: None
    monkeypatch.setattr(f"{confine.__name__}.{part}", instead)
    assert opened <= set(selftest_by("kernel").open)
