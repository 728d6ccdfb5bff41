"""Judge a wrong submission, and prepare the parts of its diagnosis."""

from dataclasses import dataclass
from functools import cache

from attn_drill.diagnosis._behaviour import Agreement
from attn_drill.diagnosis._recorded_case import Reruns
from attn_drill.diagnosis.patched_references import PatchedReferences
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.grader import Grader, Judgement
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.model.report import Outcome
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import patch, read_mistakes
from tests.support.grading import diagnoser_of

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
    return case_set.only([names.index(name) for name in FEW])


def judged(grader: Grader, challenge: Challenge, source: str, seed: int = SEED) -> Judged:
    """Judge a source, and return the parts of its diagnosis."""
    case_set = grader.case_set(challenge, seed)
    judgement = grader.judge(case_set, Submission("answer.py", source))
    references = diagnoser_of(grader).references(case_set)
    agreement = Agreement(references, judgement.comparison)
    return Judged(judgement, references, agreement, Reruns(grader.workers, judgement))
