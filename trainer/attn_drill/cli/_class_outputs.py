"""Write the tables and pages of a class, and say which marks have changed."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import typer

from attn_drill.app.open_packs import open_packs
from attn_drill.app.warn import say
from attn_drill.classroom.gradebook import (
    ChangedMark,
    changed_marks,
    class_gradebook,
    current_results,
    marks_of,
    read_overrides,
)
from attn_drill.classroom.result_store import (
    ClassRecord,
    ResultStore,
    remove_others,
    write_atomically,
    write_record,
)
from attn_drill.export.tables import ENCODING, cell_of, csv_text
from attn_drill.export.writers import WRITERS, GradedClass
from attn_drill.model.errors import DrillError
from attn_drill.model.words import first_of, plural
from attn_drill.packs import pack_reader
from attn_drill.packs.stub_levels import LEVELS
from attn_drill.report.class_text import points, summary
from attn_drill.report.words import for_stream, visible

_MOST_NAMED = 5  # students in one sentence
_MOST_CHANGES = 10  # lines


def write_outputs(store: ResultStore, record: ClassRecord, before: ClassRecord | None) -> int:
    """Write the tables and pages of a class, print a summary, and keep the marks.

    The tables go into the folder of the store. `before` is the record of the earlier run with its
    marks. Return the number of submissions on which the grader failed.
    """
    results, overrides = current_results(store, record), read_overrides(store.out, record)
    gradebook = class_gradebook(record, results, overrides)
    graded = GradedClass(gradebook, _public_texts(record), record.salt)
    kept = [store.path(result.student, result.challenge) for result in results]
    remove_others(store.out / "results", "**/*.json", kept)
    paths = [store.out / "results"]
    for name in record.options.write:
        paths += WRITERS[name](graded, store.out)
    text, failed = summary(results)
    typer.echo(for_stream(text, sys.stdout, hanging="    "))
    if outdated := [visible(override.student) for override in overrides if override.is_outdated]:
        typer.echo(
            f"overrides that were decided for another file: {first_of(outdated, _MOST_NAMED)}"
            " (their reasons to look have the points of the checks)"
        )
    record = msgspec.structs.replace(record, marks=marks_of(gradebook, record))
    if before is not None and (changes := changed_marks(before, record)):
        paths.append(_write_changes(store.out, changes))
    write_record(store.out, record)
    say(f"written: {', '.join(map(str, paths))}")
    return failed


def _public_texts(record: ClassRecord) -> dict[str, dict[str, str]]:
    """Return the right answers and the stubs of each challenge whose pack is here, by name."""
    packs = open_packs(record.options.packs)
    texts: dict[str, dict[str, str]] = {}
    for name in record.challenges:
        try:
            challenge = packs.find(name)
        except DrillError:
            continue
        paths = [challenge.solutions / "solution.py", *pack_reader.also_right(challenge)]
        stubs = {f"the stub ({level})": pack_reader.stub(challenge, level) for level in LEVELS}
        texts[name] = {path.name: pack_reader.read_text(path) for path in paths} | stubs
    return texts


def _write_changes(out: Path, changes: list[ChangedMark]) -> Path:
    """Print the first marks that changed, and write all of them as a table."""
    lines = [("student", "challenge", "before", "after", "reason")]
    for student, challenge, *marks, reason in changes:
        before, after = ("" if mark is None else points(mark) for mark in marks)
        lines.append((cell_of(student), challenge or "total", before, after, reason))
    typer.echo(f"{plural(len(changes), 'mark')} changed:")
    for student, challenge, before, after, reason in lines[1 : _MOST_CHANGES + 1]:
        typer.echo(f"  {visible(student)}, {challenge}: {before or '–'} → {after or '–'}, {reason}")
    path = out / "changed_marks.csv"
    write_atomically(path, csv_text(lines).encode(ENCODING))
    return path
