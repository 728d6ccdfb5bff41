"""Checks on what the file defines: it loads, it has the asked interface and parameters, it refuses bad sizes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from trainer.core.report import Outcome
from trainer.core.words import Signature
from trainer.grading.evidence import Evidence, frames_of, in_words
from trainer.running.aliases import contract_of, lazy_in_words, problem
from trainer.running.aliases import in_words as assignment_in_words
from trainer.running.arguments import default_problem, renamed
from trainer.running.protocol import FoundParameter

REFUSALS = (
    "ValueError",
    "AssertionError",
)  # what a constructor is to raise for sizes that cannot work


def loads(evidence: Evidence) -> Iterator[Outcome]:
    """The file can be imported."""
    failure = evidence.reply.load_failure
    if failure is None:
        yield Outcome("loads", "passed")
        return
    where = f" at line {failure.frames[-1].line}" if failure.frames else ""
    yield Outcome(
        "loads", "failed", f"{in_words(failure)}{where}", frames=frames_of(failure.frames)
    )


def interface(evidence: Evidence) -> Iterator[Outcome]:
    """It defines what was asked, and the constructor and functions take the arguments of the stub."""
    found_problem = False
    for name, what in evidence.reply.not_callable.items():
        found_problem = True
        yield Outcome("interface", "failed", _missing(name, what, evidence.reply.defined))
    if not found_problem:
        for signature in evidence.exam.signatures:
            found = evidence.reply.signatures.get(signature.name)
            if found is not None and (trouble := signature_problem(signature, found)):
                found_problem = True
                yield Outcome("interface", "failed", trouble)
            elif signature.name not in evidence.reply.signatures:
                found_problem = True
                yield Outcome(
                    "interface",
                    "failed",
                    f"{signature.name} is not defined. Define {in_python(signature)}.",
                )
    if not found_problem:
        yield Outcome("interface", "passed")


def other_names(evidence: Evidence) -> Iterator[str]:
    """Yield a sentence for every callable whose arguments have other names than the contract's."""
    for signature in evidence.exam.signatures:
        found = evidence.reply.signatures.get(signature.name)
        own_names = renamed(signature, found) if found is not None else {}
        if own_names:
            taken = ", ".join(f"{own} as {name}" for name, own in own_names.items())
            yield f"Arguments of {signature.name} are taken by their places: {taken}."


def _missing(name: str, what: str, defined: list[str]) -> str:
    if what != "missing":
        return f"{name} is {what}; it must be {'a class derived from nn.Module' if 'Module' in what else 'callable'}."
    if not defined:
        return f"the file defines no {name}; it defines no class and no function. Write {name}."
    near = difflib.get_close_matches(name, defined, n=1)
    advice = f"Rename {near[0]}." if near else f"Name your class or function {name}."
    return f"the file defines no {name}; it defines {', '.join(defined[:8])}. {advice}"


def in_python(signature: Signature) -> str:
    """`GroupedQueryAttention.forward(x, mask=None)`."""
    inner = ", ".join(
        one.name if one.required else f"{one.name}={one.default!r}" for one in signature.parameters
    )
    return f"{signature.name}({inner})"


def signature_problem(expected: Signature, found: list[FoundParameter]) -> str | None:
    """Why calls as the stub documents them would not reach this callable, or None.

    Other names are fine in the same places with the same defaults. Further arguments are fine if they
    have defaults and come last; `*args, **kwargs` take anything.
    """
    open_ended = any(one.kind in ("VAR_KEYWORD", "VAR_POSITIONAL") for one in found)
    by_name = {one.name: one for one in found if not one.kind.startswith("VAR_")}
    positional = [one for one in found if one.kind in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")]
    own_names = renamed(expected, found)
    wanted = {want.name for want in expected.parameters}
    reasons: list[str] = []
    for index, want in enumerate(expected.parameters):
        have = by_name.get(own_names.get(want.name, want.name))
        if have is None:
            there = positional[index] if index < len(positional) else None
            if open_ended:
                continue
            trouble = (
                default_problem(want, there)
                if there is not None and there.name not in wanted
                else None
            )
            reasons.append(
                f"{want.name} is missing" + (f" ({trouble} to stand for it)" if trouble else "")
            )
            continue
        if have.kind == "KEYWORD_ONLY":
            if want.required:
                reasons.append(f"{want.name} must be accepted by position")
        elif positional.index(have) != index:
            reasons.append(
                f"{want.name} is number {positional.index(have) + 1} and must be number {index + 1}"
            )
        if trouble := default_problem(want, have):
            reasons.append(trouble)
    known = wanted | set(own_names.values())
    reasons.extend(
        f"{one.name} has no default"
        for one in found
        if one.required and one.name not in known and not one.kind.startswith("VAR_")
    )
    if not reasons:
        return None
    yours = ", ".join(_shown(one) for one in found)
    return f"expected {in_python(expected)}; found ({yours}): {'; '.join(reasons)}."


def _shown(one: FoundParameter) -> str:
    star = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(one.kind, "")
    return (
        f"{star}{one.name}"
        if one.required or star
        else f"{one.name}={one.default if one.default is not None else '…'}"
    )


def parameters(evidence: Evidence) -> Iterator[Outcome]:
    """The module has the parameters of the contract, no fewer and no more."""
    if evidence.exam.challenge.kind != "module":
        return
    failed = False
    for one in evidence.cases:
        if not one.told.unassigned:
            continue
        expected = {
            name: tuple(value.shape) for name, value in evidence.exam.parameters(one.number).items()
        }
        shapes = {name: tuple(shape) for name, shape in one.told.parameters.items()}
        contract = contract_of(expected)
        text = (
            lazy_in_words(contract, one.told.lazy)
            if one.told.lazy
            else problem(contract, expected, shapes)
        )
        if twice := {name: other for name, other in one.told.shared.items() if name in expected}:
            text += f"; {', '.join(f'{name} is the same parameter as {other}' for name, other in twice.items())}, and each must be its own"
        failed = True
        yield Outcome("parameters", "failed", f"{text}.", one.case.name, one.number + 1)
        break  # the same layers are wrong in every case
    if not failed and any(one.told.parameters for one in evidence.cases):
        took = evidence.reply.assignment
        tried = len(evidence.reply.assignments) > 1
        words = assignment_in_words({path: tuple(roles) for path, roles in took.items()})
        yield Outcome(
            "parameters",
            "passed",
            f"Names left {len(evidence.reply.assignments)} assignments; taken: {words}."
            if tried
            else "",
        )


def bad_sizes(evidence: Evidence) -> Iterator[Outcome]:
    """Sizes that cannot work are refused in the constructor with ValueError (or an assertion)."""
    if evidence.only is not None:
        return
    for index, refusal in enumerate(evidence.exam.refusals):
        told = evidence.reply.refusals[index] if index < len(evidence.reply.refusals) else None
        call = f"{evidence.exam.challenge.entry[0]}({', '.join(f'{name}={value}' for name, value in refusal.init.items())})"
        if told is not None and told.type == "NotAllowedError":
            yield Outcome("bad sizes", "skipped", "stopped by what is not allowed")
        elif told is not None and told.type in REFUSALS:
            yield Outcome("bad sizes", "passed", refusal.why)
        elif told is None:
            yield Outcome(
                "bad sizes",
                "failed",
                f"{call} is accepted: {refusal.why}. Raise a ValueError in __init__ that names both numbers.",
            )
        else:
            yield Outcome(
                "bad sizes",
                "failed",
                f"{call} raises {in_words(told)}; it must raise a ValueError (or AssertionError): {refusal.why}.",
            )
