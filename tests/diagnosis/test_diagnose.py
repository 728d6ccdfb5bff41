"""Tests of the complete diagnosis, also with the files of `tests/by_hand`."""

import re
from pathlib import Path

import pytest

from tests.support.diagnosis import CHALLENGES, SEED, diagnosed
from tests.support.grading import report_of
from tests.support.paths import TESTS
from trainer.diagnosis.patched_references import PatchedReferences
from trainer.grading.grader import Grader
from trainer.packs import pack_reader
from trainer.worker.worker_client import WorkerRun

BY_HAND = sorted((TESTS / "by_hand").glob("*/*.py"))


def header(path: Path, key: str) -> list[str]:
    """Return the words after `# key:` in the first two lines of a file."""
    for line in path.read_text().splitlines()[:2]:
        if line.startswith(f"# {key}: "):
            return [word.strip() for word in line.partition(": ")[2].split(",")]
    return []


def marked_lines(path: Path) -> list[int]:
    """Return the line numbers that are marked as wrong."""
    return [
        line_number
        for line_number, line in enumerate(path.read_text().splitlines(), 1)
        if line.endswith(("# first wrong", "# also wrong"))
    ]


@pytest.mark.sampled(40)
@pytest.mark.parametrize(
    "path", BY_HAND, ids=[f"{path.parent.name}-{path.stem}" for path in BY_HAND]
)
def test_mistake_in_another_style_is_named_and_located(grader: Grader, path: Path) -> None:
    """The diagnosis names the true mistakes or none. Its line is at most 1 line off.

    The header of a file lists the exceptions.
    """
    report, found = diagnosed(grader, CHALLENGES[path.parent.name], path.read_text(), path.name)
    true_mistakes = set(header(path, "mistakes"))
    named = {mistake.id for mistake in found.mistakes}
    exceptions = header(path, "diagnosis")
    assert named in (true_mistakes, set()), f"wrong name: {named}"
    assert ("not named" in exceptions) == (not named), report.first_failure()
    ids = " ".join(true_mistakes)
    assert re.search("mask|causal|past|block|one-key", ids) or found.effective_mask is None, (
        "a picture blames a right mask"
    )
    assert "mask" not in found.cleared or not re.search("mask|causal|one-key", ids)
    line = None if found.first_line is None else found.first_line.line
    is_close = line is not None and any(abs(line - marked) <= 1 for marked in marked_lines(path))
    exception = "no line" if line is None else "" if is_close else "line elsewhere"
    assert [words for words in exceptions if "line" in words] == (
        [exception] if exception else []
    ), f"line {line}, marked {marked_lines(path)}"


def test_few_files_by_hand_are_exceptions() -> None:
    """The shares of exceptions in the headers are limited.

    At least 95 % of single mistakes and 80 % of pairs are named. At least 85 % of all lines are
    right, and 90 % of the reported lines. Every challenge has at least ten files.
    """
    single = [path for path in BY_HAND if len(header(path, "mistakes")) == 1]
    pairs = [path for path in BY_HAND if len(header(path, "mistakes")) == 2]
    unnamed = [
        sum("not named" in header(path, "diagnosis") for path in paths) / len(paths)
        for paths in (single, pairs)
    ]
    assert unnamed[0] <= 0.05
    assert unnamed[1] <= 0.2
    without_line, wrong_line = (
        sum(words in header(path, "diagnosis") for path in BY_HAND)
        for words in ("no line", "line elsewhere")
    )
    assert without_line + wrong_line <= 0.15 * len(BY_HAND)
    assert wrong_line <= 0.1 * (len(BY_HAND) - without_line)
    assert all(sum(path.parent.name == folder for path in BY_HAND) >= 10 for folder in CHALLENGES)


def test_headers_of_files_by_hand_are_valid() -> None:
    """Every file names known mistakes and marks at most one line for each mistake."""
    for path in BY_HAND:
        known = (CHALLENGES[path.parent.name].solutions / "mistakes.toml").read_text()
        assert all(f'id = "{mistake}"' in known for mistake in header(path, "mistakes")), path
        assert 1 <= len(marked_lines(path)) <= len(header(path, "mistakes")), path


def test_unknown_mistake_is_located_but_not_named(grader: Grader) -> None:
    """The diagnosis of an unknown mistake has the line and the last right milestone."""
    challenge = CHALLENGES["gqa"]
    source = pack_reader.solution(challenge).replace(
        "weights = self.dropout(weights)", "weights = torch.tanh(self.dropout(weights))"
    )
    _, found = diagnosed(grader, challenge, source)
    assert found.mistakes == ()
    assert found.first_line is not None
    assert "tanh" in found.first_line.text
    assert (found.last_reached, found.first_missed) == ("weights", "heads")
    assert "scale" in found.cleared
    assert "softmax axis" in found.cleared


def test_right_answer_has_no_diagnosis(grader: Grader) -> None:
    """The report of a right answer has no diagnosis."""
    challenge = CHALLENGES["gqa"]
    report = report_of(
        grader, challenge, pack_reader.solution(challenge), "gqa.py", SEED, diagnosed=True
    )
    assert report.verdict == "passed"
    assert report.diagnosis is None


@pytest.mark.parametrize(
    ("folder", "changes"),
    [
        pytest.param(
            "gqa",
            [("scores / math.sqrt(self.head_dim)", "scores"), ('float("-inf")', "-100.0")],
            id="a known pair",
        ),
        pytest.param(
            "gqa",
            [
                ("self.dropout(weights)", "torch.tanh(self.dropout(weights))"),
                ('float("-inf")', "-20.0"),
            ],
            id="two unknown mistakes",
        ),
        pytest.param(
            "mha_fused",
            [
                ("scores / math.sqrt(self.head_dim)", "scores / self.num_heads**0.3"),
                ("~mask", "(~mask if mask.dim() != 3 else ~mask.flip(0))"),
            ],
            id="masks of three dims",
        ),
        pytest.param(
            "kv_cache",
            [
                ("scores / math.sqrt(self.head_dim)", "scores"),
                ("tril(diagonal=past_length)", "tril(diagonal=past_length + (length > 2))"),
            ],
            id="chunks of three",
        ),
    ],
)
def test_wrong_mask_is_not_ruled_out(
    grader: Grader, folder: str, changes: list[tuple[str, str]]
) -> None:
    """A mask that is wrong in some cases is not ruled out because of the other cases."""
    source = pack_reader.solution(CHALLENGES[folder])
    for was, now in changes:
        assert source.count(was) == 1, was
        source = source.replace(was, now)
    _, found = diagnosed(grader, CHALLENGES[folder], source)
    assert "mask" not in found.cleared


def test_right_mask_is_ruled_out(grader: Grader) -> None:
    """If every query attends to the right keys, the mask is ruled out and no picture is shown."""
    challenge = CHALLENGES["gqa"]
    _, found = diagnosed(
        grader,
        challenge,
        pack_reader.solution(challenge).replace("scores = scores / math.sqrt(self.head_dim)", ""),
    )
    assert found.effective_mask is None
    assert "mask" in found.cleared


def test_mask_with_swapped_heads_is_not_ruled_out(grader: Grader) -> None:
    """The effective mask does not show single heads, so it rules out no failed mask."""
    challenge = CHALLENGES["gqa"]
    right = pack_reader.solution(challenge)
    mixed = right.replace(
        "masked_fill(~mask,",
        "masked_fill(~mask.expand(-1, self.num_heads, -1, -1).flip(1) "
        "if mask.dim() == 4 else ~mask,",
    )
    report, found = diagnosed(grader, challenge, mixed)
    assert report.first_failure().check == "masks"  # type: ignore[union-attr]  # it failed
    assert "mask" not in found.cleared


def test_two_mistakes_are_named_in_the_order_of_their_lines(grader: Grader) -> None:
    """The mistake that is first in the reference is named first."""
    path = TESTS / "by_hand" / "gqa" / "baddbmm_keys_tiled_and_merged_without_transpose.py"
    _, found = diagnosed(grader, CHALLENGES["gqa"], path.read_text())
    assert [mistake.id for mistake in found.mistakes] == [
        "keys-tiled",
        "heads-merged-without-transpose",
    ]


def test_error_in_the_diagnosis_keeps_the_verdict_and_stops_workers(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict is kept, a warning names the error, and running workers are stopped."""
    stopped: list[WorkerRun] = []
    stop = WorkerRun.stop
    monkeypatch.setattr(PatchedReferences, "right_graphs", lambda references, index: 1 / 0)
    monkeypatch.setattr(
        WorkerRun, "stop", lambda running: (stopped.append(running), stop(running))[1]
    )
    source = pack_reader.solution(CHALLENGES["sdpa"]).replace("dim=-1", "dim=-2")
    with pytest.warns(UserWarning, match="ZeroDivisionError.*the verdict is still valid"):
        report = report_of(grader, CHALLENGES["sdpa"], source, "answer.py", SEED, diagnosed=True)
    assert report.verdict == "failed"
    assert report.diagnosis is None
    assert len(stopped) == 1  # the worker that records the case and runs the probe
    assert not Path(f"/proc/{stopped[0]._pid}").exists()
