"""Choose the isolation of workers, isolate a fork server by bubblewrap, and watch its workers.

Landlock and seccomp confine a worker from inside (`confine`) and are preferred. If the kernel lacks
one of them, the fork server itself is started inside bubblewrap. If bubblewrap is missing too, only
the limits hold, and `grade` refuses to start.
"""

from __future__ import annotations

import contextlib
import io
import os
import platform
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from typing import Literal, get_args

from attn_drill.model.errors import DrillError
from attn_drill.sandbox._system_calls import SECCOMP, landlock_abi, libc
from attn_drill.sandbox.environment import PACKAGE, clean_environment

Isolation = Literal["kernel", "bubblewrap", "limits"]

VARIABLE = "ATTN_DRILL_ISOLATION"
FOLDER_BYTES = 64 << 20  # the most bytes that a worker's files may have at one time
# Inside bubblewrap the workers have their folders here, and can write nowhere else. The room is not
# /tmp: paths that a worker may read can lie below the user's own /tmp, and everything that workers
# leave in the room next to their folders is removed.
ROOM_INSIDE = "/room"
ARCHIVE = f"{ROOM_INSIDE}/engine.zip"
_PR_GET_SECCOMP = 21


def chosen_isolation() -> Isolation:
    """Return the isolation that ATTN_DRILL_ISOLATION names, or else the best one of this machine.

    A DrillError says if the variable has another value.
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
    if _has_landlock() and has_seccomp():
        return "kernel"
    return "bubblewrap" if bubblewrap_works() else "kernel"  # the parts that the kernel has


def _has_landlock() -> bool:
    return landlock_abi() >= 1


def has_seccomp() -> bool:
    """Return whether this kernel has seccomp, and attn-drill knows the calls of this machine."""
    return platform.machine() in SECCOMP and libc().prctl(_PR_GET_SECCOMP, 0, 0, 0, 0) >= 0


def bubblewrap_works() -> bool:
    """Return whether bubblewrap is installed and this user may start it."""
    program = shutil.which("bwrap")
    if program is None:
        return False
    words = "--unshare-all --die-with-parent --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp"
    try:
        subprocess.run(
            [program, *words.split(), "true"],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=20,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return True


def bubblewrap() -> str:
    """Return the path of bubblewrap's program, or raise a DrillError if it is not installed."""
    program = shutil.which("bwrap")
    if program is None:
        raise DrillError(f"bubblewrap (bwrap) is not installed. Install it, or unset {VARIABLE}.")
    return program


def start_in_bubblewrap(control: int, readable: Iterable[str]) -> subprocess.Popen[bytes]:
    """Start a fork server in a fresh interpreter inside bubblewrap.

    The fork server sees only the readable paths, has no network and no other processes, and can
    write only to a folder of bounded size. The code of attn-drill is passed in as an archive. The
    fork server removes the archive after the import, so no worker can read it.
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
        f"from attn_drill.worker._forkserver import serve_inside; serve_inside({control})"
    )
    environment = clean_environment(os.environ)
    command = [bubblewrap(), *"--unshare-all --die-with-parent --new-session --clearenv".split()]
    command += ["--cap-drop", "ALL"]
    for name, value in environment.items():
        command += ["--setenv", name, value]
    command += ["--size", str(FOLDER_BYTES), "--tmpfs", ROOM_INSIDE]
    command += "--dir /tmp --proc /proc --dev /dev".split()
    interpreter = os.path.realpath(sys.executable)
    for path in (*readable, interpreter):
        if not path.startswith(("/dev/", "/proc/")):
            command += ["--ro-bind-try", path, path]
    for path in ("/lib", "/lib64", "/bin"):  # on most systems these are links into /usr
        if os.path.islink(path):
            command += ["--symlink", os.readlink(path), path]
    # The root and /dev lie in memory too. Without the remount, one submission could leave files
    # there for the next submission.
    command += ["--remount-ro", "/dev", "--remount-ro", "/"]
    command += ["--file", str(archive.fileno()), ARCHIVE, "--chdir", ROOM_INSIDE]
    command += [interpreter, "-I", "-B", "-c", boot]
    with archive:
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
        for part in (".", "model", "sandbox", "worker"):
            for path in sorted((PACKAGE / part).glob("*.py")):
                archive.write(path, path.relative_to(PACKAGE.parent))
    return buffer.getvalue()


def remove_tree(path: str) -> None:
    """Remove a file, or a folder that a worker wrote, whatever modes and depth it has.

    Python's `rmtree` cannot remove very deep folders, and inside bubblewrap there is no `rm`.
    """
    if os.path.islink(path) or not os.path.isdir(path):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    with contextlib.suppress(OSError):  # what stays is tried again with the next folder
        os.chmod(path, 0o700)
        while names := os.listdir(path):
            for name in names:
                _remove_one_level(path, os.path.join(path, name))
        os.rmdir(path)


def _remove_one_level(top: str, path: str) -> None:
    """Remove a file, or a folder in `top`. The folders in it move up, so no path gets long."""
    if os.path.islink(path) or not os.path.isdir(path):
        os.unlink(path)
        return
    os.chmod(path, 0o700)
    for name in os.listdir(path):
        inner = os.path.join(path, name)
        if os.path.islink(inner) or not os.path.isdir(inner):
            os.unlink(inner)
        else:
            os.chmod(inner, 0o700)  # a folder can be moved only by somebody who may write to it
            os.rename(inner, os.path.join(top, secrets.token_hex(16)))
    os.rmdir(path)


def used_bytes(folder: str, most: int) -> int:
    """Return how many bytes the content of a folder takes up on the disk.

    Every entry counts as one block of 4096 bytes plus the blocks of the file. The count stops above
    `most`. A folder that cannot be listed counts as more than `most`: it may contain anything.
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


def unlinked_bytes(pid: int, folder: str, *, mapped: bool = True) -> int:
    """Return the bytes on the disk of files that a process has unlinked and keeps open or mapped.

    Args:
        folder: the folder of the process, in which it can make and map files.
        mapped: also count mapped files. This takes some milliseconds.
    """
    total = 0
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        for line in file if mapped else ():
            if line.rstrip().endswith("(deleted)") and folder in line:
                start, end = line.split()[0].split("-")
                total += int(end, 16) - int(start, 16)
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                status = os.stat(f"/proc/{pid}/fd/{name}")
                if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
                    total += status.st_blocks * 512
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
    pids: list[int] = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                pids += map(int, file.read().split())
    except (OSError, ValueError):
        return pids
    return pids
