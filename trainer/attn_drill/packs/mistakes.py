"""Read the known mistakes of a challenge and apply them: small patches of the reference."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

import msgspec

from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.model.errors import PackError
from attn_drill.packs.toml import Text, key_error, read_toml


class MistakeEntry(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of one `[[mistake]]`."""

    id: Text
    was: Text
    now: str
    says: Text
    hint: Text
    twins: tuple[str, ...] = ()
    contrived: bool = False


class MistakesFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The keys of `mistakes.toml`."""

    mistake: tuple[MistakeEntry, ...]


def read_mistakes(challenge: Challenge) -> tuple[Mistake, ...]:
    """Return the mistakes of `solutions/<challenge>/mistakes.toml`, in the file's order."""
    path = challenge.solutions / "mistakes.toml"
    entries = read_toml(path, MistakesFile, PackError).mistake
    above: set[str] = set()
    for index, mistake in enumerate(entries):
        if mistake.id in above:
            sentence = f"two mistakes have the id {mistake.id!r}. Rename one of them."
            raise key_error(path, ("mistake", index, "id"), sentence, PackError)
        if unknown := sorted(set(mistake.twins) - above):
            sentence = (
                f"mistake {mistake.id!r} has the twin {unknown[0]!r}, but no mistake above it has "
                "this id. Correct `twins`, or move the mistake below its twin."
            )
            raise key_error(path, ("mistake", index, "twins"), sentence, PackError)
        above.add(mistake.id)
    return tuple(Mistake(**msgspec.structs.asdict(entry)) for entry in entries)


def readable_mistakes(
    challenges: Iterable[Challenge],
) -> tuple[dict[str, tuple[Mistake, ...]], list[str]]:
    """Return the mistakes of each challenge by id, and a sentence for each unreadable file."""
    by_challenge: dict[str, tuple[Mistake, ...]] = {}
    troubles: list[str] = []
    for challenge in challenges:
        try:
            by_challenge[challenge.id] = read_mistakes(challenge)
        except PackError as error:
            troubles.append(f"The mistakes of {challenge.id} are left out: {error}")
    return by_challenge, troubles


def replaced(source: str, mistake: Mistake, where: str) -> str:
    """Return the source with the mistake, which may not compile.

    Raises:
        PackError: if `was` is not found exactly once. The message begins with the path `where`.
    """
    count = source.count(mistake.was)
    if count != 1:
        raise PackError(
            f"{where}: `was` of mistake {mistake.id!r} is found {count} times in the solution. "
            "Copy a text that is there exactly once."
        )
    return source.replace(mistake.was, mistake.now)


def patch(source: str, mistake: Mistake, where: str) -> str:
    """Return the reference's source with one mistake, as `patch_all` does."""
    return patch_all(source, (mistake,), where)


def patch_all(source: str, mistakes: Sequence[Mistake], where: str) -> str:
    """Return the reference's source with several mistakes.

    Raises:
        PackError: if a `was` is not found exactly once, if two of them overlap, or if the result
            does not compile.
    """
    patched = source
    # From the end, so that no mistake moves the text of another.
    for mistake in sorted(mistakes, key=lambda mistake: -source.find(mistake.was)):
        patched = replaced(patched, mistake, where)
    try:
        compile(patched, where, "exec", dont_inherit=True)
    except SyntaxError as error:
        names = " and ".join(repr(mistake.id) for mistake in mistakes)
        raise PackError(
            f"{where}: the solution with mistake {names} does not compile: {error.msg} in line "
            f"{error.lineno}. Correct `now`."
        ) from None
    return patched


def fit_together(source: str, mistakes: Sequence[Mistake]) -> bool:
    """Return whether the mistakes can be patched into the reference at the same time."""
    try:
        patch_all(source, mistakes, "")
    except PackError:
        return False
    return True


def lines_of(source: str, mistake: Mistake) -> range:
    """Return the line numbers that a mistake changes in the source, from 1."""
    first = source.count("\n", 0, source.index(mistake.was)) + 1
    return range(first, first + mistake.was.rstrip("\n").count("\n") + 1)


def statements_of(source: str, mistake: Mistake) -> frozenset[int]:
    """Return the first lines of the statements that a mistake changes.

    The head of a function, a class, a loop or a condition counts as a statement of its own.
    """
    changed = lines_of(source, mistake)
    statements: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.stmt):
            continue
        first, last = node.lineno, node.end_lineno or node.lineno
        if body := getattr(node, "body", None):
            last = body[0].lineno - 1
        if decorators := getattr(node, "decorator_list", None):
            first = decorators[0].lineno
        if changed.start <= last and first < changed.stop:
            statements.add(first)
    return frozenset(statements)
