"""Hold a pack's content to the rules: what is right passes, what is wrong is refused, nothing is missing."""

from __future__ import annotations

import ast
import contextlib
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from trainer.content import packs
from trainer.content.levels import LEVELS, at_level, steps
from trainer.content.mistakes import patch, read_mistakes, read_styles
from trainer.core.report import Report
from trainer.core.words import CHECK_ORDER, Challenge, GraderError, Mistake, PackError
from trainer.grading.grader import Grader

FEWEST_MISTAKES = 12
FEWEST_ALSO_RIGHT = 4
FEWEST_STEPS = 2
DTYPES = {"float32", "float64", "bfloat16"}


Kind = Literal["content", "stub", "reference", "also right", "style", "mistake"]
Item = tuple[Kind, str]


@dataclass(frozen=True)
class Row:
    """One thing that was checked. `refused_by`: the checks that failed, for what must be refused."""

    challenge: str
    kind: Kind
    name: str
    ok: bool
    message: str = ""
    refused_by: tuple[str, ...] = ()


def items(challenge: Challenge) -> list[Item]:
    """Everything of a challenge that is to be checked, in the order of the rows."""
    found: list[Item] = [
        ("content", "prompt, hints, cases"),
        ("stub", "stub.py"),
        ("reference", "solution.py"),
    ]
    found += [("also right", path.name) for path in packs.also_right(challenge)]
    with contextlib.suppress(PackError):  # the first item reports it
        found += [("style", style.id) for style in read_styles(challenge)]
        found += [("mistake", mistake.id) for mistake in read_mistakes(challenge)]
    return found


def some_of(found: Sequence[Item], every: int, first: int) -> list[Item]:
    """All but mistakes, and of these every so many-th, from a place that `first` gives."""
    mistakes = [item for item in found if item[0] == "mistake"]
    return [item for item in found if item[0] != "mistake"] + mistakes[first % every :: every]


def check_items(
    grader: Grader,
    challenge: Challenge,
    seeds: Sequence[int],
    wanted: Sequence[Item],
    beside: Sequence[Path] = (),
) -> Iterator[Row]:
    """A row an item, each under all seeds; where the pack is broken one row that says how, and no more.

    `beside`: other packs, on whose challenges this one may build.
    """
    try:
        grader.hold(challenge, seeds[0])
        for kind, name in wanted:
            match kind:
                case "content":
                    yield _content(grader, challenge, seeds[0], beside)
                case "stub":
                    yield _wrong(
                        grader, challenge, seeds, kind, name, packs.stub(challenge)
                    )  # the other levels are the same code
                case "reference":
                    yield _right(grader, challenge, seeds, kind, name, packs.solution(challenge))
                case "also right":
                    yield _right(
                        grader,
                        challenge,
                        seeds,
                        kind,
                        name,
                        packs.read_text(challenge.solutions / "also_right" / name),
                    )
                case "style":
                    style = next(one for one in read_styles(challenge) if one.id == name)
                    yield _right(
                        grader,
                        challenge,
                        seeds,
                        kind,
                        name,
                        patch(
                            packs.solution(challenge),
                            style,
                            str(challenge.solutions / "mistakes.toml"),
                        ),
                    )
                case "mistake":
                    mistake = next(one for one in read_mistakes(challenge) if one.id == name)
                    patched = patch(
                        packs.solution(challenge),
                        mistake,
                        str(challenge.solutions / "mistakes.toml"),
                    )
                    yield _wrong(grader, challenge, seeds, kind, name, patched, mistake)
    except (PackError, GraderError) as error:
        yield Row(challenge.id, "content", "readable", False, str(error))


def _content(grader: Grader, challenge: Challenge, seed: int, beside: Sequence[Path]) -> Row:
    problems: list[str] = []
    if not packs.prompt(challenge).strip():
        problems.append(f"{challenge.folder / 'prompt.md'} is empty")
    if any(not hint.strip() for hint in challenge.hints):
        problems.append(f"{challenge.folder / 'challenge.toml'}: a hint is empty")
    if challenge.minutes < 1:
        problems.append(f"{challenge.folder / 'challenge.toml'}: minutes is {challenge.minutes}")
    if (right := len(packs.also_right(challenge))) < FEWEST_ALSO_RIGHT:
        problems.append(
            f"{challenge.solutions / 'also_right'} has {right} files of at least {FEWEST_ALSO_RIGHT}"
        )
    if (wrong := len(read_mistakes(challenge))) < FEWEST_MISTAKES:
        problems.append(
            f"{challenge.solutions / 'mistakes.toml'} has {wrong} mistakes of at least {FEWEST_MISTAKES}"
        )
    places = [challenge.folder.parent, *(root / "challenges" for root in beside)]
    if unknown := [
        one
        for one in challenge.builds_on
        if not any((place / packs.folder_name(one)).is_dir() for place in places)
    ]:
        problems.append(
            f"{challenge.folder / 'challenge.toml'}: it builds on {', '.join(unknown)}, which the pack does not have"
        )
    exam = grader.exam(challenge, seed)
    floating = any(
        tensor.is_floating_point()
        for number in range(len(exam.cases))
        for tensor in exam.inputs(number).values()
    )
    if floating and (missing := DTYPES - {case.dtype for case in exam.cases}):
        problems.append(
            f"{challenge.folder / 'cases.py'} has no case of dtype {', '.join(sorted(missing))}"
        )
    names = [case.name for case in exam.cases]
    if twice := {name for name in names if names.count(name) > 1}:
        problems.append(
            f"{challenge.folder / 'cases.py'} has several cases named {', '.join(sorted(twice))}"
        )
    problems.extend(_undocumented(challenge))
    problems.extend(
        f"{challenge.folder / 'stub.py'}: {one}"
        for one in _without_levels(packs.stub(challenge, "guided"))
    )
    return Row(challenge.id, "content", "prompt, hints, cases", not problems, "; ".join(problems))


def _undocumented(challenge: Challenge) -> Iterator[str]:
    path = challenge.solutions / "solution.py"
    if ast.get_docstring(ast.parse(packs.solution(challenge))) is None:
        yield f"{path} has no docstring"
    stub = ast.parse(packs.stub(challenge))
    if not any(
        ast.get_docstring(node)
        for node in stub.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    ):
        yield f"{challenge.folder / 'stub.py'} has no docstring that gives shapes"


def _without_levels(guided: str) -> Iterator[str]:
    """What a stub lacks to be handed out at three levels: in every function steps, each with what it makes; and the same code at each level."""
    for node in ast.walk(ast.parse(guided)):
        if isinstance(node, ast.FunctionDef):
            lines = "\n".join(guided.splitlines()[node.lineno - 1 : node.end_lineno])
            if len(steps(textwrap.dedent(lines))) < FEWEST_STEPS:
                yield f"{node.name} has fewer than {FEWEST_STEPS} steps as comments"
    if vague := [one for one in steps(guided) if "->" not in one]:
        yield f"a step does not say what it makes, after `->`: {vague[0]!r}"
    code = [ast.dump(_bare(ast.parse(at_level(guided, level)))) for level in LEVELS]
    if len(set(code)) > 1:
        yield "its levels are not the same code; a step must be a comment on a line of its own"


def _bare(tree: ast.Module) -> ast.Module:
    """The tree without its docstrings."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
        ):
            del node.body[0]
    return tree


def _right(
    grader: Grader, challenge: Challenge, seeds: Sequence[int], kind: Kind, name: str, source: str
) -> Row:
    for seed in seeds:
        report = grader.grade(
            challenge, source, name if name.endswith(".py") else challenge.file_name, seed
        )
        if report.verdict != "passed":
            return Row(challenge.id, kind, name, False, f"seed {seed}: {in_words(report)}")
    return Row(challenge.id, kind, name, True, f"passes with {len(seeds)} seeds")


def _wrong(
    grader: Grader,
    challenge: Challenge,
    seeds: Sequence[int],
    kind: Kind,
    name: str,
    source: str,
    mistake: Mistake | None = None,
) -> Row:
    """Refused with every seed: with the first on all cases, then on the one that refused it first, and on all again only if that does not.

    A mistake is to be named too, with the first seed.
    """
    refused_by: set[str] = set()
    telling: list[int] = []
    ids: tuple[str, ...] = ()
    for seed in seeds:
        exam = grader.exam(challenge, seed)
        report = (
            grader.grade_exam(exam.only(telling), source, challenge.file_name) if telling else None
        )
        if report is None and mistake is not None and seed == seeds[0]:
            report, ids = grader.named(exam, source, challenge.file_name)
        elif report is None or report.verdict == "passed":
            report = grader.grade_exam(exam, source, challenge.file_name)
        if report.verdict == "passed":
            return Row(challenge.id, kind, name, False, f"passes with seed {seed}")
        if report.verdict in ("timeout", "memory"):
            return Row(challenge.id, kind, name, False, f"seed {seed}: {in_words(report)}")
        refused_by |= {check for check, status in report.statuses().items() if status == "failed"}
        if not telling:
            telling = _telling_case(report)
    ordered = tuple(check for check in CHECK_ORDER if check in refused_by)
    row = Row(challenge.id, kind, name, True, f"refused with {len(seeds)} seeds", ordered)
    return row if mistake is None else _names_itself(challenge, seeds[0], mistake, ids, row)


def _names_itself(
    challenge: Challenge, seed: int, mistake: Mistake, ids: tuple[str, ...], row: Row
) -> Row:
    """The diagnosis has to name the mistake in its own patch. Another mistake that it names or that agrees as well is a twin, and has to be declared."""
    if ids and set(ids) <= {mistake.id, *mistake.twins}:
        return row
    if ids:
        return replace(
            row,
            ok=False,
            message=f'seed {seed}: it is named {", ".join(ids)}. Change one of them, or declare `twins = ["{ids[0]}"]`.',
        )
    path = challenge.solutions / "mistakes.toml"
    return replace(
        row,
        ok=False,
        message=f"seed {seed}: the diagnosis does not name it: another mistake of {path} may have the same effect, undeclared.",
    )


def _telling_case(report: Report) -> list[int]:
    """The first case, of the first check, on which a submission was refused; [] where that takes no case."""
    failed = [
        outcome
        for outcome in report.outcomes
        if outcome.status == "failed" and outcome.number is not None
    ]
    return [outcome.number - 1 for outcome in failed[:1] if outcome.number is not None]


def in_words(report: Report) -> str:
    """The verdict and the first failure."""
    first = report.first_failure()
    return (
        report.verdict
        if first is None
        else f"{report.verdict}: {first.check}, case {first.case!r}: {first.message}"
    )
