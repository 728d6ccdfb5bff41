"""Judge a wrong submission, and prepare the parts of its diagnosis."""

from dataclasses import dataclass

from trainer.diagnosis.agreement import Agreement
from trainer.diagnosis.patched_references import PatchedReferences
from trainer.diagnosis.reruns import Reruns
from trainer.grading.grader import Grader, Judgement
from trainer.model.challenge import Challenge
from trainer.model.report import Outcome
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.packs.mistakes import patch, read_mistakes

SEED = 5


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


def with_mistakes(challenge: Challenge, *mistakes: str) -> str:
    """Return the reference with known mistakes."""
    source = pack_reader.solution(challenge)
    known = {mistake.id: mistake for mistake in read_mistakes(challenge)}
    for mistake in mistakes:
        source = patch(source, known[mistake], "solution.py")
    return source


def judged(grader: Grader, challenge: Challenge, source: str, seed: int = SEED) -> Judged:
    """Judge a source, and return the parts of its diagnosis."""
    case_set = grader.case_set(challenge, seed)
    judgement = grader.judge(case_set, Submission("answer.py", source))
    references = PatchedReferences(case_set, grader.workers.check_interrupt)
    agreement = Agreement(references, judgement.comparison)
    return Judged(judgement, references, agreement, Reruns(grader.workers, judgement))
