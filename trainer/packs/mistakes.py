"""Read the known mistakes of a challenge and apply them: one-line patches of the reference."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from trainer.model.challenge import Challenge, Mistake
from trainer.model.errors import PackError
from trainer.packs.toml import read_toml


class MistakeEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of one `[[mistake]]`."""

    id: str
    was: str
    now: str
    says: str
    hint: str
    twins: tuple[str, ...] = ()


class MistakesFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `mistakes.toml`."""

    mistake: tuple[MistakeEntry, ...]


def read_mistakes(challenge: Challenge) -> tuple[Mistake, ...]:
    """Return the mistakes of `solutions/<challenge>/mistakes.toml`, in the file's order.

    Raises:
        PackError: if the file cannot be read, an id occurs twice, or a twin is not above.
    """
    path = challenge.solutions / "mistakes.toml"
    data = read_toml(path, MistakesFile, PackError)
    seen: set[str] = set()
    for entry in data.mistake:
        if entry.id in seen:
            raise PackError(f"{path}: two mistakes have the id {entry.id!r}. Rename one of them.")
        if unknown := set(entry.twins) - seen:
            raise PackError(
                f"{path}: mistake {entry.id!r} has the twin {', '.join(sorted(unknown))}, "
                "which is not above it in the file."
            )
        seen.add(entry.id)
    return tuple(
        Mistake(entry.id, entry.was, entry.now, entry.says, entry.hint, entry.twins)
        for entry in data.mistake
    )


def readable_mistakes(
    challenges: Iterable[Challenge],
) -> tuple[dict[str, tuple[Mistake, ...]], list[str]]:
    """Return the mistakes of each challenge by id, and a sentence for each unreadable file."""
    found: dict[str, tuple[Mistake, ...]] = {}
    troubles: list[str] = []
    for challenge in challenges:
        try:
            found[challenge.id] = read_mistakes(challenge)
        except PackError as error:
            troubles.append(f"The mistakes of {challenge.id} are left out: {error}")
    return found, troubles


def replaced(source: str, mistake: Mistake, where: str) -> str:
    """Return the source with the mistake. The result may not compile.

    Args:
        where: the path for an error message.

    Raises:
        PackError: if `was` is not found exactly once.
    """
    count = source.count(mistake.was)
    if count != 1:
        raise PackError(
            f"{where}: mistake {mistake.id!r}: `was` is found {count} times in the solution; "
            "it must be found exactly once."
        )
    return source.replace(mistake.was, mistake.now)


def patch(source: str, mistake: Mistake, where: str) -> str:
    """Return the reference's source with the mistake.

    Raises:
        PackError: if `was` is not found exactly once, or the result does not compile.
    """
    return patch_all(source, (mistake,), where)


def patch_all(source: str, mistakes: Sequence[Mistake], where: str) -> str:
    """Return the reference's source with several mistakes.

    Raises:
        PackError: if a `was` is not found exactly once, if two of them overlap, or if the result
            does not compile.
    """
    patched = source
    for mistake in sorted(mistakes, key=lambda mistake: -source.find(mistake.was)):
        patched = replaced(patched, mistake, where)
    try:
        compile(patched, where, "exec", dont_inherit=True)
    except SyntaxError as error:
        names = " and ".join(repr(mistake.id) for mistake in mistakes)
        raise PackError(
            f"{where}: mistake {names} does not compile: {error.msg}, line {error.lineno}."
        ) from None
    return patched


def lines_of(source: str, mistake: Mistake) -> range:
    """Return the line numbers that a mistake changes in the source, from 1."""
    first = source.count("\n", 0, source.index(mistake.was)) + 1
    return range(first, first + mistake.was.rstrip("\n").count("\n") + 1)
