"""Grade one student's files on Gradescope: `python -m attn_drill.cli.autograde SUBMISSION …`.

`run_autograder` of a Gradescope autograder runs this module.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from attn_drill.app.grade_file import fresh_seed
from attn_drill.app.open_packs import open_packs
from attn_drill.app.warn import warn
from attn_drill.classroom.assignment import read_assignment
from attn_drill.classroom.gradebook import grades_of
from attn_drill.classroom.grading_jobs import executor_for, jobs_of, plan_of
from attn_drill.classroom.result_store import write_atomically
from attn_drill.cli._class_run import graded, read_class
from attn_drill.export.feedback import gradescope_object
from attn_drill.model.errors import DrillError, GraderError


def main(words: Sequence[str] | None = None) -> int:
    """Write the results of one student, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m attn_drill.cli.autograde", description=__doc__)
    parser.add_argument("submission", type=Path, help="the folder with the student's files")
    parser.add_argument("assignment", type=Path, help="the file of the assignment")
    parser.add_argument("results", type=Path, help="the file to write, for Gradescope")
    parser.add_argument("--pack", type=Path, action="append", default=[])
    parser.add_argument("--allow-weaker-isolation", action="store_true")
    try:
        _autograde(parser.parse_args(words))
    except (DrillError, GraderError) as error:
        warn([str(error)])
        return error.exit_code
    return 0


def _autograde(options: argparse.Namespace) -> None:
    packs = open_packs(options.pack)
    assignment = read_assignment(options.assignment, packs.find, needs_due=False)
    challenges = [packs.find(name) for name in assignment.challenge_ids]
    read = read_class(options.submission, assignment, challenges, single=True)
    plan = plan_of(
        read.assignment,
        challenges,
        packs.roots(),
        fresh_seed(),
        allow_weaker=options.allow_weaker_isolation,
    )
    students, submissions = read.collected.students, read.collected.submissions
    with executor_for("local", 1) as executor:
        results = list(graded(plan, jobs_of(plan, submissions), executor, students))
    for result in results:
        if result.verdict is None and not result.is_ungraded:
            raise GraderError(result.error or "The grader gave no verdict.")
    # Gradescope grades one student at a time.
    (grade,) = grades_of(read.assignment, students, submissions, results)
    text = json.dumps(gradescope_object(grade, read.assignment), indent=1)
    write_atomically(options.results, text.encode())


if __name__ == "__main__":
    sys.exit(main())
