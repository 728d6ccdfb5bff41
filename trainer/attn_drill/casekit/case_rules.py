"""Check the fields of cases, so that `pack check` can name the wrong field of a `cases.py`.

The grading itself does not make these checks. With a wrong field, the grading fails or silently
leaves a check out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args, get_type_hints

from torch import Tensor

from attn_drill.model.case import Case, axes
from attn_drill.model.challenge import Challenge

_HINTS = get_type_hints(Case)
_WITH_LIMIT = ("memory", "held", "work")
_ONLY_FOR_MODULES = ("init", "parameters", "dropout", "initial")
# Whether a value is right, and words for a right value.
Rule = tuple[Callable[[Any], bool], str]

_DICTS = ("inputs", "dims", "sizes", "plain", "init", "parameters", "layout")


def _listed(words: Sequence[object]) -> str:
    return ", ".join(map(repr, words)) or "none"


def _one_of(words: tuple[object, ...]) -> Rule:
    return words.__contains__, _listed(words)


def _is_dict(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


_FIELDS: dict[str, Rule] = {
    "name": (lambda name: isinstance(name, str) and bool(name.strip()), "a few words"),
    **dict.fromkeys(_DICTS, (_is_dict, "a dict with names as its keys")),
    "dtype": _one_of(get_args(_HINTS["dtype"])),
    "mode": _one_of(get_args(_HINTS["mode"])),
    "check": _one_of(get_args(_HINTS["check"])),
    "probe": _one_of((*get_args(get_args(_HINTS["probe"])[0]), None)),
    "gradients": (lambda value: isinstance(value, bool), "True or False"),
    "constants": (lambda value: not isinstance(value, str), "a set of names"),
    "dropout": (
        lambda value: value is None or (isinstance(value, float) and 0 <= value < 1),
        "a number from 0.0 to below 1",
    ),
    "limit": (lambda value: value is None or type(value) is int, "a whole number"),
}
# The rules for the values of dicts.
_ENTRIES: dict[str, Rule] = {
    "dims": (lambda value: isinstance(value, str), "a str"),
    "sizes": (lambda value: type(value) is int and value >= 0, "a whole number from 0"),
    "plain": _one_of(("int", "str")),
    "layout": _one_of(("transposed", "strided", "expanded")),
}


def case_problems(cases: Sequence[Case], challenge: Challenge) -> list[str]:
    """Return a sentence without full stop for each wrong field of the cases of a challenge."""
    both = [part for case in cases for part in (case, case.larger) if part is not None]
    # Each group of rules needs cases that keep the rules of the group before.
    for problems_of in (_wrong_values, lambda case: _misfits(case, challenge)):
        problems = [
            f"case {case.name!r}: {problem}" for case in both for problem in problems_of(case)
        ]
        if problems:
            return problems
    return list(_problems_among(both))


def _wrong_values(case: Case) -> Iterator[str]:
    """Yield a sentence for each field whose value is not allowed in any case."""
    for field, (is_right, words) in _FIELDS.items():
        value = getattr(case, field)
        if not is_right(value):
            yield f"`{field}` is {_shown(value)}. Write {words}"
        elif field in _ENTRIES:
            is_right, words = _ENTRIES[field]
            for key, entry in value.items():
                if not is_right(entry):
                    yield f"`{field}` has {_shown(entry)} for {key!r}. Write {words}"


def _misfits(case: Case, challenge: Challenge) -> Iterator[str]:
    """Yield a sentence for each field that does not fit another field or the challenge."""
    for name, dims in case.dims.items():
        for letter in (letter for axis in axes(dims) for letter in axis):
            if letter not in case.sizes:
                sizes = ", ".join(f"{key} = {size}" for key, size in case.sizes.items())
                yield (
                    f"`dims` of {name!r} is {dims!r}, but {letter} has no size (the sizes are: "
                    f"{sizes or 'none'}). Give it a size, or correct `dims`"
                )
    for name in case.dims.keys() & case.plain.keys():
        yield f"{name!r} is in `dims` and in `plain`. Remove it from one of them"
    if not case.dims and not case.plain:
        yield "the case names no output. Name every output in `dims` or in `plain`"
    for name, value in case.inputs.items():
        for part in value if isinstance(value, tuple | list) else (value,):
            if not isinstance(part, Tensor | int | float | str | None):
                yield (
                    f"the input {name!r} is or contains {_shown(part)}. Give a tensor, a number, a "
                    "str, None, or a tuple of these"
                )
    if case.part and case.part not in challenge.parts:
        yield f"`part` is {case.part!r}. Write one of `parts`: {_listed(challenge.parts)}"
    if challenge.kind != "module":
        for field in _ONLY_FOR_MODULES:
            if getattr(case, field):
                yield f'`{field}` is for challenges of kind "module". Remove it'
    if case.probe in _WITH_LIMIT and case.limit is None:
        yield f"the probe {case.probe!r} has no `limit`. Add it"


def _problems_among(cases: Sequence[Case]) -> Iterator[str]:
    """Yield a sentence for each unknown input, and for a growth probe that has only one case.

    A case may name inputs of other cases, because a challenge often names them once for all.
    """
    inputs = {name for case in cases for name in case.inputs}
    for case in cases:
        for field in ("constants", "layout"):
            for name in getattr(case, field):
                if str(name).partition("[")[0] not in inputs:
                    yield (
                        f"case {case.name!r}: `{field}` names {name!r}, which is no input of any "
                        f"case. Name one of {_listed(sorted(inputs))}"
                    )
    probes = [case for case in cases if case.probe == "vectorised"]
    if len(probes) % 2:
        yield (
            f"case {probes[-1].name!r}: the probe 'vectorised' needs a larger case to compare "
            "with. Give it `larger`, or use suites.growth"
        )


def _shown(value: object) -> str:
    """Return a short value as Python text, and the type of any other value."""
    if isinstance(value, str | int | float | bool | None) and len(repr(value)) < 60:
        return repr(value)
    return f"an object of the type {type(value).__name__}"
