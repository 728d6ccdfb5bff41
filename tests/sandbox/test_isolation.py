"""What acts on a whole fork server: folders of bounded size, looking after workers, one request for many, bubblewrap; and that nothing is left behind."""

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
    """As if this user might mount nothing; fork servers that start from here on have folders on the disk."""
    monkeypatch.setattr(isolation, "_mount_apart", lambda parent: False)


def in_a_child(action: Callable[[], Any]) -> Any:
    """What the action gives in a process of its own: it changes what a process sees of the file system."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writing, json.dumps(action()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as told:
        text = told.read()
    os.waitpid(pid, 0)
    assert text, "the child died"
    return json.loads(text)


def test_used_bytes_of_nothing(tmp_path: Path) -> None:
    """An empty folder and one that is gone hold nothing."""
    assert used_bytes(str(tmp_path), 1 << 20) == 0
    assert used_bytes(str(tmp_path / "gone"), 1 << 20) == 0


def test_used_bytes_counts_blocks_and_entries(tmp_path: Path) -> None:
    """What is counted is what lies on the disk, at least a block for each entry, however deep."""
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(os.urandom(100_000))
    found = used_bytes(str(tmp_path), 1 << 30)
    assert 3 * 4096 + 98_304 <= found < 200_000
    for number in range(100):
        (tmp_path / f"{number}").touch()
    assert used_bytes(str(tmp_path), 1 << 30) >= found + 100 * 4096


def test_used_bytes_of_a_sparse_file(tmp_path: Path) -> None:
    """A hole takes up nothing."""
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(1 << 30)
    assert used_bytes(str(tmp_path), 1 << 31) < 1 << 20


def test_used_bytes_follows_no_link(tmp_path: Path) -> None:
    """A link to a large folder, to itself or to nowhere is an entry and no more."""
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
    """Beyond what is asked nothing is counted: a folder of a million files costs no more than one of a few."""
    for number in range(1000):
        (tmp_path / f"{number}").touch()
    size_of, asked = isolation._size_of, list[str]()
    monkeypatch.setattr(
        isolation, "_size_of", lambda entry: asked.append(entry.name) or size_of(entry)
    )
    assert used_bytes(str(tmp_path), 20_000) > 20_000
    assert len(asked) < 10


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root reads every folder")
def test_used_bytes_of_a_folder_that_may_not_be_listed(tmp_path: Path) -> None:
    """A folder that was made unreadable counts as too much: nobody knows what is in it."""
    (tmp_path / "shut").mkdir()
    (tmp_path / "shut" / "file").write_bytes(os.urandom(1 << 20))
    (tmp_path / "shut").chmod(0o300)
    assert used_bytes(str(tmp_path), 1 << 19) > 1 << 19


def test_an_unlistable_folder_is_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for root, who would have to be refused first."""
    scan = os.scandir

    def refuse(path: str) -> Any:
        if str(path).endswith("shut"):
            raise PermissionError(13, "Permission denied", path)
        return scan(path)

    (tmp_path / "shut").mkdir()
    monkeypatch.setattr(isolation.os, "scandir", refuse)
    assert used_bytes(str(tmp_path), 1 << 19) > 1 << 19


def test_remove_tree(tmp_path: Path) -> None:
    """A folder goes with all that is in it; one that is gone already is no error."""
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").write_text("x")
    remove_tree(str(folder))
    assert not folder.exists()
    remove_tree(str(folder))


def test_remove_tree_beyond_recursion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders nested deeper than Python's recursion and longer than any path; no program is there to help, as inside bubblewrap."""
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


def test_remove_tree_of_what_is_shut(tmp_path: Path) -> None:
    """Folders without any permission go too."""
    folder = tmp_path / "folder"
    (folder / "shut" / "inner").mkdir(parents=True)
    (folder / "shut" / "inner").chmod(0)
    (folder / "shut").chmod(0)
    remove_tree(str(folder))
    assert not folder.exists()


def test_remove_tree_follows_no_link(tmp_path: Path) -> None:
    """What a link points to stays as it is, with its mode; also where the first way of removing fails and the second one is taken."""
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
def test_folders_with_mounts(tmp_path: Path) -> None:
    """Where this process may mount, a folder takes so many bytes and files and no more; others see nothing of it, and it goes without a trace."""

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
        Path(tmp_path, "told").write_text(json.dumps(made))
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
    told = tmp_path / "told"
    wait_until(
        lambda: (
            (told.exists() and bool(told.read_text()))
            or os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        )
    )
    seen_from_here = (
        [os.listdir(folder) for folder in json.loads(told.read_text())] if told.exists() else []
    )
    (tmp_path / "seen").touch()
    with os.fdopen(reading) as file:
        found = json.loads(file.read())
    os.waitpid(pid, 0)
    if found is None:
        pytest.skip("this user may not mount, not even in a namespace of its own")
    assert seen_from_here == [[], []]
    assert found["written"] <= FOLDER_BYTES
    assert 1000 < found["files"] <= 4096
    assert found["left"] == []
    assert found["same"]


def test_folders_without_mounts(tmp_path: Path, without_mounts: None) -> None:
    """Where it may not, they are folders like any other, and say so."""
    folders = Folders(str(tmp_path))
    assert not folders.bounded
    made = folders.make()
    Path(made, "file").write_text("x")
    folders.remove(made)
    assert list(tmp_path.iterdir()) == []


@linux
def test_whether_mounting_works_is_found_out_without_a_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mount that fails leaves a process that still makes folders."""
    monkeypatch.setattr(isolation, "_mount_tmpfs", lambda folder: False)

    def action() -> list[Any]:
        folders = Folders(str(tmp_path))
        folder = folders.make()
        Path(folder, "file").write_text("x")
        folders.remove(folder)
        return [folders.bounded, os.listdir(tmp_path)]

    assert in_a_child(action) == [False, []]


NOBODY = 65534


def tried_to_change(room: str, outside: Path) -> dict[str, Any]:
    """Return the errors of changes in a worker's folder and outside of it; 0 for a success."""

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
    file, there = outside / "file", os.path.join(folder, "file")
    found = {
        "bounded": True,
        "inside": [
            error_of(action)
            for action in (
                lambda: Path(there).write_text("x"),
                lambda: os.chmod(there, 0o600),
                lambda: os.utime(there),
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
@pytest.mark.parametrize("by_itself", [False, True], ids=["all at once", "mount by mount"])
@pytest.mark.parametrize("user", [0, NOBODY], ids=["root", "nobody"])
def test_all_but_the_folders_is_read_only(
    monkeypatch: pytest.MonkeyPatch, user: int, by_itself: bool
) -> None:
    """Nothing outside the workers' folders can be changed; for others all is as before."""
    if os.geteuid() not in (0, user):
        pytest.skip("only root can be both")
    if by_itself:  # as before Linux 5.12
        monkeypatch.setattr(isolation, "_change_mounts", lambda *given, **more: False)
    with tempfile.TemporaryDirectory() as place:
        room, outside = Path(place, "room"), Path(place, "outside")
        for made in (Path(place), room, outside, outside / "a space"):
            made.mkdir(exist_ok=True)
            os.chown(made, user, user)
        (outside / "file").write_text("kept")
        os.chown(outside / "file", user, user)
        given = (outside / "file").stat()

        def action() -> dict[str, Any]:
            if os.geteuid() != user:
                codecs.lookup("ascii")  # the other user may not be able to read where Python lies
                os.setgroups([])
                os.setgid(user)
                os.setuid(user)
                ctypes.CDLL(None).prctl(
                    4, 1, 0, 0, 0
                )  # PR_SET_DUMPABLE: /proc/self is this user's, as after a login
            return tried_to_change(str(room), outside)

        found = in_a_child(action)
        Path("/dev/shm/attn-drill-escaped").unlink(missing_ok=True)
        if not found["bounded"]:
            pytest.skip("this user may not mount, not even in a namespace of its own")
        assert found == {
            "bounded": True,
            "inside": [0, 0, 0],
            "outside": [errno.EROFS] * 8,
            "null": 0,
            "left": [],
        }
        assert (outside / "file").read_text() == "kept"
        now = (outside / "file").stat()
        assert (now.st_mode, now.st_mtime_ns, now.st_ctime_ns) == (
            given.st_mode,
            given.st_mtime_ns,
            given.st_ctime_ns,
        )
        (outside / "a space" / "new").touch()


@linux
def test_mounts_with_odd_names_are_made_read_only_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The list of mounts writes a space as a number; such a mount is found all the same."""
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
        pytest.skip("this user may not mount, not even in a namespace of its own")
    assert found == [errno.EROFS]


@linux
def test_descendants() -> None:
    """Children and their children are found, and nobody else's."""
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
def test_children_of_a_thread() -> None:
    """A process that another thread has started is a child as well."""
    script = "import subprocess, sys, threading, time\ndef go():\n    subprocess.Popen(['sleep', '60'])\n    print('ready', flush=True)\n    time.sleep(60)\nthreading.Thread(target=go).start()"
    with subprocess.Popen(
        [sys.executable, "-S", "-c", script], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            assert len(children(process.pid)) == 1
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_nobody_has_no_children() -> None:
    """A process that is gone, or never was, has none."""
    assert children(1 << 30) == []
    assert list(descendants(1 << 30)) == []


@pytest.mark.thorough
def test_without_bubblewrap_it_cannot_be_chosen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The error says what is missing, and no folder is left by it."""
    monkeypatch.setattr(isolation.shutil, "which", lambda name: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert not isolation.bubblewrap_works()
    with pytest.raises(DrillError, match=r"bubblewrap .* is not installed"):
        ForkServer([pack_reader.TRAINER], "bubblewrap")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def wrapped() -> Iterator[Grader]:
    """A grader whose fork server lives in bubblewrap."""
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
def test_grading_in_bubblewrap(wrapped: Grader, grader: Grader, name: str, verdict: str) -> None:
    """It gives the same reports as any other means."""
    reports = [
        without_time(report_of(each, SUMS, SUBMITTED[name], "prefix_sum.py", 11))
        for each in (wrapped, grader)
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
def test_in_bubblewrap_nothing_is_left_for_the_next_one(wrapped: Grader, place: str) -> None:
    """What one file writes outside its own folder, the next one does not find: they are different students'."""
    grade(
        wrapped,
        f"try:\n        open('{place}/attn-drill-left', 'w').write('x' * 9)\n    except OSError:\n        pass",
    )
    report = grade(wrapped, f"assert not os.path.exists('{place}/attn-drill-left'), 'found'")
    assert report.verdict == "passed", message_of(report)


DEEP = "for _ in range(1500):\n        os.mkdir('d')\n        os.chdir('d')\n    os._exit(0)"


SHUT = "os.mkdir('outer') if not os.path.exists('outer') else os._exit(0)\n    os.mkdir('outer/shut', 0)\n    os.mkdir('outer/blind', 0o300)\n    open('outer/blind/file', 'w').close()"


@pytest.mark.thorough
@needs_bubblewrap
@pytest.mark.parametrize("where", [".", ".."])
@pytest.mark.parametrize("body", [DEEP, SHUT], ids=["deep", "shut"])
def test_in_bubblewrap_every_folder_goes(wrapped: Grader, body: str, where: str) -> None:
    """Folders that are nested beyond recursion or that nobody may look into go like all others, wherever they were made."""
    look = "print(*sorted(set(os.listdir('..')) - {os.path.basename(os.getcwd())}))"
    before = grade(wrapped, look).stdout
    grade(wrapped, f"os.chdir('{where}')\n    {body}")
    assert grade(wrapped, look).stdout == before


@pytest.mark.thorough
@needs_bubblewrap
@pytest.mark.parametrize("mode", ["rb", "r+b"])
def test_in_bubblewrap_the_fork_server_is_out_of_reach(wrapped: Grader, mode: str) -> None:
    """Its memory is neither read nor written: whoever holds the fork server holds all results to come."""
    report = grade(wrapped, f"open(f'/proc/{{os.getppid()}}/mem', '{mode}').close()")
    assert "it tried to" in message_of(report)


@pytest.mark.thorough
@needs_bubblewrap
def test_in_bubblewrap_a_full_disk_is_nobody_elses(wrapped: Grader) -> None:
    """A file that fills all that it can reach leaves room for the next one."""
    fill = "for place in ('.', '..', '/tmp', '/dev/shm'):\n        try:\n            for n in range(9):\n                open(f'{place}/attn-drill-full-{n}', 'wb').write(bytes(8 << 20))\n        except OSError:\n            pass"
    grade(wrapped, fill)
    report = grade(wrapped, "open('mine', 'wb').write(bytes(15 << 20))")
    assert report.verdict == "passed", message_of(report)


@pytest.mark.parametrize("how", ["kernel", "bubblewrap", "limits"])
def test_isolation_is_chosen_by_a_variable(monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """ATTN_DRILL_ISOLATION names one of the three."""
    monkeypatch.setenv("ATTN_DRILL_ISOLATION", how)
    assert chosen_isolation() == how


@pytest.mark.parametrize("wrong", ["docker", "Kernel", "kernel ", "none"])
def test_a_wrong_choice_is_an_error(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    """Any other value is refused with both: what it is and what it can be."""
    monkeypatch.setenv("ATTN_DRILL_ISOLATION", wrong)
    with pytest.raises(
        DrillError,
        match=f"ATTN_DRILL_ISOLATION is '{wrong}'; it can be kernel, bubblewrap, limits, or unset",
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
def test_the_best_there_is_is_chosen(
    monkeypatch: pytest.MonkeyPatch, landlock: bool, seccomp: bool, bubblewrap: bool, chosen: str
) -> None:
    """Landlock and seccomp together, or else bubblewrap."""
    monkeypatch.delenv("ATTN_DRILL_ISOLATION", raising=False)
    for name, has in (
        ("_has_landlock", landlock),
        ("_has_seccomp", seccomp),
        ("bubblewrap_works", bubblewrap),
    ):
        monkeypatch.setattr(isolation, name, lambda has=has: has)
    assert chosen_isolation() == chosen


def test_elsewhere_there_are_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a system that is no Linux nothing is tried."""
    monkeypatch.delenv("ATTN_DRILL_ISOLATION", raising=False)
    monkeypatch.setattr(isolation.sys, "platform", "darwin")
    assert chosen_isolation() == "limits"
