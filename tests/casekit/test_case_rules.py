"""A wrong field of a case is named in a sentence."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from trainer.casekit.case_rules import (
    case_troubles,
    name_troubles,
    pair_troubles,
)
from trainer.grading.case_set import load_case_set
from trainer.model.case import Case
from trainer.packs import pack_reader

GOOD = Case("good", inputs={"x": torch.ones(2, 3)}, dims={"out": "B L"}, sizes={"B": 2, "L": 3})


def test_right_case_has_no_trouble() -> None:
    """The cases of the built-in pack pass too."""
    assert list(case_troubles(GOOD, "function")) == []
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    content = load_case_set(gqa, 1)
    assert [trouble for case in content.cases for trouble in case_troubles(case, "module")] == []
    assert list(pair_troubles(content.cases)) == []


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("name", " ", "Write a few words"),
        ("inputs", [1], "`inputs` is an object of the type list"),
        ("inputs", {"x": torch.ones(2).numpy()}, "type ndarray. Give a tensor"),
        ("inputs", {"x": ((1,),)}, "type tuple"),
        ("dims", {"out": "B Q"}, "Q has no size (the sizes are: B = 2, L = 3)"),
        ("dims", {"out": ("B", "L")}, "Write a str"),
        ("dims", {}, "names no output"),
        ("sizes", {"B": "2"}, "`sizes` has '2' for 'B'. Write a whole number"),
        ("plain", {"total": "float"}, "'float' for 'total'"),
        ("plain", {"out": "int"}, "in `dims` and in `plain`"),
        ("init", {"heads": 2}, '`init` is for challenges of kind "module"'),
        ("parameters", {"w": 2}, "`parameters` is for"),
        ("dropout", 0.5, "`dropout` is for"),
        ("dropout", 2, "from 0.0 to below 1"),
        ("dtype", "float16", "'float32', 'float64', 'bfloat16'"),
        ("mode", "evall", "Write 'eval', 'train'"),
        ("check", "mask", "`check` is 'mask'"),
        ("probe", "flops", "`probe` is 'flops'"),
        ("probe", "work", "has no `limit`"),
        ("limit", 2.5, "`limit` is 2.5"),
        ("gradients", "no", "Write True or False"),
        ("constants", "x", "Write a set of names"),
        ("layout", {"x": "stride"}, "'stride' for 'x'"),
    ],
)
def test_wrong_field_is_named(field: str, value: Any, says: str) -> None:
    """The sentence has the value, or its type, and the next step."""
    assert says in "; ".join(case_troubles(replace(GOOD, **{field: value}), "function"))


@pytest.mark.parametrize(
    ("field", "value"), [("constants", frozenset({"table"})), ("layout", {"table": "strided"})]
)
def test_name_that_is_no_input_of_any_case_is_refused(field: str, value: Any) -> None:
    """A name of another case's input is allowed."""
    case = replace(GOOD, **{field: value})
    other = replace(GOOD, inputs={"table": torch.ones(2)})
    assert f"`{field}` names 'table', which is no input" in "".join(name_troubles([GOOD, case]))
    assert list(name_troubles([case, other])) == []


def test_growth_probe_needs_two_cases() -> None:
    """A single case cannot be compared, so its check would never be due."""
    single = replace(GOOD, probe="vectorised")
    assert "needs a larger case" in "".join(pair_troubles([GOOD, single]))
    assert list(pair_troubles([single, single])) == []
