"""The self-test agrees with the isolation and finds a missing part of the sandbox."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support.copies import HIDDEN_PARTS, REFERENCE
from tests.support.sandbox import HIDDEN, linux, needs_bubblewrap, needs_kernel
from trainer.sandbox import confine, isolation
from trainer.sandbox.isolation import Isolation
from trainer.worker.selftest import COPIES, SelfTestResult, run_selftest

pytestmark = pytest.mark.usefixtures("search_for_copies")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a package folder from which this process and its workers import."""
    folder = tmp_path / "lib" / "site-packages"
    (folder / "neighbour").mkdir(parents=True)
    (folder / "neighbour" / "module.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(folder)
    return folder


@needs_kernel
def test_a_readable_copy_opens_only_its_own_row(site: Path) -> None:
    """A copy of a reference that a worker can read changes no other row."""
    folder = site / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    shutil.copy(REFERENCE, folder)
    found = run_selftest(HIDDEN_PARTS, "kernel")
    assert found.open == [COPIES]
    assert found.copies.found == (str(folder / "solution.py"),)


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
    *("use shared memory of the system", COPIES),
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
    return run_selftest(HIDDEN, how)


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


@pytest.mark.parametrize("how", EACH)
def test_required_features_work(how: Isolation) -> None:
    """torch's threads and the worker's own folder work with every isolation."""
    assert result_of(how).works == {
        "threads that torch needs": True,
        "its own folder to write to": True,
    }


@needs_kernel
def test_self_test_works_with_many_references(tmp_path: Path) -> None:
    """The request for the search is larger than the buffer of a socket."""
    folder = tmp_path / "solutions" / "large" / "also_right"
    folder.mkdir(parents=True)
    for index in range(2500):
        (folder / f"answer_with_a_name_of_some_length_{index}.py").write_text(f"VALUE = {index}\n")
    result = run_selftest([*HIDDEN, tmp_path / "solutions"], "kernel")
    assert result.refused[COPIES], result.copies


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
@pytest.mark.parametrize(
    ("parts", "opened"),
    [
        pytest.param(
            ["Landlock.restrict"],
            {"read the solutions", "read another submission", "see the grader"},
            id="Landlock",
        ),
        pytest.param(
            ["Landlock.restrict", "_mount_apart"],
            {"write outside its own folder"},
            id="Landlock and mounts",
        ),
        pytest.param(
            ["_seccomp"],
            {"open a network socket", "start a process", "use shared memory of the system"},
            id="seccomp",
        ),
        pytest.param(
            ["_seccomp", "_mount_apart"],
            {"change attributes of a file outside its folder", "use an unknown system call"},
            id="seccomp and mounts",
        ),
        pytest.param(
            ["readable_paths"],
            {"read the solutions", "read the engine", "read another submission", COPIES},
            id="hidden paths",
        ),
    ],
)
def test_a_missing_part_of_the_sandbox_is_found(
    monkeypatch: pytest.MonkeyPatch, parts: list[str], opened: set[str]
) -> None:
    """Without a part of the sandbox, the self-test reports the actions that this part prevents."""
    replacements: dict[str, Callable[..., object]] = {
        "readable_paths": everything_readable,
        "_mount_apart": lambda parent: False,
    }
    for part in parts:
        module = isolation if part == "_mount_apart" else confine
        monkeypatch.setattr(
            f"{module.__name__}.{part}", replacements.get(part, lambda *given: None)
        )
    assert opened <= set(run_selftest(HIDDEN, "kernel").open)
