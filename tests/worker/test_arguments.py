"""The learner's callables are called with the contract's arguments under the learner's names."""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from attn_drill.model.challenge import Parameter, Signature
from attn_drill.worker.arguments import (
    adapted,
    construct,
    default_problem,
    found_parameters,
    renamed,
)
from attn_drill.worker.protocol import FoundParameter
from tests.support.rows import each_row

ATTENTION = Signature(
    "attention", (Parameter("query"), Parameter("key"), Parameter("mask", required=False))
)


def own_names(q, k, attention_mask=None):
    """Return the arguments."""
    return q, k, attention_mask


def contract_names(query, key, mask=None):
    """Return the arguments."""
    return query, key, mask


def positional_only(q, k, mask=None, /):
    """Return the arguments."""
    return q, k, mask


def mask_by_name(q, k, *, mask=None):
    """Return the arguments."""
    return q, k, mask


def found_in(function: Callable[..., Any]) -> list[FoundParameter]:
    """Return the arguments of a function."""
    found = found_parameters(function, skip_self=False)
    assert found is not None
    return found


def test_found_parameters_have_a_kind_and_a_literal_default() -> None:
    """A default that is not a literal is not compared, so its text is None."""

    def function(x, size=3, *rest, layer=nn.Identity, **more): ...

    assert found_in(function) == [
        FoundParameter("x", "POSITIONAL_OR_KEYWORD", required=True),
        FoundParameter("size", "POSITIONAL_OR_KEYWORD", required=False, default="3"),
        FoundParameter("rest", "VAR_POSITIONAL", required=True),
        FoundParameter("layer", "KEYWORD_ONLY", required=False),
        FoundParameter("more", "VAR_KEYWORD", required=True),
    ]


def test_found_parameters_of_a_method_lack_self() -> None:
    """The first argument is left out if `skip_self` is set."""
    found = found_parameters(nn.Identity.forward, skip_self=True)
    assert [parameter.name for parameter in found or []] == ["input"]


def test_callable_without_a_signature_has_no_found_parameters() -> None:
    """Python finds no arguments of some functions that are written in C."""
    with pytest.raises(ValueError, match="signature"):
        inspect.signature(torch.softmax)
    assert found_parameters(torch.softmax, skip_self=False) is None


@each_row(
    "function, names",
    {
        "the contract's names": (contract_names, {}),
        "own names": (own_names, {"query": "q", "key": "k", "mask": "attention_mask"}),
        "no default": (lambda query, key, hidden: 0, {}),
        "another default": (lambda query, key, hidden=False: 0, {}),
        "another order": (lambda key, query, mask=None: 0, {}),
    },
)
def test_arguments_are_renamed_by_position_and_default(
    function: Callable[..., Any], names: dict[str, str]
) -> None:
    """Another name is accepted only at the same position and with the same default."""
    assert renamed(ATTENTION, found_in(function)) == names


@pytest.mark.parametrize(
    ("wanted", "default", "is_accepted"),
    [
        (0.0, "0.0", True),
        (0.0, "0", True),
        (0.0, "0.1", False),
        (0.0, "False", False),
        (True, "1", False),
        (None, "None", True),
        ("same", "'same'", True),
        ("same", "'valid'", False),
    ],
)
def test_defaults_are_compared_by_value(wanted: object, default: str, *, is_accepted: bool) -> None:
    """Equal scalars may be written in different ways, but a bool is not a scalar."""
    have = FoundParameter("p", "POSITIONAL_OR_KEYWORD", required=False, default=default)
    problem = default_problem(Parameter("p", required=False, default=wanted), have)
    assert (problem is None) == is_accepted
    if problem is not None:
        assert default in problem
        assert repr(wanted) in problem


@pytest.mark.parametrize("function", [own_names, contract_names, positional_only, mask_by_name])
def test_adapted_drive_calls_with_the_contract_names(function: Callable[..., Any]) -> None:
    """`drive` may pass each argument by position or by the contract's name."""

    def drive(implementation: Any, given: Any) -> dict[str, Any]:
        return {
            "by position": implementation(1, 2, 3),
            "by name": implementation(query=1, key=2, mask=3),
            "without the mask": implementation(1, key=2),
        }

    assert adapted(drive, ["attention"], [ATTENTION])(function, None) == {
        "by position": (1, 2, 3),
        "by name": (1, 2, 3),
        "without the mask": (1, 2, None),
    }


class _OwnNames(nn.Module):
    """A module with other names than the contract in the constructor, `forward` and a method."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, tokens: int) -> int:
        return self.width * tokens

    def step(self, token: int) -> int:
        return self.width + token


def test_module_is_constructed_and_called_with_the_contract_names() -> None:
    """The constructor, `forward` and other methods of the contract are adapted."""
    signatures = [
        Signature("Attention.__init__", (Parameter("d_model"),)),
        Signature("Attention.forward", (Parameter("x"),)),
        Signature("Attention.step", (Parameter("x_new"),)),
    ]
    module = construct(_OwnNames, "Attention", {"d_model": 5}, signatures)

    def drive(implementation: Any, given: Any) -> dict[str, Any]:
        return {"whole": implementation(x=3), "step": implementation.step(x_new=1)}

    assert adapted(drive, ["Attention"], signatures)(module, None) == {"whole": 15, "step": 6}


def test_compiled_function_has_arguments_too() -> None:
    """Python cannot inspect a function of `torch.jit`; its schema has names and defaults."""

    def softmax(values: torch.Tensor, axis: int = -1) -> torch.Tensor:
        return values.softmax(axis)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        compiled = torch.jit.script(softmax)
    found = found_parameters(compiled, skip_self=False)
    assert found is not None
    assert [(have.name, have.required, have.default) for have in found] == [
        ("values", True, None),
        ("axis", False, "-1"),
    ]
