"""What a submission cannot reach, tried by a submission, and whether `doctor` tells the truth about it."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support.copies import HIDDEN_PARTS, REFERENCE
from tests.support.sandbox import HIDDEN, linux, needs_bubblewrap, needs_kernel
from trainer.sandbox import confine, isolation
from trainer.sandbox.isolation import Isolation
from trainer.worker.selftest import COPIES, Isolated, probe_isolation


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that this process and its workers import from."""
    folder = tmp_path / "lib" / "site-packages"
    (folder / "neighbour").mkdir(parents=True)
    (folder / "neighbour" / "module.py").write_text("VALUE = 1\n")
    monkeypatch.syspath_prepend(folder)
    return folder


@needs_kernel
def test_the_row_of_the_probes(site: Path) -> None:
    """A copy makes the row OPEN, and nothing else."""
    folder = site / "a" / "b" / "c" / "d"
    folder.mkdir(parents=True)
    shutil.copy(REFERENCE, folder)
    found = probe_isolation(HIDDEN_PARTS, "kernel")
    assert found.open == [COPIES]
    assert found.copies.found == (str(folder / "solution.py"),)


# Nothing but a sandbox keeps a submission from these.
ONLY_BY_SANDBOX = {
    *(
        "open a network socket",
        "read the solutions",
        "read the engine",
        "read the home folder",
        "read another submission",
    ),
    *("start a process", "see the grader", "signal the grader", "get round the memory limit"),
    *("use shared memory of the system", COPIES),
}


# Whether these are open without one depends on the user, on what this user may mount, and on how
# new the kernel is.
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
        "change attributes of another's file",
        "use an unknown system call",
    ),
}


EACH = [
    pytest.param("kernel", marks=needs_kernel),
    pytest.param("bubblewrap", marks=needs_bubblewrap),
    pytest.param("limits", marks=linux),
]


@cache
def probed(how: Isolation) -> Isolated:
    """What holds by these means, tried once."""
    return probe_isolation(HIDDEN, how)


@pytest.mark.parametrize("how", EACH)
def test_probes_tell_the_truth(how: Isolation) -> None:
    """With a sandbox nothing is open; with limits alone, all that limits do not hold, and no more."""
    found = probed(how)
    assert found.how == how
    if how != "limits":
        assert found.open == []
        return
    assert set(found.open) >= ONLY_BY_SANDBOX
    assert set(found.open) <= ONLY_BY_SANDBOX | DEPENDS_ON_THE_USER
    assert {what for what in found.held if what not in found.open} >= {
        "outlive its time",
        "fill the disk",
        "start threads without end",
    }


@pytest.mark.parametrize("how", EACH)
def test_what_must_work_does(how: Isolation) -> None:
    """torch's threads and a folder to write to, by whichever means a worker is shut off."""
    assert probed(how).works == {"threads that torch needs": True, "a folder of its own": True}


@pytest.mark.parametrize("how", EACH)
def test_the_same_is_tried_by_all_means(how: Isolation) -> None:
    """No means is spared a question."""
    assert set(probed(how).held) == ONLY_BY_SANDBOX | DEPENDS_ON_THE_USER | {
        "outlive its time",
        "fill the disk",
        "start threads without end",
    }


def only_readable(hidden: object) -> list[str]:
    """As if nothing were hidden."""
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
            {"change attributes of another's file", "use an unknown system call"},
            id="seccomp and mounts",
        ),
        pytest.param(
            ["readable_paths"],
            {"read the solutions", "read the engine", "read another submission", COPIES},
            id="what is hidden",
        ),
    ],
)
def test_a_part_that_is_missing_shows(
    monkeypatch: pytest.MonkeyPatch, parts: list[str], opened: set[str]
) -> None:
    """Take a part of the sandbox away, and the probes say what is open then."""
    instead: dict[str, Callable[..., object]] = {
        "readable_paths": only_readable,
        "_mount_apart": lambda parent: False,
    }
    for part in parts:
        module = isolation if part == "_mount_apart" else confine
        monkeypatch.setattr(f"{module.__name__}.{part}", instead.get(part, lambda *given: None))
    assert opened <= set(probe_isolation(HIDDEN, "kernel").open)
