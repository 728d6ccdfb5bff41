"""Choose the isolation of workers, and isolate a whole fork server: bubblewrap, bounded folders.

Landlock and seccomp confine a worker from inside (`confine`) and are preferred. If the kernel lacks
one of them, the fork server itself is started inside bubblewrap. If bubblewrap is missing too, only
the limits hold, and `grade` refuses to start.
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
FOLDER_BYTES = 64 << 20  # the most bytes that a worker's files may have at one time
# Inside bubblewrap the workers have their folders here, and can write nowhere else. The room is not
# /tmp: paths that a worker may read can lie below the user's own /tmp, and everything that workers
# leave in the room next to their folders is removed.
ROOM_INSIDE = "/room"
ARCHIVE = f"{ROOM_INSIDE}/engine.zip"
FOLDER_FILES = 4096
_TRAINER = Path(__file__).resolve().parents[1]
_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT = 1, 2, 4, 8, 32
_MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
# The options of a mount as /proc/self/mounts names them. A remount must repeat them.
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
    """Return the isolation that ATTN_DRILL_ISOLATION names, or else the best one of this machine.

    Raises:
        DrillError: if the variable has another value than "kernel", "bubblewrap" or "limits".
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted in get_args(Isolation):
        return wanted  # type: ignore[return-value]
    if wanted:
        raise DrillError(
            f"{VARIABLE} is {wanted!r}. Set it to one of {', '.join(get_args(Isolation))}, "
            "or unset it to use the best isolation of this machine."
        )
    if sys.platform != "linux":
        return "limits"
    if _has_landlock() and _has_seccomp():
        return "kernel"
    return "bubblewrap" if bubblewrap_works() else "kernel"  # the parts that the kernel has


def _has_landlock() -> bool:
    return int(_libc().syscall(LANDLOCK_CREATE_RULESET, None, 0, 1)) >= 1


def _has_seccomp() -> bool:
    return platform.machine() in SECCOMP and _libc().prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0


def bubblewrap_works() -> bool:
    """Return True if bubblewrap is installed and this user may start it."""
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
    """Return the path of bubblewrap's program.

    Raises:
        DrillError: if bubblewrap is not installed.
    """
    program = shutil.which("bwrap")
    if program is None:
        raise DrillError(f"bubblewrap (bwrap) is not installed. Install it, or unset {VARIABLE}.")
    return program


def start_in_bubblewrap(control: int, readable: Iterable[str]) -> subprocess.Popen[bytes]:
    """Start a fork server in a fresh interpreter inside bubblewrap.

    The fork server sees only the readable paths, has no network and no other processes, and can
    write only to a folder of bounded size. The code of attn-drill is passed in as an archive. The
    fork server removes the archive after the import, so no worker can read it.

    Args:
        control: the descriptor of the fork server's end of the socket pair.
        readable: the files and folders that workers may read.
    """
    archive = tempfile.TemporaryFile()  # noqa: SIM115  # closed when bubblewrap has inherited it
    archive.write(_own_code())
    archive.seek(0)
    readable = list(readable)
    # A worker can read this command line. So it names only import folders that the worker may read
    # anyway, and never the folder of a checkout.
    import_folders = [
        folder
        for folder in sys.path
        if any(f"{allowed}/".startswith(f"{folder}/") for allowed in readable)
    ]
    boot = (
        f"import sys; sys.path[:0] = [{ARCHIVE!r}]; sys.path += {import_folders!r}; "
        f"from trainer.worker.forkserver import serve_inside; serve_inside({control})"
    )
    variables = [
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
        *variables,
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
        *(path for path in readable if not path.startswith(("/dev/", "/proc/"))),
        interpreter,
    ):
        command += ["--ro-bind-try", path, path]
    for path in ("/lib", "/lib64", "/bin"):  # on most systems these are links into /usr
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
    # The root and /dev lie in memory too. Without the remount, one submission could leave files
    # there for the next submission.
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
    """Return the modules that a fork server needs, as an archive from which Python can import."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for part in ("", "model", "sandbox", "worker"):
            for path in sorted((_TRAINER / part).glob("*.py")):
                archive.write(
                    path, f"trainer/{part}/{path.name}" if part else f"trainer/{path.name}"
                )
    return buffer.getvalue()


class Folders:
    """The folders of workers, below a parent folder that the caller removes at the end.

    If this process may mount, each folder has a bounded size, and other processes do not see its
    content. Then this process and its children can write to `parent` and to nothing else.

    Args:
        parent: the folder in which the folders are made.
        shared: True if workers may write to `parent` itself, as they may inside bubblewrap.
            `remove` then also removes the files that workers left there.

    Attributes:
        bounded: True if this process may mount, so that the folders have a bounded size.
    """

    def __init__(self, parent: str, *, shared: bool = False) -> None:
        self._parent = parent
        self._made: set[str] = set()
        self.bounded = sys.platform == "linux" and not shared and _mount_apart(parent)
        # Workers with limits alone can write to `parent` too.
        self._shared = shared or self.bounded

    def make(self) -> str:
        """Make an empty folder and return its path.

        Raises:
            OSError: if no folder, or no folder of bounded size, can be made.
        """
        folder = tempfile.mkdtemp(dir=self._parent)
        if self.bounded and not _mount_tmpfs(folder):
            os.rmdir(folder)
            raise OSError("cannot mount another folder of bounded size")
        self._made.add(folder)
        return folder

    def remove(self, folder: str) -> None:
        """Remove a folder with its content, and everything that workers have left next to it."""
        if self.bounded and _libc().umount2(os.fsencode(folder), _MNT_DETACH) == 0:
            os.rmdir(folder)
        else:
            remove_tree(folder)
        self._made.discard(folder)
        for name in os.listdir(self._parent) if self._shared else ():
            if (path := os.path.join(self._parent, name)) not in self._made:
                if os.path.isdir(path) and not os.path.islink(path):
                    remove_tree(path)
                else:
                    os.unlink(path)


def _mount_apart(parent: str) -> bool:
    """Give this process its own view of the file system, in which only `parent` is writable.

    Returns:
        True if this process may mount. If it may not, nothing has changed.

    Raises:
        OSError: if `parent` became read-only with everything else and cannot be made writable.
    """
    if os.geteuid() != 0 and not _in_a_child(lambda: _enter_namespaces() and _can_mount(parent)):
        # The trial ran in a child: this process could not leave a user namespace again, even if
        # mounting fails in it.
        return False
    if not (_enter_namespaces() and _can_mount(parent)):
        return False
    _make_read_only(parent)
    return True


def _make_read_only(writable: str) -> None:
    """Make the file system read-only except one folder, for this process and its children.

    If the kernel refuses, the mounts do not change. Devices, pipes and files that are already open
    remain writable.
    """
    at = os.fsencode(os.path.realpath(writable))  # the form in which /proc/self/mounts names it
    # The folder becomes a separate mount, which can stay writable.
    if _libc().mount(at, at, None, _MS_BIND, None) != 0:
        return
    if not _change_mounts(b"/", _AT_RECURSIVE, add=_MOUNT_ATTR_RDONLY):
        _remount_each_read_only(at)  # before Linux 5.12
    elif not _change_mounts(at, 0, remove=_MOUNT_ATTR_RDONLY):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), writable)


def _change_mounts(path: bytes, flags: int, *, add: int = 0, remove: int = 0) -> bool:
    """Add attributes to a mount and remove others; return True if the kernel agreed.

    Args:
        path: the path of the mount.
        flags: `_AT_RECURSIVE` to change all mounts below the path too, or 0.
        add: the attributes to add.
        remove: the attributes to remove.
    """
    attributes = struct.pack("<QQQQ", add, remove, 0, 0)
    at, size = _AT_FDCWD, len(attributes)
    return int(_libc().syscall(MOUNT_SETATTR, at, path, flags, attributes, size)) == 0


def _remount_each_read_only(writable: bytes) -> None:
    with open("/proc/self/mounts", "rb") as file:
        lines = file.read().splitlines()
    for line in lines:
        _, escaped, _, options, *_ = line.split(b" ")
        target = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), escaped)
        flags = _MS_REMOUNT | _MS_BIND | _MS_RDONLY
        for option in options.decode("ascii", "replace").split(","):
            flags |= _MOUNT_FLAGS.get(option, 0)
        # The call fails for a mount that another mount covers, and for a mount whose folder this
        # process cannot reach. No worker can reach these mounts either.
        if target != writable:
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
    """Return True if the action succeeds in a separate process."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if callable(action) and action() else 1
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1] == 0


def remove_tree(folder: str) -> None:
    """Remove a folder with its content. Skip everything that cannot be removed.

    The folder may be nested too deep for Python's recursion, and parts of it may be unreadable.
    """
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except (RecursionError, OSError):
        with contextlib.suppress(OSError):
            _flatten_away(folder)


def _flatten_away(folder: str) -> None:
    """Remove a tree level by level, without recursion and without another program.

    The folders of the second level are moved up to the first level, so that no path becomes long.
    """
    if os.path.islink(folder):
        os.unlink(folder)
        return
    os.chmod(folder, 0o700)
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    last_name = 0
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
                            # Without this permission, only root may move the folder.
                            os.chmod(child, 0o700, dir_fd=inner)
                            last_name = _next_free_name(last_name, top)
                            os.rename(child, str(last_name), src_dir_fd=inner, dst_dir_fd=top)
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


def _next_free_name(last_name: int, parent: int) -> int:
    """Return the next number that is not yet the name of an entry in a folder."""
    while True:
        last_name += 1
        try:
            os.lstat(str(last_name), dir_fd=parent)
        except FileNotFoundError:
            return last_name


def used_bytes(folder: str, most: int) -> int:
    """Return how many bytes the content of a folder takes up on the disk.

    Every entry counts as one block of 4096 bytes plus the blocks of the file.

    Args:
        folder: the path of the folder.
        most: stop counting when the sum exceeds this number of bytes.

    Returns:
        The sum in bytes. A number above `most` if a folder cannot be listed, because nobody knows
        what such a folder contains.
    """
    used, unvisited = 0, [folder]
    while unvisited and used <= most:
        try:
            with os.scandir(unvisited.pop()) as entries:
                for entry in entries:
                    used += 4096 + _size_of(entry)
                    if entry.is_dir(follow_symlinks=False):
                        unvisited.append(entry.path)
                    if used > most:
                        break
        except FileNotFoundError:
            continue  # the folder was removed in the meantime
        except OSError:
            return most + 1
    return used


def unlinked_bytes(pid: int) -> int:
    """Return the bytes on the disk of files that a process has unlinked and keeps open."""
    total = 0
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                status = os.stat(f"/proc/{pid}/fd/{name}")
                total += (
                    status.st_blocks * 512
                    if stat.S_ISREG(status.st_mode) and status.st_nlink == 0
                    else 0
                )
    return total


def _size_of(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_blocks * 512
    except OSError:
        return 0


def descendants(pid: int) -> Iterator[int]:
    """Yield all descendants of a process, if /proc lists them (Linux)."""
    unvisited = [pid]
    while unvisited:
        for child in children(unvisited.pop()):
            yield child
            unvisited.append(child)


def children(pid: int) -> list[int]:
    """Return the children of a process, if /proc lists them (Linux).

    Any thread of the process may have started them.
    """
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
