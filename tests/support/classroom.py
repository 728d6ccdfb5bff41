"""Helpers for tests of classes and their tables."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from attn_drill.classroom import gradebook
from attn_drill.classroom.assignment import plain_assignment
from attn_drill.classroom.collect import Collected
from attn_drill.classroom.grading_jobs import GradingPlan, plan_of
from attn_drill.classroom.records import (
    AssignedChallenge,
    Assignment,
    ChallengeGrade,
    Gradebook,
    Lateness,
    Override,
    Student,
    StudentGrade,
    StudentResult,
    StudentSubmission,
)
from attn_drill.classroom.result_store import ClassRecord, Job, SavedOptions
from attn_drill.model.challenge import Mistake
from attn_drill.model.challenge import Submission as SubmittedFile
from attn_drill.model.checks import Status, Verdict
from attn_drill.model.report import Diagnosis, Frame, Outcome, Report
from attn_drill.packs import pack_reader
from attn_drill.packs.pack_reader import content_digest
from attn_drill.server.messages import Grade, Refused, packed
from tests.support.paths import TINY_PACK

CHECKS = (
    *("loads", "interface", "parameters", "runs", "shapes", "dtype", "values", "masks"),
    *("gradients", "train/eval", "properties", "bad sizes", "from scratch", "vectorised"),
)

HOSTILE_NAMES = (
    "<script>document.title = 'taken'</script>",
    '"><img src=x onerror="document.title = \'taken\'">',
    "</title></pre></summary><h1>taken",
    '=HYPERLINK("http://a.example/?"&A2,"click")',
    " \t@SUM(1+1)*cmd|' /C calc'!A0",
    "＝1+1",
    "+49 30 1234",
    "-jane",
    "\u202egpj.ecila\u202c",
    "\x1b[31mred\x1b[0m\x07",
    "two\nlines\r\nand a\x00zero",
    'O\'Neil, "Jo"; =1+1',
    "caf\udce9",
    "]]> & &amp; &#0; <![CDATA[",
    "a" * 200,
    "\ufeff\u200b=1",
)
PLAIN_NAMES = (
    "Amélie Dupont",
    "Bo Li",
    "Jürgen Müller",
    "María-José Ruiz",
    "Priya N.",
    "Zoë van der Berg",
    "王小明",
    "李雷",
    "עדי כהן",
    "محمد علي",
)


def named(mistake_id: str, says: str) -> Mistake:
    """Return a known mistake as a diagnosis names it."""
    return Mistake(mistake_id, "", "", says, "")


NO_SCALE = named("no-scale", "The scores are not divided by sqrt(head_dim).")
TILED = named(
    "heads-tiled",
    "The key heads are tiled (k.repeat) where each must be repeated for its neighbours.",
)
INVERTED = named(
    "mask-inverted", "The mask is inverted: what may be seen is hidden & the rest is <seen>."
)


def result(
    student: str,
    challenge: str = "first",
    verdict: Verdict | None = "passed",
    *,
    failed: Sequence[str] = (),
    skipped: Sequence[str] = (),
    mistakes: Sequence[Mistake] = (),
    weights: Mapping[str, float] | None = None,
    **more: object,
) -> StudentResult:
    """Return a result whose score and report match the statuses of its checks."""
    statuses: dict[str, Status] = {
        name: "failed" if name in failed else "skipped" if name in skipped else "passed"
        for name in CHECKS
    }
    about_report: dict[str, object] = {
        "file": f"{student[:20]}.py",
        "seed": 123456,
        "outcomes": tuple(
            outcome for name, status in statuses.items() for outcome in _outcomes(name, status)
        ),
        "diagnosis": Diagnosis(
            mistakes=tuple(mistakes), first_line=Frame(34, "", "") if failed else None
        ),
        "elapsed_seconds": 1.25,
        "shares": {name: float(status == "passed") for name, status in statuses.items()},
    }
    about_result: dict[str, object] = {
        "text": report_text(challenge, verdict, statuses),
        "source": source_of(student),
        "task": "digest-of-the-task",
    }
    if verdict is None:
        about_result |= {"text": "", "error": "the grader ran out of disk <here> & stopped\x1b[2J"}
    for name, value in more.items():
        (about_report if name in about_report else about_result)[name] = value
    file = str(about_report["file"])
    report = None
    if verdict is not None:
        report = Report(challenge=challenge, verdict=verdict, **about_report)  # type: ignore[arg-type]
        assigned = AssignedChallenge(challenge, weights or {})
        score = gradebook.score(report, assigned, Assignment("", (assigned,)))
        about_result = {"score": score} | about_result
    return StudentResult(
        student=student, challenge=challenge, file=file, report=report, **about_result
    )  # type: ignore[arg-type]


def outcome(
    check: str, status: Status, case: str | None = None, message: str = "", line: int | None = None
) -> Outcome:
    """Return the outcome of a check as it is read from a file."""
    return Outcome(
        check, status, message, case, frames=() if line is None else (Frame(line, "", ""),)
    )


TWICE = ("bob.py", "bob/x.py")
SETTLE = (
    f"2 submissions have the name bob: {', '.join(TWICE)}. None of them is graded. Remove or"
    " rename all but one, then run grade again with --resume."
)


def ungraded(student: str = "bob", challenge: str = "first") -> StudentResult:
    """Return the result for a student's name that two files have."""
    return result(student, challenge, None, file=TWICE[0], error=SETTLE, is_ungraded=True)


def _outcomes(name: str, status: Status) -> list[Outcome]:
    if status == "skipped":
        return [outcome(name, status, message="needs values")]
    if name in ("loads", "interface", "parameters", "bad sizes", "from scratch"):
        return [outcome(name, status, message="it says <no> & stops" if status == "failed" else "")]
    if status == "failed":
        wrong = "300 of 672 values of out differ (45%); the inputs are SECRET-INPUT"
        return [
            outcome(name, "passed", "no mask"),
            outcome(name, "failed", "padding mask", wrong, 34),
            outcome(name, "failed", "causal", wrong, 34),
        ]
    return [outcome(name, status, "no mask"), outcome(name, status, "padding mask")]


def report_text(challenge: str, verdict: Verdict | None, statuses: Mapping[str, Status]) -> str:
    """Return a text like a report on the terminal."""
    passed = sum(status == "passed" for status in statuses.values())
    words = [
        f"{ {'passed': '✓', 'failed': '✗', 'skipped': '–'}[status] } {name}"
        for name, status in statuses.items()
    ]
    title = str(verdict).upper().replace("-", " ")
    head = (
        f"{title}  {challenge}  {passed} of {len(statuses)} checks passed  seed 123456\n"
        "answer.py\n\n"
    )
    body = f"{head}{'  '.join(words[:8])}\n{'  '.join(words[8:])}\n"
    if verdict == "passed":
        return body
    return (
        body
        + """
values  case 4: padding mask
  300 of 672 values of out differ (45%); the greatest difference is 0.41
  sizes          B=2 L=7 H=6 Hkv=2 D=8 M=48
  greatest       difference 0.41 at b=1 l=3 m=5
  heads (H)      wrong 1, 3   right 0, 2, 4, 5
  first          from b=0 l=0 m=0 on
                 yours     0.3661*  0.1203   -1.2e-05* 0.5512
                 expected  0.2201   0.1203    0.0311   0.5512
  line 34  scores = q @ k.transpose(-2, -1)
           q, k are as they must be, scores is not (it makes [B=2, H=6, L=7, L=7])

Printed by your code in this case:
│ SECRET-INPUT <b>0.123</b> \x1b[31mred\x1b[0m
::error::taken
"""
    )


def source_of(student: str) -> str:
    """Return a file whose line 34 is wrong, with the student's name in all kinds of places."""
    letters = "".join(char if char.isalpha() else " " for char in student)
    word = next(iter(letters.split()), "nobody")
    return "\n" * 28 + (
        "class Attention:\n"
        f'    """By {student!a}."""\n'
        "    def forward(self, q, k, mask=None):\n"
        f"        {word}_group = self.num_heads  # {student!a} wrote this\n"
        f"        name = f'{{q}}' + '{word}@uni.example'\n"
        f"        scores = q @ k.transpose(-2, -1)  # {word}@uni.example\n"
        "        return scores\n"
    )


def make_class(challenges: Sequence[str] = ("first",), students: int = 60) -> list[StudentResult]:
    """Return results with all kinds of verdicts, sorted by student."""
    names = [*HOSTILE_NAMES, *PLAIN_NAMES, *(f"student {index:03}" for index in range(students))]
    results = [
        _varied_result(name, challenge, student_index + 3 * challenge_index)
        for student_index, name in enumerate(names[:students])
        for challenge_index, challenge in enumerate(challenges)
    ]
    return sorted(results, key=lambda result: result.student)


def _varied_result(student: str, challenge: str, index: int) -> StudentResult:
    late = index % 13 == 0
    match index % 12:
        case 0 | 3 | 6 | 9 | 11:
            return result(student, challenge, "passed", late=late)
        case 1:
            return result(
                student,
                challenge,
                "failed",
                failed=("values", "masks"),
                skipped=("gradients", "properties"),
                mistakes=(NO_SCALE,),
                late=late,
            )
        case 2:
            return result(
                student,
                challenge,
                "failed",
                failed=("values",),
                skipped=("masks", "gradients"),
                mistakes=(TILED,),
                late=late,
            )
        case 4:
            return result(
                student,
                challenge,
                "failed",
                failed=("values", "masks"),
                mistakes=(NO_SCALE, INVERTED),
                late=late,
            )
        case 5:
            return result(
                student, challenge, "error", failed=("runs",), skipped=CHECKS[4:], late=late
            )
        case 7:
            return result(
                student, challenge, "failed", failed=("masks",), mistakes=(INVERTED,), late=late
            )
        case 8:
            return result(student, challenge, "not-allowed", failed=("from scratch",), late=late)
        case _:
            verdict: Verdict | None = (
                "timeout" if index % 5 == 0 else "memory" if index % 5 == 1 else None
            )
            return result(
                student, challenge, verdict, failed=("runs",), skipped=CHECKS[4:], late=late
            )


def assignment(challenges: Sequence[str] = ("first",), **more: object) -> Assignment:
    """Return an assignment. Its second challenge is worth twice as much as the first."""
    assigned = tuple(
        AssignedChallenge(challenge, worth=1.0 + index)
        for index, challenge in enumerate(challenges)
    )
    return Assignment("Attention, week 3 <& more>", assigned, **more)  # type: ignore[arg-type]


def grade_of(
    result: StudentResult, trouble: str = "", alternatives: tuple[str, ...] = (), **more: object
) -> ChallengeGrade:
    """Return the grade of a result. A late result has no penalty."""
    about: dict[str, object] = {
        "submission": StudentSubmission(
            result.student, result.challenge, result.file, None, trouble, alternatives=alternatives
        ),
        "result": result,
        "lateness": Lateness(is_late=result.late, days=1 if result.late else 0),
        "override": None,
        "points": result.score,
    }
    return ChallengeGrade(**about | more)  # type: ignore[arg-type]


def student_grade(
    student: Student,
    grades: Sequence[ChallengeGrade],
    settings: Assignment,
    override: Override | None = None,
    **more: object,
) -> StudentGrade:
    """Return the grades of a student with their total."""
    by_challenge = {grade.submission.challenge: grade for grade in grades}
    total = gradebook.total({name: grade.points for name, grade in by_challenge.items()}, settings)
    total = total if override is None else override.points
    return StudentGrade(student, by_challenge, override, total, **more)  # type: ignore[arg-type]


def make_gradebook(
    results: Sequence[StudentResult], settings: Assignment, **more: object
) -> Gradebook:
    """Return the gradebook of results that are sorted by student."""
    rows = [
        student_grade(
            Student(name),
            [grade_of(result) for result in results if result.student == name],
            settings,
        )
        for name in dict.fromkeys(result.student for result in results)
    ]
    return Gradebook(settings, tuple(rows), **more)  # type: ignore[arg-type]


def class_record(settings: Assignment, *names: str, **about_submission: object) -> ClassRecord:
    """Return the record of a class in which each student handed in every challenge."""
    students = [Student(name, id=f"id-{name}") for name in names]
    return ClassRecord(
        version="0",
        options=SavedOptions(folder="/class", write=["csv"]),
        seed=1,
        assignment=settings,
        students=students,
        jobs=[
            Job(
                StudentSubmission(name, challenge, "f.py", None, **about_submission),  # type: ignore[arg-type]
                1,
                "digest-of-the-task",
                f"text of {name}",
            )
            for name in names
            for challenge in settings.challenge_ids
        ],
        other_files=["notes.txt"],
        has_roster=False,
        salt="salt",
    )


EVERYONE = make_class()
FAILED = result(
    "Ann",
    verdict="failed",
    failed=("values", "masks"),
    skipped=("gradients",),
    mistakes=(NO_SCALE, TILED),
)
SHOWN = ("report", "checks", "verdict")


PACKS = (str(TINY_PACK),)
TINY = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
RIGHT_SUM = pack_reader.solution(TINY)
WRONG_SUM = "import torch\ndef prefix_sum(x, reverse=False):\n    return x.cumsum(-1) * 2\n"
BARE = StudentResult(student="ana", challenge="prefix-sum", file="ana.py", score=0.0, task="t")


def plan(seed: int = 5) -> GradingPlan:
    """Return the plan with which the tests grade a class."""
    return plan_of(plain_assignment("prefix-sum"), [TINY], [TINY_PACK], seed)


def submission(student: str, source: str | None = RIGHT_SUM, **more: object) -> StudentSubmission:
    """Return the submission of a student."""
    plain = StudentSubmission(student, "prefix-sum", f"{student}.py", source)
    return replace(plain, **more)  # type: ignore[arg-type]


def task(source: str = RIGHT_SUM, **more: object) -> Grade:
    """Return a request to grade a student's file."""
    request = Grade(
        "prefix-sum",
        SubmittedFile("ana.py", source),
        5,
        is_shared=True,
        content=content_digest(TINY),
        needs_isolation=True,
        seconds=20.0,
        memory_mib=1024,
    )
    return msgspec.structs.replace(request, **more)


def answered(source: str) -> bytes:
    """Return the reply of a fake grading server: a refusal with the text of the file."""
    return packed(Refused(0, source))


def soon(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Return whether a condition becomes true before the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


PACK = pack_reader.built_in_pack()
ONE = (pack_reader.find_challenge(PACK, "gqa"),)
TWO = (*ONE, pack_reader.find_challenge(PACK, "kv-cache"))
GQA = "class GroupedQueryAttention:\n    pass\n"
CACHE = "class CachedMultiHeadAttention:\n    pass\n"
Files = Mapping[str, bytes | str]


def write_files(root: Path, files: Files) -> Path:
    """Write a folder with these files."""
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = Path(os.fsdecode(os.path.join(os.fsencode(root), os.fsencode(name))))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def write_zip(path: Path, files: Files) -> Path:
    """Write a zip with these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 20, 10, 11, 12)), content)
    return path


def named_files(*names: str, source: str = GQA) -> dict[str, str]:
    """Return answers that hold their own name, so that a test sees which file was read."""
    return {name: f"# {name}\n{source}" for name in names}


def notebook(*cells: str) -> str:
    """Return a notebook of format 4 with code cells."""
    return json.dumps(
        {
            "cells": [
                {"cell_type": "code", "source": cell.splitlines(keepends=True), "outputs": [{}]}
                for cell in cells
            ],
            "metadata": {},
            "nbformat": 4,
        }
    )


def outcomes(collected: Collected) -> dict[str, str]:
    """Return the path of the file, "missing", or the reason why nothing is graded.

    The key is the student, with the challenge after a colon if there are several.
    """
    several = len({each.challenge for each in collected.submissions}) > 1
    return {
        f"{each.student}: {each.challenge}" if several else each.student: (
            each.file
            if each.source is not None
            else "missing"
            if each.is_missing
            else f"~{each.trouble}"
        )
        for each in collected.submissions
    }


def zipped(files: Files) -> bytes:
    """Return the bytes of a zip."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def written(folder: Path, form: str, files: Files) -> Path:
    """Write a folder or a zip."""
    if form == "folder":
        return write_files(folder / "in", files)
    return write_zip(folder / "in.zip", files)


def table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table, which begins with a byte order mark."""
    text = path.read_bytes()
    assert text.startswith(b"\xef\xbb\xbf")
    return list(csv.DictReader(io.StringIO(text.decode("utf-8-sig"), newline="")))


def check(collected: dict[str, str], expected: dict[str, str]) -> None:
    """Compare outcomes with paths and patterns."""
    for student, text in expected.items():
        if text.startswith("~"):
            assert re.search(text[1:], collected[student].removeprefix("~")), collected
            assert collected[student].startswith("~")
        else:
            assert collected[student] == text, collected
