"""How far workers can be shut off on this machine, and the means that act on a whole fork server: bubblewrap, and folders of bounded size.

Landlock and seccomp bind a worker from inside (`sandbox`) and are preferred. Where the kernel lacks one of them, the fork server
itself is started inside bubblewrap. Else there are limits alone, and `grade` refuses.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
import platform
import re
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, get_args

from trainer.model.errors import DrillError
from trainer.sandbox.environment import clean_environment
from trainer.sandbox.syscalls import LANDLOCK_CREATE_RULESET, MOUNT_SETATTR, SECCOMP

Isolation = Literal["kernel", "bubblewrap", "limits"]

VARIABLE = "ATTN_DRILL_ISOLATION"
FOLDER_BYTES = 64 << 20  # all that a worker may have written at one time
# Inside bubblewrap workers have their folders here, and can write nowhere else. It is not /tmp: what a worker may read can
# lie below the user's own /tmp, and what workers leave beside their folders is removed.
ROOM_INSIDE = "/room"
ARCHIVE = f"{ROOM_INSIDE}/engine.zip"
FOLDER_FILES = 4096
_TRAINER = Path(__file__).resolve().parents[1]
_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 1, 2, 4, 8, 32
_MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
# the options of a mount as /proc/self/mounts names them: a remount must repeat them
_MOUNT_FLAGS = {
    "nosuid": _MS_NOSUID,
    "nodev": _MS_NODEV,
    "noexec": _MS_NOEXEC,
    "noatime": 1 << 10,
    "nodiratime": 1 << 11,
    "relatime": 1 << 21,
}
_MNT_DETACH = 2
_AT_FDCWD, _AT_RECURSIVE, _MOUNT_ATTR_RDONLY = -100, 0x8000, 1
_PR_GET_SECCOMP = 21


def chosen_isolation() -> Isolation:
    """What the environment's ATTN_DRILL_ISOLATION says, else the best that this machine has.

    Raises:
        DrillError: if the variable names none.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted in get_args(Isolation):
        return wanted  # type: ignore[return-value]  # it is one of the three
    if wanted:
        raise DrillError(
            f"{VARIABLE} is {wanted!r}; it can be {', '.join(get_args(Isolation))}, or unset for the best there is."
        )
    if sys.platform != "linux":
        return "limits"
    if _has_landlock() and _has_seccomp():
        return "kernel"
    return "bubblewrap" if bubblewrap_works() else "kernel"  # with what of it there is


def _has_landlock() -> bool:
    return int(_libc().syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)) >= 1


def _has_seccomp() -> bool:
    return platform.machine() in SECCOMP and _libc().prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0


def bubblewrap_works() -> bool:
    """Whether there is a bubblewrap that this user may start."""
    program = shutil.which("bwrap")
    if program is None:
        return False
    trial = [
        program,
        "--unshare-all",
        "--die-with-parent",
        "--ro-bind",
        "/",
        "/",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "true",
    ]
    try:
        return (
            subprocess.run(
                trial,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=20,
            ).returncode
            == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def bubblewrap() -> str:
    """Where bubblewrap is.

    Raises:
        DrillError: if it is not installed.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise DrillError(f"bubblewrap (bwrap) is not installed. Install it, or unset {VARIABLE}.")
    return program


def start_in_bubblewrap(control: int, readable: Iterable[str]) -> subprocess.Popen[bytes]:
    """A fork server in a fresh interpreter that sees `readable` alone, has no network and no other processes, and writes to a bounded folder.

    Our own code is handed in as an archive, which the fork server removes once it is imported: no worker can read it.

    Args:
        control: the descriptor of the fork server's end of the socketpair.
    """
    archive = tempfile.TemporaryFile()  # noqa: SIM115  # bubblewrap reads it after this function
    archive.write(_own_code())
    archive.seek(0)
    readable = list(readable)
    # A worker can read these words: of the path only what it may read anyway, and not the folder of a checkout.
    places = [
        place
        for place in sys.path
        if any(f"{allowed}/".startswith(f"{place}/") for allowed in readable)
    ]
    boot = f"import sys; sys.path[:0] = [{ARCHIVE!r}]; sys.path += {places!r}; from trainer.worker.forkserver import serve_inside; serve_inside({control})"
    kept = [
        word
        for name, value in clean_environment(os.environ).items()
        for word in ("--setenv", name, value)
    ]
    command = [
        bubblewrap(),
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--cap-drop",
        "ALL",
        "--clearenv",
        *kept,
    ]
    command += [
        "--size",
        str(FOLDER_BYTES),
        "--tmpfs",
        ROOM_INSIDE,
        "--dir",
        "/tmp",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ]
    interpreter = os.path.realpath(sys.executable)
    for path in (
        *(one for one in readable if not one.startswith(("/dev/", "/proc/"))),
        interpreter,
    ):
        command += ["--ro-bind-try", path, path]
    for path in ("/lib", "/lib64", "/bin"):  # on most systems these are links into /usr
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
    # The root and /dev are memory too: what one file leaves there, the next one would find.
    command += ["--remount-ro", "/dev", "--remount-ro", "/"]
    command += [
        "--file",
        str(archive.fileno()),
        ARCHIVE,
        "--chdir",
        ROOM_INSIDE,
        interpreter,
        "-I",
        "-B",
        "-c",
        boot,
    ]
    with archive:
        environment = clean_environment(os.environ)
        return subprocess.Popen(
            command,
            env=environment,
            pass_fds=(control, archive.fileno()),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )


def _own_code() -> bytes:
    """The package as an archive that Python imports from."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for part in ("", "model", "sandbox", "worker"):
            for path in sorted((_TRAINER / part).glob("*.py")):
                archive.write(
                    path, f"trainer/{part}/{path.name}" if part else f"trainer/{path.name}"
                )
    return buffer.getvalue()


class Folders:
    """Folders for workers, under one that is removed in the end.

    If this process may mount, each folder is of bounded size and nobody else sees what is in
    it. This process and its children can then write to `parent` and to nothing else.

    bounded   whether that is so
    shared    whether workers may write to `parent` itself, as they may inside bubblewrap: what is left there goes too
    """

    def __init__(self, parent: str, *, shared: bool = False) -> None:
        self._parent = parent
        self._made: set[str] = set()
        self.bounded = sys.platform == "linux" and not shared and _mount_apart(parent)
        # Workers with limits alone can write to `parent` too.
        self._shared = shared or self.bounded

    def make(self) -> str:
        """A fresh folder."""
        folder = tempfile.mkdtemp(dir=self._parent)
        if self.bounded and not _mount_tmpfs(folder):
            os.rmdir(folder)
            raise OSError("no folder of bounded size can be mounted any more")
        self._made.add(folder)
        return folder

    def remove(self, folder: str) -> None:
        """Remove a folder with all that is in it, and what workers have left beside it."""
        if self.bounded and _libc().umount2(os.fsencode(folder), _MNT_DETACH) == 0:
            os.rmdir(folder)
        else:
            remove_tree(folder)
        self._made.discard(folder)
        for name in os.listdir(self._parent) if self._shared else ():
            if (left := os.path.join(self._parent, name)) not in self._made:
                if os.path.isdir(left) and not os.path.islink(left):
                    remove_tree(left)
                else:
                    os.unlink(left)


def _mount_apart(parent: str) -> bool:
    """Give this process its own view of the file system, with `parent` alone to write to.

    Returns:
        whether it may mount. Where not, everything stays as it was.

    Raises:
        OSError: if `parent` was made read-only with all the rest and stays so.
    """
    if os.geteuid() != 0 and not _in_a_child(lambda: _enter_namespaces() and _can_mount(parent)):
        return False  # found out in a child: half a user namespace is worse than none
    if not (_enter_namespaces() and _can_mount(parent)):
        return False
    _make_read_only(parent)
    return True


def _make_read_only(but: str) -> None:
    """Make all of the file system but one folder read-only, for this process and its children.

    If the kernel refuses, mounts stay as they are. Devices, pipes and files that are open
    already can be written to as before.
    """
    at = os.fsencode(os.path.realpath(but))  # as the list of mounts names it
    # As a mount of its own it can stay as it is.
    if _libc().mount(at, at, None, _MS_BIND, None) != 0:
        return
    if not _change_mounts(b"/", _AT_RECURSIVE, add=_MOUNT_ATTR_RDONLY):
        _remount_each_read_only(at)  # before Linux 5.12
    elif not _change_mounts(at, 0, take=_MOUNT_ATTR_RDONLY):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), but)


def _change_mounts(path: bytes, how: int, *, add: int = 0, take: int = 0) -> bool:
    """Add attributes to a mount and take others; return whether the kernel did.

    Args:
        how: `_AT_RECURSIVE` for all mounts below it too, else 0.
    """
    attributes = struct.pack("<QQQQ", add, take, 0, 0)
    at, size = _AT_FDCWD, len(attributes)
    return int(_libc().syscall(MOUNT_SETATTR, at, path, how, attributes, size)) == 0


def _remount_each_read_only(but: bytes) -> None:
    with open("/proc/self/mounts", "rb") as file:
        lines = file.read().splitlines()
    for line in lines:
        _, escaped, _, options, *_ = line.split(b" ")
        target = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), escaped)
        flags = _MS_REMOUNT | _MS_BIND | _MS_RDONLY
        for option in options.decode("ascii", "replace").split(","):
            flags |= _MOUNT_FLAGS.get(option, 0)
        # One that lies below another mount, or whose folder is out of reach, fails: no worker
        # reaches it either.
        if target != but:
            _libc().mount(None, target, None, flags, None)


def _enter_namespaces() -> bool:
    libc = _libc()
    user, group = os.geteuid(), os.getegid()
    if user == 0:
        entered = libc.unshare(_CLONE_NEWNS) == 0
    else:
        entered = libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS) == 0
        try:
            for name, text in (
                (
                    ("setgroups", "deny"),
                    ("uid_map", f"{user} {user} 1"),
                    ("gid_map", f"{group} {group} 1"),
                )
                if entered
                else ()
            ):
                Path(f"/proc/self/{name}").write_text(text, encoding="ascii")
        except OSError:
            return False
    return entered and bool(libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None) == 0)


def _can_mount(parent: str) -> bool:
    trial = tempfile.mkdtemp(dir=parent)
    mounted = _mount_tmpfs(trial)
    if mounted:
        _libc().umount2(os.fsencode(trial), _MNT_DETACH)
    os.rmdir(trial)
    return mounted


def _mount_tmpfs(folder: str) -> bool:
    options = f"size={FOLDER_BYTES},nr_inodes={FOLDER_FILES},mode=0700".encode()
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    return bool(_libc().mount(b"tmpfs", os.fsencode(folder), b"tmpfs", flags, options) == 0)


def _in_a_child(action: object) -> bool:
    """Whether the action succeeds in a process of its own."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if callable(action) and action() else 1
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def remove_tree(folder: str) -> None:
    """Remove a folder, also one that is nested too deep for Python's recursion or whose parts are unreadable. What cannot be removed stays."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except (RecursionError, OSError):
        with contextlib.suppress(OSError):
            _flatten_away(folder)


def _flatten_away(folder: str) -> None:
    """Remove a tree level by level: what lies in a folder's folders is moved up into it, so that no path grows long. No program is needed for it."""
    if os.path.islink(folder):
        os.unlink(folder)
        return
    os.chmod(folder, 0o700)
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    moved = 0
    try:
        while names := os.listdir(top):
            for name in names:
                if not _is_folder(name, top):
                    os.unlink(name, dir_fd=top)
                    continue
                os.chmod(name, 0o700, dir_fd=top)
                inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
                try:
                    for child in os.listdir(inner):
                        if _is_folder(child, inner):
                            os.chmod(
                                child, 0o700, dir_fd=inner
                            )  # else who is not root may not move it
                            moved = _free_number(moved, top)
                            os.rename(child, str(moved), src_dir_fd=inner, dst_dir_fd=top)
                        else:
                            os.unlink(child, dir_fd=inner)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(folder)


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode)


def _free_number(after: int, parent: int) -> int:
    """The next number that is no name in a folder yet."""
    while True:
        after += 1
        try:
            os.lstat(str(after), dir_fd=parent)
        except FileNotFoundError:
            return after


def used_bytes(folder: str, most: int) -> int:
    """What lies in a folder, counted no further than `most`; every entry counts for a block at least."""
    found, waiting = 0, [folder]
    while waiting and found <= most:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    found += 4096 + _size_of(entry)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    if found > most:
                        break
        except FileNotFoundError:
            continue  # it was removed meanwhile
        except OSError:
            return most + 1  # nobody knows what is in it
    return found


def nameless_bytes(pid: int) -> int:
    """What lies on the disk in files that a process has unlinked and keeps open."""
    found = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                status = os.stat(f"/proc/{pid}/fd/{name}")
                found += (
                    status.st_blocks * 512
                    if stat.S_ISREG(status.st_mode) and status.st_nlink == 0
                    else 0
                )
    return found


def _size_of(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except OSError:
        return 0


def descendants(pid: int) -> Iterator[int]:
    """All processes below one, where /proc tells."""
    waiting = [pid]
    while waiting:
        for child in children(waiting.pop()):
            yield child
            waiting.append(child)


def children(pid: int) -> list[int]:
    """The children of a process, whichever of its threads has started them, where /proc tells."""
    found: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                found += map(int, file.read().split())
    except (OSError, ValueError):
        return found
    return found


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
