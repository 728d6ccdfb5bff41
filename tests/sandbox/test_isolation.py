"""The choice of the isolation, the workers' folders, process families, and bubblewrap."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from attn_drill.sandbox import isolation
from attn_drill.sandbox.environment import clean_environment
from attn_drill.sandbox.isolation import (
    children,
    chosen_isolation,
    descendants,
    remove_tree,
    unlinked_bytes,
    used_bytes,
)
from attn_drill.worker.forkserver_client import ForkServer
from tests.support.grading import report_of
from tests.support.isolation import (
    SUBMITTED,
    SUMS,
    grade,
    grader_by,
    linux,
    message_of,
    needs_bubblewrap,
    wait_until,
    without_time,
)


def test_used_bytes_of_empty_and_missing_folders(tmp_path: Path) -> None:
    """An empty folder and a missing folder contain no bytes."""
    assert used_bytes(str(tmp_path), 1 << 20) == 0
    assert used_bytes(str(tmp_path / "gone"), 1 << 20) == 0


def test_used_bytes_counts_blocks_and_entries(tmp_path: Path) -> None:
    """Blocks on the disk count, at any depth, and each entry counts as one block or more."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(os.urandom(100_000))
    found = used_bytes(str(tmp_path), 1 << 30)
    assert 3 * 4096 + 98_304 <= found < 200_000
    for number in range(100):
        (tmp_path / f"{number}").touch()
    assert used_bytes(str(tmp_path), 1 << 30) >= found + 100 * 4096


def test_used_bytes_of_a_sparse_file(tmp_path: Path) -> None:
    """A hole in a file takes up no bytes."""
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(1 << 30)
    assert used_bytes(str(tmp_path), 1 << 31) < 1 << 20


def test_used_bytes_follows_no_link(tmp_path: Path) -> None:
    """A link to a large folder, to its own folder or to nothing counts as an entry only."""
    (tmp_path / "large").mkdir()
    (tmp_path / "large" / "file").write_bytes(os.urandom(1 << 20))
    looked_at = tmp_path / "looked at"
    looked_at.mkdir()
    for name, target in (
        ("out", tmp_path / "large"),
        ("round", looked_at),
        ("nowhere", tmp_path / "gone"),
    ):
        (looked_at / name).symlink_to(target)
    assert used_bytes(str(looked_at), 1 << 30) < 100_000


def test_used_bytes_stops_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting stops at the limit, so a folder of a million files takes little time."""
    for number in range(1000):
        (tmp_path / f"{number}").touch()
    size_of, counted = isolation._size_of, list[str]()
    monkeypatch.setattr(
        isolation, "_size_of", lambda entry: counted.append(entry.name) or size_of(entry)
    )
    assert used_bytes(str(tmp_path), 20_000) > 20_000
    assert len(counted) < 10


def test_a_folder_that_cannot_be_listed_exceeds_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A refused listing counts as too large. Root is refused nothing, so the error is simulated."""
    scan = os.scandir

    def refuse(path: str) -> Any:
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    (tmp_path / "shut").mkdir()
    monkeypatch.setattr(isolation.os, "scandir", refuse)
    assert used_bytes(str(tmp_path), 1 << 19) > 1 << 19


def test_remove_tree_removes_a_folder_and_its_content(tmp_path: Path) -> None:
    """A missing folder is not an error."""
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").write_text("x")
    remove_tree(str(folder))
    assert not folder.exists()
    remove_tree(str(folder))


def test_remove_tree_removes_very_deep_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders may be deeper than Python's recursion and longer than any path.

    Like inside bubblewrap, no other program can help.
    """
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    folder = tmp_path / "folder"
    folder.mkdir()
    before = os.getcwd()
    try:
        os.chdir(folder)
        for _ in range(1500):
            os.mkdir("d")
            Path("1").write_text("a name that a moved folder might have taken")
            os.chdir("d")
    finally:
        os.chdir(before)
    remove_tree(str(folder))
    assert not folder.exists()


def test_remove_tree_removes_folders_without_permissions(tmp_path: Path) -> None:
    """Folders that cannot be read or entered are removed too."""
    folder = tmp_path / "folder"
    (folder / "shut" / "inner").mkdir(parents=True)
    (folder / "shut" / "inner").chmod(0)
    (folder / "shut").chmod(0)
    remove_tree(str(folder))
    assert not folder.exists()


def test_remove_tree_does_not_follow_links(tmp_path: Path) -> None:
    """The target of a link keeps its content and its mode.

    This also holds if the first way of removing fails and the second way is used.
    """
    kept, folder = tmp_path / "kept", tmp_path / "folder"
    kept.mkdir(mode=0o500)
    (tmp_path / "file").write_text("kept")
    folder.mkdir()
    before = os.getcwd()
    try:
        os.chdir(folder)
        os.symlink(kept, "link")
        os.symlink(tmp_path / "file", "other")
        for _ in range(1100):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(before)
    remove_tree(str(folder))
    assert not folder.exists()
    assert (tmp_path / "file").read_text() == "kept"
    assert kept.stat().st_mode & 0o777 == 0o500
    os.symlink(kept, folder)
    remove_tree(str(folder))
    assert not os.path.lexists(folder)
    assert kept.stat().st_mode & 0o777 == 0o500


@linux
def test_unlinked_bytes_counts_what_a_process_keeps_open(tmp_path: Path) -> None:
    """A file without a name takes up its blocks until it is closed; a file with a name is listed.

    Memory that is mapped to a file without a name counts too, also after the file is closed.
    """
    before = unlinked_bytes(os.getpid(), str(tmp_path))
    with open(tmp_path / "named", "w+b") as file:
        file.write(os.urandom(100_000))
        file.flush()
        assert unlinked_bytes(os.getpid(), str(tmp_path)) == before
        (tmp_path / "named").unlink()
        assert unlinked_bytes(os.getpid(), str(tmp_path)) - before >= 98_304
        mapped = mmap.mmap(file.fileno(), 0)
    assert unlinked_bytes(os.getpid(), str(tmp_path)) - before >= 98_304
    mapped.close()
    assert unlinked_bytes(os.getpid(), str(tmp_path)) == before


@linux
def test_descendants_are_children_and_their_children() -> None:
    """Processes of other families are not found."""
    with subprocess.Popen(
        ["sh", "-c", "(sleep 60 & wait) & sleep 60 & wait"], start_new_session=True
    ) as shell:
        try:
            wait_until(lambda: len(list(descendants(shell.pid))) == 3)
            assert len(children(shell.pid)) == 2
            assert set(children(shell.pid)) < set(descendants(shell.pid))
            assert shell.pid in children(os.getpid())
        finally:
            os.killpg(shell.pid, signal.SIGKILL)
    assert list(descendants(shell.pid)) == []


@linux
def test_children_started_by_a_thread_are_found() -> None:
    """A process that another thread of the parent started is a child too."""
    script = (
        "import subprocess, sys, threading, time\n"
        "def go():\n"
        "    subprocess.Popen(['sleep', '60'])\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
        "threading.Thread(target=go).start()"
    )
    with subprocess.Popen(
        [sys.executable, "-S", "-c", script], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            assert process.stdout.readline() == b"ready\n"
            assert len(children(process.pid)) == 1
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_a_missing_process_has_no_children() -> None:
    """The functions return nothing for a process id that does not exist."""
    assert children(1 << 30) == []
    assert list(descendants(1 << 30)) == []


@pytest.mark.thorough
def test_bubblewrap_cannot_be_chosen_if_it_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The error names the missing program, and no folder is left behind."""
    monkeypatch.setattr(isolation.shutil, "which", lambda name: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert not isolation.bubblewrap_works()
    with pytest.raises(DrillError, match=r"bubblewrap .* is not installed"):
        ForkServer([pack_reader.PACKAGE], "bubblewrap")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def wrapped() -> Iterator[Grader]:
    """Yield a grader whose fork server runs inside bubblewrap."""
    with grader_by("bubblewrap") as made:
        yield made


@pytest.mark.thorough
@needs_bubblewrap
@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("right", "passed"),
        ("wrong", "failed"),
        ("raises", "error"),
        ("random", "passed"),
        ("prints", "passed"),
        ("no gradients", "failed"),
        ("broken", "error"),
    ],
)
def test_grading_in_bubblewrap_gives_the_same_report(
    wrapped: Grader, grader: Grader, name: str, verdict: str
) -> None:
    """The report does not depend on the isolation."""
    reports = [
        without_time(report_of(each_grader, SUMS, SUBMITTED[name], "prefix_sum.py", 11))
        for each_grader in (wrapped, grader)
    ]
    assert reports[0] == reports[1]
    assert reports[0].verdict == verdict


@pytest.mark.thorough
@needs_bubblewrap
@pytest.mark.parametrize(
    "place",
    [
        "..",
        "/tmp",
        "/dev/shm",
        "/dev",
        "/",
        "/root",
        "/home",
        "/usr",
        "/etc",
        "/var/tmp",
        "/run",
        "/proc/self/cwd/..",
    ],
)
def test_in_bubblewrap_a_submission_leaves_no_file_for_the_next(
    wrapped: Grader, place: str
) -> None:
    """The next submission may be another student's. It finds no file outside its own folder."""
    grade(
        wrapped,
        "try:\n"
        f"        open('{place}/attn-drill-left', 'w').write('x' * 9)\n"
        "    except OSError:\n"
        "        pass",
    )
    report = grade(wrapped, f"assert not os.path.exists('{place}/attn-drill-left'), 'found'")
    assert report.verdict == "passed", message_of(report)


DEEP = "for _ in range(1500):\n        os.mkdir('d')\n        os.chdir('d')\n    os._exit(0)"


SHUT = (
    "os.mkdir('outer') if not os.path.exists('outer') else os._exit(0)\n"
    "    os.mkdir('outer/shut', 0)\n"
    "    os.mkdir('outer/blind', 0o300)\n"
    "    open('outer/blind/file', 'w').close()"
)


@pytest.mark.thorough
@needs_bubblewrap
@pytest.mark.parametrize("where", [".", ".."])
@pytest.mark.parametrize("body", [DEEP, SHUT], ids=["deep", "shut"])
def test_in_bubblewrap_every_folder_is_removed(wrapped: Grader, body: str, where: str) -> None:
    """Very deep and unreadable folders are removed, in the worker's folder and next to it."""
    look = "print(*sorted(set(os.listdir('..')) - {os.path.basename(os.getcwd())}))"
    before = grade(wrapped, look).stdout
    grade(wrapped, f"os.chdir('{where}')\n    {body}")
    assert grade(wrapped, look).stdout == before


@pytest.mark.thorough
@needs_bubblewrap
@pytest.mark.parametrize("mode", ["rb", "r+b"])
def test_in_bubblewrap_the_memory_of_the_fork_server_is_out_of_reach(
    wrapped: Grader, mode: str
) -> None:
    """A worker that controlled the fork server could forge all later results."""
    report = grade(wrapped, f"open(f'/proc/{{os.getppid()}}/mem', '{mode}').close()")
    assert "it tried to" in message_of(report)


@pytest.mark.thorough
@needs_bubblewrap
def test_in_bubblewrap_a_full_disk_does_not_affect_the_next_submission(wrapped: Grader) -> None:
    """After a submission that fills every folder in reach, the next one still can write."""
    fill = (
        "for place in ('.', '..', '/tmp', '/dev/shm'):\n"
        "        try:\n"
        "            for n in range(9):\n"
        "                open(f'{place}/attn-drill-full-{n}', 'wb').write(bytes(8 << 20))\n"
        "        except OSError:\n"
        "            pass"
    )
    grade(wrapped, fill)
    report = grade(wrapped, "open('mine', 'wb').write(bytes(15 << 20))")
    assert report.verdict == "passed", message_of(report)


@pytest.mark.parametrize("how", ["kernel", "bubblewrap", "limits"])
def test_isolation_is_chosen_by_a_variable(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """ATTN_DRILL_ISOLATION names one of the three isolations."""
    monkeypatch.setenv("ATTN_DRILL_ISOLATION", how)
    assert chosen_isolation() == how


@pytest.mark.parametrize("wrong", ["docker", "Kernel", "kernel ", "none"])
def test_an_unknown_isolation_is_an_error(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    """The error states the value and the possible values."""
    monkeypatch.setenv("ATTN_DRILL_ISOLATION", wrong)
    with pytest.raises(
        DrillError,
        match=(
            f"ATTN_DRILL_ISOLATION is '{wrong}'. Set it to one of kernel, bubblewrap, limits, "
            "or unset"
        ),
    ):
        chosen_isolation()


@linux
@pytest.mark.parametrize(
    ("landlock", "seccomp", "bubblewrap", "chosen"),
    [
        (True, True, True, "kernel"),
        (True, False, True, "bubblewrap"),
        (False, True, True, "bubblewrap"),
        (False, False, True, "bubblewrap"),
    ],
)
def test_the_best_isolation_is_chosen_by_default(
    monkeypatch: pytest.MonkeyPatch, landlock: bool, seccomp: bool, bubblewrap: bool, chosen: str
) -> None:
    """The kernel's isolation is chosen only if it has both Landlock and seccomp."""
    monkeypatch.delenv("ATTN_DRILL_ISOLATION", raising=False)
    for name, has in (
        ("_has_landlock", landlock),
        ("has_seccomp", seccomp),
        ("bubblewrap_works", bubblewrap),
    ):
        monkeypatch.setattr(isolation, name, lambda has=has: has)
    assert chosen_isolation() == chosen


def test_other_systems_have_only_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a system other than Linux, no sandbox is tried."""
    monkeypatch.delenv("ATTN_DRILL_ISOLATION", raising=False)
    monkeypatch.setattr(isolation.sys, "platform", "darwin")
    assert chosen_isolation() == "limits"


def test_only_known_variables_reach_a_launched_process() -> None:
    """Only variables that Python and the system's loader need stay."""
    environment = {
        "PATH": "/bin",
        "LANG": "C",
        "HOME": "/home/ana",
        "API_KEY": "1",
        "SSH_AUTH_SOCK": "x",
        "PYTHONSTARTUP": "y",
    }
    assert clean_environment(environment) == {"PATH": "/bin", "LANG": "C", "OMP_NUM_THREADS": "1"}
