"""Choose the bugs of a hunt with several bugs, and hand out the follow-up after the repair."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

from attn_drill.app.answer import hand_out
from attn_drill.exercises import altered_reference
from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.practice.journal import Journal
from attn_drill.practice.learner_files import read_source, write_new


def choose_bugs(
    challenge: Challenge, count: int | None, last: Collection[str], seed: int | None
) -> tuple[Mistake, ...]:
    """Choose bugs in different statements, of which none hides another; None: one or two bugs.

    For several bugs, this imports torch. Each further bug is tried next to those before it: the
    reference runs with every choice of them.
    `last` are the ids of the bugs in the last hunt.
    """
    mistakes, source = read_mistakes(challenge), pack_reader.solution(challenge)
    rng = Random(seed)
    if count is None:
        return altered_reference.choose_mistakes(mistakes, source, last, rng)
    choose = partial(altered_reference.choose_several, mistakes, source, count, last, rng)
    if count == 1:
        return _first(choose(), challenge, count)

    from attn_drill.diagnosis.patched_references import PatchedReferences
    from attn_drill.diagnosis.repairs import are_distinct
    from attn_drill.grading.case_set import load_case_set

    references = PatchedReferences(load_case_set(challenge, rng.randrange(1 << 31)), lambda: None)

    def may_join(chosen: Sequence[Mistake]) -> bool:
        in_order = sorted(chosen, key=lambda mistake: source.index(mistake.was))
        return are_distinct(references, tuple(mistake.id for mistake in in_order))

    return _first(choose(may_join), challenge, count)


def _first(
    choices: Iterator[tuple[Mistake, ...]], challenge: Challenge, count: int
) -> tuple[Mistake, ...]:
    """Return the first choice, or raise a DrillError."""
    if (chosen := next(choices, None)) is not None:
        return chosen
    raise DrillError(
        f"{challenge.id} has no {count} mistakes that show next to each other. "
        "Choose a smaller number with --bugs."
    )


def hunt_task(challenge: Challenge, file_name: str, count: int) -> str:
    """Return the beginning of the task of a hunt, in Markdown. The prompt comes after it."""
    many, it = altered_reference.in_words(count)
    return (
        f"# Bug hunt: {challenge.title}\n\n{file_name} is the reference of {challenge.id} with "
        f"{many} in it. Find and repair {it}. The task of the reference follows.\n\n"
    )


def debugging_challenge(
    candidates: Sequence[Challenge], challenges: Sequence[Challenge], topic: str | None
) -> Challenge:
    """Return the challenge of a debugging round.

    Challenges whose parts are told apart are preferred, and of these the challenge that most others
    continue.
    """
    with_parts = [challenge for challenge in candidates if challenge.parts]
    if with_parts:
        return max(with_parts, key=lambda challenge: len(challenge.continued_by))
    if topic is not None and len(candidates) == 1:
        return candidates[0]
    suitable = [challenge.id for challenge in challenges if challenge.parts]
    raise DrillError(
        f"No challenge of the topic {topic} has a debugging round. "
        f"Name a challenge with --topic, for example {(suitable or [challenges[0].id])[0]}."
    )


def follow_ups_of(challenge: Challenge, challenges: Sequence[Challenge]) -> list[Challenge]:
    """Return the challenges that follow in a debugging round, in order."""
    by_id = {other.id: other for other in challenges}
    return [by_id[name] for name in challenge.continued_by if name in by_id]


def hand_out_follow_up(
    challenge: Challenge, follow_up: Challenge, repaired: Path, journal: Journal
) -> Path:
    """Write the repaired file as the first version of the follow-up, unless a file is there.

    Return the path of the file of the follow-up.
    """
    path = repaired.with_name(follow_up.file_name)
    if not path.exists():
        write_new(path, continued(challenge, follow_up, read_source(repaired)))
    hand_out(follow_up, path, journal, "standard")
    return path


def continued(challenge: Challenge, follow_up: Challenge, source: str) -> str:
    """Return the text with which a follow-up begins.

    This is the stub, or the repaired text if the follow-up defines the same class: with a docstring
    that names the follow-up, and with the classes and functions that the stub gives.
    """
    stub = pack_reader.stub(follow_up)
    if challenge.entry[0] != follow_up.entry[0]:
        return stub
    head = (
        f'"""{follow_up.title}: the repaired file of {challenge.id}, to continue with.\n\n'
        f'The stub shows the new interface: attn-drill reset {follow_up.id}\n"""\n'
    )
    definitions = [
        ast.get_source_segment(stub, node) or ""
        for node in ast.parse(stub).body
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name not in follow_up.entry
    ]
    parts = [altered_reference.without_docstring(source).rstrip("\n"), *definitions]
    return head + "\n\n\n".join(parts) + "\n"
