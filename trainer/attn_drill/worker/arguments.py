"""Call the learner's callables, whose arguments may have other names than the contract's.

An argument with another name is accepted if it has the same position and the same default as the
contract's argument. Calls then pass its value by position, or by the learner's own name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn

from attn_drill.model.challenge import Parameter, Signature
from attn_drill.worker.protocol import FoundParameter, cap

_LITERALS = (int, float, str, bool, type(None))
_POSITIONAL = ("POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD")


def found_parameters(function: Any, *, skip_self: bool) -> list[FoundParameter] | None:
    """Return the arguments of a callable, at most 50; None if Python cannot find them."""
    parameters = _inspected(function, skip_self=skip_self)
    return None if parameters is None else [_described(parameter) for parameter in parameters[:50]]


def _inspected(function: Any, *, skip_self: bool) -> list[inspect.Parameter] | None:
    try:
        parameters = list(inspect.signature(function).parameters.values())
        return parameters[1:] if skip_self else parameters
    except (ValueError, TypeError):
        if type(function) is not torch.jit.ScriptFunction:
            return None
    schema: Any = function.schema  # torch's stubs declare a method
    empty, kind = inspect.Parameter.empty, inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for argument in schema.arguments:
        default = argument.default_value if argument.has_default_value() else empty
        parameters.append(inspect.Parameter(argument.name, kind, default=default))
    return parameters


def _described(parameter: inspect.Parameter) -> FoundParameter:
    required = parameter.default is parameter.empty
    literal = not required and type(parameter.default) in _LITERALS
    return FoundParameter(
        cap(parameter.name, 100),
        parameter.kind.name,  # type: ignore[arg-type]  # the same kinds
        required,
        cap(repr(parameter.default), 200) if literal else None,
    )


def renamed(contract: Signature, actual: Sequence[FoundParameter]) -> dict[str, str]:
    """Return the arguments that have another name: the contract's name -> the learner's name.

    The learner's argument has the same position and the same default as the contract's argument,
    and its name is not a name in the contract.
    """
    names = {have.name for have in actual if not have.kind.startswith("VAR_")}
    wanted = {want.name for want in contract.parameters}
    positional = [have for have in actual if have.kind in _POSITIONAL]
    return {
        want.name: have.name
        for want, have in zip(contract.parameters, positional, strict=False)
        if want.name not in names
        and have.name not in wanted
        and default_problem(want, have) is None
    }


def default_problem(want: Parameter, have: FoundParameter) -> str | None:
    """Return in words how the default of the learner's argument differs from the contract's.

    Returns:
        None if the contract's argument has no default, if the defaults are equal, or if one of
        the defaults is not a literal: the cases show whether such a default works.
    """
    if want.required:
        return None
    if have.required and not have.kind.startswith("VAR_"):
        return f"{have.name} must have the default {want.default!r}"
    if not want.has_known_default:
        return None
    if have.default is not None and not _is_same(have.default, want.default):
        return f"the default of {have.name} is {have.default} and must be {want.default!r}"
    return None


def other_defaults(
    contract: Signature, actual: Sequence[FoundParameter]
) -> Iterator[tuple[Parameter, str]]:
    """Yield each argument of the contract with another default, and the difference in words."""
    by_name = {have.name: have for have in actual}
    for want in contract.parameters:
        if want.name in by_name and (trouble := default_problem(want, by_name[want.name])):
            yield want, trouble


def _is_same(text: str, wanted: object) -> bool:
    """Return whether a text is the repr of a default, or an equal number."""
    if text == repr(wanted):
        return True
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        with suppress(ValueError):
            return float(text) == float(wanted)
    return False


class _Places:
    """The positions and names under which the learner's callable takes the contract's arguments.

    Attributes:
        is_needed: True if the callable does not take the contract's names unchanged.
    """

    def __init__(self, contract: Signature, parameters: Sequence[inspect.Parameter]) -> None:
        actual = [_described(parameter) for parameter in parameters]
        self._contract = [want.name for want in contract.parameters]
        self._own_names = renamed(contract, actual)
        self._parameters = {parameter.name: parameter for parameter in parameters}
        # The learner's default is another check's matter: calls get the contract's default.
        others = [want for want, _ in other_defaults(contract, actual) if want.has_known_default]
        self._defaults = {want.name: want.default for want in others}
        self.is_needed = bool(self._own_names or self._defaults) or any(
            have.kind == "POSITIONAL_ONLY" and have.name in self._contract for have in actual
        )

    def fill(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of a call as the learner's callable takes them."""
        if len(args) > len(self._contract) or any(
            name in kwargs for name in self._contract[: len(args)]
        ):
            return list(args), dict(kwargs)  # Python reports the error
        values = {**self._defaults, **dict(zip(self._contract, args, strict=False)), **kwargs}
        by_place: list[Any] = []
        by_name: dict[str, Any] = {}
        for name in self._contract:
            own_name = self._own_names.get(name, name)
            parameter = self._parameters.get(own_name)
            if parameter is not None and parameter.kind.name == "POSITIONAL_ONLY":
                by_place.append(values.pop(name, parameter.default))
            elif name in values:
                by_name[own_name] = values.pop(name)
        return by_place, by_name | values


class _Adapted:
    """A function or an object that `drive` can call with the contract's names."""

    def __init__(self, target: Any, places: _Places | None, methods: Mapping[str, _Places]) -> None:
        self._target, self._call_places, self._methods = target, places, methods

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the target with the learner's own names."""
        if self._call_places is None:
            return self._target(*args, **kwargs)
        by_place, by_name = self._call_places.fill(args, kwargs)
        return self._target(*by_place, **by_name)

    def __getattr__(self, name: str) -> Any:
        """Return the target's attribute; a method of the contract takes the contract's names."""
        value = getattr(self._target, name)
        return _Adapted(value, self._methods[name], {}) if name in self._methods else value


def own_module(implementation: Any) -> Any:
    """Return the learner's own object, of which `drive` may have got an adapted form."""
    return implementation._target if isinstance(implementation, _Adapted) else implementation


@lru_cache(maxsize=64)  # every case constructs the same class
def _places(contract: Signature | None, function: Any, *, skip_self: bool) -> _Places | None:
    """Return the places of the arguments; None if the callable takes the contract's names."""
    parameters = None if contract is None else _inspected(function, skip_self=skip_self)
    if contract is None or parameters is None:
        return None
    places = _Places(contract, parameters)
    return places if places.is_needed else None


def construct(
    make: Any, name: str, init: Mapping[str, Any], signatures: Sequence[Signature]
) -> Any:
    """Call a constructor with arguments by the contract's names."""
    wanted = f"{name}.__init__"
    contract = next((signature for signature in signatures if signature.name == wanted), None)
    places = _places(contract, getattr(make, "__init__", None), skip_self=True)
    by_place, by_name = ([], init) if places is None else places.fill((), init)
    return make(*by_place, **by_name)


def adapted(
    drive: Callable[[Any, Any], Any], entry: Sequence[str], signatures: Sequence[Signature]
) -> Callable[[Any, Any], Any]:
    """Wrap `drive` so that it can call an implementation whose arguments have other names."""
    contracts = {signature.name: signature for signature in signatures}
    methods_of: dict[type, dict[str, _Places]] = {}

    def adapted_function(name: str, function: Any) -> Any:
        places = _places(contracts.get(name), function, skip_self=False)
        return function if places is None else _Adapted(function, places, {})

    def in_contract_names(implementation: Any) -> Any:
        if isinstance(implementation, nn.Module):
            kind = type(implementation)
            if kind not in methods_of:
                methods_of[kind] = _methods(kind, entry[0], contracts)
            methods = methods_of[kind]
            forward = methods.get("forward")
            return _Adapted(implementation, forward, methods) if methods else implementation
        if len(entry) == 1:
            return adapted_function(entry[0], implementation)
        functions = {name: adapted_function(name, getattr(implementation, name)) for name in entry}
        return SimpleNamespace(**functions)

    return lambda implementation, inputs: drive(in_contract_names(implementation), inputs)


def call_entry(
    namespace: Mapping[str, Any],
    kind: str,
    name: str,
    arguments: Mapping[str, Any],
    signatures: Sequence[Signature] = (),
) -> Any:
    """Call a constructor or a function of a file with arguments by the contract's names."""
    if kind == "module":
        return construct(namespace[name], name, arguments, signatures)
    return adapted(lambda function, call_arguments: function(**call_arguments), [name], signatures)(
        namespace[name], arguments
    )


def _methods(kind: type, entry: str, signatures: Mapping[str, Signature]) -> dict[str, _Places]:
    """Return the places of the methods that do not take the contract's names."""
    methods: dict[str, _Places] = {}
    for name, contract in signatures.items():
        owner, _, method = name.partition(".")
        if owner == entry and method and method != "__init__":
            places = _places(contract, getattr(kind, method, None), skip_self=True)
            if places is not None:
                methods[method] = places
    return methods
