"""Read the header in the first lines of a hostile file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

KEYS = (
    *("of", "base", "family", "verdict", "says", "without"),
    *("must not exist", "seconds", "memory", "diagnosis"),
)
BASES = Path(__file__).parent / "bases"
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
        text: the text of the file.
        base: the name of the file in `bases/` on which this file builds; "" for none.
        of: the challenge that the file pretends to solve.
        family: the promise that the file attacks. The first file of a family stands for the others.
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
    text: str
    base: str
    of: str
    family: str
    verdicts: tuple[str, ...]
    says: str
    without: tuple[str, ...]
    not_run: str
    must_not_exist: tuple[Path, ...]
    seconds: float | None
    memory: int
    diagnosed: bool

    @property
    def source(self) -> str:
        """The submission: the base and, after it, this file, which may replace names of the base.

        Many attacks are three lines in a right answer. The base is this answer, or helpers.
        """
        base = (BASES / f"{self.base}.py").read_text(encoding="utf-8") if self.base else ""
        return base + self.text


def read(path: Path, text: str) -> Hostile:
    """Return a file with the entries of its header.

    Raises:
        ValueError: if a line of the header has an unknown key, or one of the first keys is missing.
    """
    found: dict[str, list[str]] = {key: [] for key in KEYS}
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        key, colon, value = line.removeprefix("# ").partition(": ")
        if colon and key in found:
            found[key].append(value.strip())
        elif key.islower() and colon and " " not in key:
            raise ValueError(f"{path.name}: a header has no key {key!r}; it has {', '.join(KEYS)}")
    first = {key: values[0] if values else "" for key, values in found.items()}
    for key in ("of", "family", "verdict"):
        if not first[key]:
            raise ValueError(f"{path.name} has no line `# {key}: …`")
    not_run = (
        first["without"].removeprefix("not run, ")
        if first["without"].startswith("not run, ")
        else ""
    )
    return Hostile(
        path=path,
        text=text,
        base=first["base"],
        of=first["of"],
        family=first["family"],
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
