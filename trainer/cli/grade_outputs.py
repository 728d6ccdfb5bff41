"""Write the tables and reports of `grade` in the requested formats."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from trainer.app.warn import say
from trainer.classroom.class_results import (
    class_gradebook,
    results_of,
    rewrite_changed,
    with_full_name,
)
from trainer.classroom.overrides import OVERRIDES_FILE, read_overrides
from trainer.classroom.records import Override
from trainer.classroom.result_store import ClassFile, ResultStore
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.packs.stub_levels import LEVELS


def parse_formats(text: str) -> tuple[str, ...]:
    """Return the formats of the option `--format`.

    Raises:
        DrillError: a format is unknown.
    """
    from trainer.classroom.similarity import check_similarity
    from trainer.export.writers import WRITERS

    names = (name.strip().lower() for name in text.split(","))
    wanted = tuple(dict.fromkeys(name for name in names if name))
    if unknown := [name for name in wanted if name not in WRITERS]:
        raise DrillError(
            f"--format names {', '.join(unknown)}; the formats are {', '.join(WRITERS)}."
        )
    if "similar" in wanted:
        check_similarity()
    return wanted


def write_outputs(store: ResultStore, record: ClassFile, roots: Sequence[Path] = ()) -> int:
    """Write the tables and pages of a class and print a summary.

    Args:
        store: the store of the results. The tables go into its folder.
        record: everything else about the grading.
        roots: the packs with the challenges; the pack of attn-drill by default.

    Returns:
        The number of submissions that the grader failed on.

    Raises:
        DrillError: overrides.toml has a fault.
    """
    from trainer.export.writers import WRITERS, GradedClass
    from trainer.report.class_progress import summary
    from trainer.report.wording import for_stream

    rewrite_changed(store, record)
    graded = GradedClass(
        class_gradebook(store, record, known_overrides(store, record)),
        list(results_of(store, record)),
        {challenge: _public_texts(challenge, roots) for challenge in record.challenges},
        record.salt,
    )
    wanted = [
        *(name for name in record.formats if name in WRITERS),  # an earlier version had others
        *(["markers"] if record.is_anonymous else []),
        *(["feedback"] if record.is_released else []),
    ]
    paths = [store.out / "results"]
    for name in dict.fromkeys(wanted):
        paths += WRITERS[name](graded, store.out)
    text, failed = summary(graded.results)
    typer.echo(for_stream(text, sys.stdout, hanging="    "))
    if record.has_roster:
        present = {task.submission.student for task in record.tasks}
        roster = [student.name for student in record.students if student.is_in_roster]
        missing = sum(name not in present for name in roster)
        typer.echo(f"{missing} of the {len(roster)} students of the roster handed in nothing")
    say(f"written: {', '.join(map(str, paths))}")
    return failed


def _public_texts(challenge_id: str, roots: Sequence[Path]) -> dict[str, str]:
    """Return the right answers and the stubs of a challenge, by name."""
    challenge = pack_reader.look_up([*roots, pack_reader.built_in_pack()], challenge_id)
    if challenge is None:
        return {}
    paths = [challenge.solutions / "solution.py", *pack_reader.also_right(challenge)]
    stubs = {f"the stub ({level})": pack_reader.stub(challenge, level) for level in LEVELS}
    return {path.name: pack_reader.read_text(path) for path in paths} | stubs


def known_overrides(store: ResultStore, record: ClassFile) -> list[Override]:
    """Return the decisions in `overrides.toml`, with the names of their students.

    Raises:
        DrillError: the file has a fault, or names a student or a challenge that does not exist.
    """
    path = store.out / OVERRIDES_FILE
    overrides = read_overrides(path, record.challenges)
    found: list[Override] = []
    for override in overrides:
        try:
            found.append(with_full_name(override, record))
        except DrillError as error:
            raise DrillError(
                f"{path}: {error} If the student has left the class, remove the entry."
            ) from None
    return found
