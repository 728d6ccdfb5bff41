"""Tell how many of the mistakes that a bug hunt planted are still in the learner's file.

The file is compared with the reference with every choice of the planted mistakes. So a repair
counts whatever it looks like, and nothing is read from the text of the file.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from torch import Tensor

from attn_drill.diagnosis._behaviour import Agreement, are_alike
from attn_drill.diagnosis._recorded_case import Reruns
from attn_drill.diagnosis._source_lines import lines_of_node
from attn_drill.diagnosis.patched_references import Ids, PatchedReferences
from attn_drill.grading.case_set import CaseSet, load_training
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.grader import Judgement
from attn_drill.model.challenge import Challenge
from attn_drill.model.report import Curve, Part, Repair

# Cases in which mistakes must differ. All cases would take a minute for some choices of four bugs.
_TELLING = 16


def repair_of(
    references: PatchedReferences, judgement: Judgement, reruns: Reruns, planted: Ids
) -> Repair:
    """Return the progress of a bug hunt.

    Args:
        judgement: of the learner's file.
        reruns: runs the file again.
        planted: the ids of the planted mistakes.
    """
    judgement = judgement.of_all_cases()  # a case alone shows only some of the mistakes
    left = _left_mistakes(references, judgement, planted)
    return Repair(
        planted=len(planted),
        left=None if left is None else tuple(references.mistakes[name] for name in left),
        parts=tuple(_parts(references, judgement.comparison, left)),
        curve=_curve(judgement, reruns),
    )


def _left_mistakes(references: PatchedReferences, judgement: Judgement, planted: Ids) -> Ids | None:
    """Return the planted mistakes that together behave like the file; None if no choice does."""
    comparison = judgement.comparison
    if judgement.report.verdict == "passed":
        return ()
    if not comparison.results or any(result.reply.unassigned for result in comparison.results):
        return None
    agreement = Agreement(references, comparison)
    for ids in _choices(planted):
        if ids and agreement.agrees(ids) and references.refuses_alike(ids, comparison):
            return ids
    return None


def _choices(planted: Ids) -> Iterator[Ids]:
    """Yield every choice of the planted mistakes, the smallest choices first."""
    for count in range(len(planted) + 1):
        yield from combinations(planted, count)


def are_distinct(references: PatchedReferences, planted: Ids) -> bool:
    """Return whether every choice of the mistakes behaves differently from every other choice.

    Otherwise a mistake hides another, and a repair could not be seen.
    """
    choices = list(_choices(planted))
    if any(references.namespace(ids) is None for ids in choices):
        return False
    # A mistake that the others hide is the usual reason for False. Few choices show it.
    all_but_one = [ids for ids in choices if len(ids) >= len(planted) - 1]
    return _differ(references, all_but_one) and _differ(references, choices)


def _differ(references: PatchedReferences, choices: list[Ids]) -> bool:
    """Return whether the cases tell all of these choices apart."""
    # Choices that behave alike in all cases so far.
    pairs = list(combinations(choices, 2))
    for index in telling_cases(references.case_set)[:_TELLING]:
        dtype = references.case_set.cases[index].dtype
        pairs = [
            (ids, other)
            for ids, other in pairs
            if are_alike(
                references.behaviour(ids, index), references.behaviour(other, index), dtype
            )
        ]
        if not pairs:
            return True
    return False


def telling_cases(case_set: CaseSet) -> list[int]:
    """Return the indices of the cases that tell mistakes apart, one of each part first."""
    counts = Counter[str]()
    ranked: list[tuple[int, int]] = []
    for index, case in enumerate(case_set.cases):
        if case.probe is None and case.dropout is None:
            ranked.append((counts[case.part], index))
            counts[case.part] += 1
    return [index for _, index in sorted(ranked)]


def _parts(
    references: PatchedReferences, comparison: Comparison, left: Ids | None
) -> Iterator[Part]:
    challenge = comparison.case_set.challenge
    if left is not None:
        wrong = {_part_of(challenge, references, name) for name in left}
        yield from (Part(name, "wrong" if name in wrong else "right") for name in challenge.parts)
        return
    are_earlier_right = True
    for name in challenge.parts:
        results = [result for result in comparison.results if result.case.part == name]
        is_right = comparison.worker_result.how == "replied" and bool(results)
        is_right = is_right and all(result.right for result in results)
        yield Part(name, "right" if is_right else "wrong" if are_earlier_right else "unknown")
        are_earlier_right &= is_right


def _part_of(challenge: Challenge, references: PatchedReferences, mistake: str) -> str:
    """Return the part of the challenge in which a mistake is.

    Code that is in none of the entries belongs to the first part.
    """
    first = references.lines(mistake).start
    for node in ast.parse(references.source).body:
        if (
            isinstance(node, ast.FunctionDef | ast.ClassDef)
            and node.name in challenge.entry
            and first in lines_of_node(node)
        ):
            return challenge.parts[challenge.entry.index(node.name)]
    return challenge.parts[0]


def _curve(judgement: Judgement, reruns: Reruns) -> Curve | None:
    """Train the file and the reference on a small task, and return the losses of all steps."""
    case_set = load_training(judgement.case_set)
    if case_set is None:
        return None
    (prepared,) = case_set.prepared
    (name,) = prepared.case.dims
    comparison = Comparison(case_set, reruns.run(case_set, "outputs"))
    actual: Sequence[float] = ()
    for result in comparison.results:
        value = result.value_of(result.reply.outputs.get(name))
        if isinstance(value, Tensor) and value.dim() == 1:
            actual = value.tolist()
    return Curve(_finite(actual), _finite(prepared.expected.outputs[name].value.tolist()))


def _finite(losses: Sequence[float]) -> tuple[float | None, ...]:
    return tuple(loss if math.isfinite(loss) else None for loss in losses)
