"""Helpers for tests of the judge."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from weakref import WeakKeyDictionary

import torch

from attn_drill.diagnosis._behaviour import Agreement
from attn_drill.diagnosis._recorded_case import Reruns
from attn_drill.diagnosis.diagnose import Diagnoser
from attn_drill.diagnosis.patched_references import PatchedReferences
from attn_drill.grading._tolerance import allowed, compare_values
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.grader import Grader, Judgement
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.model.report import Mismatch, Outcome, Report
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import patch, read_mistakes
from tests.support.paths import TINY_PACK

_diagnosers: WeakKeyDictionary[Grader, Diagnoser] = WeakKeyDictionary()


def diagnoser_of(grader: Grader) -> Diagnoser:
    """Return the diagnoser of a grader; what it knows of a case set serves all tests."""
    if grader not in _diagnosers:
        _diagnosers[grader] = Diagnoser(grader.workers)
    return _diagnosers[grader]


def report_of(
    grader: Grader,
    challenge: Challenge,
    source: str,
    name: str,
    seed: int,
    only: int | None = None,
    *,
    diagnosed: bool = False,
) -> Report:
    """Grade a source under one seed and return its report."""
    judgement = grader.grade(challenge, Submission(name, source), seed, only)
    return diagnoser_of(grader).report(judgement) if diagnosed else judgement.report


GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
SOLUTION = pack_reader.solution(GQA)

# Bugs of gqa in separate lines: each bug can be present with or without the others.
BUGS = {
    "a mask raises": (
        "if mask is not None:",
        "if mask is not None:\n            raise RuntimeError",
    ),
    "a long input raises": (
        "batch, length, d_model = x.shape",
        "batch, length, d_model = x.shape\n        assert length < 7",
    ),
    "the constructor raises": (
        "self.num_heads = num_heads\n",
        "self.num_heads = 6 // (num_kv_heads - 1)\n        self.num_heads = num_heads\n",
    ),
    "no scale": ("scores = scores / math.sqrt(self.head_dim)", ""),
    "no dropout": ("weights = self.dropout(weights)", ""),
    "a soft mask": ('float("-inf")', "-150.0"),
    "no gradient": ("weights @ v", "weights @ v.detach()"),
    "no refusal": ("if d_model % num_heads != 0:", "if False:"),
    "library attention": (
        "scores = q @ k.transpose(-2, -1)",
        "nn.functional.scaled_dot_product_attention(q, k, v)\n"
        "        scores = q @ k.transpose(-2, -1)",
    ),
}


def grade(grader: Grader, *changes: tuple[str, str]) -> Report:
    """Grade the reference of gqa with replacements, each of which must apply."""
    source = SOLUTION
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    return report_of(grader, GQA, source, "gqa.py", 5)


def failed_outcomes(report: Report) -> list[Outcome]:
    """Return the failed outcomes of a report."""
    return [outcome for outcome in report.outcomes if outcome.status == "failed"]


def passed_checks(report: Report) -> set[str]:
    """Return the names of the checks that passed."""
    return {check for check, status in report.statuses().items() if status == "passed"}


def assert_fails_first(report: Report, check: str, says: str) -> None:
    """Assert that a check fails first, and that the pattern `says` matches one of its messages."""
    assert report.verdict != "passed"
    failure = report.first_failure()
    assert failure.check == check, failure
    messages = [outcome.message for outcome in failed_outcomes(report) if outcome.check == check]
    assert any(re.search(says, message) for message in messages), messages


SEED = 5
GPT = pack_reader.find_challenge(pack_reader.built_in_pack(), "mini-gpt")
# Two cases of each part. The small GPT has six times as many cases, and each takes long.
FEW = (
    *("model: two blocks", "model: one block"),
    *("loss: two sequences", "loss: two tokens"),
    *("training step: one step", "training step: gradients larger than max_norm 0.1"),
    *("generation: three tokens", "generation: past the last position"),
)


@dataclass(frozen=True)
class Judged:
    """A wrong submission after its judgement."""

    judgement: Judgement
    references: PatchedReferences
    agreement: Agreement
    reruns: Reruns

    @property
    def first(self) -> Outcome:
        """The first failure."""
        failure = self.judgement.report.first_failure()
        assert failure is not None
        return failure


def with_tied_head(challenge: Challenge) -> str:
    """Return the reference of a small GPT whose head shares the weight of the embedding."""
    head = "self.head = nn.Linear(d_model, vocab_size, bias=False)"
    source = pack_reader.solution(challenge)
    assert source.count(head) == 1
    return source.replace(head, f"{head}; self.head.weight = self.tok_emb.weight")


def with_mistakes(challenge: Challenge, *mistakes: str) -> str:
    """Return the reference with known mistakes."""
    source = pack_reader.solution(challenge)
    known = {mistake.id: mistake for mistake in read_mistakes(challenge)}
    for mistake in mistakes:
        source = patch(source, known[mistake], "solution.py")
    return source


@cache
def few_cases(grader: Grader) -> CaseSet:
    """Return two cases of each part of the small GPT."""
    case_set = grader.case_set(GPT, SEED)
    names = [case.name for case in case_set.cases]
    return case_set.select([names.index(name) for name in FEW])


def judged(grader: Grader, challenge: Challenge, source: str, seed: int = SEED) -> Judged:
    """Judge a source, and return the parts of its diagnosis."""
    case_set = grader.case_set(challenge, seed)
    judgement = grader.judge(case_set, Submission("answer.py", source))
    references = diagnoser_of(grader).references(case_set)
    agreement = Agreement(references, judgement.comparison)
    return Judged(judgement, references, agreement, Reruns(grader.workers, judgement))


RIGHT_SUM = (
    "import torch\n"
    "def prefix_sum(x, reverse=False):\n"
    "    {}\n"
    "    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
)


def grade_prefix_sum(grader: Grader, source: str, **more: int) -> Report:
    """Grade a prefix sum under seed 7."""
    return report_of(
        grader,
        pack_reader.find_challenge(TINY_PACK, "prefix-sum"),
        source,
        "prefix_sum.py",
        7,
        **more,
    )


def mismatch(
    expected: torch.Tensor,
    actual: torch.Tensor,
    dtype: str = "float32",
    lost: float = 0.0,
    dims: str = "",
    **sizes: int,
) -> Mismatch | None:
    """Compare two tensors with the grader's tolerance."""
    expected = expected.to(torch.float64)
    return compare_values("out", dims, sizes, expected, actual, allowed(expected, dtype, lost))


REFUSALS = """

def refusals():
    import torch
    from attn_drill.casekit import Refusal
    yield Refusal("x has 1 dim and needs 2", {"x": torch.zeros(3)})
    yield Refusal("x has 3 dims and needs 2", {"x": torch.zeros(2, 3, 4), "reverse": True})
"""
CHECKED = '''"""Prefix sums: out_i = x_0 + … + x_i."""

import torch


def prefix_sum(x, reverse=False):
    if x.dim() != 2:
        raise ValueError(f"x has {x.dim()} dims and needs 2")
    if reverse:
        return prefix_sum(x.flip(-1)).flip(-1)
    return torch.cumsum(x, dim=-1)
'''


def strict_pack(folder: Path, *, forbids: str = "") -> Challenge:
    """Write a pack whose challenge prefix-sum refuses tensors that have not two dims.

    The challenge may also forbid an operation of torch.
    """
    shutil.copytree(TINY_PACK, folder)
    cases = folder / "challenges/prefix_sum/cases.py"
    cases.write_text(cases.read_text() + REFUSALS)
    (folder / "solutions/prefix_sum/solution.py").write_text(CHECKED)
    if forbids:
        toml = folder / "challenges/prefix_sum/challenge.toml"
        toml.write_text(toml.read_text() + f'forbids = ["{forbids}"]\n')
    return pack_reader.find_challenge(folder, "prefix-sum")
