"""The stages of a report: how much of the diagnosis it shows."""

from __future__ import annotations

from typing import Literal, get_args

from attn_drill.model.report import Diagnosis, Report

# Each stage shows more than the stage before it: the picture, the line, the questions of the likely
# mistakes, the mistakes themselves.
Stage = Literal["where", "line", "question", "cause"]
STAGES: tuple[Stage, ...] = get_args(Stage)
STAGE_WORDS: dict[Stage, str] = {
    "where": "the place",
    "line": "the line",
    "question": "a question about the mistake",
    "cause": "the likely mistake",
}


def shows(stage: Stage, part: Stage) -> bool:
    """Return whether a report at a stage shows a part."""
    return STAGES.index(stage) >= STAGES.index(part)


def stages_of(report: Report) -> list[Stage]:
    """Return the stages at which the report on a failure shows something new, in order."""
    stages: list[Stage] = ["where"]
    diagnosis, failure = report.diagnosis or Diagnosis(), report.first_failure()
    parts = (diagnosis.first_line, diagnosis.first_missed, diagnosis.layout, diagnosis.cleared)
    if failure is not None and any([failure.frames, *parts]):
        stages.append("line")
    if any(mistake.hint for mistake in diagnosis.mistakes):
        stages.append("question")
    if has_cause(report):
        stages.append("cause")
    return stages


def has_cause(report: Report) -> bool:
    """Return whether the diagnosis names a mistake, or describes the mask."""
    diagnosis = report.diagnosis or Diagnosis()
    mask = diagnosis.effective_mask
    return bool(diagnosis.mistakes or (mask is not None and mask.difference))


def next_stage(report: Report, stage: Stage) -> Stage | None:
    """Return the next stage that shows something new; None if there is none."""
    for later in stages_of(report):
        if not shows(stage, later):
            return later
    return None
