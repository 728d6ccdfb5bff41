"""Checks on what a file defines: loads, interface, parameters, defaults, bad sizes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from torch import Tensor

from attn_drill.grading.comparison import CaseResult, Comparison, frames_of, in_words
from attn_drill.model.case import Refusal
from attn_drill.model.challenge import SLEEP_FACTOR, Parameter, Signature
from attn_drill.model.report import Outcome
from attn_drill.worker.arguments import default_problem, other_defaults, renamed
from attn_drill.worker.layer_matching import (
    assignment_in_words,
    contract_of,
    explain_mismatch,
    shapes_of,
)
from attn_drill.worker.protocol import FoundParameter

RAISE_MEMORY = "`--memory-limit` raises the limit"


def sudden_end(comparison: Comparison, due: Iterable[str]) -> list[Outcome] | None:
    """Return the outcomes if the worker did not send a complete reply, else None.

    The failed outcome has the last step of the worker and the way in which the worker ended.
    """
    result, reply, case_set = comparison.worker_result, comparison.reply, comparison.case_set
    ran_no_case = reply.load_failure is not None or bool(reply.not_callable)
    is_complete = ran_no_case or len(reply.runs) == len(case_set.cases)
    if result.how == "replied" and is_complete:
        return None
    how, frames = _how_it_ended(comparison), result.frames
    step, cases, refusals = result.last_note, case_set.cases, case_set.refusals
    if step is None or step < 0:
        failed = Outcome("loads", "failed", f"while the file was imported: {how}", frames=frames)
    elif step < len(cases):
        failed = Outcome("runs", "failed", how, cases[step].name, step + 1, frames=frames)
    elif step < len(cases) + len(refusals):
        refusal = refusals[step - len(cases)]
        call = refusal.call or case_set.challenge.entry[0]
        message = f"while {call} was called with bad sizes ({refusal.why}): {how}"
        failed = Outcome("bad sizes", "failed", message)
    else:
        failed = Outcome("runs", "failed", how, frames=frames)
    if result.how == "timeout" and not (comparison.loop or result.slept):
        failed = replace(failed, advice="`--time-limit` raises the limit")
    if result.how == "died" and result.out_of_memory:
        failed = replace(failed, advice=RAISE_MEMORY)
    outcomes = [failed] if failed.check == "loads" else [Outcome("loads", "passed"), failed]
    for check in due:
        if check not in ("loads", failed.check):
            outcomes.append(Outcome(check, "skipped", f"needs {failed.check}"))
    return outcomes


def _how_it_ended(comparison: Comparison) -> str:
    result = comparison.worker_result
    line = f" at line {result.frames[-1].line}" if result.frames else ""
    if result.how == "timeout":
        words = comparison.loop or f"it used {result.seconds:g} s of CPU time"
        if result.slept:
            seconds = SLEEP_FACTOR * result.seconds
            words = f"it slept and gave no answer in {seconds:g} s; it must not wait for anything"
        return f"still running at the time limit{line}: {words}"
    if result.how == "died":
        return f"{result.reason}{line}"
    reason = result.reason or "an incomplete reply"
    return f"the process did not send a valid result ({reason})"


def accepted_types(refusal: Refusal) -> tuple[str, ...]:
    """Return the names of the exceptions with which a call may be refused."""
    return ("ValueError",) if refusal.only_value_error else ("ValueError", "AssertionError")


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
    """Check that the file defines the callables of the contract, with the arguments of the stub."""
    reply = comparison.reply
    troubles = [
        _missing(name, description, reply.defined)
        for name, description in reply.not_callable.items()
    ]
    signatures = () if troubles else comparison.case_set.content.signatures
    for signature in signatures:
        have = reply.signatures.get(signature.name)
        if signature.name not in reply.signatures:
            troubles.append(f"{signature.name} is not defined. Define {signature.in_python()}.")
        elif have is not None and (trouble := signature_problem(signature, have)):
            troubles.append(trouble)
    for trouble in troubles:
        yield Outcome("interface", "failed", trouble)
    if not troubles:
        yield Outcome("interface", "passed")


def _missing(name: str, description: str, defined: list[str]) -> str:
    """Return a sentence for a class or function that the file must define."""
    if description != "missing":
        wanted = "a class derived from nn.Module" if "Module" in description else "callable"
        wanted = "a function" if description == "a class" else wanted
        return f"{name} is {description}; it must be {wanted}."
    if not defined:
        return f"the file defines no {name}, and no other class or function. Write {name}."
    near = difflib.get_close_matches(name, defined, n=1)
    advice = f"Rename {near[0]}." if near else f"Name your class or function {name}."
    return f"the file defines no {name}; it defines {', '.join(defined[:8])}. {advice}"


def signature_problem(expected: Signature, parameters: list[FoundParameter]) -> str | None:
    """Return a sentence if calls as in the stub do not work with this callable, or None.

    Arguments may have other names if their places and defaults are the same. Additional arguments
    need defaults and come last. Defaults are the matter of another check.
    """
    own_names = renamed(expected, parameters)
    names = {want.name for want in expected.parameters}
    reasons: list[str] = []
    for index, want in enumerate(expected.parameters):
        if trouble := _argument_problem(index, want, own_names.get(want.name), names, parameters):
            reasons.append(trouble)
    for argument in parameters:
        is_known = argument.name in names or argument.name in own_names.values()
        if argument.required and not is_known and not argument.kind.startswith("VAR_"):
            reasons.append(f"{argument.name} has no default")
    if not reasons:
        return None
    yours = ", ".join(map(_shown, parameters))
    return f"expected {expected.in_python()}; found ({yours}): {'; '.join(reasons)}."


def _argument_problem(
    index: int,
    want: Parameter,
    own_name: str | None,
    names: set[str],
    parameters: list[FoundParameter],
) -> str:
    """Return the problem of one argument of the contract, or "".

    Args:
        index: the place of the argument in the contract, from 0.
        own_name: the learner's name for the argument, if it is another name.
    """
    single = [argument for argument in parameters if not argument.kind.startswith("VAR_")]
    positional = [argument for argument in single if argument.kind != "KEYWORD_ONLY"]
    have = {argument.name: argument for argument in single}.get(own_name or want.name)
    if have is not None and have.kind == "KEYWORD_ONLY":
        return f"{want.name} must be accepted by position" if want.required else ""
    if have is not None:
        place = positional.index(have)
        wrong_place = f"{want.name} is argument {place + 1} and must be argument {index + 1}"
        return "" if place == index else wrong_place
    if len(single) < len(parameters):  # *args or **kwargs take it
        return ""
    trouble = None
    if index < len(positional) and positional[index].name not in names:
        trouble = default_problem(want, positional[index])
    return f"{want.name} is missing" + (
        f" ({trouble} to be used as {want.name})" if trouble else ""
    )


def _shown(argument: FoundParameter) -> str:
    star = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(argument.kind, "")
    if argument.required or star:
        return f"{star}{argument.name}"
    default = "…" if argument.default is None else argument.default
    return f"{argument.name}={default}"


def has_defaults(comparison: Comparison) -> bool:
    """Return whether an argument of the contract has a default that can be compared."""
    signatures = comparison.case_set.content.signatures
    return any(want.has_known_default for each in signatures for want in each.parameters)


def defaults(comparison: Comparison) -> Iterator[Outcome]:
    """Check the defaults of the arguments. All cases run with the defaults of the stub."""
    outcomes = [
        Outcome("defaults", "failed", f"{signature.name}: {trouble}.")
        for signature in comparison.case_set.content.signatures
        for _, trouble in other_defaults(
            signature, comparison.reply.signatures.get(signature.name) or ()
        )
    ]
    yield from outcomes or [Outcome("defaults", "passed")]


def parameters(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the module has the parameters of the contract, no fewer and no more."""
    if comparison.case_set.challenge.kind != "module":
        return
    for result in comparison.results:
        if result.reply.unassigned:  # all cases have the same wrong layers: one outcome is enough
            yield result.failed("parameters", _wrong_parameters(result))
            return
    if any(result.reply.parameters for result in comparison.results):
        yield Outcome("parameters", "passed", _taken_assignment(comparison))


def _wrong_parameters(result: CaseResult) -> str:
    """Return a sentence about the differences between the parameters and the contract's."""
    reply = result.reply
    expected = shapes_of(result.prepared.parameters)
    shapes = {name: tuple(shape) for name, shape in reply.parameters.items()}
    text = explain_mismatch(contract_of(expected), expected, shapes)
    twins = [
        f"{name} is the same parameter as {other}"
        for name, other in reply.shared.items()
        if name in expected
    ]
    if twins:
        text += f"; {', '.join(twins)}, but each layer needs its own parameters"
    return f"{text}."


def _taken_assignment(comparison: Comparison) -> str:
    """Return a sentence about the chosen assignment of layers; "" if only one is possible."""
    reply = comparison.reply
    if len(reply.assignments) < 2 or not comparison.results:
        return ""
    words = assignment_in_words({path: tuple(roles) for path, roles in reply.assignment.items()})
    return f"The names of the layers allow {len(reply.assignments)} assignments; chosen: {words}."


def notes(comparison: Comparison) -> Iterator[str]:
    """Yield a sentence for other names of arguments, and for an assignment that was chosen."""
    for signature in comparison.case_set.content.signatures:
        have = comparison.reply.signatures.get(signature.name)
        own_names = renamed(signature, have) if have is not None else {}
        if own_names:
            matched = ", ".join(f"{own_name} as {name}" for name, own_name in own_names.items())
            yield f"Arguments of {signature.name} are matched by position: {matched}."
    if assignment := _taken_assignment(comparison):
        yield assignment


def bad_sizes(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the constructor, or the function, refuses sizes that cannot work."""
    if comparison.case_index is not None:
        return
    failures, challenge = comparison.reply.refusals, comparison.case_set.challenge
    for index, refusal in enumerate(comparison.case_set.refusals):
        failure = failures[index] if index < len(failures) else None
        call = refusal.shown_call
        if not call:
            pairs = [f"{name}={_shown_value(value)}" for name, value in refusal.arguments.items()]
            call = f"{refusal.call or challenge.entry[0]}({', '.join(pairs)})"
        if failure is None:
            constructs = challenge.kind == "module" and refusal.init is None
            place = "__init__" if constructs else call.partition("(")[0]
            message = (
                f"{call} is accepted: {refusal.why}. "
                f"Raise a ValueError in {place} that names the wrong values."
            )
            yield Outcome("bad sizes", "failed", message)
        elif failure.type == "NotAllowedError":
            yield Outcome("bad sizes", "skipped", "stopped by a call that is not allowed")
        elif failure.type in accepted_types(refusal):
            yield Outcome("bad sizes", "passed", refusal.why)
        else:
            wanted = (
                "a ValueError" if refusal.only_value_error else "a ValueError (or AssertionError)"
            )
            message = f"{call} raises {in_words(failure)}; it must raise {wanted}: {refusal.why}."
            yield Outcome("bad sizes", "failed", message)


def _shown_value(value: object) -> str:
    """Return the value of an argument; of a tensor, its shape."""
    if isinstance(value, Tensor):
        return f"tensor{list(value.shape)}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(_shown_value, value))})"
    return str(value)
