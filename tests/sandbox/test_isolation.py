"""The choice of the isolation, the workers' folders, process families, and bubblewrap."""

from __future__ import annotations

import codecs
import contextlib
import ctypes
import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.grading import report_of
from tests.support.isolation import (
    SUBMITTED,
    SUMS,
    grade,
    grader_by,
    message_of,
    needs_bubblewrap,
    without_time,
)
from tests.support.sandbox import linux
from tests.support.waiting import wait_until
from trainer.grading.grader import Grader
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.sandbox import isolation
from trainer.sandbox.isolation import (
    FOLDER_BYTES,
    Folders,
    children,
    chosen_isolation,
    descendants,
    remove_tree,
    used_bytes,
)
from trainer.worker.forkserver_client import ForkServer


@pytest.fixture
def without_mounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Act as if this user may not mount, so that new fork servers have folders on the disk."""
    monkeypatch.setattr(isolation, "_mount_apart", lambda parent: False)


def in_a_child(action: Callable[[], Any]) -> Any:
    """Return the result of an action in a child process.

    The action changes its process's view of the file system.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, json.dumps(action()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    os.waitpid(pid, 0)
    assert text, "the child died"
    return json.loads(text)


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


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root reads every folder")
def test_used_bytes_of_an_unreadable_folder_exceed_the_limit(tmp_path: Path) -> None:
    """An unreadable folder counts as too large, because its content is unknown."""
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut" / "file").write_bytes(os.urandom(1 << 20))
    (tmp_path / "shut").chmod(0o300)
    assert used_bytes(str(tmp_path), 1 << 19) > 1 << 19


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
def test_mounted_folders_are_bounded_and_private(tmp_path: Path) -> None:
    """If this process may mount, a folder has a limit of bytes and files.

    Other processes do not see its content, and after its removal no mount is left.
    """

    def action() -> dict[str, Any] | None:
        folders = Folders(str(tmp_path))
        if not folders.bounded:
            return None
        mounts = Path("/proc/self/mounts").read_text()
        made = [folders.make(), folders.make()]
        written, files = 0, 0
        with contextlib.suppress(OSError), open(f"{made[0]}/file", "wb", buffering=0) as file:
            while written < 4 * FOLDER_BYTES:
                written += file.write(bytes(1 << 20))
        with contextlib.suppress(OSError):
            while files < 20_000:
                open(f"{made[1]}/{files}", "x").close()
                files += 1
        Path(tmp_path, "folders.json").write_text(json.dumps(made))
        wait_until(lambda: Path(tmp_path, "seen").exists())
        for folder in made:
            folders.remove(folder)
        return {
            "written": written,
            "files": files,
            "left": [folder for folder in made if os.path.exists(folder)],
            "same": Path("/proc/self/mounts").read_text() == mounts,
        }

    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, json.dumps(action()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    list_of_folders = tmp_path / "folders.json"
    wait_until(
        lambda: (
            (list_of_folders.exists() and bool(list_of_folders.read_text()))
            or os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        )
    )
    seen_from_here = (
        [os.listdir(folder) for folder in json.loads(list_of_folders.read_text())]
        if list_of_folders.exists()
        else []
    )
    (tmp_path / "seen").touch()
    with os.fdopen(reading) as file:
        result = json.loads(file.read())
    os.waitpid(pid, 0)
    if result is None:
        pytest.skip("this user may not mount, not even in a separate namespace")
    assert seen_from_here == [[], []]
    assert result["written"] <= FOLDER_BYTES
    assert 1000 < result["files"] <= 4096
    assert result["left"] == []
    assert result["same"]


def test_folders_without_mounts_are_ordinary_folders(tmp_path: Path, without_mounts: None) -> None:
    """If this process may not mount, `bounded` is False and the folders lie on the disk."""
    folders = Folders(str(tmp_path))
    assert not folders.bounded
    made = folders.make()
    Path(made, "file").write_text("x")
    folders.remove(made)
    assert list(tmp_path.iterdir()) == []


@linux
def test_a_failed_mount_leaves_ordinary_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a failed trial mount, this process still makes and removes folders."""
    monkeypatch.setattr(isolation, "_mount_tmpfs", lambda folder: False)

    def action() -> list[Any]:
        folders = Folders(str(tmp_path))
        folder = folders.make()
        Path(folder, "file").write_text("x")
        folders.remove(folder)
        return [folders.bounded, os.listdir(tmp_path)]

    assert in_a_child(action) == [False, []]


NOBODY = 65534


def errors_of_changes(room: str, outside: Path) -> dict[str, Any]:
    """Return the error numbers of changes inside and outside a worker's folder; 0 for success."""

    def error_of(action: Callable[[], object]) -> int:
        try:
            action()
        except OSError as error:
            return error.errno or -1
        return 0

    folders = Folders(room)
    if not folders.bounded:
        return {"bounded": False}
    folder = folders.make()
    file, own_file = outside / "file", os.path.join(folder, "file")
    found = {
        "bounded": True,
        "inside": [
            error_of(action)
            for action in (
                lambda: Path(own_file).write_text("x"),
                lambda: os.chmod(own_file, 0o600),
                lambda: os.utime(own_file),
            )
        ],
        "outside": [
            error_of(lambda: file.write_text("x")),
            error_of(lambda: os.chmod(file, 0o600)),
            error_of(lambda: os.utime(file)),
            error_of(lambda: os.setxattr(file, "user.note", b"x")),
            error_of(lambda: os.rename(file, outside / "other")),
            error_of(lambda: os.mkdir(outside / "new")),
            error_of(lambda: Path("/dev/shm/attn-drill-escaped").touch()),
            error_of(lambda: Path(outside, "a space", "new").touch()),
        ],
        "null": error_of(lambda: Path(os.devnull).write_text("x")),
    }
    folders.remove(folder)
    found["left"] = os.listdir(room)
    return found


@linux
@pytest.mark.parametrize("one_by_one", [False, True], ids=["all at once", "mount by mount"])
@pytest.mark.parametrize("user", [0, NOBODY], ids=["root", "nobody"])
def test_everything_outside_the_folders_is_read_only(
    monkeypatch: pytest.MonkeyPatch, user: int, one_by_one: bool
) -> None:
    """This process can change nothing outside the workers' folders. Other processes still can."""
    if os.geteuid() not in (0, user):
        pytest.skip("only root can be both")
    if one_by_one:  # like a kernel before Linux 5.12
        monkeypatch.setattr(isolation, "_change_mounts", lambda *before, **more: False)
    with tempfile.TemporaryDirectory() as base:
        room, outside = Path(base, "room"), Path(base, "outside")
        for made in (Path(base), room, outside, outside / "a space"):
            made.mkdir(exist_ok=True)
            os.chown(made, user, user)
        (outside / "file").write_text("kept")
        os.chown(outside / "file", user, user)
        before = (outside / "file").stat()

        def action() -> dict[str, Any]:
            if os.geteuid() != user:
                codecs.lookup("ascii")  # the other user may be unable to read Python's folder
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
                # PR_SET_DUMPABLE: this user owns /proc/self, as after a login.
                ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
            return errors_of_changes(str(room), outside)

        found = in_a_child(action)
        Path("/dev/shm/attn-drill-escaped").unlink(missing_ok=True)
        if not found["bounded"]:
            pytest.skip("this user may not mount, not even in a separate namespace")
        assert found == {
            "bounded": True,
            "inside": [0, 0, 0],
            "outside": [errno.EROFS] * 8,
            "null": 0,
            "left": [],
        }
        assert (outside / "file").read_text() == "kept"
        after = (outside / "file").stat()
        assert (after.st_mode, after.st_mtime_ns, after.st_ctime_ns) == (
            before.st_mode,
            before.st_mtime_ns,
            before.st_ctime_ns,
        )
        (outside / "a space" / "new").touch()


@linux
def test_mounts_with_special_characters_become_read_only(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The list of mounts writes a space as an octal number. The mount must still be found."""
    monkeypatch.setattr(isolation, "_change_mounts", lambda *given, **more: False)
    odd, room = tmp_path / "an odd\tname\\", tmp_path / "room"
    odd.mkdir()
    room.mkdir()

    def action() -> list[Any]:
        if not (isolation._enter_namespaces() and isolation._mount_tmpfs(str(odd))):
            return []
        (odd / "before").touch()
        isolation._make_read_only(str(room))
        (room / "file").touch()
        try:
            (odd / "after").touch()
        except OSError as error:
            return [error.errno]
        return [0]

    found = in_a_child(action)
    if not found:
        pytest.skip("this user may not mount, not even in a separate namespace")
    assert found == [errno.EROFS]


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
            assert process.stdout is not None
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
        ForkServer([pack_reader.TRAINER], "bubblewrap")
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
        ("_has_seccomp", seccomp),
        ("bubblewrap_works", bubblewrap),
    ):
        monkeypatch.setattr(isolation, name, lambda has=has: has)
    assert chosen_isolation() == chosen


def test_other_systems_have_only_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a system other than Linux, no sandbox is tried."""
    monkeypatch.delenv("ATTN_DRILL_ISOLATION", raising=False)
    monkeypatch.setattr(isolation.sys, "platform", "darwin")
    assert chosen_isolation() == "limits"
