"""Read the header in the first lines of a hostile file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

KEYS = ("of", "verdict", "says", "without", "must not exist", "seconds", "memory", "diagnosis")
# Code that harms the machine without a sandbox: signals, modes, mounts, names outside the folder,
# blocks of memory that stay.
HARMFUL = re.compile(
    r"\b(kill|killpg|tgkill|raise_signal\(signal\.SIGKILL|chmod|chown|utime|setxattr|setxattrat"
    r"|file_setattr|mount|unshare|vfork|SharedMemory|reboot"
    r"|shmget|semget|msgget|msgrcv|msgctl|mq_open|mq_unlink|F_SETLEASE)\b"
    r"|0x40086602|attn-drill-escaped|torch\.__file__|while True:\s+os\.fork|0x8000 \|"
)


@dataclass(frozen=True)
class Hostile:
    """A hostile file.

    Attributes:
        path: the path of the file.
        source: the text of the file.
        of: the challenge that the file pretends to solve.
        verdicts: the correct verdicts.
        says: a pattern that the message of a failed check matches; "" for any message.
        without: the correct verdicts with limits and no sandbox. It is () if the file is not run
            without a sandbox: it would behave in the same way there, or do harm.
        not_run: the reason why the file must not run without a sandbox; "" if it may.
        must_not_exist: the paths that the file tries to make outside its folder.
        seconds: the time limit; None for a limit that no correct end comes near.
        memory: the memory limit in MiB.
        diagnosed: True if the failure is also diagnosed.
    """

    path: Path
    source: str
    of: str
    verdicts: tuple[str, ...]
    says: str
    without: tuple[str, ...]
    not_run: str
    must_not_exist: tuple[Path, ...]
    seconds: float | None
    memory: int
    diagnosed: bool


def read(path: Path, source: str) -> Hostile:
    """Return a file with the entries of its header.

    Raises:
        ValueError: if a line of the header has an unknown key, or the header has no verdict.
    """
    found: dict[str, list[str]] = {key: [] for key in KEYS}
    for line in source.splitlines():
        if not line.startswith("#"):
            break
        key, colon, value = line.removeprefix("# ").partition(": ")
        if colon and key in found:
            found[key].append(value.strip())
        elif key.islower() and colon and " " not in key:
            raise ValueError(f"{path.name}: a header has no key {key!r}; it has {', '.join(KEYS)}")
    first = {key: values[0] if values else "" for key, values in found.items()}
    if not first["verdict"]:
        raise ValueError(f"{path.name} has no line `# verdict: …`")
    not_run = (
        first["without"].removeprefix("not run, ")
        if first["without"].startswith("not run, ")
        else ""
    )
    return Hostile(
        path=path,
        source=source,
        of=first["of"] or "gqa",
        verdicts=tuple(first["verdict"].split()),
        says=first["says"],
        without=()
        if not_run or first["without"].startswith("the same, ")
        else tuple((first["without"] or first["verdict"]).split()),
        not_run=not_run,
        must_not_exist=tuple(Path(name) for name in found["must not exist"]),
        seconds=float(first["seconds"]) if first["seconds"] else None,
        memory=int(first["memory"] or 768),
        diagnosed=first["diagnosis"] == "yes",
    )
