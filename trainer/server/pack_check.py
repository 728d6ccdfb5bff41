"""Check the content of a pack: right answers pass, wrong answers fail, nothing is missing."""

from __future__ import annotations

import ast
import textwrap
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from trainer.casekit.case_rules import (
    case_troubles,
    name_troubles,
    pair_troubles,
)
from trainer.casekit.draw import Draw
from trainer.diagnosis.diagnose import Diagnoser
from trainer.grading.case_set import CaseSet
from trainer.grading.challenge_content import (
    Content,
    in_authors_words,
    load_content,
    raised_in,
)
from trainer.grading.grader import Grader
from trainer.model.case import Case
from trainer.model.challenge import Challenge, Mistake
from trainer.model.checks import CHECK_ORDER
from trainer.model.errors import GraderError, PackError
from trainer.model.report import Report
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.packs.follow_up import follow_up_troubles
from trainer.packs.mistakes import patch, patch_all, read_mistakes
from trainer.packs.other_answers import REFERENCE, other_answers
from trainer.packs.pack_items import FOLLOW_UPS
from trainer.packs.pack_rows import Item, Row, ids_of_pair
from trainer.packs.prompt_facts import translation_troubles
from trainer.packs.stub_levels import TEXT_LEVELS, at_level, steps
from trainer.worker.answer_facts import realistic_facts
from trainer.worker.execution import Given, build
from trainer.worker.library_calls import is_known
from trainer.worker.protocol import DTYPES as TORCH_DTYPES

FEWEST_MISTAKES = 12
FEWEST_ALSO_RIGHT = 4
FEWEST_STEPS = 2
DTYPES = {"float32", "float64", "bfloat16"}


class PackChecker:
    """Check the items of a pack's challenges."""

    def __init__(
        self, grader: Grader, diagnoser: Diagnoser, other_packs: Sequence[Path] = ()
    ) -> None:
        self._grader, self._diagnoser, self._other_packs = grader, diagnoser, other_packs
        self._sound: tuple[Challenge, int] | None = None  # the last cases without a wrong field

    def rows(
        self, challenge: Challenge, seeds: Sequence[int], wanted: Sequence[Item]
    ) -> Iterator[Row]:
        """Yield a row for each item, checked with all seeds.

        If the cases or the reference cannot be used, a single row says why.
        """
        try:
            self._require_sound_cases(challenge, seeds[0])
            case_set = self._grader.case_set(challenge, seeds[0])
            case_set.expect()
            self._grader.workers.preload(case_set)
        except Exception as error:
            yield Row(challenge.id, "content", "readable", False, in_words_of(error, challenge))
            return
        for kind, name in wanted:
            try:
                yield self._row(challenge, seeds, (kind, name))
            except Exception as error:
                yield Row(challenge.id, kind, name, False, in_words_of(error, challenge))

    def _require_sound_cases(self, challenge: Challenge, seed: int) -> None:
        """Check the fields of all cases once, before a wrong field makes the grading fail.

        Raises:
            PackError: if a field is wrong, or if the content cannot be loaded.
        """
        if self._sound == (challenge, seed):
            return
        content = load_content(challenge)
        if troubles := list(_case_troubles(content, content.draw_cases(Draw(seed)))):
            more = f" {len(troubles) - 1} more like this." if len(troubles) > 1 else ""
            raise PackError(f"{troubles[0]}.{more}")
        self._sound = challenge, seed

    def _row(self, challenge: Challenge, seeds: Sequence[int], item: Item) -> Row:
        kind, name = item
        reference = pack_reader.solution(challenge)
        where = str(challenge.solutions / "mistakes.toml")
        match kind:
            case "content" if name == FOLLOW_UPS:
                return _content_row(challenge, name, follow_up_troubles(challenge))
            case "content" if name.endswith(".md"):
                troubles = translation_troubles(challenge, challenge.folder / name)
                return _content_row(challenge, name, troubles)
            case "content":
                return _content_row(challenge, name, self._content(challenge, seeds[0]))
            case "stub":  # the code of the other levels is the same
                return self._wrong(challenge, seeds, item, pack_reader.stub(challenge))
            case "reference":
                return self._right(challenge, seeds, item, reference)
            case "also right":
                source = pack_reader.read_text(challenge.solutions / "also_right" / name)
                return self._right(challenge, seeds, item, source)
            case "mistake":
                mistakes = read_mistakes(challenge)
                mistake = next(mistake for mistake in mistakes if mistake.id == name)
                source = patch(reference, mistake, where)
                return self._wrong(challenge, seeds, item, source, mistake)
            case "pair":
                both = [
                    found for found in read_mistakes(challenge) if found.id in ids_of_pair(name)
                ]
                return self._wrong(challenge, seeds, item, patch_all(reference, both, where))

    def _content(self, challenge: Challenge, seed: int) -> Iterator[str]:
        """Yield a sentence for each problem of the texts, the stub and the cases."""
        case_set = self._grader.case_set(challenge, seed)
        yield from _missing_content(challenge)
        yield from _unknown_foundations(challenge, self._other_packs)
        yield from _unknown_operations(challenge)
        yield from _unknown_ties(case_set)
        yield from _case_problems(case_set)
        yield from _other_dtypes(case_set)
        yield from _realistic_troubles(case_set.content)
        yield from _undocumented(challenge)
        stub = challenge.folder / "stub.py"
        for problem in _without_levels(pack_reader.stub(challenge, "guided")):
            yield f"{stub}: {problem}"

    def _right(self, challenge: Challenge, seeds: Sequence[int], item: Item, source: str) -> Row:
        """Check that a right answer passes with every seed."""
        kind, name = item
        file_name = name if name.endswith(".py") else challenge.file_name
        for seed in seeds:
            report = self._grader.grade(challenge, Submission(file_name, source), seed).report
            if report.verdict != "passed":
                advice = _advice_on_forbidden(challenge, report) if kind == "reference" else ""
                message = f"seed {seed}: {in_words(report)}{advice}"
                return Row(challenge.id, kind, name, False, message)
        return Row(challenge.id, kind, name, True, f"passes with {len(seeds)} seeds")

    def _wrong(
        self,
        challenge: Challenge,
        seeds: Sequence[int],
        item: Item,
        source: str,
        mistake: Mistake | None = None,
    ) -> Row:
        """Check that a wrong answer fails with every seed.

        With the first seed, the answer runs on all cases, and the diagnosis must name the mistake.
        With the other seeds, the answer runs only on the case that it failed first. If it passes
        this case, it runs on all cases again.
        """
        kind, name = item
        submission = Submission(challenge.file_name, source)
        refused_by: set[str] = set()
        failed_cases: list[int] = []
        ids: tuple[str, ...] = ()
        for seed in seeds:
            case_set = self._grader.case_set(challenge, seed)
            judgement = self._grader.judge(
                case_set.only(failed_cases) if failed_cases else case_set, submission
            )
            if failed_cases and judgement.report.verdict == "passed":
                judgement = self._grader.judge(case_set, submission)
            report = judgement.report
            if mistake is not None and seed == seeds[0]:
                ids = self._diagnoser.matching_mistake(judgement)
            if report.verdict == "passed":
                return Row(challenge.id, kind, name, False, f"passes with seed {seed}")
            if report.verdict in ("timeout", "memory"):
                return Row(challenge.id, kind, name, False, f"seed {seed}: {in_words(report)}")
            failed = [check for check, status in report.statuses().items() if status == "failed"]
            refused_by.update(failed)
            failed_cases = failed_cases or _first_failed_case(report)
        ordered = tuple(check for check in CHECK_ORDER if check in refused_by)
        row = Row(challenge.id, kind, name, True, f"refused with {len(seeds)} seeds", ordered)
        return row if mistake is None else _names_itself(challenge, seeds[0], mistake, ids, row)


def _content_row(challenge: Challenge, name: str, problems: Iterable[str]) -> Row:
    """Return the row of a part of the content, with all its problems."""
    message = "; ".join(problem.removesuffix(".") for problem in problems)
    return Row(challenge.id, "content", name, not message, message)


def in_words_of(error: Exception, challenge: Challenge) -> str:
    """Return a sentence about an exception that ended the check of an item.

    An exception that a file of the challenge raised is a mistake of the author: the sentence names
    the file and the line.
    """
    if isinstance(error, PackError | GraderError):
        return str(error)
    files = [
        str(path)
        for folder in (challenge.folder, challenge.solutions)
        for path in sorted(folder.rglob("*.py"))
    ]
    if sentence := raised_in(error, "the code raises", *files):
        return sentence
    where = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{challenge.folder}: the check ends with {type(error).__name__}: {error} "
        f"({Path(where.filename).name}, line {where.lineno}). Compare the files of this challenge "
        "with docs/packs.md. If they follow all rules, report this sentence."
    )


def _case_troubles(content: Content, cases: Sequence[Case]) -> Iterator[str]:
    """Yield a sentence for each wrong field of a case, and for each name without an object."""
    both = [part for case in cases for part in (case, case.larger) if part is not None]
    wrong = [
        f"{content.cases_path}: case {case.name!r}: {trouble}"
        for case in both
        for trouble in case_troubles(case, content.challenge.kind)
    ]
    yield from wrong
    if wrong:
        return  # the other rules need cases with valid fields
    for trouble in (
        *name_troubles(both),
        *pair_troubles(both),
    ):
        yield f"{content.cases_path}: {trouble}"


def _unknown_operations(challenge: Challenge) -> Iterator[str]:
    """Yield a sentence for each forbidden operation that torch does not have."""
    for operation in challenge.forbids:
        if not is_known(operation):
            toml = challenge.folder / "challenge.toml"
            yield (
                f"{toml}: `forbids` names {operation!r}, but torch has no operation of this name. "
                'Write the name of an operation, for example "torch.cumsum"'
            )


def _unknown_ties(case_set: CaseSet) -> Iterator[str]:
    """Yield a sentence for each tied parameter that the reference does not have."""
    known = {name for prepared in case_set.prepared for name in prepared.parameters}
    for name in (name for pair in case_set.challenge.ties for name in pair if name not in known):
        yield (
            f"{case_set.challenge.folder / 'challenge.toml'}: `ties` names {name!r}, but the "
            f"reference has no such parameter. Name one of {', '.join(sorted(known)) or 'none'}"
        )


def _advice_on_forbidden(challenge: Challenge, report: Report) -> str:
    """Return the next step if the reference calls what its challenge forbids, else ""."""
    if report.verdict != "not-allowed" or not challenge.forbids:
        return ""
    toml = challenge.folder / "challenge.toml"
    return (
        f" Remove the operation from `forbids` in {toml} if the reference, or torch inside another "
        "operation, needs it."
    )


def _other_dtypes(case_set: CaseSet) -> Iterator[str]:
    """Yield a sentence if the reference returns another floating-point dtype than the case has."""
    for prepared in case_set.prepared:
        for name, value in prepared.expected.outputs.items():
            dtype = prepared.case.dtype
            if value.value.is_floating_point() and value.dtype != dtype:
                yield (
                    f"{case_set.content.reference_path}: the reference returns {name} as "
                    f"{value.dtype} in case {prepared.case.name!r}, whose dtype is {dtype}. "
                    "Return the dtype of the inputs"
                )
                return


def _realistic_troubles(content: Content) -> Iterator[str]:
    """Yield a sentence if the reference cannot be called as `realistic()` says."""
    call, challenge = content.realistic(), content.challenge
    if call is None:
        return
    failures: list[Exception] = []

    def run(implementation: object) -> None:
        try:
            content.drive(implementation, Given(call.inputs, call.sizes))
        except Exception as error:
            failures.append(error)
            raise

    def built() -> object:
        dtype = TORCH_DTYPES[call.dtype]
        return build(
            content.reference, challenge.kind, challenge.entry, call.init, dtype, call.mode
        )

    _, is_complete = realistic_facts(content.reference_path, built, run)
    if not is_complete:
        path = content.cases_path
        doing = f"the reference fails on the call of realistic() in {path}:"
        error = failures[0] if failures else RuntimeError("it cannot be built")
        yield in_authors_words(error, doing, path, content.reference_path)


def _missing_content(challenge: Challenge) -> Iterator[str]:
    """Yield a sentence for each text or file that is missing."""
    toml = challenge.folder / "challenge.toml"
    if not pack_reader.own_prompt(challenge).strip():
        yield f"{challenge.folder / 'prompt.md'} is empty"
    if not challenge.title.strip():
        yield f"{toml}: `title` is empty"
    if any(not hint.strip() for hint in challenge.hints):
        yield f"{toml}: a hint is empty. Write three hints"
    if challenge.minutes < 1:
        yield f"{toml}: `minutes` is {challenge.minutes}. Write a number from 1"
    for mistake in read_mistakes(challenge):
        for key in ("says", "hint"):
            if not getattr(mistake, key).strip():
                file = challenge.solutions / "mistakes.toml"
                yield f"{file}: `{key}` of mistake {mistake.id!r} is empty"
    also_right, mistakes = len(pack_reader.also_right(challenge)), len(read_mistakes(challenge))
    if also_right < FEWEST_ALSO_RIGHT:
        folder = challenge.solutions / "also_right"
        yield f"{folder} has {also_right} files; at least {FEWEST_ALSO_RIGHT} are required"
    if mistakes < FEWEST_MISTAKES:
        file = challenge.solutions / "mistakes.toml"
        yield f"{file} has {mistakes} mistakes; at least {FEWEST_MISTAKES} are required"


def _unknown_foundations(challenge: Challenge, other_packs: Sequence[Path]) -> Iterator[str]:
    """Yield a sentence if the challenge builds on challenges that no known pack has."""
    places = [challenge.folder.parent, *(root / "challenges" for root in other_packs)]
    unknown = [
        name
        for name in challenge.builds_on
        if not any((place / pack_reader.folder_name(name)).is_dir() for place in places)
    ]
    if unknown:
        toml = challenge.folder / "challenge.toml"
        yield f"{toml}: the challenge builds on {', '.join(unknown)}, which no pack has"


def _case_problems(case_set: CaseSet) -> Iterator[str]:
    """Yield a sentence for each dtype that no case has, and for names that several cases have."""
    path, cases = case_set.content.cases_path, case_set.cases
    tensors = [tensor for prepared in case_set.prepared for tensor in prepared.tensors.values()]
    missing = DTYPES - {case.dtype for case in cases}
    if missing and any(tensor.is_floating_point() for tensor in tensors):
        yield f"{path} has no case of dtype {', '.join(sorted(missing))}"
    names = [case.name for case in cases]
    if twice := {name for name in names if names.count(name) > 1}:
        yield f"{path} has several cases named {', '.join(sorted(twice))}"


def _undocumented(challenge: Challenge) -> Iterator[str]:
    path = challenge.solutions / "solution.py"
    if ast.get_docstring(ast.parse(pack_reader.solution(challenge))) is None:
        yield f"{path} has no docstring. Say in it what is computed"
    for answer in other_answers(challenge):
        if answer.name != REFERENCE and not answer.costs:
            also_right = challenge.solutions / "also_right" / f"{answer.name}.py"
            yield (
                f"{also_right} has no docstring of two paragraphs. Say in the first what the "
                "answer does differently, and in the second what this costs"
            )
    stub = ast.parse(pack_reader.stub(challenge))
    if not any(
        ast.get_docstring(node)
        for node in stub.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ):
        yield f"{challenge.folder / 'stub.py'} has no docstring that gives shapes"


def _without_levels(guided: str) -> Iterator[str]:
    """Yield a sentence for each reason why a stub cannot be handed out at three levels.

    Every function needs steps, every step must name its result, and all levels need equal code.
    """
    for node in ast.walk(ast.parse(guided)):
        if isinstance(node, ast.FunctionDef):
            lines = "\n".join(guided.splitlines()[node.lineno - 1 : node.end_lineno])
            if len(steps(textwrap.dedent(lines))) < FEWEST_STEPS:
                yield f"{node.name} has fewer than {FEWEST_STEPS} steps as comments"
    if vague := [step for step in steps(guided) if "->" not in step]:
        yield f"a step does not name its result after `->`: {vague[0]!r}"
    code = [ast.dump(_bare(ast.parse(at_level(guided, level)))) for level in TEXT_LEVELS]
    if len(set(code)) > 1:
        yield "the code of its levels differs; every step must be a comment on a separate line"


def _bare(tree: ast.Module) -> ast.Module:
    """Return the tree without its docstrings."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            del node.body[0]
    return tree


def _names_itself(
    challenge: Challenge, seed: int, mistake: Mistake, ids: tuple[str, ...], row: Row
) -> Row:
    """Check that the diagnosis names a mistake that is patched into the reference.

    A second mistake that the diagnosis names, or that has the same effect, must be declared as a
    twin.

    Args:
        row: the row of the mistake; it is returned if the check passes.
    """
    if ids and set(ids) <= {mistake.id, *mistake.twins}:
        return row
    if ids:
        return replace(
            row,
            ok=False,
            message=f"seed {seed}: the diagnosis names {', '.join(ids)} instead. "
            f'Change a mistake, or declare `twins = ["{ids[0]}"]`.',
        )
    path = challenge.solutions / "mistakes.toml"
    return replace(
        row,
        ok=False,
        message=f"seed {seed}: the diagnosis does not name this mistake. Another mistake in {path} "
        "may be an undeclared twin.",
    )


def _first_failed_case(report: Report) -> list[int]:
    """Return the index of the first failed case of the first failed check; [] if it has no case."""
    failed = [
        outcome
        for outcome in report.outcomes
        if outcome.status == "failed" and outcome.number is not None
    ]
    return [outcome.number - 1 for outcome in failed[:1] if outcome.number is not None]


def in_words(report: Report) -> str:
    """Return the verdict and the first failure."""
    first = report.first_failure()
    return (
        report.verdict
        if first is None
        else f"{report.verdict}: {first.check}, case {first.case!r}: {first.message}"
    )
