"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.support.grading import report_of
from tests.support.paths import ROOT, TESTS
from trainer.diagnosis import patched_references
from trainer.diagnosis.blame import Blamer
from trainer.diagnosis.diagnose import Diagnoser
from trainer.diagnosis.effective_mask import _what, attended, probe
from trainer.diagnosis.layout import Core, same
from trainer.diagnosis.mask_question import outputs_of
from trainer.diagnosis.matching import Matching
from trainer.diagnosis.milestones import progress
from trainer.diagnosis.output_relation import relation
from trainer.diagnosis.patched_references import PatchedReferences
from trainer.diagnosis.reference_index import ReferenceIndex
from trainer.diagnosis.source_analysis import (
    branch_not_taken,
    function_lines,
    is_called_from_several_places,
    is_given_a_constant,
    where_gradients_are_cut,
)
from trainer.diagnosis.value_graph import ValueGraph, content_graph, graph_of, leading_to
from trainer.grading.case_set import CaseSet
from trainer.grading.comparison import Comparison
from trainer.grading.grader import Grader
from trainer.model.challenge import Challenge
from trainer.model.report import Diagnosis, Report
from trainer.packs import pack_reader
from trainer.worker.protocol import RunReply, Step
from trainer.worker.worker_client import WorkerResult, WorkerRun

SEED = 5
CHALLENGES = {one.folder.name: one for one in pack_reader.read_pack(pack_reader.built_in_pack())}
BY_HAND = sorted((TESTS / "by_hand").glob("*/*.py"))


def header(path: Path, key: str) -> list[str]:
    """The words behind `# key:` in the first two lines."""
    for line in path.read_text().splitlines()[:2]:
        if line.startswith(f"# {key}: "):
            return [word.strip() for word in line.partition(": ")[2].split(",")]
    return []


def marked(path: Path) -> list[int]:
    """The lines that are marked as wrong."""
    return [
        number
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if line.endswith(("# first wrong", "# also wrong"))
    ]


def diagnosed(
    grader: Grader, challenge: Challenge, source: str, name: str = "answer.py", seed: int = SEED
) -> tuple[Report, Diagnosis]:
    """A failing report and its diagnosis."""
    report = report_of(grader, challenge, source, name, seed, diagnosed=True)
    assert report.verdict != "passed"
    assert report.diagnosis is not None
    return report, report.diagnosis


@pytest.mark.sampled(40)
@pytest.mark.parametrize(
    "path", BY_HAND, ids=[f"{path.parent.name}-{path.stem}" for path in BY_HAND]
)
def test_by_hand(grader: Grader, path: Path) -> None:
    """A known mistake in another style: named, or nothing is; its line within one of the marked one, but for what the header says."""
    report, found = diagnosed(grader, CHALLENGES[path.parent.name], path.read_text(), path.name)
    truth, named, unable = (
        set(header(path, "mistakes")),
        {one.id for one in found.mistakes},
        header(path, "diagnosis"),
    )
    assert named in (truth, set()), f"named wrongly: {named}"
    assert ("not named" in unable) == (not named), report.first_failure()
    about = " ".join(truth)
    assert re.search("mask|causal|past|block|one-key", about) or found.effective_mask is None, (
        "a picture blames a right mask"
    )
    assert "mask" not in found.cleared or not re.search("mask|causal|one-key", about)
    line = None if found.first_line is None else found.first_line.line
    close = line is not None and any(abs(line - one) <= 1 for one in marked(path))
    told = "no line" if line is None else "" if close else "line elsewhere"
    assert [one for one in unable if "line" in one] == ([told] if told else []), (
        f"line {line}, marked {marked(path)}"
    )


def test_how_much_is_named() -> None:
    """At least 95 % of single mistakes and 80 % of pairs are named; in 85 % the line is within one, of those reported in 90 %; every challenge has ten files."""
    single = [path for path in BY_HAND if len(header(path, "mistakes")) == 1]
    pairs = [path for path in BY_HAND if len(header(path, "mistakes")) == 2]
    unnamed = [
        sum("not named" in header(path, "diagnosis") for path in some) / len(some)
        for some in (single, pairs)
    ]
    assert unnamed[0] <= 0.05
    assert unnamed[1] <= 0.2
    silent, wrong = (
        sum(words in header(path, "diagnosis") for path in BY_HAND)
        for words in ("no line", "line elsewhere")
    )
    assert silent + wrong <= 0.15 * len(BY_HAND)
    assert wrong <= 0.1 * (len(BY_HAND) - silent)
    assert all(sum(path.parent.name == folder for path in BY_HAND) >= 10 for folder in CHALLENGES)


def test_marks_stand() -> None:
    """Every file names known mistakes and marks a line for each."""
    for path in BY_HAND:
        known = (CHALLENGES[path.parent.name].solutions / "mistakes.toml").read_text()
        assert all(f'id = "{one}"' in known for one in header(path, "mistakes")), path
        assert 1 <= len(marked(path)) <= len(header(path, "mistakes")), path


def test_what_nobody_knows_is_not_named(grader: Grader) -> None:
    """An error that no mistake describes: no name, but the line, and what came before it."""
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


@pytest.mark.parametrize(
    ("now", "words"),
    [
        pytest.param(
            "nn.functional.linear(x, self.q_proj.weight)",
            "this is the output you get without the bias of q_proj",
            id="a bias left out",
        ),
        pytest.param(
            "nn.functional.linear(x, self.q_proj.weight.t(), self.q_proj.bias)",
            "this is the output you get if the weight of q_proj is transposed",
            id="transposed",
        ),
        pytest.param("x", "this is the output you get without q_proj", id="a layer left out"),
        pytest.param("self.q_proj(x).tanh()", None, id="nothing of the kind"),
    ],
)
def test_what_no_patch_describes(grader: Grader, now: str, words: str | None) -> None:
    """Layers and biases left out, weights transposed: told wherever there are weights, though the bank holds nothing of the kind."""
    challenge = CHALLENGES["gqa"]
    right = pack_reader.solution(challenge)
    assert right.count("self.q_proj(x)") == 1
    _, found = diagnosed(grader, challenge, right.replace("self.q_proj(x)", now))
    assert found.mistakes == ()
    assert found.layout == words


@pytest.mark.parametrize(
    ("folder", "was", "now", "told", "not_told"),
    [
        pytest.param(
            "gqa",
            '~mask, float("-inf")',
            "mask, -1e9",
            {"mask-inverted"},
            set(),
            id="another fill beside the mistake",
        ),
        pytest.param(
            "mha",
            "dropout=0.0",
            "dropout=0.1",
            set(),
            {"keys-detached", "d-model-not-checked"},
            id="a wrong default is no pair of what changes no value",
        ),
        pytest.param(
            "mha_fused",
            "weights = self.dropout(weights)",
            "weights = self.dropout(weights); weights = weights / weights.sum(-1, keepdim=True)",
            set(),
            {"dropout-before-softmax"},
            id="rows that sum to one again have zeros",
        ),
        pytest.param(
            "mqa",
            "weights = self.dropout(weights)",
            "weights = weights if mask is None else self.dropout(weights)",
            set(),
            {"no-dropout"},
            id="dropout in one case of two",
        ),
        pytest.param(
            "mqa",
            "heads = weights @ v",
            "heads = torch.cat([weights[:, :, i : i + 1] @ v for i in range(length)], dim=2)",
            set(),
            {"loop-over-heads"},
            id="a loop over something else",
        ),
    ],
)
def test_names_of_what_is_nearly_a_known_mistake(
    grader: Grader, folder: str, was: str, now: str, told: set[str], not_told: set[str]
) -> None:
    """A mistake is named in whatever style; what only fails the same checks is another."""
    challenge = CHALLENGES[folder]
    right = pack_reader.solution(challenge)
    assert right.count(was) == 1
    known = (challenge.solutions / "mistakes.toml").read_text()
    assert all(f'id = "{one}"' in known for one in told | not_told)
    _, found = diagnosed(grader, challenge, right.replace(was, now))
    named = {one.id for one in found.mistakes}
    assert told <= named
    assert not named & not_told


KEPT = """    global kept
    mask = kept.setdefault(None if mask is None else mask.shape, mask)
    scores = q @"""


@pytest.mark.parametrize(
    ("was", "now", "alone"),
    [
        pytest.param(
            "    scores = q @", KEPT, True, id="a mask kept from the first call of its shape"
        ),
        pytest.param("weights @ v", "(weights @ v).float()", False, id="float32 whatever comes"),
    ],
)
def test_right_alone(grader: Grader, was: str, now: str, alone: bool) -> None:
    """A case that is right where it runs alone has something of an earlier one; a result of the wrong dtype is not right alone."""
    challenge = CHALLENGES["sdpa"]
    right = pack_reader.solution(challenge)
    assert right.count(was) == 1
    _, found = diagnosed(grader, challenge, "kept = {}\n" + right.replace(was, now))
    assert (
        found.layout is not None and found.layout.startswith("alone this case is right")
    ) == alone


def test_a_pass_imports_no_diagnosis() -> None:
    """A right answer is graded without what looks for where and why; a wrong one is not."""
    code = (
        "import sys\n"
        "from trainer.app.grade_file import grade_file\n"
        "from trainer.app.open_packs import open_packs\n"
        "from trainer.packs import pack_reader\n"
        "from trainer.model.submission import Submission\n"
        "from trainer.worker import forkserver_client\n"
        "known_packs = open_packs()\n"
        "challenge = known_packs.find('gqa')\n"
        "for divisor in ('math.sqrt(self.head_dim)', '2.0'):\n"
        "    source = pack_reader.solution(challenge).replace('math.sqrt(self.head_dim)', divisor)\n"
        "    forkserver_client.prepare()\n"
        "    grade_file(known_packs, challenge, Submission('gqa.py', source), 5)\n"
        "    print(sum(name.startswith('trainer.diagnosis') for name in sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    right, wrong = map(int, done.stdout.split())
    assert right == 0
    assert wrong > 5


def test_a_pass_has_no_diagnosis(grader: Grader) -> None:
    """Nothing is diagnosed, and no further worker started, for a right answer."""
    challenge = CHALLENGES["gqa"]
    report = report_of(
        grader, challenge, pack_reader.solution(challenge), "gqa.py", SEED, diagnosed=True
    )
    assert report.verdict == "passed"
    assert report.diagnosis is None


MASKS = {
    "inverted": ("masked_fill(~mask", "masked_fill(mask", "the mask is inverted"),
    "ignored": ("if mask is not None:", "if False:", "as if there were no mask"),
    "moved": ("masked_fill(~mask", "masked_fill(~mask.roll(1, -1)", ""),
}


@pytest.mark.parametrize("name", MASKS)
def test_effective_mask(grader: Grader, name: str) -> None:
    """Whom each query attends to is seen from outside, whatever the code."""
    was, now, words = MASKS[name]
    challenge = CHALLENGES["gqa"]
    _, found = diagnosed(grader, challenge, pack_reader.solution(challenge).replace(was, now))
    assert found.effective_mask is not None
    assert words in found.effective_mask.what
    assert found.effective_mask.actual != found.effective_mask.expected


HEAD_BY_HEAD = [
    ("qkv.permute(2, 0, 3, 1, 4)", "qkv.permute(3, 0, 2, 1, 4)"),
    (
        "(batch, length, 3, self.num_heads, self.head_dim)",
        "(batch, length, self.num_heads, 3, self.head_dim)",
    ),
]
NO_TRAINING = ("self.dropout(weights)", "nn.functional.dropout(weights, self.dropout.p)")
ALWAYS_DROPPED = ("self.dropout(weights)", "nn.functional.dropout(weights, 0.1)")
FUSED_OUT = "return self.o_proj(merged)"
NO_MASK_MISTAKE = [
    pytest.param("mha_fused", HEAD_BY_HEAD, id="fused rows head by head"),
    pytest.param("mha_fused", [*HEAD_BY_HEAD, NO_TRAINING], id="and dropout without training="),
    pytest.param("mha_fused", [*HEAD_BY_HEAD, ALWAYS_DROPPED], id="and dropout always"),
    pytest.param("mha_fused", [ALWAYS_DROPPED], id="dropout always"),
    pytest.param("mha_fused", [("q, k, v = qkv", "k, v, q = qkv")], id="parts in another order"),
    pytest.param("mha_fused", [(FUSED_OUT, "return self.o_proj(merged) + x")], id="residual"),
    pytest.param("mha_fused", [(FUSED_OUT, "return self.o_proj(merged.sqrt())")], id="NaN in all"),
    pytest.param("mha_fused", [(FUSED_OUT, "return self.o_proj(merged).sqrt()")], id="NaN in some"),
    pytest.param(
        "mha_fused",
        [("torch.softmax(scores, dim=-1)", "torch.softmax(scores * float('inf'), dim=-1)")],
        id="NaN in the weights",
    ),
    pytest.param("mha_fused", [("heads.transpose(1, 2)", "heads")], id="merged without transpose"),
    pytest.param("mha_fused", [("weights @ v", "weights @ v.roll(1, 2)")], id="values rolled"),
    pytest.param("gqa", [("weights @ v", "weights @ v.flip(2)")], id="values in reverse"),
    pytest.param("gqa", [("weights @ v", "weights @ q")], id="queries in place of values"),
    pytest.param("gqa", [("weights @ v", "weights @ k")], id="keys in place of values"),
    pytest.param("gqa", [("dim=-1)  # [B, H, L, L]", "dim=-2)")], id="softmax over queries"),
    pytest.param("sdpa", [("weights @ v", "weights @ v.flip(-2)")], id="values in reverse, sdpa"),
    pytest.param(
        "kv_cache",
        [("v = torch.cat([past_v, v], dim=2)", "v = torch.cat([v, past_v], dim=2)")],
        id="only the values' cache behind",
    ),
    pytest.param(
        "kv_cache",
        [("past_k, past_v = past_kv", "past_v, past_k = past_kv")],
        id="cached keys and values exchanged",
    ),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", [SEED, 19])
@pytest.mark.parametrize(("folder", "changes"), NO_MASK_MISTAKE)
def test_a_right_mask_is_not_blamed(
    grader: Grader, folder: str, changes: list[tuple[str, str]], seed: int
) -> None:
    """Where an output moves for another reason than attention, no picture is shown."""
    source = pack_reader.solution(CHALLENGES[folder])
    for was, now in changes:
        assert source.count(was) == 1, was
        source = source.replace(was, now)
    _, found = diagnosed(grader, CHALLENGES[folder], source, seed=seed)
    assert found.effective_mask is None


CACHED = {
    "the past is hidden": (
        "tril(diagonal=past_length)",
        "tril(diagonal=past_length).triu(past_length)",
    ),
    "counted from the first key": ("tril(diagonal=past_length)", "tril()"),
    "one key too many": ("tril(diagonal=past_length)", "tril(diagonal=past_length + 1)"),
    "the past is dropped": ("if past_kv is not None:", "if False:"),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("folder", ["kv_cache", "gqa_kv_cache"])
@pytest.mark.parametrize("name", CACHED)
def test_the_picture_has_the_keys_of_the_cache(grader: Grader, folder: str, name: str) -> None:
    """The columns are the cached keys, then the new ones; the expected ones are causal."""
    was, now = CACHED[name]
    source = pack_reader.solution(CHALLENGES[folder])
    assert source.count(was) == 1
    _, found = diagnosed(grader, CHALLENGES[folder], source.replace(was, now))
    picture = found.effective_mask
    assert picture is not None
    said = re.search(r"the first (\d+) keys are in the cache", picture.what)
    assert said is not None
    length, keys = len(picture.expected), len(picture.expected[0])
    assert keys == int(said[1]) + length
    rows = ["#" * (keys - length + 1 + row) + "." * (length - 1 - row) for row in range(length)]
    assert list(picture.expected) == rows
    assert picture.actual != picture.expected


PROBED = [one for one in CHALLENGES.values() if "KEYS" in (one.folder / "cases.py").read_text()]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("challenge", PROBED, ids=[one.id for one in PROBED])
def test_right_answers_are_proved(grader: Grader, challenge: Challenge) -> None:
    """Every right way to write it attends to the same keys, and the proof finds so; with scripts,
    and where it is not known which layer is which, nothing can be run here."""
    case_set = grader.case_set(challenge, SEED)
    kept = PatchedReferences(case_set, grader.workers.check_interrupt)
    paths = [challenge.solutions / "solution.py"]
    paths += sorted((challenge.solutions / "also_right").glob("*.py"))
    proved, masked = 0, 0
    for number, case in enumerate(case_set.cases):
        asked = None if case.probe or case.mode == "train" else probe(case_set, number)
        if asked is None or proved >= 4:
            continue
        ended = kept.run(asked.case_set, kept.source, "outputs")
        right = attended(asked, outputs_of(ended) or [])
        if right is None:
            assert case.check != "masks" or "head" in case.name or "full" in case.name, case.name
            continue
        proved += 1
        masked += not bool(right.pattern.any(dim=0).all())
        for path in paths:
            source = path.read_text()
            if "torch.jit" in source:
                continue
            ended = kept.run(asked.case_set, source, "outputs")
            if len(ended.reply.assignments) > 1:
                continue
            mine = attended(asked, outputs_of(ended) or [], right)
            assert mine is not None, (path.stem, case.name)
            assert torch.equal(mine.pattern, right.pattern), (path.stem, case.name)
    assert proved == 4


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
            id="two that nobody knows",
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
def test_a_wrong_mask_is_not_cleared(
    grader: Grader, folder: str, changes: list[tuple[str, str]]
) -> None:
    """A mask that is wrong in some cases is not ruled out by the others."""
    source = pack_reader.solution(CHALLENGES[folder])
    for was, now in changes:
        assert source.count(was) == 1, was
        source = source.replace(was, now)
    _, found = diagnosed(grader, CHALLENGES[folder], source)
    assert "mask" not in found.cleared


def test_a_right_mask_is_cleared(grader: Grader) -> None:
    """Where every query attends to the right keys, the mask is ruled out and no picture drawn."""
    challenge = CHALLENGES["gqa"]
    _, found = diagnosed(
        grader,
        challenge,
        pack_reader.solution(challenge).replace("scores = scores / math.sqrt(self.head_dim)", ""),
    )
    assert found.effective_mask is None
    assert "mask" in found.cleared


def test_a_mask_that_is_wrong_a_head_is_not_cleared(grader: Grader) -> None:
    """Which heads see what, the effective mask does not show: where masks fail it clears nothing."""
    challenge = CHALLENGES["gqa"]
    right = pack_reader.solution(challenge)
    mixed = right.replace(
        "masked_fill(~mask,",
        "masked_fill(~mask.expand(-1, self.num_heads, -1, -1).flip(1) if mask.dim() == 4 else ~mask,",
    )
    report, found = diagnosed(grader, challenge, mixed)
    assert report.first_failure().check == "masks"  # type: ignore[union-attr]  # it failed
    assert "mask" not in found.cleared


def test_differences_of_masks_in_words() -> None:
    """Inverted, shifted, transposed, without the diagonal, of item 0 for all."""
    causal = torch.ones(2, 5, 5, dtype=torch.bool).tril()
    two = torch.stack([causal[0], torch.ones(5, 5, dtype=torch.bool).triu()])
    assert "inverted" in _what(~causal, causal)
    assert "1 key too far to the right" in _what(
        torch.ones(2, 5, 5, dtype=torch.bool).tril(1), causal
    )
    assert "2 keys too far to the left" in _what(
        torch.ones(2, 4, 6, dtype=torch.bool).tril(), torch.ones(2, 4, 6, dtype=torch.bool).tril(2)
    )
    assert "transposed" in _what(causal.transpose(1, 2), causal)
    ragged = torch.rand(2, 5, 5) > 0.4
    eye = torch.eye(5, dtype=torch.bool)
    assert "does not attend to itself" in _what(ragged & ~eye, ragged | eye)
    assert "item 0" in _what(two[:1].expand(2, 5, 5), two)
    assert "1 hidden keys are attended to" in _what(
        causal
        | (torch.arange(5)[:, None] == 0)
        & (torch.arange(5) == 4)
        & (torch.arange(2) == 0)[:, None, None],
        causal,
    )


SIZES = {"B": 2, "H": 4, "L": 7, "D": 3, "M": 12}


def alike(one: torch.Tensor, other: torch.Tensor, sizes: dict[str, int]) -> bool:
    """Whether two tensors are the same in an honest layout."""
    return same(Core(one), Core(other), sizes)


def test_an_honest_layout_is_the_same() -> None:
    """Dims permuted, axes merged and taken apart in the usual order; memory under another shape is not."""
    heads = torch.randn(2, 4, 7, 3)
    merged = heads.transpose(1, 2).reshape(2, 7, 12)
    assert alike(merged, heads, SIZES)
    assert alike(heads, merged, SIZES)
    assert alike(heads.reshape(8, 7, 3), heads, SIZES)
    assert alike(heads.permute(2, 3, 0, 1), heads, SIZES)
    assert not alike(heads.reshape(2, 7, 12), heads, SIZES)
    assert not alike(heads.flip(1), heads, SIZES)
    assert not alike(2 * heads, heads, SIZES)


def test_no_letter_is_taken_twice() -> None:
    """Heads in the order of another grouping are no honest layout, though the batch is as large as a group: 12 = B B Hkv is nothing."""
    sizes = {"B": 2, "L": 5, "H": 6, "Hkv": 3, "D": 8}
    heads = torch.randn(2, 6, 5, 8)
    tiled = heads.transpose(1, 2).reshape(2, 5, 2, 3, 8)
    assert alike(heads.transpose(1, 2).reshape(2, 5, 3, 2, 8), heads.reshape(12, 5, 8), sizes)
    assert not alike(tiled, heads.reshape(12, 5, 8), sizes)


def test_a_strict_mask_is_no_transposed_complement() -> None:
    """j < i is not what j > i hides, read with keys and queries exchanged; who is hidden is the same mask, and so is its transpose."""
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    sizes = {"B": 2, "L": 6}
    assert alike(~causal, causal, sizes)
    assert alike(causal.t(), causal, sizes)
    assert not alike(causal.tril(-1), causal, sizes)


def test_integers_are_equal_or_not() -> None:
    """Large positions that differ by one are others; there is no rounding among integers."""
    positions = torch.arange(20_000, 20_014).view(2, 7)
    assert alike(positions.T, positions, SIZES)
    assert not alike(positions.clamp(max=20_012), positions, SIZES)


def test_many_dims_are_soon_given_up() -> None:
    """Two tensors of many dims may be taken apart in 270 million ways: it comes to an end, and says nothing."""
    sizes = {"B": 2, "H": 4, "Hkv": 2, "L": 5, "D": 2, "M": 8, "Dv": 4}
    one, other = torch.rand([8] * 7), torch.rand([16] * 5 + [2])
    assert one.numel() == other.numel()
    assert not alike(one, other, sizes)


def test_a_mask_is_the_same_however_it_is_written() -> None:
    """True and False, 0 and -inf, its complement; another pattern is not."""
    seen = torch.ones(5, 5, dtype=torch.bool).tril()
    bias = torch.zeros(5, 5).masked_fill(~seen, float("-inf"))
    assert alike(bias, seen, {})
    assert alike(~seen, seen, {})
    assert not alike(torch.ones(5, 5, dtype=torch.bool).tril(1), seen, {})


def test_relations_in_words() -> None:
    """A factor, slices moved along an axis, dims in another order."""
    heads = torch.randn(2, 7, 4, 3)
    assert (
        relation(heads / 2, heads, "B L H D", SIZES)
        == "it is the right result times 0.5 = 1/sqrt(H)"
    )
    assert "along H it holds the right slices 0 2 1 3" in (
        relation(heads[:, :, [0, 2, 1, 3]], heads, "B L H D", SIZES) or ""
    )
    assert "along L it is the right result moved by 1" in (
        relation(torch.cat([torch.randn(2, 1, 4, 3), heads[:, :-1]], 1), heads, "B L H D", SIZES)
        or ""
    )
    assert "[B, H, L, D] where [B, L, H, D]" in (
        relation(heads.transpose(1, 2).reshape(2, 7, 12), heads.reshape(2, 7, 12), "B L M", SIZES)
        or ""
    )
    assert relation(torch.randn(2, 7, 4, 3), heads, "B L H D", SIZES) is None


def test_a_lying_trail_points_backwards() -> None:
    """Steps of a worker that point at later ones, or at tensors that are not there, are read without harm."""
    told = RunReply(
        steps=[Step([1], "mul", 7, [1, 0, -1, 5]), Step([2], "mul", -1, [0])], made_by={"out": 99}
    )
    graph = graph_of(told, [])
    first, second = graph.nodes
    assert (first.parents, second.parents) == ((), (first,))
    assert graph.outputs == {}
    assert leading_to([second]) == (first, second)


def test_a_number_is_followed_back_to_a_line_of_the_file() -> None:
    """Where an output is no tensor: back from what the known mistake makes to the first step whose parents are right; what has no line is passed over."""

    def graph(*steps: tuple[list[int], int, list[int]]) -> ValueGraph:
        told = RunReply(
            steps=[
                Step(lines, "number", place, parents)
                for place, (lines, _, parents) in enumerate(steps)
            ]
        )
        return graph_of(told, [torch.tensor(value) for _, value, _ in steps])

    right = graph(([1], 3001, []), ([2], 9004, [0]))
    wrong = graph(([1], 3001, []), ([2], 7007, [0]))
    mine = graph(([1], 3001, []), ([], 4444, [0]), ([3], 5555, [0]), ([4], 7007, [1, 2]))
    found = Blamer(Matching(mine, ReferenceIndex([right], {}), right, wrong)).divergence([])
    assert found is not None
    assert found.line == 3


def test_the_shelf_holds_what_led_to_outputs(grader: Grader) -> None:
    """What a right answer makes and throws away vouches for nothing."""
    case_set = grader.case_set(CHALLENGES["sdpa"], SEED).only([0])
    wasteful = pack_reader.solution(CHALLENGES["sdpa"]).replace(
        "scores = q @", "thrown_away = q.exp()\n    scores = q @"
    )
    graph = content_graph(case_set, wasteful, "solution.py")
    assert graph is not None
    (thrown,) = [node for node in graph.nodes if node.name == "thrown_away"]
    sizes = case_set.cases[0].sizes
    assert not ReferenceIndex([graph], sizes).has(thrown)
    assert ReferenceIndex([ValueGraph(graph.nodes, {})], sizes).has(thrown)


def test_lines_are_cleared_by_their_results(grader: Grader) -> None:
    """Of an answer that goes wrong at the softmax the lines before it come out right, and those after it do not lead there."""
    challenge = CHALLENGES["sdpa"]
    case_set, source = grader.case_set(challenge, SEED).only([0]), pack_reader.solution(challenge)
    lines = source.splitlines()
    (line,) = [number for number, text in enumerate(lines, 1) if "torch.softmax(" in text]
    reference = content_graph(case_set, source, "solution.py")
    wrong = content_graph(
        case_set,
        source.replace(lines[line - 1], lines[line - 1].replace("dim=-1", "dim=-2")),
        "wrong.py",
    )
    assert reference is not None
    assert wrong is not None
    found = progress(wrong, reference, source, dict(case_set.cases[0].sizes))
    used = {node.line for node in reference.leading_to_outputs if node.lines}
    assert found.missed is not None
    assert found.missed.name == "weights"
    assert {one for one in used if one < line} <= found.right_lines
    assert {one for one in used if one > line} <= found.lines_elsewhere
    assert line not in found.right_lines | found.lines_elsewhere


def test_two_mistakes_are_told_in_the_order_of_the_computation(grader: Grader) -> None:
    """What goes wrong first is named first, whichever of the two was found first."""
    path = TESTS / "by_hand" / "gqa" / "baddbmm_keys_tiled_and_merged_without_transpose.py"
    _, found = diagnosed(grader, CHALLENGES["gqa"], path.read_text())
    assert [one.id for one in found.mistakes] == ["keys-tiled", "heads-merged-without-transpose"]


def test_figures_are_those_of_the_trail(grader: Grader) -> None:
    """What a patched reference computes is noted without being recorded line by line: the same figures."""
    case_set = grader.case_set(CHALLENGES["mha"], SEED)
    references = PatchedReferences(case_set, grader.workers.check_interrupt)
    index = next(
        place
        for place, case in enumerate(case_set.cases)
        if case.dtype == "float64" and case.check == "masks"
    )
    graph = content_graph(case_set.only([index]), references.source, "solution.py", "tensors")
    assert graph is not None
    computed = {
        node.features for node in graph.computed if not node.is_layout and node.features is not None
    }
    assert len(computed) >= 10
    assert references.figures((), index) == computed
    assert not references.figures(("no-scale",), index) <= references.figures((), index)


def test_a_fault_of_the_diagnosis_leaves_the_verdict_and_no_worker(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict stands, a warning says what failed, and workers that were begun are ended."""
    stopped: list[WorkerRun] = []
    stop = WorkerRun.stop
    monkeypatch.setattr(PatchedReferences, "right_graphs", lambda references, index: 1 / 0)
    monkeypatch.setattr(
        WorkerRun, "stop", lambda running: (stopped.append(running), stop(running))[1]
    )
    source = pack_reader.solution(CHALLENGES["sdpa"]).replace("dim=-1", "dim=-2")
    with pytest.warns(UserWarning, match="ZeroDivisionError.*the verdict stands"):
        report = report_of(grader, CHALLENGES["sdpa"], source, "answer.py", SEED, diagnosed=True)
    assert report.verdict == "failed"
    assert report.diagnosis is None
    assert len(stopped) == 1  # which is recorded first, and nudged then
    assert not Path(f"/proc/{stopped[0]._pid}").exists()


def test_a_probe_comes_with_its_pair(grader: Grader) -> None:
    """A case of a vectorised pair is looked at with the other one, and with no other."""
    case_set = grader.case_set(CHALLENGES["mla"], SEED)
    cases = case_set.cases
    probes = [number for number, case in enumerate(cases) if case.probe == "vectorised"]
    assert len(probes) > 2
    assert case_set.only([probes[3]]).cases == (cases[probes[2]], cases[probes[3]])
    assert case_set.only([probes[3]], alone=True).cases == (cases[probes[3]],)


def test_an_undeclared_twin_is_refused(grader: Grader, tmp_path: Path) -> None:
    """Two mistakes of one effect: the pack's check names the fault, and is content once they are declared."""
    import shutil

    from trainer.server.pack_check import PackChecker

    for folder in ("challenges", "solutions"):
        shutil.copytree(pack_reader.built_in_pack() / folder / "sdpa", tmp_path / folder / "sdpa")
    path = tmp_path / "solutions" / "sdpa" / "mistakes.toml"
    before = path.read_text()
    first = before.split("[[mistake]]")[1]
    name = first.split('"')[1]
    for declared in (False, True):
        twin = first.rstrip().replace(f'id = "{name}"', 'id = "twin"') + (
            f'\ntwins = ["{name}"]\n' if declared else "\n"
        )
        path.write_text(before + "\n[[mistake]]" + twin)
        (challenge,) = pack_reader.read_pack(tmp_path)
        with Grader([tmp_path]) as fresh:
            (row,) = PackChecker(fresh, Diagnoser(fresh.workers)).rows(
                challenge, [SEED], [("mistake", "twin")]
            )
        assert row.ok == declared, row.message
        assert declared or "undeclared" in row.message


CALLS = """
def softmax(x, dim, scale=None):
    x = x - x.amax(dim, keepdim=True)
    return x.exp() / x.exp().sum()

def once(x):
    return softmax(x * 2, dim=-1)

def twice(x, n):
    return once(softmax(x, n))
"""


@pytest.mark.parametrize(("line", "several"), [(3, True), (7, False), (10, False), (1, False)])
def test_from_where_a_function_is_called(line: int, *, several: bool) -> None:
    """By its name in the text; what is in no function is called from nowhere."""
    assert is_called_from_several_places(CALLS, line) == several


@pytest.mark.parametrize(
    ("line", "call", "constant"),
    [(3, 7, True), (4, 7, False), (3, 10, False), (7, 10, False), (1, 10, False)],
)
def test_an_argument_that_is_written_out(line: int, call: int, *, constant: bool) -> None:
    """Only what the statement reads counts, and only if the call writes it out."""
    assert is_given_a_constant(CALLS, line, call) == constant


BRANCHES = """
def attend(q, k, past, mask, cached):
    k = heads(k)
    if mask is not None:
        scores = 0
    if cached:
        k = join(past, k)
        q = q + 0
    return q @ k


@torch.no_grad()
def turned(x):
    return x * 2
"""


def test_a_branch_that_was_not_entered() -> None:
    """Only one that would have bound the name counts, between the two lines, and of which nothing was visited."""
    assert branch_not_taken(BRANCHES, 3, 9, {3, 9}, {"k"}) == 6
    assert branch_not_taken(BRANCHES, 3, 9, {3, 8, 9}, {"k"}) is None
    assert branch_not_taken(BRANCHES, 3, 9, {3, 9}, {"v"}) is None
    assert branch_not_taken(BRANCHES, 7, 9, {9}, {"k"}) is None
    assert branch_not_taken(BRANCHES, 3, 14, {3}, {"k"}) is None


def test_lines_of_functions() -> None:
    """A decorator that turns gradients off is told; a function's lines are all of it."""
    assert where_gradients_are_cut(BRANCHES, 14) == 12
    assert where_gradients_are_cut(BRANCHES, 9) == 9
    assert function_lines(BRANCHES, 5) == range(2, 10)
    assert function_lines(BRANCHES, 1) == range(1, 2)


def test_what_a_class_shares_is_recorded_once(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second wrong submission of an exam has none of the pack's right answers recorded again, and its diagnosis is the same."""
    challenge = CHALLENGES["sdpa"]
    wrong = pack_reader.solution(challenge).replace("math.sqrt", "float")
    first = diagnosed(grader, challenge, wrong)[1]
    recorded: list[str] = []
    monkeypatch.setattr(
        patched_references,
        "content_graph",
        lambda case_set, source, path, purpose="lines": recorded.append(path),
    )
    monkeypatch.setattr(
        patched_references, "right_graphs", lambda case_set: recorded.append("right")
    )
    assert diagnosed(grader, challenge, wrong)[1] == first
    assert recorded == []


def test_only_what_lasts_is_kept(grader: Grader) -> None:
    """A mistake that met its time limit once, on a busy machine, is graded again; one that failed is not."""
    case_set = grader.case_set(CHALLENGES["sdpa"], SEED)
    reports = [
        Report("sdpa", "x.py", SEED, verdict, (), (), "", 0.0)
        for verdict in ("timeout", "failed", "passed")
    ]
    asked = iter(reports)
    references = PatchedReferences(case_set, grader.workers.check_interrupt)

    def grade(case_set: CaseSet, source: str) -> tuple[Comparison, Report]:
        return Comparison(case_set, WorkerResult("died")), next(asked)

    found = [references.report(case_set, "the same", grade).verdict for _ in range(3)]
    assert found == ["timeout", "failed", "failed"]


def test_what_a_constructor_leaves_for_all_is_kept_from_an_earlier_call(grader: Grader) -> None:
    """A number that the class keeps, and every new object overwrites: alone the case is right, and nothing that the diagnosis builds beside it changes that."""
    gqa = CHALLENGES["gqa"]
    source = pack_reader.solution(gqa).replace(
        "self.dropout = nn", "type(self).scale = self.head_dim**-0.5\n        self.dropout = nn"
    )
    found = diagnosed(
        grader,
        gqa,
        source.replace("scores / math.sqrt(self.head_dim)", "scores * type(self).scale"),
    )[1]
    assert found.layout is not None
    assert "kept from an earlier call" in found.layout
