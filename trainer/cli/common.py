"""What several commands share: the pack, the learner's file, the journal's trouble."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from trainer.content import packs
from trainer.core.words import Challenge, DrillError
from trainer.practice.journal import Journal

MOST_SOURCE_BYTES = 1 << 20


def find(challenge: str) -> Challenge:
    """A challenge of the built-in pack by id, or DrillError with the nearest ids."""
    return packs.find_challenge(packs.built_in_pack(), challenge)


def complete_id(incomplete: str) -> list[str]:
    """Ids for shell completion."""
    return [challenge.id for challenge in packs.read_pack(packs.built_in_pack()) if challenge.id.startswith(incomplete)]


def language() -> str:
    """`en` or `zh`, from ATTN_DRILL_LANG."""
    return os.environ.get("ATTN_DRILL_LANG", "en").partition("_")[0].lower() or "en"


def say_trouble(journal: Journal) -> None:
    """Say on stderr that the journal could not be kept, if it could not."""
    if journal.trouble is not None:
        print(f"attn-drill: {journal.trouble}", file=sys.stderr)


def learner_file(challenge: Challenge, file: Path | None, journal: Journal) -> Path:
    """The file to grade: the one given, else the stub's name in this folder, else where `start` put it."""
    if file is not None:
        return file
    here = Path(challenge.file_name)
    if here.exists():
        return here
    started = journal.path_of(challenge.id)
    if started is None:
        raise DrillError(
            f"There is no {here} in this folder. `attn-drill start {challenge.id}` writes it, or name your file: `attn-drill check {challenge.id} FILE`."
        )
    if not started.exists():
        raise DrillError(f"{started}, where `start` put the stub, is gone. Name your file: `attn-drill check {challenge.id} FILE`.")
    return started


def read_source(path: Path) -> str:
    """The text of a submission.

    Raises:
        DrillError: where there is no such file, or it is no UTF-8 text of a sensible size.
    """
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise DrillError(f"{path} is a folder. Name the Python file in it.")
        if not stat.S_ISREG(status.st_mode):
            raise DrillError(f"{path} is not a regular file. Name a Python file.")
        if status.st_size > MOST_SOURCE_BYTES:
            raise DrillError(f"{path} has {status.st_size:,} bytes; at most {MOST_SOURCE_BYTES:,} are graded. Is it the right file?")
        data = path.read_bytes()
    except FileNotFoundError:
        raise DrillError(f"There is no file {path}. Check the name, or run `attn-drill start` for a stub.") from None
    except OSError as error:
        raise DrillError(f"{path} cannot be read: {error.strerror or error}. Check its name and permissions.") from None
    if not data.strip():
        raise DrillError(f"{path} is empty. Write your answer there; `attn-drill reset` gives a fresh stub.")
    if b"\0" in data:
        raise DrillError(f"{path} holds a NUL byte at offset {data.index(0)}: it is no Python text. Save it as UTF-8.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DrillError(f"{path} is not UTF-8: byte {data[error.start]:#04x} at offset {error.start}. Save it as UTF-8.") from None


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
        raise DrillError(f"{path} cannot be written: {error.strerror or error}. Choose another folder with --dir.") from None
