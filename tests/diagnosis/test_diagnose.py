"""Tests of the complete diagnosis, also with the files of `tests/by_hand`."""

import gc
import re
import weakref
from collections import Counter
from pathlib import Path

import pytest

from attn_drill.diagnosis._milestones import concerns
from attn_drill.diagnosis.patched_references import PatchedReferences
from attn_drill.grading.case_set import load_case_set
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Submission
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from attn_drill.worker.worker_client import WorkerRun
from tests.support.diagnosis import CHALLENGES, SEED, diagnosed
from tests.support.grading import BUGS, GQA, SOLUTION, diagnoser_of, report_of, with_mistakes
from tests.support.paths import TESTS

MOST_LINES = 8  # from the first to the last line of a span that a reader sees at once
BY_HAND = sorted((TESTS / "by_hand").glob("*/*.py"))


def header(path: Path, key: str) -> list[str]:
    """Return the words after `# key:` in the first two lines of a file."""
    for line in path.read_text().splitlines()[:2]:
        if line.startswith(f"# {key}: "):
            return [word.strip() for word in line.partition(": ")[2].split(",")]
    return []


# A part of the id of each mistake that changes which keys a query attends to.
_MASKED = "mask|causal|past|block|one-key|visible|hidden|lengths|zeroed"


def marked_lines(path: Path) -> list[int]:
    """Return the line numbers that are marked as wrong."""
    return [
        line_number
        for line_number, line in enumerate(path.read_text().splitlines(), 1)
        if line.endswith(("# first wrong", "# also wrong"))
    ]


@pytest.mark.thorough
@pytest.mark.sampled(24)
@pytest.mark.parametrize(
    "path", BY_HAND, ids=[f"{path.parent.name}-{path.stem}" for path in BY_HAND]
)
def test_mistake_in_another_style_is_named_and_located(grader: Grader, path: Path) -> None:
    """The diagnosis names the true mistakes or none. Its lines are at most 1 line off.

    A span of more than nine lines counts only by its last line. The header of a file lists the
    exceptions.
    """
    report, found = diagnosed(grader, CHALLENGES[path.parent.name], path.read_text(), path.name)
    true_mistakes = set(header(path, "mistakes"))
    named = {mistake.id for mistake in found.mistakes}
    exceptions = header(path, "diagnosis")
    assert named in (true_mistakes, set()), f"wrong name: {named}"
    assert ("not named" in exceptions) == (not named), report.first_failure()
    ids = " ".join(true_mistakes)
    assert re.search(_MASKED, ids) or found.effective_mask is None, "a picture blames a right mask"
    assert "mask" not in found.cleared or not re.search("mask|causal|one-key", ids)
    for mistake in read_mistakes(CHALLENGES[path.parent.name]):
        doubtful = [topic for topic in found.cleared if concerns(mistake, topic)]
        assert mistake.id not in true_mistakes or not doubtful, f"{doubtful} hold the mistake"
    first, last = found.span or (0, 0)
    first = last if last - first > MOST_LINES else first
    is_close = any(first - 1 <= marked <= last + 1 for marked in marked_lines(path))
    exception = "no line" if found.span is None else "" if is_close else "line elsewhere"
    assert [words for words in exceptions if "line" in words] == (
        [exception] if exception else []
    ), f"lines {first} to {last}, marked {marked_lines(path)}"


@pytest.mark.thorough
def test_report_of_a_single_case_names_the_same_mistake(grader: Grader) -> None:
    """Many known mistakes behave like this mistake in the failing case, but not in other cases."""
    gqa = CHALLENGES["gqa"]
    source = with_mistakes(gqa, "mask-filled-with-minus-100")
    complete = report_of(grader, gqa, source, "gqa.py", SEED, diagnosed=True)
    assert complete.diagnosis is not None
    number = complete.first_failure().number
    single = report_of(grader, gqa, source, "gqa.py", SEED, number, diagnosed=True)
    assert single.diagnosis is not None
    assert [each.id for each in single.diagnosis.mistakes] == ["mask-filled-with-minus-100"]
    assert single.diagnosis.mistakes == complete.diagnosis.mistakes
    assert single.diagnosis.first_line == complete.diagnosis.first_line


def test_few_files_by_hand_are_exceptions() -> None:
    """The shares of exceptions in the headers are limited.

    At least 98 % of single mistakes and 95 % of pairs are named. At least 93 % of all lines are
    right, and 94 % of the reported lines. Every challenge has at least ten files.
    """
    single = [path for path in BY_HAND if len(header(path, "mistakes")) == 1]
    pairs = [path for path in BY_HAND if len(header(path, "mistakes")) == 2]
    unnamed = [
        sum("not named" in header(path, "diagnosis") for path in paths) / len(paths)
        for paths in (single, pairs)
    ]
    assert unnamed[0] <= 0.02
    assert unnamed[1] <= 0.05
    without_line, wrong_line = (
        sum(words in header(path, "diagnosis") for path in BY_HAND)
        for words in ("no line", "line elsewhere")
    )
    assert without_line + wrong_line <= 0.07 * len(BY_HAND)
    assert wrong_line <= 0.06 * (len(BY_HAND) - without_line)
    counts = Counter(path.parent.name for path in BY_HAND)
    assert [folder for folder in CHALLENGES if counts[folder] < 10] == []


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


@pytest.mark.sampled(2)
@pytest.mark.thorough
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
                ("~mask", "(~mask if mask.dim() != 4 else ~mask.flip(0))"),
            ],
            id="masks of four dims",
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


@pytest.mark.thorough
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


@pytest.mark.thorough
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


@pytest.mark.thorough
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
    assert len(stopped) == 2  # the workers of the recorded case and of the case of the mask
    assert not any(Path(f"/proc/{running._worker.pid}").exists() for running in stopped)


@pytest.mark.thorough
def test_diagnosis_prints_nothing(grader: Grader, capfd: pytest.CaptureFixture[str]) -> None:
    """A right answer that prints while it is compared does not print into the report."""
    challenge = CHALLENGES["mha"]
    printing = (challenge.solutions / "also_right" / "prints_and_timing.py").read_text()
    assert "print(" in printing
    scale = "scores = scores / math.sqrt(self.head_dim)"
    source = pack_reader.solution(challenge)
    assert scale in source
    capfd.readouterr()
    _, found = diagnosed(grader, challenge, source.replace(scale, "scores = scores * 1.5"))
    assert found.first_line is not None
    assert capfd.readouterr() == ("", "")


SCALE = "        scores = scores / math.sqrt(self.head_dim)\n"
SOFTMAX = "weights = torch.softmax(scores, dim=-1)"
MASKED = '            scores = scores.masked_fill(~mask, float("-inf"))\n'
HALF_TABLES = """        half = cos.shape[-1] // 2
        cos, sin = cos[..., :half], sin[..., :half]
        q = turn(q, cos, sin)
        k = turn(k, cos, sin)
"""
TURN = """def turn(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


def rotate_half(x):"""
CAUSES = [
    pytest.param(
        "gqa",
        [(SCALE, ""), (SOFTMAX, "weights = torch.softmax(scores, dim=-2)")],
        ["no-scale", "softmax-over-queries"],
        "torch.softmax",
        id="no scale and softmax over the queries",
    ),
    pytest.param(
        "mqa",
        [("math.sqrt(self.head_dim)", "math.sqrt(self.num_heads)")],
        ["scale-by-heads"],
        "math.sqrt(self.num_heads)",
        id="scale by the number of heads",
    ),
    pytest.param(
        "mha_fused",
        [("math.sqrt(self.head_dim)", "math.sqrt(self.num_heads)")],
        ["scale-by-heads"],
        "math.sqrt(self.num_heads)",
        id="scale by the number of heads after a fused projection",
    ),
    pytest.param(
        "gqa",
        [(MASKED, "            scores += mask * -1e9\n")],
        ["mask-added-where-allowed"],
        "scores += mask",
        id="large number added where the mask is True",
    ),
    pytest.param(
        "rope_mha",
        [(MASKED, "            scores = scores + mask * -1e9\n")],
        ["float32-mask-added-where-allowed"],
        "mask * -1e9",
        id="large float32 number added where the mask is True",
    ),
    pytest.param(
        "gqa_rope",
        [
            ("        q = q * cos + rotate_half(q) * sin\n", HALF_TABLES),
            ("        k = k * cos + rotate_half(k) * sin\n", ""),
            ("def rotate_half(x):", TURN),
        ],
        ["interleaved-throughout"],
        "x[..., 0::2]",
        id="half tables with neighbours",
    ),
    pytest.param(
        "gqa_rope",
        [
            (
                "angles = torch.arange(max_seq_len)[:, None] * frequencies",
                'self.register_buffer("frequencies", frequencies, persistent=False)\n'
                "        angles = torch.arange(max_seq_len)[:, None] * frequencies",
            ),
            (
                "        cos = self.cos[position_ids].unsqueeze(1)  # [B, 1, L, D]\n",
                "        angles = position_ids[..., None] * self.frequencies.float()\n"
                "        angles = torch.cat((angles, angles), dim=-1).unsqueeze(1)\n"
                "        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)\n",
            ),
            ("        sin = self.sin[position_ids].unsqueeze(1)  # [B, 1, L, D]\n", ""),
        ],
        ["frequencies-cast-with-the-module"],
        'self.register_buffer("frequencies", frequencies, persistent=False)',
        id="frequencies rounded by a cast of the module",
    ),
    pytest.param(
        "kv_cache",
        [
            (
                "visible = everything.tril(diagonal=past_length)",
                "visible = everything.tril() if length > 1 else everything",
            )
        ],
        ["causal-from-column-zero-for-several-tokens"],
        "everything.tril()",
        id="triangle without an offset for several tokens",
    ),
    pytest.param(
        "gqa_kv_cache",
        [
            ("        cache = (k, v)\n", ""),
            (
                "        scores = q @ keys",
                "        heads = self.num_kv_heads\n"
                "        cache = (keys[:, :heads], values[:, :heads])\n        scores = q @ keys",
            ),
        ],
        ["cache-cut-from-repeated-heads"],
        "cache = (keys[:, :heads]",
        id="cache cut from the repeated heads",
    ),
    pytest.param(
        "gqa_kv_cache",
        [
            ("        cache = (k, v)\n", ""),
            (
                "        scores = q @ keys",
                "        cache = (keys, values)\n        scores = q @ keys",
            ),
        ],
        ["cache-of-repeated-heads"],
        "return out, cache",
        id="repeated heads in the cache",
    ),
    pytest.param(
        "gqa", [(SCALE, "")], ["no-scale"], "torch.softmax", id="next step after a missing scale"
    ),
    pytest.param(
        "gqa_kv_cache",
        [("if past_kv is not None:", "if past_kv is not None and use_cache:")],
        ["past-needs-use-cache"],
        "if past_kv is not None and use_cache:",
        id="condition that leaves a step out",
    ),
    pytest.param(
        "mqa",
        [
            (
                "self.dropout = nn.Dropout(dropout)",
                "self.dropout, self.last = nn.Dropout(dropout), nn.Dropout(dropout)",
            ),
            ("return self.o_proj(merged)", "return self.last(self.o_proj(merged))"),
        ],
        ["dropout-on-output-as-well"],
        "self.last(self.o_proj(merged))",
        id="residual dropout",
    ),
    pytest.param(
        "gqa",
        [
            (
                "class GroupedQueryAttention",
                "@torch.jit.script\n"
                "def scaled(x: torch.Tensor, size: int) -> torch.Tensor:\n"
                "    return x / float(size)\n\n\n"
                "class GroupedQueryAttention",
            ),
            (SCALE, "        scores = scaled(scores, self.head_dim)\n"),
        ],
        ["scale-by-head-dim"],
        "return x / float(size)",
        id="line in a scripted helper",
    ),
    pytest.param(
        "mha_fused",
        [("self.dropout(weights)", "nn.functional.dropout(weights, 0.3)")],
        [],
        "nn.functional.dropout",
        id="dropout in eval mode",
    ),
]


@pytest.mark.sampled(20)
@pytest.mark.parametrize(("folder", "changes", "named", "line"), CAUSES)
def test_cause_is_named_with_the_line_of_the_explained_case(
    grader: Grader, folder: str, changes: list[tuple[str, str]], named: list[str], line: str
) -> None:
    """The mistakes are named, and the line belongs to them and to the explained case."""
    source = pack_reader.solution(CHALLENGES[folder])
    for was, now in changes:
        assert source.count(was) == 1, was
        source = source.replace(was, now)
    report, found = diagnosed(grader, CHALLENGES[folder], source)
    assert [mistake.id for mistake in found.mistakes] == named
    assert found.first_line is not None
    assert line in found.first_line.text
    failure = report.first_failure()
    assert failure is not None
    assert failure.check == "runs" or failure.number == found.case


@pytest.mark.thorough
def test_other_draws_in_a_case_of_one_call_hide_no_mistake(grader: Grader) -> None:
    """This file drops entries in another order than the reference with its mistake."""
    path = TESTS / "by_hand" / "lm_classifier" / "without_positions.py"
    _, found = diagnosed(grader, CHALLENGES["lm_classifier"], path.read_text())
    assert [mistake.id for mistake in found.mistakes] == ["positions-missing"]


@pytest.mark.thorough
def test_the_same_mistake_in_every_function_is_named(grader: Grader) -> None:
    """Masks whose True means masked are the opposite of the right masks in every function."""
    challenge = CHALLENGES["masks"]
    source = pack_reader.solution(challenge)
    for was, now in [
        ("return real[:, None, None, :]", "return ~real[:, None, None, :]"),
        ("return visible[None, None]", "return ~visible[None, None]"),
        ("return causal & real", "return causal | real"),
    ]:
        assert source.count(was) == 1
        source = source.replace(was, now)
    report, found = diagnosed(grader, challenge, source)
    assert found.layout is not None
    assert "True and False are exchanged" in found.layout
    assert found.first_line is not None
    assert "~real" in found.first_line.text
    lines = {wrong.first_line.text for wrong in found.elsewhere}
    assert any("~visible" in text for text in lines)
    failure = report.first_failure()
    assert failure is not None
    assert failure.mismatch is not None
    assert failure.mismatch.patterns is not None


@pytest.mark.thorough
def test_topic_of_a_wrong_result_is_not_ruled_out(grader: Grader) -> None:
    """Scores that are scaled twice hold the right scores, but the scale is not ruled out."""
    challenge = CHALLENGES["mqa"]
    source = pack_reader.solution(challenge)
    assert source.count(SCALE) == 1
    source = source.replace(SCALE, SCALE + SCALE).replace(
        "weights = self.dropout(weights)", "weights = torch.tanh(self.dropout(weights))"
    )
    _, found = diagnosed(grader, challenge, source)
    assert "scale" not in found.cleared


@pytest.mark.thorough
def test_order_of_the_numbers_of_a_line_is_not_said_of_the_output(grader: Grader) -> None:
    """Sinks along the batch have the right logits in another order, and give wrong weights."""
    challenge = CHALLENGES["attention_sink"]
    line = "sink = sink_logits.to(scores.dtype)[:, None, None]  # [H, 1, 1]"
    wrong = (
        "by_head = scores.shape[0] != scores.shape[1]\n"
        "    sink = sink_logits.to(scores.dtype).view(-1, 1, 1, 1)\n"
        "    sink = sink.transpose(0, 1) if by_head else sink"
    )
    source = pack_reader.solution(challenge)
    assert source.count(line) == 1
    _, found = diagnosed(grader, challenge, source.replace(line, wrong))
    assert found.layout is not None
    assert found.layout.startswith("at the marked line, these are the right numbers")


@pytest.mark.parametrize(
    ("bugs", "is_only"),
    [
        pytest.param(("no scale",), True, id="one mistake"),
        pytest.param(("no scale", "no refusal"), False, id="bad sizes are accepted, too"),
        pytest.param(("no scale", "a long input raises"), False, id="another crash"),
    ],
)
def test_mistake_is_the_only_mistake_if_every_check_fails_as_with_it(
    grader: Grader, bugs: tuple[str, ...], is_only: bool
) -> None:
    """Points follow from this, so equal values are not enough."""
    source = SOLUTION
    for bug in bugs:
        source = source.replace(*BUGS[bug])
    judgement = grader.grade(GQA, Submission("gqa.py", source), SEED).with_shares()
    diagnosis = diagnoser_of(grader).report(judgement).diagnosis
    assert diagnosis is not None
    assert diagnosis.is_only_mistake == is_only
    assert not is_only or [mistake.id for mistake in diagnosis.mistakes] == ["no-scale"]


def test_case_sets_and_what_is_known_of_them_are_freed(grader: Grader) -> None:
    """A session grades each save on new cases, so its server would fill the memory."""
    diagnoser = diagnoser_of(grader)
    source = with_mistakes(GQA, "scale-by-d-model")
    freed = []
    for seed in range(2):
        case_set = load_case_set(GQA, seed)
        judgement = grader.judge(case_set, Submission("gqa.py", source))
        diagnosis = diagnoser.diagnose(judgement)
        assert diagnosis is not None
        # The costs of a known mistake are counted in this process.
        probes = [index for index, case in enumerate(case_set.cases) if case.probe is not None]
        diagnoser.references(case_set).graded(("loop-over-heads",), tuple(probes[:2]))
        freed.append(weakref.ref(case_set))
        del case_set, judgement, diagnosis
    gc.collect()
    assert [case_set() for case_set in freed] == [None] * 2
