"""Check the content of a pack: right answers pass, wrong answers fail, nothing is missing."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from attn_drill.casekit.case_rules import case_problems
from attn_drill.casekit.draw import Draw
from attn_drill.diagnosis.diagnose import Diagnoser
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.content import in_authors_words, load_content, raised_in, wrong_examples
from attn_drill.grading.grader import Grader, Judgement
from attn_drill.model.challenge import Challenge, Mistake, Submission
from attn_drill.model.checks import CHECK_ORDER
from attn_drill.model.errors import GraderError, PackError
from attn_drill.model.report import Report
from attn_drill.packs import pack_reader
from attn_drill.packs.content_check import (
    CASES,
    TEXTS,
    Item,
    Row,
    place_of,
    text_problems,
)
from attn_drill.packs.mistakes import patch, read_mistakes
from attn_drill.packs.toml import key_error, suggestion
from attn_drill.worker.answer_facts import realistic_facts
from attn_drill.worker.execution import Given, build
from attn_drill.worker.library_calls import TORCH, is_known
from attn_drill.worker.protocol import DTYPES as TORCH_DTYPES

DTYPES = {"float32", "float64", "bfloat16"}


class PackChecker:
    """Check the items of a pack's challenges.

    Args:
        packs: the folders of all packs to which a challenge may refer, its own pack among them.
    """

    def __init__(self, grader: Grader, diagnoser: Diagnoser, packs: Sequence[Path]) -> None:
        self._grader, self._diagnoser, self._packs = grader, diagnoser, packs
        self._sound: tuple[Challenge, int] | None = None  # the last cases without a wrong field

    def rows(
        self, challenge: Challenge, seeds: Sequence[int], wanted: Sequence[Item]
    ) -> Iterator[Row]:
        """Yield a row for each item, checked with all seeds.

        If the cases or the reference cannot be used, a single row says why.
        """
        if TEXTS in wanted:
            yield Row(challenge.id, *TEXTS, tuple(text_problems(challenge, self._packs)))
        graded = [item for item in wanted if item != TEXTS]
        try:
            if graded:
                self._prepare(challenge, seeds[0])
        except Exception as error:
            yield Row(challenge.id, *CASES, (in_words_of(error, challenge),))
            return
        for item in graded:
            try:
                yield self._row(challenge, seeds, item)
            except Exception as error:
                yield Row(challenge.id, *item, (in_words_of(error, challenge),))

    def _prepare(self, challenge: Challenge, seed: int) -> None:
        """Check the fields of all cases before a wrong field makes the grading fail."""
        if self._sound != (challenge, seed):
            content = load_content(challenge)
            problems = case_problems(content.draw_cases(Draw(seed)), challenge)
            if problems:
                more = f" {len(problems) - 1} more like this." if len(problems) > 1 else ""
                raise PackError(f"{content.cases_path}: {problems[0]}.{more}")
            self._sound = challenge, seed
        case_set = self._grader.case_set(challenge, seed)
        case_set.expect()
        self._grader.workers.preload(case_set)

    def _row(self, challenge: Challenge, seeds: Sequence[int], item: Item) -> Row:
        kind, name = item
        solutions = challenge.solutions
        match kind:
            case "content":
                case_set = self._grader.case_set(challenge, seeds[0])
                problems = [sentence for rule in _CASE_RULES for sentence in rule(case_set)]
                return Row(challenge.id, *item, tuple(problems))
            case "reference":
                return self._row_of_right(challenge, seeds, item, solutions / name)
            case "also right":
                return self._row_of_right(challenge, seeds, item, solutions / "also_right" / name)
            case "stub":  # the code of the other levels is the same
                source, place = pack_reader.stub(challenge), str(challenge.folder / name)
                return self._row_of_wrong(challenge, seeds, item, source, place)
        (mistake,) = (each for each in read_mistakes(challenge) if each.id == name)
        place = place_of(challenge, name)
        source = patch(pack_reader.solution(challenge), mistake, place)
        return self._row_of_wrong(challenge, seeds, item, source, place, mistake)

    def _row_of_right(
        self, challenge: Challenge, seeds: Sequence[int], item: Item, path: Path
    ) -> Row:
        """Check that a right answer passes with every seed."""
        is_reference = path.parent == challenge.solutions
        file_name = challenge.file_name if is_reference else path.name
        submission = Submission(file_name, pack_reader.read_text(path))
        for seed in seeds:
            report = self._grader.grade(challenge, submission, seed).report
            if report.verdict == "passed":
                continue
            advice = f"Correct the file, or the case in {challenge.folder / 'cases.py'}."
            if report.verdict == "not-allowed" and challenge.forbids and is_reference:
                advice = (
                    "Remove the operation from `forbids` in "
                    f"{challenge.folder / 'challenge.toml'} if the reference needs it."
                )
            problem = f"the answer does not pass with seed {seed}: {in_words(report)} {advice}"
            return Row(challenge.id, *item, (f"{path}: {problem}",))
        return Row(challenge.id, *item)

    def _row_of_wrong(
        self,
        challenge: Challenge,
        seeds: Sequence[int],
        item: Item,
        source: str,
        place: str,
        mistake: Mistake | None = None,
    ) -> Row:
        """Check that a wrong answer fails with every seed.

        With the first seed, the answer runs on all cases, and the diagnosis must name the mistake.
        With the other seeds, the answer runs only on the case that it failed first. If it passes
        this case, it runs on all cases again.

        Args:
            place: the file and the line, for messages.
            mistake: the mistake in the reference; None for the stub.
        """
        submission = Submission(challenge.file_name, source)
        refused_by: set[str] = set()
        first_case: list[int] = []  # the index of the first failed case
        problem = ""
        for seed in seeds:
            case_set = self._grader.case_set(challenge, seed)
            some_cases = case_set.select(first_case) if first_case else case_set
            judgement = self._grader.judge(some_cases, submission)
            if first_case and judgement.report.verdict == "passed":
                judgement = self._grader.judge(case_set, submission)
            report = judgement.report
            if report.verdict == "passed":
                problem = f"{place}: {_why_it_passes(challenge, seed, mistake)}"
                return Row(challenge.id, *item, (problem,))
            if report.verdict in ("timeout", "memory"):
                advice = "Change this wrong answer so that it stays within the limits."
                problem = f"{place}: seed {seed}: {in_words(report)} {advice}"
                return Row(challenge.id, *item, (problem,))
            if mistake is not None and seed == seeds[0]:
                problem = self._problem_of_name(challenge, judgement, mistake)
            failed = [outcome for outcome in report.outcomes if outcome.status == "failed"]
            refused_by.update(outcome.check for outcome in failed)
            numbers = [outcome.number for outcome in failed if outcome.number is not None]
            first_case = first_case or [number - 1 for number in numbers[:1]]
        names = tuple(check for check in CHECK_ORDER if check in refused_by)
        return Row(challenge.id, *item, (problem,) if problem else (), names)

    def _problem_of_name(self, challenge: Challenge, judgement: Judgement, mistake: Mistake) -> str:
        """Return why the diagnosis does not name a mistake; "" if it does.

        A second mistake that the diagnosis names, or that has the same effect, must be declared as
        a twin.
        """
        mistakes = read_mistakes(challenge)
        try:
            named = self._diagnoser.matching_mistake(judgement)
            if named and set(named) <= {mistake.id, *mistake.twins}:
                return ""
            alike = {*named, *self._diagnoser.mistakes_alike(judgement)} - {*mistake.twins}
        except PackError:
            reference = pack_reader.solution(challenge)
            if all(reference.count(each.was) == 1 for each in mistakes):
                raise
            return ""  # another mistake does not fit the reference; the row of the texts says so
        pair = [
            each
            for each in mistakes
            if each == mistake or (each.id in alike and mistake.id not in each.twins)
        ]
        # The sentence about two twins is the same for both, so that it is printed once.
        earlier, later = pair[0], pair[-1]
        place = place_of(challenge, later.id)
        if earlier == later:
            return (
                f"{place}: the diagnosis does not name mistake {mistake.id!r}, because another "
                "mistake fails in the same check. Change one of them, or add `twins` to the later."
            )
        return (
            f"{place}: mistake {later.id!r} gives the same results as {earlier.id!r} in every "
            f"case. Add a case to {challenge.folder / 'cases.py'} in which they differ, remove one "
            f'of them, or add twins = ["{earlier.id}"].'
        )


def _why_it_passes(challenge: Challenge, seed: int, mistake: Mistake | None) -> str:
    if mistake is None:
        return (
            f"the stub passes with seed {seed}. Leave its work to the learner, "
            "with `raise NotImplementedError`."
        )
    return (
        f"no case refuses mistake {mistake.id!r} with seed {seed}. Add a case to "
        f"{challenge.folder / 'cases.py'} that does, or remove the mistake."
    )


def in_words_of(error: Exception, challenge: Challenge) -> str:
    """Return a sentence about an exception, with the file and the line if the author made it."""
    folders = (challenge.folder, challenge.solutions)
    if isinstance(error, PackError | GraderError):
        names_file = any(str(folder) in str(error) for folder in folders)
        return str(error) if names_file else f"{challenge.folder}: {error}"
    files = [str(path) for folder in folders for path in sorted(folder.rglob("*.py"))]
    if sentence := raised_in(error, "the code raises", *files):
        return sentence
    where = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{challenge.folder}: the check ends with {type(error).__name__}: {error} "
        f"({Path(where.filename).name}, line {where.lineno}). Compare the files of this challenge "
        "with docs/packs.md. If they follow all rules, report this sentence."
    )


def in_words(report: Report) -> str:
    """Return the verdict and the first failure."""
    first = report.first_failure()
    if first is None:
        return f"{report.verdict}."
    case = "" if first.case is None else f", case {first.case!r}"
    return f"{report.verdict}: {first.check}{case}: {first.message.rstrip('.')}."


def _names_in_toml(case_set: CaseSet) -> Iterator[str]:
    """Yield a sentence for each operation or parameter of challenge.toml that does not exist."""
    challenge = case_set.challenge
    path = challenge.folder / "challenge.toml"
    for operation in challenge.forbids:
        if not is_known(operation):
            sentence = (
                f"`forbids` names {operation!r}, but torch has no operation of this name. "
                'Write the name of an operation, for example "torch.cumsum".'
            )
            yield str(key_error(path, ("forbids",), sentence))
    parameters = {name for prepared in case_set.prepared for name in prepared.parameters}
    unknown = [name for pair in challenge.ties for name in pair if name not in parameters]
    for name in unknown[:1]:
        advice = suggestion(name, sorted(parameters)) if parameters else "Remove `ties`."
        sentence = f"`ties` names {name!r}, but the reference has no such parameter. {advice}"
        yield str(key_error(path, ("ties",), sentence))


def _dtypes_and_names(case_set: CaseSet) -> Iterator[str]:
    """Yield a sentence for each dtype that no case has, and for names that several cases have."""
    path, cases = case_set.content.cases_path, case_set.cases
    tensors = [tensor for prepared in case_set.prepared for tensor in prepared.tensors.values()]
    wanted = set(DTYPES)
    if TORCH in case_set.challenge.forbids:  # NumPy has no bfloat16
        wanted.discard("bfloat16")
    missing = wanted - {case.dtype for case in cases}
    if missing and any(tensor.is_floating_point() for tensor in tensors):
        yield f"{path} has no case of dtype {', '.join(sorted(missing))}. Add suites.dtypes."
    names = [case.name for case in cases]
    if twice := {name for name in names if names.count(name) > 1}:
        yield f"{path} has several cases named {', '.join(sorted(twice))}. Rename all but one."


def _other_dtypes(case_set: CaseSet) -> Iterator[str]:
    """Yield a sentence if the reference returns another floating-point dtype than the case has."""
    for prepared in case_set.prepared:
        for name, value in prepared.expected.outputs.items():
            dtype = prepared.case.dtype
            if value.value.is_floating_point() and value.dtype != dtype:
                yield (
                    f"{case_set.content.reference_path}: the reference returns {name} as "
                    f"{value.dtype} in case {prepared.case.name!r}, whose dtype is {dtype}. "
                    "Return the dtype of the inputs."
                )
                return


def _realistic_call(case_set: CaseSet) -> Iterator[str]:
    """Yield a sentence if the reference cannot be called as `realistic()` says."""
    content, challenge = case_set.content, case_set.challenge
    call = content.realistic()
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
        names = challenge.kind, challenge.entry, call.init, TORCH_DTYPES[call.dtype], call.mode
        return build(content.reference, *names)

    _, is_complete = realistic_facts(content.reference_path, built, run)
    if not is_complete:
        path = content.cases_path
        doing = f"the reference fails on the call of realistic() in {path}:"
        error = failures[0] if failures else RuntimeError("it cannot be built")
        yield in_authors_words(error, doing, path, content.reference_path)


def _example(case_set: CaseSet) -> Iterator[str]:
    """Yield a sentence if the example of the prompt gives another result with the reference.

    The examples of translations have the same code, which `content_check` compares.
    """
    path = case_set.challenge.folder / "prompt.md"
    for wrong in wrong_examples(pack_reader.read_text(path), case_set.content.reference)[:1]:
        yield (
            f"{path}, line {wrong.line}: the example `{wrong.source}` gives {wrong.result} with "
            "the reference. Correct the example or the reference."
        )


_CASE_RULES = (_names_in_toml, _dtypes_and_names, _other_dtypes, _realistic_call, _example)
