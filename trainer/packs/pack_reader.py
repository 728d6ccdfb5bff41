"""Find packs of challenges and read them by path.

A pack is a folder with `challenges/` and `solutions/` in it. Ids have hyphens, folders underscores.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError, PackError
from trainer.packs.stub_levels import Level, at_level

TRAINER = Path(__file__).resolve().parents[1]


class ChallengeFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `challenge.toml`."""

    title: str
    level: Literal["easy", "medium", "hard"]
    minutes: int
    kind: Literal["module", "function"]
    entry: tuple[str, ...]
    hints: tuple[str, str, str]
    builds_on: tuple[str, ...] = ()
    topic: str = ""


def folder_name(challenge_id: str) -> str:
    """`kv-cache` -> `kv_cache`; the one place that maps an id to a folder."""
    return challenge_id.replace("-", "_")


def challenge_id(folder: str) -> str:
    """`kv_cache` -> `kv-cache`."""
    return folder.replace("_", "-")


def built_in_pack() -> Path:
    """The pack that comes with the project: beside `trainer/` in a checkout, inside it in an installed wheel."""
    for root in (TRAINER.parent, TRAINER / "_pack"):
        if is_pack(root):
            return root
    raise PackError(
        f"No challenges/ and solutions/ beside or inside {TRAINER}. Install attn-drill again from a whole checkout or wheel."
    )


def is_pack(root: Path) -> bool:
    """Whether a folder has what a pack has: challenges/ and solutions/."""
    return (root / "challenges").is_dir() and (root / "solutions").is_dir()


def read_toml(path: Path, shape: Any) -> Any:
    """Read a TOML file into a msgspec type.

    Raises:
        PackError: one sentence that names the file and the key.
    """
    try:
        with path.open("rb") as file:
            return msgspec.convert(tomllib.load(file), shape)
    except FileNotFoundError:
        raise PackError(
            f"{path} is missing. Add it, or run `attn-drill pack check` for all that a challenge needs."
        ) from None
    except OSError as error:
        raise PackError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PackError(f"{path} is not valid TOML: {error}.") from None
    except msgspec.ValidationError as error:
        raise PackError(f"{path}: {error}.") from None


def read_text(path: Path) -> str:
    """Read a text file of a pack, or raise PackError naming it."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PackError(f"{path} cannot be read: {error}.") from None


def read_challenge(folder: Path) -> Challenge:
    """Read `challenges/<folder>/challenge.toml`."""
    data: ChallengeFile = read_toml(folder / "challenge.toml", ChallengeFile)
    if not data.entry:
        raise PackError(
            f"{folder / 'challenge.toml'}: `entry` names nothing. Name what the learner's file must define."
        )
    if data.kind == "module" and len(data.entry) != 1:
        raise PackError(
            f"{folder / 'challenge.toml'}: `entry` names {len(data.entry)} things; a module challenge has one class."
        )
    return Challenge(
        id=challenge_id(folder.name),
        title=data.title,
        level=data.level,
        minutes=data.minutes,
        kind=data.kind,
        entry=data.entry,
        builds_on=data.builds_on,
        hints=data.hints,
        folder=folder,
        solutions=folder.parent.parent / "solutions" / folder.name,
        topic=data.topic or "other",
    )


def challenge_folders(root: Path) -> list[Path]:
    """The folders of a pack's challenges, by name. Those that begin with a dot or an underscore are left out."""
    challenges = root / "challenges"
    if not challenges.is_dir():
        raise PackError(f"{root} has no folder challenges/. A pack has challenges/ and solutions/.")
    return sorted(
        path
        for path in challenges.iterdir()
        if path.is_dir() and not path.name.startswith((".", "_"))
    )


def read_pack(root: Path) -> tuple[Challenge, ...]:
    """All challenges of a pack, easiest first, then by what they build on and name."""
    return tuple(
        prerequisites_first([read_challenge(folder) for folder in challenge_folders(root)])
    )


def prerequisites_first(challenges: Iterable[Challenge]) -> Iterator[Challenge]:
    """Easiest first, but never a challenge before one of these that it builds on.

    Raises:
        PackError: when all that are left build on each other in a circle.
    """
    left = sorted(challenges, key=lambda challenge: (challenge.minutes, challenge.id))
    while left:
        waiting = {challenge.id for challenge in left}
        ready = [challenge for challenge in left if not waiting & set(challenge.builds_on)]
        if not ready:
            raise PackError(
                f"builds_on goes in a circle among {', '.join(sorted(waiting))}. Remove one of these links."
            )
        yield ready[0]
        left.remove(ready[0])


def find_challenge(root: Path, wanted: str) -> Challenge:
    """The challenge of a pack with this id; underscores are taken for hyphens.

    Raises:
        DrillError: naming the nearest ids.
    """
    return find_in([root], wanted)


def find_in(roots: Sequence[Path], wanted: str) -> Challenge:
    """The same among several packs: of two with one id, that of the earlier pack."""
    found = look_up(roots, wanted)
    if found is None:
        raise unknown(wanted, [challenge.id for root in roots for challenge in read_pack(root)])
    return found


def look_up(roots: Iterable[Path], wanted: str) -> Challenge | None:
    """The challenge with this id in the first of these packs that has one; later packs are not looked at."""
    name = challenge_id(wanted.strip().lower())
    for root in roots:
        folder = root / "challenges" / folder_name(name)
        if name and folder.parent == root / "challenges" and (folder / "challenge.toml").is_file():
            return read_challenge(folder)
    return None


def unknown(wanted: str, ids: Sequence[str]) -> DrillError:
    """What to say where no challenge has this id, with the nearest of those that there are."""
    name = challenge_id(wanted.strip().lower())
    near = difflib.get_close_matches(name, ids, n=3, cutoff=0.4)
    near += [one for one in ids if name and (name in one or one in name) and one not in near]
    hint = f"Did you mean {' or '.join(near)}?" if near else f"There are: {', '.join(ids)}."
    return DrillError(
        f"No challenge is called {wanted!r}. {hint} `attn-drill list` shows them all."
    )


def prompt(challenge: Challenge, language: str = "en") -> str:
    """The prompt in this language, or in English where there is none."""
    translated = challenge.folder / f"prompt.{language}.md"
    if language != "en" and translated.is_file():
        return read_text(translated)
    return read_text(challenge.folder / "prompt.md")


def stub(challenge: Challenge, level: Level = "standard") -> str:
    """The text of the stub that `start` hands out at this level."""
    return at_level(read_text(challenge.folder / "stub.py"), level)


def solution(challenge: Challenge) -> str:
    """The text of the reference."""
    return read_text(challenge.solutions / "solution.py")


def also_right(challenge: Challenge) -> tuple[Path, ...]:
    """Other right answers, in other styles, that the grader must accept."""
    return tuple(sorted((challenge.solutions / "also_right").glob("*.py")))
