"""What the first lines of a hostile file say of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

KEYS = ("of", "verdict", "says", "without", "must not exist", "seconds", "memory", "diagnosis")
# What harms the machine where nothing confines it: signals, modes, mounts, names outside the folder, blocks of memory that stay.
HARMFUL = re.compile(
    r"\b(kill|killpg|tgkill|raise_signal\(signal\.SIGKILL|chmod|chown|utime|setxattr|setxattrat|file_setattr|mount|unshare|vfork|SharedMemory|reboot"
    r"|shmget|semget|msgget|msgrcv|msgctl|mq_open|mq_unlink|F_SETLEASE)\b"
    r"|0x40086602|attn-drill-escaped|torch\.__file__|while True:\s+os\.fork|0x8000 \|"
)


@dataclass(frozen=True)
class Hostile:
    """One file.

    of              the challenge that it pretends to solve
    verdicts        the honest ones
    says            a pattern that the message of a failed check matches; "" for any
    without         the honest verdicts with limits and no sandbox; () where it is not run so: it would be `the same` as another, or worse
    not_run         why it must not run without a sandbox; "" where it may
    must_not_exist  what it tries to make outside its folder
    seconds         its time limit; None for one that no honest end comes near
    memory          its memory limit in MiB
    diagnosed       whether where and why are looked for
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
    """The file with what its header says.

    Raises:
        ValueError: where a line of the header has an unknown key, or there is no verdict.
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
    one = {key: values[0] if values else "" for key, values in found.items()}
    if not one["verdict"]:
        raise ValueError(f"{path.name} has no line `# verdict: …`")
    not_run = (
        one["without"].removeprefix("not run, ") if one["without"].startswith("not run, ") else ""
    )
    return Hostile(
        path=path,
        source=source,
        of=one["of"] or "gqa",
        verdicts=tuple(one["verdict"].split()),
        says=one["says"],
        without=()
        if not_run or one["without"].startswith("the same, ")
        else tuple((one["without"] or one["verdict"]).split()),
        not_run=not_run,
        must_not_exist=tuple(Path(name) for name in found["must not exist"]),
        seconds=float(one["seconds"]) if one["seconds"] else None,
        memory=int(one["memory"] or 768),
        diagnosed=one["diagnosis"] == "yes",
    )
