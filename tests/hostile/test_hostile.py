"""Every file of `submissions/` is run; its first lines say which verdict is honest and what the report must say."""

import random
import re
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from trainer.content import packs
from trainer.display.terminal import render
from trainer.grading.diagnosis import derivation, first_line
from trainer.grading.diagnosis.loops import growth
from trainer.grading.diagnosis.milestones import reached
from trainer.grading.diagnosis.shelf import Shelf
from trainer.grading.diagnosis.telling import telling_line
from trainer.grading.diagnosis.tracing import traced
from trainer.grading.diagnosis.trail import Trail, right_trails, trail_of, with_numbers
from trainer.grading.grader import Grader
from trainer.running.protocol import Reply, RunReply, Step
from trainer.running.run import Ended
from trainer.running.zygote import Limits

FILES = sorted((Path(__file__).parent / "submissions").glob("*.py"))
GQA = packs.find_challenge(packs.built_in_pack(), "gqa")


def header(source: str, key: str) -> str:
    """The value of `# key: value` among the first lines."""
    found = re.search(rf"^# {key}: (.*)$", source, re.MULTILINE)
    return found[1].strip() if found else ""


@pytest.fixture
def hasty(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> Grader:
    """A grader with little patience and memory to give."""
    monkeypatch.setattr(grader, "limits", Limits(seconds=2.5, memory_bytes=768 << 20))
    return grader


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_honest_verdict(hasty: Grader, path: Path) -> None:
    """The verdict is the honest one, where and why are looked for, the report can be shown, the grader lives on, no process and no folder is left."""
    source = path.read_text()
    report = hasty.grade(GQA, source, path.name, 21, diagnosed=True)
    assert report.verdict in header(source, "verdict").split(), report.first_failure()
    failure = report.first_failure()
    if report.verdict != "passed":
        assert failure is not None
    if (says := header(source, "says")) and failure is not None:
        assert any(re.search(says, one.message) for one in report.outcomes if one.status == "failed"), failure.message
    assert shown(report)
    assert workers(hasty) == ""
    assert hasty.grade(GQA, packs.solution(GQA), "gqa.py", 21).verdict == "passed"


@pytest.mark.parametrize("seed", range(40))
def test_forged_records_do_no_harm(grader: Grader, seed: int) -> None:
    """A worker may say that lines made anything from anything: all that reads it comes to an end, with a line or without."""
    exam = grader.exam(GQA, 21).only([0])
    rights = right_trails(exam)
    draw = random.Random(seed)
    told, tensors = forged(draw, [step.value for step in rights[0].steps if step.value is not None])
    trail = with_numbers(trail_of(told, tensors), packs.solution(GQA))
    sizes = dict(exam.cases[0].sizes)
    for mistaken in (None, rights[1]):
        parting = first_line.Path(trail, Shelf(rights, sizes), rights[0], mistaken).parting(["out", "nothing"])
        assert parting is None or 0 <= parting.step < len(trail.steps)
    for check in ("properties", "gradients", "train/eval", "memory"):
        line = telling_line(trail, check, 7)
        assert line is None or line >= 0
    growth(trail, trail_of(*forged(draw, tensors)))
    reached(trail, rights[0], packs.solution(GQA), sizes)
    rows = traced(exam, 1, Ended("replied", Reply(runs=[told]), tensors), packs.solution(GQA), 21).rows
    assert all(row.line >= 0 for row in rows)


@pytest.mark.parametrize("operation", ["view", "cat", "mul"])
def test_a_forged_record_of_many_ways_is_read_soon(grader: Grader, operation: str) -> None:
    """Every step made from all before it: there are more ways back than could be walked one by one."""
    exam = grader.exam(GQA, 21).only([0])
    rights = right_trails(exam)
    tensors = [torch.full((4,), 7.5), torch.randn(3, 5)]
    steps = [Step([2 + number], operation, number % 2, list(range(max(0, number - 64), number))) for number in range(400)]
    trail = trail_of(RunReply(steps=steps, made_by={"out": 398, "kept": 399}), tensors)
    for name in trail.made_by:
        parting = first_line.Path(trail, Shelf(rights, dict(exam.cases[0].sizes)), rights[0], rights[1]).parting([name])
        assert parting is None or 0 <= parting.step < len(trail.steps)
    assert telling_line(trail, "gradients") is None


def test_a_forged_chain_is_read_soon(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two thousand steps, each the one before times the scale or divided by it, none is measured twice."""
    measure, measured = derivation._factor, list[int]()

    def counted(trail: Trail, number: int) -> float | None:
        if trail.made_by == {"out": 2000}:
            measured.append(number)
        return measure(trail, number)

    monkeypatch.setattr(derivation, "_factor", counted)
    exam = grader.exam(GQA, 21).only([0])
    rights = right_trails(exam)
    value = torch.randn(3, 5)
    shelf = Shelf(rights, dict(exam.cases[0].sizes))
    scale = next(iter(shelf._factors))
    tensors = [value, value * scale]
    steps = [Step([], "input x", 0, [])] + [Step([2 + number], ("mul", "div")[number % 2], (number + 1) % 2, [number]) for number in range(2000)]
    trail = trail_of(RunReply(steps=steps, made_by={"out": 2000}), tensors)
    parting = first_line.Path(trail, shelf, rights[0], rights[1]).parting(["out"])
    assert parting is not None
    assert 0 < len(measured) <= len(trail.steps)


def forged(draw: random.Random, tensors: list[torch.Tensor]) -> tuple[RunReply, list[torch.Tensor]]:
    """A reply of nonsense, among it tensors of a right answer, and the tensors that it speaks of."""
    odd = [torch.empty(0), torch.full((2, 3), float("nan")), torch.full((4,), float("inf")), torch.zeros(()), torch.ones(1, dtype=torch.int8)]
    odd += [torch.arange(5), torch.ones(3, dtype=torch.bool), torch.rand(2, 3, dtype=torch.complex64), torch.rand([1] * 12), torch.empty(3, 0, 2)]
    tensors = [*tensors, *odd]
    number = partial(draw.choice, [-1, 0, 1, 2, 3, 5, 8, 20, 1 << 31])
    names = ["view", "mul", "add", "number", "return", "input x", "input parameter q_proj.weight", "bernoulli", "split", "\x1b[2J", "input ", "detach"]
    steps = [
        Step(
            [draw.choice([0, 1, 9, 10**9]) for _ in range(draw.randrange(4))],
            draw.choice(names),
            draw.randrange(-1, len(tensors)),
            [number() for _ in range(draw.randrange(5))],
            draw.choice(["", "q", "\x07"]),
            number(),
            draw.choice([0, 1, 1 << 53]),
        )
        for _ in range(draw.randrange(60))
    ]
    return RunReply(steps=steps, made_by={"out": number(), "weights": number()}), tensors


def shown(report: object) -> str:
    """The report as text, with no escape sequence of the submission in it."""
    from rich.console import Console

    console = Console(width=80, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(render(report, 80))  # type: ignore[arg-type]
    text = capture.get()
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    return text


def workers(grader: Grader) -> str:
    """The processes that the zygote has now: workers, and orphans of theirs."""
    grader._zygote.settle()
    pid = grader._zygote._pid
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().strip() if sys.platform == "linux" else ""
