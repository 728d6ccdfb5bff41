"""Read and write the learner's files. A file that exists is renamed, never overwritten."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from attn_drill.model.errors import DrillError

MOST_SOURCE_BYTES = 1 << 20


def read_source(
    path: Path,
    *,
    name: str = "",
    if_empty: str = "Write your answer there; `attn-drill reset` gives a fresh stub.",
    most_bytes: int = MOST_SOURCE_BYTES,
) -> str:
    """Return the text of a submission, or raise a DrillError that calls it `name` or by its path.

    `if_empty` is the advice about an empty file.
    """
    name = name or str(path)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise DrillError(f"{name} is a folder. Name the Python file in it.")
        if not stat.S_ISREG(status.st_mode):
            raise DrillError(f"{name} is not a regular file. Name a Python file.")
        if status.st_size > most_bytes:
            raise DrillError(
                f"{name} has {status.st_size:,} bytes; at most {most_bytes:,} are graded."
                " Is it the right file?"
            )
        data = path.read_bytes()
    except FileNotFoundError:
        raise DrillError(
            f"There is no file {name}. Check the name, or run `attn-drill start` for a stub."
        ) from None
    except OSError as error:
        raise DrillError(
            f"{name} cannot be read: {error.strerror or error}. Check its name and permissions."
        ) from None
    return decode_source(data, name, if_empty)


def decode_source(data: bytes, name: str, if_empty: str) -> str:
    """Return the text of a submission, which is UTF-8 with or without a byte order mark."""
    if not data.strip():
        raise DrillError(f"{name} is empty. {if_empty}")
    if b"\0" in data:
        raise DrillError(
            f"{name} holds a NUL byte at offset {data.index(0)}, so it is not Python text."
            " Save it as UTF-8."
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DrillError(
            f"{name} is not UTF-8: byte {error.object[error.start]:#04x} at offset {error.start}."
            " Save it as UTF-8."
        ) from None


def write_new(path: Path, text: str) -> None:
    """Write a file that must not exist yet, or raise a DrillError and leave no file behind."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                path.unlink(missing_ok=True)
                raise
    except FileExistsError:
        raise DrillError(
            f"Another program has just created {path}. The file is left unchanged. Try again."
        ) from None
    except OSError as error:
        raise DrillError(
            f"{path} cannot be written: {error.strerror or error}."
            " Choose another folder with --dir."
        ) from None


def keep_aside(path: Path) -> Path:
    """Rename a file to the first free `name.old-N.py` in its folder, or raise a DrillError."""
    copy_number = 1
    while True:
        target = path.with_name(f"{path.stem}.old-{copy_number}{path.suffix}")
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))  # reserve the name
        except FileExistsError:
            copy_number += 1
            continue
        except OSError as error:
            raise DrillError(
                f"{path} cannot be renamed: {error.strerror or error}. Nothing was changed."
            ) from None
        os.replace(path, target)
        return target


def write_afresh(path: Path, text: str) -> Path | None:
    """Write a file. Rename an existing file first, and return its new path, or None.

    If a DrillError is raised, the old file has its name again.
    """
    if path.is_dir():
        raise DrillError(f"{path} is a folder. Choose another folder with --dir.")
    old_file = keep_aside(path) if path.exists() else None
    try:
        write_new(path, text)
    except DrillError:
        if old_file is not None:
            os.replace(old_file, path)
        raise
    return old_file
