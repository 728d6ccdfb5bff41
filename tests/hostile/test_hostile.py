"""Every file of `submissions/`, and every generated file, gets the verdict of its header.

The header also contains a pattern for the report's message. Only the first file of every third
family runs by default; CI runs all.
"""

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

from attn_drill.diagnosis._first_wrong import first_wrong
from attn_drill.diagnosis._milestones import progress
from attn_drill.diagnosis._recorded_case import Matching, ReferenceIndex
from attn_drill.diagnosis._source_lines import blamed_line, growth
from attn_drill.diagnosis._value_graph import graph_of, right_graphs
from attn_drill.diagnosis.tracing import trace_of_run
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Challenge, Limits
from attn_drill.model.report import Report
from attn_drill.packs import pack_reader
from attn_drill.practice.learner_files import read_source
from attn_drill.report.terminal import render
from attn_drill.sandbox import isolation
from attn_drill.worker._observers import Recorder
from attn_drill.worker.protocol import Reply, RunReply, Step
from attn_drill.worker.worker_client import WorkerResult
from tests.hostile.conftest import PACK
from tests.support.grading import report_of
from tests.support.paths import TINY_PACK

from .generated import GENERATED, Generated
from .headers import BASES, HARMFUL, Hostile, read

SUBMISSIONS = [
    read(path, read_source(path))
    for path in sorted((Path(__file__).parent / "submissions").glob("*.py"))
]
FIRST = [*{file.family: file for file in reversed(SUBMISSIONS)}.values()][::3]
BUILT_IN = pack_reader.built_in_pack()
GQA = pack_reader.find_challenge(BUILT_IN, "gqa")
SUMS = pack_reader.find_challenge(TINY_PACK, "prefix-sum")


def asked(name: str) -> Challenge:
    """Return the challenge of this name from any of the three packs."""
    return pack_reader.find_in((BUILT_IN, TINY_PACK, PACK), name)


def named(hostile: Hostile) -> str:
    """Return the file's name as the id of a test."""
    return hostile.path.stem


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param(file, marks=() if file in FIRST else pytest.mark.thorough, id=named(file))
        for file in SUBMISSIONS
    ],
)
def test_verdict_is_correct(
    grader: Grader, monkeypatch: pytest.MonkeyPatch, hostile: Hostile
) -> None:
    """The verdict is correct, the report can be shown, and the grader lives on.

    Nothing is left behind: no process, folder, mount, descriptor or outside file.
    """
    if hostile.not_run and not is_confined(grader):
        pytest.skip(f"there is no sandbox here, and without one {hostile.not_run}")
    report = graded(grader, hostile, monkeypatch, diagnosed=hostile.diagnosed)
    assert report.verdict in hostile.verdicts, report.first_failure()
    failed = [outcome.message for outcome in report.outcomes if outcome.status == "failed"]
    if report.verdict != "passed":
        assert failed
        assert any(re.search(hostile.says, message) for message in failed), failed
    assert_alive(grader, hostile)


@pytest.mark.sampled(60)
@pytest.mark.parametrize("hostile", [file for file in SUBMISSIONS if file.without], ids=named)
def test_verdict_is_correct_with_limits_alone(
    unconfined: Grader, monkeypatch: pytest.MonkeyPatch, hostile: Hostile
) -> None:
    """Without a sandbox, a file may do more. Still nothing is left, and the grader lives on."""
    report = graded(unconfined, hostile, monkeypatch)
    assert report.verdict in hostile.without, report.first_failure()
    assert_alive(unconfined, hostile)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("broken", GENERATED, ids=lambda broken: broken.name)
def test_broken_and_unusual_files_get_their_verdict(
    grader: Grader, tmp_path: Path, broken: Generated
) -> None:
    """A file that no editor would write is read like a learner's file."""
    path = tmp_path / "prefix_sum.py"
    path.write_bytes(broken.content)
    report = report_of(grader, SUMS, read_source(path), path.name, 21, diagnosed=True)
    failure = report.first_failure()
    assert report.verdict == broken.verdict, failure
    assert re.search(broken.says, "" if failure is None else failure.message)
    assert shown(report)


def test_harmful_files_are_not_run_without_a_sandbox() -> None:
    """The header of a harmful file forbids a run without a sandbox.

    It also names the files that the submission tries to make outside its folder. Harmful is a file
    that signals, mounts, changes modes or names a path outside its folder.
    """
    for hostile in SUBMISSIONS:
        if found := HARMFUL.search(re.sub("^#.*$", "", hostile.text, flags=re.MULTILINE)):
            assert hostile.not_run, (hostile.path.stem, found[0])
        is_outside = "attn-drill-escaped" in hostile.text
        assert is_outside == bool(hostile.must_not_exist), hostile.path.stem


def test_a_submission_can_see_that_it_is_recorded() -> None:
    """The files that attack the diagnosis search the tracer for the name that stands there."""
    with Recorder("submission.py"):
        tracer = repr(sys.gettrace())
    assert "Recorder" in tracer


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("base", "wanted"), [("gqa", "gqa"), ("one_head", "one-head"), ("flash", "flash")]
)
def test_a_base_alone_is_right(grader: Grader, base: str, wanted: str) -> None:
    """A file that builds on a base fails for its own lines only."""
    source = (BASES / f"{base}.py").read_text(encoding="utf-8")
    assert report_of(grader, asked(wanted), source, f"{base}.py", 21).verdict == "passed"


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(40))
def test_forged_records_do_no_harm(grader: Grader, seed: int) -> None:
    """The diagnosis of any forged record ends, with or without a line."""
    case_set = grader.case_set(GQA, 21).select([0])
    rights = right_graphs(case_set)
    draw = random.Random(seed)
    run, tensors = forged(draw, [node.value for node in rights[0].nodes if node.value is not None])
    graph = graph_of(run, tensors)
    sizes = dict(case_set.cases[0].sizes)
    for mistaken in (None, rights[1]):
        matching = Matching(graph, ReferenceIndex(rights, sizes), mistaken)
        found = first_wrong(matching, ["out", "nothing"])
        assert found is None or found.node in graph.nodes
    for check in ("properties", "gradients", "train/eval", "memory"):
        line = blamed_line(graph, check, 7)
        assert line is None or line >= 0
    growth([graph, graph_of(*forged(draw, tensors))])
    progress(graph, rights[0], pack_reader.solution(GQA), sizes)
    ended = WorkerResult("replied", Reply(runs=[run]), tensors)
    rows = trace_of_run(case_set, 1, ended, pack_reader.solution(GQA)).rows
    assert all(row.line >= 0 for row in rows)


@pytest.mark.thorough
@pytest.mark.sampled(3)
@pytest.mark.parametrize("operation", ["view", "cat", "mul"])
def test_a_forged_record_with_many_paths_is_read_quickly(grader: Grader, operation: str) -> None:
    """Every step has up to 64 parents, so there are too many paths to walk all of them."""
    case_set = grader.case_set(GQA, 21).select([0])
    rights = right_graphs(case_set)
    tensors = [torch.full((4,), 7.5), torch.randn(3, 5)]
    steps = [
        Step([2 + step], operation, step % 2, list(range(max(0, step - 64), step)))
        for step in range(400)
    ]
    graph = graph_of(RunReply(steps=steps, made_by={"out": 398, "kept": 399}), tensors)
    for name in graph.outputs:
        right = ReferenceIndex(rights, dict(case_set.cases[0].sizes))
        found = first_wrong(Matching(graph, right, rights[1]), [name])
        assert found is None or found.node in graph.nodes
    assert blamed_line(graph, "gradients") is None


def forged(draw: random.Random, tensors: list[torch.Tensor]) -> tuple[RunReply, list[torch.Tensor]]:
    """Return a random record and its tensors, some of which are those of a right answer."""
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
    random_integer = partial(draw.choice, [-1, 0, 1, 2, 3, 5, 8, 20, 1 << 31])
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
            [random_integer() for _ in range(draw.randrange(5))],
            draw.choice(["", "q", "\x07"]),
            random_integer(),
            draw.choice([0, 1, 1 << 53]),
        )
        for _ in range(draw.randrange(60))
    ]
    return RunReply(
        steps=steps, made_by={"out": random_integer(), "weights": random_integer()}
    ), tensors


def graded(
    grader: Grader, hostile: Hostile, monkeypatch: pytest.MonkeyPatch, *, diagnosed: bool = False
) -> Report:
    """Return the report on a hostile file. Check that it can be shown and that nothing is left."""
    # Only a file that must reach its time limit has a short one. A busy machine must not cause a
    # verdict.
    monkeypatch.setattr(
        grader.workers, "limits", Limits(seconds=hostile.seconds or 60.0, memory_mib=hostile.memory)
    )
    grader.workers.preload(grader.case_set(SUMS, 21))
    with nothing_left(grader, hostile.must_not_exist):
        report = report_of(
            grader, asked(hostile.of), hostile.source, hostile.path.name, 21, diagnosed=diagnosed
        )
    assert shown(report)
    return report


@contextmanager
def nothing_left(grader: Grader, must_not_exist: tuple[Path, ...]) -> Iterator[None]:
    """Fail if the block changes the processes, folders, mounts, descriptors or forbidden files."""
    before = surroundings(grader, must_not_exist)
    yield
    after = surroundings(grader, must_not_exist)
    for path in must_not_exist:
        path.unlink(missing_ok=True)  # only this test fails, not the later tests
    assert after == before


def surroundings(grader: Grader, must_not_exist: tuple[Path, ...]) -> dict[str, object]:
    """Return everything that a submission could leave behind."""
    fork_server = grader.workers._fork_server
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
    """Check after every third file that a right answer still passes.

    Right files among the other hostile files show the same.
    """
    if SUBMISSIONS.index(hostile) % 3 == 0:
        assert (
            report_of(grader, SUMS, pack_reader.solution(SUMS), "prefix_sum.py", 21).verdict
            == "passed"
        )


def is_confined(grader: Grader) -> bool:
    """Return True if this grader's workers run in a sandbox."""
    if grader.workers._fork_server.isolation == "kernel":
        return isolation._has_landlock() and isolation.has_seccomp()
    return grader.workers._fork_server.isolation == "bubblewrap"


def shown(report: Report) -> str:
    """Return the report as text. Check that it contains no escape sequence of the submission."""
    from rich.console import Console

    console = Console(width=80, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(render(report, 80))
    text = capture.get()
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    return text
