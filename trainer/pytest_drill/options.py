"""The options of a run, read and checked."""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from trainer.content.known_packs import VARIABLE, Places, find, known_packs
from trainer.content.packs import is_pack
from trainer.core.words import Challenge, DrillError
from trainer.practice.files import read_source

MOST_SEED = (1 << 63) - 1


@dataclass(frozen=True)
class Wanted:
    """A file and the challenge that it answers.

    given    the file as the command line names it
    path     the same, absolute
    source   its text when the run began
    """

    challenge: Challenge
    given: str
    path: Path
    source: str


@dataclass(frozen=True)
class Options:
    """What is graded in a run, and how. `packs`: folders in which challenges are looked for, and which no submission sees."""

    wanted: tuple[Wanted, ...]
    packs: tuple[str, ...]
    seed: int
    seconds: float
    memory_mib: int


def read_options(config: pytest.Config) -> Options:
    """The options of this run.

    Raises:
        pytest.UsageError: where one of them makes no sense, or a file cannot be read.
    """
    try:
        places = Places(
            tuple(_pack(config, name) for name in config.getoption("attn_drill_packs")),
            os.environ.get(VARIABLE, ""),
        )
        given = [_wanted(config, places, text) for text in config.getoption("attn_drill")]
        return Options(
            wanted=tuple(
                {(one.challenge.id, one.path): one for one in given}.values()
            ),  # the same twice is the same
            packs=tuple(str(pack.root) for pack in known_packs(places)),
            seed=_seed(config.getoption("attn_drill_seed")),
            seconds=_seconds(config.getoption("attn_drill_seconds")),
            memory_mib=_memory(config.getoption("attn_drill_mib")),
        )
    except DrillError as error:
        raise pytest.UsageError(str(error)) from None


def again(
    config: pytest.Config, given: str, challenges: Iterable[str], seed: int, inside: tuple[str, ...]
) -> str:
    """The command that runs one test on the same cases again.

    Args:
        challenges: all that the file answers; the tests' tree shows whether there are several.
        inside: the names of that tree below the file.
    """
    words = [
        "pytest",
        *(f"--drill={challenge}={given}" for challenge in challenges),
        f"--drill-seed={seed}",
    ]
    for pack in config.getoption("attn_drill_packs"):
        words.append(
            f"--drill-pack={pack}"
        )  # in two words pytest takes the folder for one of tests, and looks for its rootdir there
    if (seconds := config.getoption("attn_drill_seconds")) != 10.0:
        words.append(f"--drill-time-limit={seconds:g}")
    if (mib := config.getoption("attn_drill_mib")) != 2048:
        words.append(f"--drill-memory-limit={mib}")
    return shlex.join([*words, "::".join([given, *inside])])


def _wanted(config: pytest.Config, places: Places, text: str) -> Wanted:
    challenge_id, equals, given = text.partition("=")
    if not (challenge_id.strip() and equals and given):
        raise DrillError(
            f"--drill is {text!r}; it must be ID=FILE, a challenge and the file that answers it. `attn-drill list` shows the challenges."
        )
    challenge = find(places, challenge_id)
    path = _absolute(config, given)
    if not str(path).isascii() and "\\udc" in ascii(str(path)):
        raise DrillError(
            f"--drill names {given!r}, a place that is not written in UTF-8. Rename it."
        )
    return Wanted(challenge, given, path, read_source(path))


def _pack(config: pytest.Config, name: str) -> Path:
    folder = _absolute(config, name)
    if not is_pack(folder):
        raise DrillError(
            f"--drill-pack is {name}, which is no pack: a folder with challenges/ and solutions/ in it. `attn-drill pack new NAME` makes one."
        )
    return folder


def _absolute(config: pytest.Config, name: str) -> Path:
    """Symlinks stay, as in the paths of pytest's own; `~` is ours, since a shell leaves it alone after `=`."""
    return Path(os.path.abspath(config.invocation_params.dir / os.path.expanduser(name)))


def _seed(seed: int | None) -> int:
    if seed is None:
        return secrets.randbelow(1 << 31)
    if not 0 <= seed <= MOST_SEED:
        raise DrillError(f"--drill-seed is {seed}; it must be 0 to {MOST_SEED}.")
    return seed


def _seconds(seconds: float) -> float:
    if not 0 < seconds <= 86_400:
        raise DrillError(
            f"--drill-time-limit is {seconds:g}; it must be more than 0 and at most 86400 seconds."
        )
    return seconds


def _memory(mib: int) -> int:
    if not 16 <= mib <= 1 << 20:
        raise DrillError(f"--drill-memory-limit is {mib}; it must be 16 to 1048576 MiB.")
    return mib
