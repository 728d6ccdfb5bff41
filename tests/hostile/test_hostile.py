"""Every file of `submissions/`, and the broken ones of `generated`, is run; its first lines say which verdict is honest and what the report must say."""

import os
import random
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
import torch

from tests.hostile.conftest import PACK
from tests.support.grading import report_of
from tests.support.paths import TINY_PACK
from trainer.diagnosis import value_graph
from trainer.diagnosis.blame import Blamer
from trainer.diagnosis.loops import growth
from trainer.diagnosis.matching import Matching
from trainer.diagnosis.milestones import progress
from trainer.diagnosis.non_value_blame import blamed_line
from trainer.diagnosis.reference_index import ReferenceIndex
from trainer.diagnosis.tracing import trace_of_run
from trainer.diagnosis.value_graph import graph_of, right_graphs
from trainer.grading.grader import Grader
from trainer.model.report import Report
from trainer.packs import pack_reader
from trainer.practice.learner_files import read_source
from trainer.report.terminal import render
from trainer.sandbox import isolation
from trainer.worker.forkserver_client import Limits
from trainer.worker.protocol import Reply, RunReply, Step
from trainer.worker.worker_client import WorkerResult

from .generated import GENERATED, Generated
from .headers import HARMFUL, Hostile, read

SUBMISSIONS = [
    read(path, read_source(path))
    for path in sorted((Path(__file__).parent / "submissions").glob("*.py"))
]
GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
SUMS = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
FLASH, CACHE = (
    pack_reader.find_challenge(pack_reader.built_in_pack(), name) for name in ("flash", "kv-cache")
)
ASKED = {
    challenge.id: challenge
    for challenge in (GQA, FLASH, CACHE, SUMS, pack_reader.find_challenge(PACK, "one-head"))
}


def named(hostile: Hostile) -> str:
    """The file's name, for the report of a test run."""
    return hostile.path.stem


@pytest.mark.parametrize("hostile", SUBMISSIONS, ids=named)
def test_honest_verdict(grader: Grader, monkeypatch: pytest.MonkeyPatch, hostile: Hostile) -> None:
    """The verdict is the honest one, the report can be shown, the grader lives on, and nothing is left: no process, folder, mount, descriptor or file outside."""
    if hostile.not_run and not is_confined(grader):
        pytest.skip(f"there is no sandbox here, and without one {hostile.not_run}")
    report = graded(grader, hostile, monkeypatch, diagnosed=hostile.diagnosed)
    assert report.verdict in hostile.verdicts, report.first_failure()
    failed = [one.message for one in report.outcomes if one.status == "failed"]
    if report.verdict != "passed":
        assert failed
        assert any(re.search(hostile.says, message) for message in failed), failed
    assert_alive(grader, hostile)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("hostile", [one for one in SUBMISSIONS if one.without], ids=named)
def test_honest_verdict_with_limits_alone(
    unconfined: Grader, monkeypatch: pytest.MonkeyPatch, hostile: Hostile
) -> None:
    """Without a sandbox a file may do more, and what it does is an outcome of its own all the same: nothing is left, the grader lives on."""
    report = graded(unconfined, hostile, monkeypatch)
    assert report.verdict in hostile.without, report.first_failure()
    assert_alive(unconfined, hostile)


@pytest.mark.parametrize("broken", GENERATED, ids=lambda broken: broken.name)
def test_broken_files(grader: Grader, tmp_path: Path, broken: Generated) -> None:
    """Files that no editor writes are read as a learner's, and each comes to its verdict."""
    path = tmp_path / "prefix_sum.py"
    path.write_bytes(broken.content)
    report = report_of(grader, SUMS, read_source(path), path.name, 21, diagnosed=True)
    failure = report.first_failure()
    assert report.verdict == broken.verdict, failure
    assert re.search(broken.says, "" if failure is None else failure.message)
    assert shown(report)


@pytest.mark.parametrize("hostile", SUBMISSIONS, ids=named)
def test_what_would_harm_is_not_run_unconfined(hostile: Hostile) -> None:
    """A file that signals, mounts, changes modes or names a place outside its folder says that it is not run without a sandbox, and what it tries to make."""
    if found := HARMFUL.search(re.sub("^#.*$", "", hostile.source, flags=re.MULTILINE)):
        assert hostile.not_run, found[0]
    assert ("attn-drill-escaped" in hostile.source) == bool(hostile.must_not_exist)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(40))
def test_forged_records_do_no_harm(grader: Grader, seed: int) -> None:
    """A worker may say that lines made anything from anything: all that reads it comes to an end, with a line or without."""
    case_set = grader.case_set(GQA, 21).only([0])
    rights = right_graphs(case_set)
    draw = random.Random(seed)
    told, tensors = forged(draw, [node.value for node in rights[0].nodes if node.value is not None])
    graph = graph_of(told, tensors, pack_reader.solution(GQA))
    sizes = dict(case_set.cases[0].sizes)
    for mistaken in (None, rights[1]):
        matching = Matching(graph, ReferenceIndex(rights, sizes), rights[0], mistaken)
        found = Blamer(matching).divergence(["out", "nothing"])
        assert found is None or found.node in graph.nodes
    for check in ("properties", "gradients", "train/eval", "memory"):
        line = blamed_line(graph, check, 7)
        assert line is None or line >= 0
    growth(graph, graph_of(*forged(draw, tensors)))
    progress(graph, rights[0], pack_reader.solution(GQA), sizes)
    ended = WorkerResult("replied", Reply(runs=[told]), tensors)
    rows = trace_of_run(case_set, 1, ended, pack_reader.solution(GQA)).rows
    assert all(row.line >= 0 for row in rows)


@pytest.mark.parametrize("operation", ["view", "cat", "mul"])
def test_a_forged_record_of_many_ways_is_read_soon(grader: Grader, operation: str) -> None:
    """Every step made from all before it: there are more ways back than could be walked one by one."""
    case_set = grader.case_set(GQA, 21).only([0])
    rights = right_graphs(case_set)
    tensors = [torch.full((4,), 7.5), torch.randn(3, 5)]
    steps = [
        Step([2 + number], operation, number % 2, list(range(max(0, number - 64), number)))
        for number in range(400)
    ]
    graph = graph_of(RunReply(steps=steps, made_by={"out": 398, "kept": 399}), tensors)
    for name in graph.outputs:
        right = ReferenceIndex(rights, dict(case_set.cases[0].sizes))
        found = Blamer(Matching(graph, right, rights[0], rights[1])).divergence([name])
        assert found is None or found.node in graph.nodes
    assert blamed_line(graph, "gradients") is None


def test_a_forged_chain_is_read_soon(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two thousand steps, each the one before times the scale or divided by it, none is measured twice."""
    measure, measured = value_graph._factor_between, list[object]()

    def counted(before: torch.Tensor | None, after: torch.Tensor | None) -> float | None:
        if after is not None and after.shape == (3, 5):
            measured.append(after)
        return measure(before, after)

    monkeypatch.setattr(value_graph, "_factor_between", counted)
    case_set = grader.case_set(GQA, 21).only([0])
    rights = right_graphs(case_set)
    value = torch.randn(3, 5)
    right = ReferenceIndex(rights, dict(case_set.cases[0].sizes))
    scale = next(iter(right._factors))
    tensors = [value, value * scale]
    steps = [Step([], "input x", 0, [], entries=15)] + [
        Step([2 + number], ("mul", "div")[number % 2], (number + 1) % 2, [number], entries=15)
        for number in range(2000)
    ]
    graph = graph_of(RunReply(steps=steps, made_by={"out": 2000}), tensors)
    found = Blamer(Matching(graph, right, rights[0], rights[1])).divergence(["out"])
    assert found is not None
    assert 0 < len(measured) <= len(graph.nodes)


def forged(draw: random.Random, tensors: list[torch.Tensor]) -> tuple[RunReply, list[torch.Tensor]]:
    """A reply of nonsense, among it tensors of a right answer, and the tensors that it speaks of."""
    odd = [
        torch.empty(0),
        torch.full((2, 3), float("nan")),
        torch.full((4,), float("inf")),
        torch.zeros(()),
        torch.ones(1, dtype=torch.int8),
    ]
    odd += [
        torch.arange(5),
        torch.ones(3, dtype=torch.bool),
        torch.rand(2, 3, dtype=torch.complex64),
        torch.rand([1] * 12),
        torch.empty(3, 0, 2),
    ]
    tensors = [*tensors, *odd]
    number = partial(draw.choice, [-1, 0, 1, 2, 3, 5, 8, 20, 1 << 31])
    names = [
        "view",
        "mul",
        "add",
        "number",
        "return",
        "input x",
        "input parameter q_proj.weight",
        "bernoulli",
        "split",
        "\x1b[2J",
        "input ",
        "detach",
    ]
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


def graded(
    grader: Grader, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, *, diagnosed: bool = False
) -> Report:
    """The report on a hostile file, which can be shown; nothing is left when it is there."""
    # Only what is to meet its time limit has a short one: a busy machine is no reason for a verdict.
    monkeypatch.setattr(
        grader.workers,
        "limits",
        Limits(seconds=hostile.seconds or 60.0, memory_bytes=hostile.memory << 20),
    )
    grader.workers.preload(grader.case_set(SUMS, 21))
    with nothing_left(grader, hostile.must_not_exist):
        report = report_of(
            grader, ASKED[hostile.of], hostile.source, hostile.path.name, 21, diagnosed=diagnosed
        )
    assert shown(report)
    return report


@contextmanager
def nothing_left(grader: Grader, must_not_exist: tuple[Path, ...]) -> Iterator[None]:
    """What there is of processes, folders, mounts, descriptors and files of these names is the same before and after."""
    before = surroundings(grader, must_not_exist)
    yield
    after = surroundings(grader, must_not_exist)
    for path in must_not_exist:
        path.unlink(missing_ok=True)  # this test fails; no other need do so
    assert after == before


def surroundings(grader: Grader, must_not_exist: tuple[Path, ...]) -> dict[str, object]:
    """What a submission could leave behind or add to."""
    fork_server = grader.workers._fork_server
    fork_server.settle()
    found: dict[str, object] = {
        "folders": os.listdir(fork_server._room),
        "files": [path for path in must_not_exist if os.path.lexists(path)],
    }
    if sys.platform == "linux":
        found["processes"] = set(isolation.descendants(fork_server._pid))
        found["mounts"] = len(Path(f"/proc/{fork_server._pid}/mounts").read_text().splitlines())
        found["descriptors"] = (
            len(os.listdir("/proc/self/fd")),
            len(os.listdir(f"/proc/{fork_server._pid}/fd")),
        )
    return found


def assert_alive(grader: Grader, hostile: Hostile) -> None:
    """A right answer that comes after passes. Every third file is asked for it; right ones among the others show the same."""
    if SUBMISSIONS.index(hostile) % 3 == 0:
        assert (
            report_of(grader, SUMS, pack_reader.solution(SUMS), "prefix_sum.py", 21).verdict
            == "passed"
        )


def is_confined(grader: Grader) -> bool:
    """Whether this grader's workers are kept from the machine."""
    if grader.workers._fork_server.isolation == "kernel":
        return isolation._has_landlock() and isolation._has_seccomp()
    return grader.workers._fork_server.isolation == "bubblewrap"


def shown(report: Report) -> str:
    """The report as text, with no escape sequence of the submission in it."""
    from rich.console import Console

    console = Console(width=80, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(render(report, 80))
    text = capture.get()
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    return text
