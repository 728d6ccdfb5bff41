"""Choose the bugs of a hunt with several bugs, and hand out the follow-up after the repair."""

from __future__ import annotations

from collections.abc import Collection, Sequence
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

    For several bugs, this imports torch and runs the reference with every choice of the bugs.
    `last` are the ids of the bugs in the last hunt.
    """
    mistakes, source = read_mistakes(challenge), pack_reader.solution(challenge)
    rng = Random(seed)
    if count is None:
        return altered_reference.choose_mistakes(mistakes, source, last, rng)
    choices = altered_reference.choose_several(mistakes, source, count, last, rng)
    if count == 1 and (single := next(choices, None)) is not None:
        return single

    from attn_drill.diagnosis.patched_references import PatchedReferences
    from attn_drill.diagnosis.repairs import are_distinct
    from attn_drill.grading.case_set import load_case_set

    references = PatchedReferences(load_case_set(challenge, rng.randrange(1 << 31)), lambda: None)
    for chosen in choices:
        if are_distinct(references, tuple(mistake.id for mistake in chosen)):
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

    Challenges whose parts are told apart, and that another challenge continues, are preferred.
    """
    with_parts = [challenge for challenge in candidates if challenge.parts]
    if with_parts:
        with_follow_up = [each for each in with_parts if follow_up_of(each, challenges)]
        return (with_follow_up or with_parts)[0]
    if topic is not None and len(candidates) == 1:
        return candidates[0]
    suitable = [challenge.id for challenge in challenges if challenge.parts]
    raise DrillError(
        f"No challenge of the topic {topic} has a debugging round. "
        f"Name a challenge with --topic, for example {(suitable or [challenges[0].id])[0]}."
    )


def follow_up_of(challenge: Challenge, challenges: Sequence[Challenge]) -> Challenge | None:
    """Return the challenge that continues with the repaired file, or None."""
    for other in challenges:
        if challenge.id in other.builds_on and other.entry[0] == challenge.entry[0]:
            return other
    return None


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
    """Return the repaired text with a first docstring that names the follow-up."""
    head = (
        f'"""{follow_up.title}: the repaired file of {challenge.id}, to continue with.\n\n'
        f'The stub shows the new interface: attn-drill reset {follow_up.id}\n"""\n'
    )
    return head + altered_reference.without_docstring(source)
