"""Checks on what the file defines: loads, interface, parameters, bad sizes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from trainer.grading.comparison import CaseResult, Comparison, frames_of, in_words
from trainer.model.challenge import Parameter, Signature
from trainer.model.report import Outcome
from trainer.worker.arguments import default_problem, renamed
from trainer.worker.layer_matching import contract_of, lazy_in_words, problem
from trainer.worker.layer_matching import in_words as assignment_in_words
from trainer.worker.protocol import FoundParameter, Reply

# A constructor is to raise one of these for sizes that cannot work.
REFUSALS = ("ValueError", "AssertionError")


def loads(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the file can be imported."""
    failure = comparison.reply.load_failure
    if failure is None:
        yield Outcome("loads", "passed")
        return
    line = f" at line {failure.frames[-1].line}" if failure.frames else ""
    message = f"{in_words(failure)}{line}"
    yield Outcome("loads", "failed", message, frames=frames_of(failure.frames))


def interface(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the file defines what was asked, with the arguments of the stub."""
    troubles = [
        _missing(name, what, comparison.reply.defined)
        for name, what in comparison.reply.not_callable.items()
    ]
    if not troubles:
        told = comparison.reply.signatures
        for signature in comparison.case_set.content.signatures:
            found = told.get(signature.name)
            if signature.name not in told:
                troubles.append(f"{signature.name} is not defined. Define {in_python(signature)}.")
            elif found is not None and (trouble := signature_problem(signature, found)):
                troubles.append(trouble)
    for trouble in troubles:
        yield Outcome("interface", "failed", trouble)
    if not troubles:
        yield Outcome("interface", "passed")


def other_names(comparison: Comparison) -> Iterator[str]:
    """Yield a sentence for every callable whose arguments have other names than the contract's."""
    for signature in comparison.case_set.content.signatures:
        found = comparison.reply.signatures.get(signature.name)
        own_names = renamed(signature, found) if found is not None else {}
        if own_names:
            taken = ", ".join(f"{own} as {name}" for name, own in own_names.items())
            yield f"Arguments of {signature.name} are taken by their places: {taken}."


def _missing(name: str, what: str, defined: list[str]) -> str:
    """Return a sentence for something that the file must define.

    Args:
        what: "missing", or what the file defines under this name.
    """
    if what != "missing":
        wanted = "a class derived from nn.Module" if "Module" in what else "callable"
        return f"{name} is {what}; it must be {wanted}."
    if not defined:
        return f"the file defines no {name}; it defines no class and no function. Write {name}."
    near = difflib.get_close_matches(name, defined, n=1)
    advice = f"Rename {near[0]}." if near else f"Name your class or function {name}."
    return f"the file defines no {name}; it defines {', '.join(defined[:8])}. {advice}"


def in_python(signature: Signature) -> str:
    """Return a callable as `GroupedQueryAttention.forward(x, mask=None)`."""
    inner = ", ".join(
        argument.name if argument.required else f"{argument.name}={argument.default!r}"
        for argument in signature.parameters
    )
    return f"{signature.name}({inner})"


def signature_problem(expected: Signature, found: list[FoundParameter]) -> str | None:
    """Return why calls as the stub documents them would not reach this callable, or None.

    Other names are fine in the same places with the same defaults. Further arguments are fine if
    they have defaults and come last; `*args, **kwargs` take anything.
    """
    own_names = renamed(expected, found)
    reasons: list[str] = []
    for index, want in enumerate(expected.parameters):
        reasons += _argument_problems(index, want, own_names.get(want.name), expected, found)
    known = {want.name for want in expected.parameters} | set(own_names.values())
    for argument in found:
        is_open_ended = argument.kind.startswith("VAR_")
        if argument.required and argument.name not in known and not is_open_ended:
            reasons.append(f"{argument.name} has no default")
    if not reasons:
        return None
    yours = ", ".join(_shown(argument) for argument in found)
    return f"expected {in_python(expected)}; found ({yours}): {'; '.join(reasons)}."


def _argument_problems(
    index: int,
    want: Parameter,
    own_name: str | None,
    expected: Signature,
    found: list[FoundParameter],
) -> Iterator[str]:
    """Yield what is wrong with one argument of the contract.

    Args:
        index: its place in the contract.
        own_name: the learner's name for it, if that is another name.
    """
    positional = [
        argument
        for argument in found
        if argument.kind in ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")
    ]
    by_name = {argument.name: argument for argument in found if argument.kind[:4] != "VAR_"}
    have = by_name.get(own_name or want.name)
    if have is None:
        if any(argument.kind.startswith("VAR_") for argument in found):
            return
        there = positional[index] if index < len(positional) else None
        trouble = None
        if there is not None and there.name not in {other.name for other in expected.parameters}:
            trouble = default_problem(want, there)
        yield f"{want.name} is missing" + (f" ({trouble} to stand for it)" if trouble else "")
        return
    if have.kind == "KEYWORD_ONLY":
        if want.required:
            yield f"{want.name} must be accepted by position"
    elif positional.index(have) != index:
        yield f"{want.name} is number {positional.index(have) + 1} and must be number {index + 1}"
    if trouble := default_problem(want, have):
        yield trouble


def _shown(argument: FoundParameter) -> str:
    star = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(argument.kind, "")
    if argument.required or star:
        return f"{star}{argument.name}"
    default = "…" if argument.default is None else argument.default
    return f"{argument.name}={default}"


def parameters(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the module has the parameters of the contract, no fewer and no more."""
    if comparison.case_set.challenge.kind != "module":
        return
    for result in comparison.results:
        if result.told.unassigned:  # the same layers are wrong in every case
            yield result.failed("parameters", _wrong_parameters(result))
            return
    if any(result.told.parameters for result in comparison.results):
        yield Outcome("parameters", "passed", _taken_assignment(comparison.reply))


def _wrong_parameters(result: CaseResult) -> str:
    """Return a sentence that says how the parameters differ from the contract's."""
    told = result.told
    expected = {name: tuple(value.shape) for name, value in result.prepared.parameters.items()}
    contract = contract_of(expected)
    if told.lazy:
        text = lazy_in_words(contract, told.lazy)
    else:
        shapes = {name: tuple(shape) for name, shape in told.parameters.items()}
        text = problem(contract, expected, shapes)
    twins = [
        f"{name} is the same parameter as {other}"
        for name, other in told.shared.items()
        if name in expected
    ]
    if twins:
        text += f"; {', '.join(twins)}, and each must be its own"
    return f"{text}."


def _taken_assignment(reply: Reply) -> str:
    """Return a sentence that says which assignment of layers was taken; "" if there is only one."""
    if len(reply.assignments) < 2:
        return ""
    words = assignment_in_words({path: tuple(roles) for path, roles in reply.assignment.items()})
    return f"Names left {len(reply.assignments)} assignments; taken: {words}."


def bad_sizes(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the constructor refuses sizes that cannot work."""
    if comparison.only is not None:
        return
    told = comparison.reply.refusals
    for index, refusal in enumerate(comparison.case_set.refusals):
        failure = told[index] if index < len(told) else None
        arguments = ", ".join(f"{name}={value}" for name, value in refusal.init.items())
        call = f"{comparison.case_set.challenge.entry[0]}({arguments})"
        if failure is None:
            message = (
                f"{call} is accepted: {refusal.why}. "
                "Raise a ValueError in __init__ that names both numbers."
            )
            yield Outcome("bad sizes", "failed", message)
        elif failure.type == "NotAllowedError":
            yield Outcome("bad sizes", "skipped", "stopped by what is not allowed")
        elif failure.type in REFUSALS:
            yield Outcome("bad sizes", "passed", refusal.why)
        else:
            message = (
                f"{call} raises {in_words(failure)}; "
                f"it must raise a ValueError (or AssertionError): {refusal.why}."
            )
            yield Outcome("bad sizes", "failed", message)
