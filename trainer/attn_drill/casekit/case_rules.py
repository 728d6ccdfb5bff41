"""Check the fields of cases, so that `pack check` can name the wrong field of a `cases.py`.

The grading itself does not make these checks. With a wrong field, the grading fails or silently
leaves a check out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args, get_type_hints

from torch import Tensor

from attn_drill.model.case import Case, axes
from attn_drill.model.challenge import Challenge

_LAYOUTS = ("transposed", "strided", "expanded")
_WITH_LIMIT = ("memory", "held", "work")
_FIELDS = get_type_hints(Case)


def case_problems(cases: Sequence[Case], challenge: Challenge) -> list[str]:
    """Return a sentence without full stop for each wrong field of the cases of a challenge."""
    both = [part for case in cases for part in (case, case.larger) if part is not None]
    problems = [
        f"case {case.name!r}: {problem}"
        for case in both
        for problem in list(_wrong_types(case)) or _wrong_values_of(case, challenge)
    ]
    # The other rules need cases with valid fields.
    return problems or [*_unknown_inputs(both), *_lonely_probes(both)]


def _wrong_values_of(case: Case, challenge: Challenge) -> Iterator[str]:
    yield from _wrong_words(case)
    yield from _wrong_letters(case)
    yield from _wrong_inputs(case)
    yield from _unsuitable_fields(case, challenge)


def _wrong_types(case: Case) -> Iterator[str]:
    if not isinstance(case.name, str) or not case.name.strip():
        yield f"`name` is {case.name!r}. Write a few words"
    for field in ("inputs", "dims", "sizes", "plain", "init", "parameters", "layout"):
        value = getattr(case, field)
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
            yield f"`{field}` is {_shown(value)}. Write a dict with names as its keys"
    for field in ("dims", "layout"):
        yield from _wrong_values(case, field, "a str", lambda value: isinstance(value, str))
    yield from _wrong_values(
        case, "sizes", "a whole number from 0", lambda value: type(value) is int and value >= 0
    )
    if not isinstance(case.gradients, bool):
        yield f"`gradients` is {_shown(case.gradients)}. Write True or False"
    if isinstance(case.constants, str):
        yield f"`constants` is {case.constants!r}. Write a set of names"
    if case.dropout is not None and not (isinstance(case.dropout, float) and 0 <= case.dropout < 1):
        yield f"`dropout` is {_shown(case.dropout)}. Write a number from 0.0 to below 1"
    if case.limit is not None and type(case.limit) is not int:
        yield f"`limit` is {_shown(case.limit)}. Write a whole number"


def _wrong_values(
    case: Case, field: str, wanted: str, is_right: Callable[[Any], bool]
) -> Iterator[str]:
    values = getattr(case, field)
    for key, value in values.items() if isinstance(values, Mapping) else ():
        if not is_right(value):
            yield f"`{field}` has {_shown(value)} for {key!r}. Write {wanted}"


def _wrong_words(case: Case) -> Iterator[str]:
    """Yield a sentence for each field with a word that it does not allow."""
    for field in ("dtype", "mode", "check", "probe"):
        words = _words_of(_FIELDS[field])
        if getattr(case, field) not in words:
            yield f"`{field}` is {getattr(case, field)!r}. Write {_listed(words)}"
    for name, kind in case.plain.items():
        if kind not in ("int", "str"):
            yield f"`plain` has {kind!r} for {name!r}. Write {_listed(('int', 'str'))}"
    for name, layout in case.layout.items():
        if layout not in _LAYOUTS:
            yield f"`layout` has {layout!r} for {name!r}. Write {_listed(_LAYOUTS)}"


def _words_of(hint: Any) -> tuple[object, ...]:
    """Return the values that a Literal allows, and None if the field may be None."""
    if hint is type(None):
        return (None,)
    parts = get_args(hint)
    if getattr(hint, "__origin__", None) is Literal:
        return parts
    return tuple(word for part in parts for word in _words_of(part))


def _wrong_letters(case: Case) -> Iterator[str]:
    """Yield a sentence for each dimension without a size, and each output that is named twice."""
    for name, dims in case.dims.items():
        for letter in (letter for axis in axes(dims) for letter in axis):
            if letter not in case.sizes:
                known = ", ".join(f"{known} = {size}" for known, size in case.sizes.items())
                yield (
                    f"`dims` of {name!r} is {dims!r}, but {letter} has no size (the sizes are: "
                    f"{known or 'none'}). Give it a size, or correct `dims`"
                )
    for name in case.dims.keys() & case.plain.keys():
        yield f"{name!r} is in `dims` and in `plain`. Remove it from one of them"
    if not case.dims and not case.plain:
        yield "the case names no output. Name every output in `dims` or in `plain`"


def _wrong_inputs(case: Case) -> Iterator[str]:
    for name, value in case.inputs.items():
        parts = value if isinstance(value, tuple | list) else (value,)
        for part in parts:
            if not isinstance(part, Tensor | int | float | str | None):
                yield (
                    f"the input {name!r} is or contains {_shown(part)}. Give a tensor, a number, a "
                    "str, None, or a tuple of these"
                )


def _unsuitable_fields(case: Case, challenge: Challenge) -> Iterator[str]:
    """Yield a sentence for each field that does not suit the challenge or the probe."""
    if case.part and case.part not in challenge.parts:
        yield f"`part` is {case.part!r}. Write one of `parts`: {_listed(challenge.parts)}"
    if challenge.kind != "module":
        for field in ("init", "parameters", "dropout", "initial"):
            if getattr(case, field):
                yield f'`{field}` is for challenges of kind "module". Remove it'
    if case.probe in _WITH_LIMIT and case.limit is None:
        yield f"the probe {case.probe!r} has no `limit`. Add it"


def _unknown_inputs(cases: Sequence[Case]) -> Iterator[str]:
    """Yield a sentence for each name in `constants` or `layout` that is no input of any case.

    A case may name inputs of other cases, because a challenge often names them once for all.
    """
    inputs = {name for case in cases for name in case.inputs}
    for field in ("constants", "layout"):
        for case in cases:
            for name in getattr(case, field):
                if str(name).partition("[")[0] not in inputs:
                    yield (
                        f"case {case.name!r}: `{field}` names {name!r}, which is no input of any "
                        f"case. Name one of {_listed(sorted(inputs))}"
                    )


def _lonely_probes(cases: Sequence[Case]) -> Iterator[str]:
    """Yield a sentence for each growth probe that has only one case.

    Args:
        cases: the cases, each larger case after its smaller case.
    """
    probes = [case for case in cases if case.probe == "vectorised"]
    if len(probes) % 2:
        yield (
            f"case {probes[-1].name!r}: the probe 'vectorised' needs a larger case to compare "
            "with. Give it `larger`, or use suites.growth"
        )


def _listed(words: Sequence[object]) -> str:
    return ", ".join(map(repr, words)) or "none"


def _shown(value: object) -> str:
    """Return a short value as Python text, and the type of any other value."""
    if isinstance(value, str | int | float | bool | None) and len(repr(value)) < 60:
        return repr(value)
    return f"an object of the type {type(value).__name__}"
