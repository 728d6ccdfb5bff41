"""Read the learner's files with care, and never write over one: keep it aside first."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from trainer.model.errors import DrillError

MOST_SOURCE_BYTES = 1 << 20


def read_source(
    path: Path,
    *,
    name: str = "",
    if_empty: str = "Write your answer there; `attn-drill reset` gives a fresh stub.",
) -> str:
    """Return the text of a submission.

    Args:
        path: the file.
        name: how messages call it; the path if it is empty.
        if_empty: what to do about an empty file.

    Raises:
        DrillError: there is no such file, or it is no UTF-8 text of at most `MOST_SOURCE_BYTES`.
    """
    name = name or str(path)
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise DrillError(f"{name} is a folder. Name the Python file in it.")
        if not stat.S_ISREG(status.st_mode):
            raise DrillError(f"{name} is not a regular file. Name a Python file.")
        if status.st_size > MOST_SOURCE_BYTES:
            raise DrillError(
                f"{name} has {status.st_size:,} bytes; at most {MOST_SOURCE_BYTES:,} are graded."
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
    return decoded(data, name, if_empty)


def decoded(data: bytes, name: str, if_empty: str) -> str:
    """Return the text of a submission that was read.

    Args:
        name: how messages call it.
        if_empty: what to do if there is no text.

    Raises:
        DrillError: it is no UTF-8 text, or empty.
    """
    if not data.strip():
        raise DrillError(f"{name} is empty. {if_empty}")
    if b"\0" in data:
        raise DrillError(
            f"{name} holds a NUL byte at offset {data.index(0)}: it is no Python text."
            " Save it as UTF-8."
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DrillError(
            f"{name} is not UTF-8: byte {data[error.start]:#04x} at offset {error.start}."
            " Save it as UTF-8."
        ) from None


def write_new(path: Path, text: str) -> None:
    """Write a file that must not be there yet; leaves nothing behind if that fails."""
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
        raise DrillError(f"{path} appeared just now and is left as it is. Try again.") from None
    except OSError as error:
        raise DrillError(
            f"{path} cannot be written: {error.strerror or error}."
            " Choose another folder with --dir."
        ) from None


def keep_aside(path: Path) -> Path:
    """Rename to the first free `name.old-N.py` beside it, never over a file; returns the new name.

    Raises:
        DrillError: where it cannot be renamed; nothing is changed then.
    """
    number = 1
    while True:
        target = path.with_name(f"{path.stem}.old-{number}{path.suffix}")
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))  # reserve the name
        except FileExistsError:
            number += 1
            continue
        except OSError as error:
            raise DrillError(
                f"{path} cannot be kept aside: {error.strerror or error}. Nothing was changed."
            ) from None
        os.replace(path, target)
        return target


def write_afresh(path: Path, text: str) -> Path | None:
    """Write a file; what lies there is kept aside, under the name that is returned.

    Raises:
        DrillError: where one or the other cannot be done; the old file is in its place then.
    """
    if path.is_dir():
        raise DrillError(f"{path} is a folder. Choose another folder with --dir.")
    kept = keep_aside(path) if path.exists() else None
    try:
        write_new(path, text)
    except DrillError:
        if kept is not None:
            os.replace(kept, path)
        raise
    return kept
