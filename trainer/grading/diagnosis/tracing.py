"""A run line by line: what each line made, and the reference's named result that it equals."""

from __future__ import annotations

from trainer.content.packs import solution
from trainer.core.report import Trace, TraceRow
from trainer.core.words import DrillError
from trainer.grading.diagnosis.layout import LAYOUTS
from trainer.grading.diagnosis.milestones import milestones
from trainer.grading.diagnosis.shelf import Shelf
from trainer.grading.diagnosis.trail import Step, Trail, content_trail, trail_of
from trainer.grading.evidence import in_words, name_shape
from trainer.grading.exam import Exam
from trainer.running.run import Ended

MOST_ROWS = 200


def traced(exam: Exam, number: int, ended: Ended, source: str, seed: int) -> Trace:
    """The rows of an exam's one case.

    Raises:
        DrillError: if the worker could not record anything.
    """
    case = exam.cases[0]
    if ended.how != "replied" or not ended.reply.runs:
        raise DrillError(
            f"Case {number} ({case.name}) cannot be recorded: {ended.reason or ended.how}. `attn-drill check` says more."
        )
    told = ended.reply.runs[0]
    trail = trail_of(told, ended.tensors)
    reference = content_trail(exam, solution(exam.challenge), "solution.py")
    failure = "" if told.failure is None else in_words(told.failure)
    return Trace(
        case,
        number,
        seed,
        tuple(_rows(trail, reference, source, dict(case.sizes)))[:MOST_ROWS],
        failure,
    )


def _rows(
    trail: Trail, reference: Trail | None, source: str, sizes: dict[str, int]
) -> list[TraceRow]:
    lines = source.splitlines()
    given = max(
        (place for place, step in enumerate(trail.steps) if step.operation.startswith("input ")),
        default=-1,
    )
    # Of every visit of a line the last result, which is what the line is there for.
    visits: list[Step] = []
    for step in trail.steps[given + 1 :]:
        if not step.lines or step.operation == "number" or step.value is None:
            continue
        if visits and visits[-1].lines == step.lines:
            visits[-1] = step
        elif step.operation != "return":  # it has been shown where it was made
            visits.append(step)
    marks = _Marks(reference, sizes)
    return [
        _row(
            step,
            lines[step.lines[0] - 1].strip() if step.lines[0] <= len(lines) else "",
            sizes,
            marks.name(step),
        )
        for step in visits
    ]


def _row(step: Step, text: str, sizes: dict[str, int], milestone: str) -> TraceRow:
    assert step.value is not None
    values = step.value.double().flatten()
    finite = values[values.isfinite()]
    low, high = (
        (float(finite.min()), float(finite.max()))
        if finite.numel()
        else (float("nan"), float("nan"))
    )
    dtype = str(step.value.dtype).removeprefix("torch.")
    return TraceRow(
        step.lines[0],
        text,
        len(step.lines) - 1,
        name_shape(tuple(step.value.shape), sizes),
        dtype,
        low,
        high,
        values.numel() - finite.numel(),
        milestone,
    )


class _Marks:
    """The reference's milestones, looked up by value."""

    def __init__(self, reference: Trail | None, sizes: dict[str, int]) -> None:
        marks = [] if reference is None else milestones(reference)
        steps = {} if reference is None else {one.name: reference.steps[one.step] for one in marks}
        self._shelves = [
            (name, Shelf([Trail((step,), {})], sizes))
            for name, step in steps.items()
            if step.features is not None
        ]

    def name(self, step: Step) -> str:
        """The names of what it equals, whatever the layout."""
        if step.operation in LAYOUTS and not step.name and step.operation != "return":
            return ""
        return ", ".join(name for name, shelf in self._shelves if shelf.has(step))
