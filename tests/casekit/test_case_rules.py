"""A wrong field of a case is named in a sentence."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from attn_drill.casekit.case_rules import case_problems
from attn_drill.casekit.draw import Draw
from attn_drill.grading.case_set import load_case_set
from attn_drill.model.case import Case
from attn_drill.packs import pack_reader
from tests.support.paths import ROOT, TINY_PACK

GOOD = Case("good", inputs={"x": torch.ones(2, 3)}, dims={"out": "B L"}, sizes={"B": 2, "L": 3})


SUMS = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")


def test_right_case_has_no_problem() -> None:
    """The cases of the built-in pack have none, too."""
    assert case_problems([GOOD], SUMS) == []
    assert case_problems(load_case_set(GQA, 1).cases, GQA) == []


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
        ("part", "loss", "`part` is 'loss'. Write one of `parts`: none"),
        ("constants", frozenset({"table"}), "`constants` names 'table', which is no input"),
        ("layout", {"table": "strided"}, "`layout` names 'table', which is no input"),
        ("probe", "vectorised", "needs a larger case"),
    ],
)
def test_wrong_field_is_named(field: str, value: Any, says: str) -> None:
    """The sentence has the value, or its type, and the next step."""
    assert says in "; ".join(case_problems([replace(GOOD, **{field: value})], SUMS))


def test_other_cases_may_complete_a_case() -> None:
    """A field may name an input of another case, and a growth probe has two cases."""
    case = replace(GOOD, constants=frozenset({"table"}), layout={"table": "strided"})
    other = replace(GOOD, inputs={"table": torch.ones(2)})
    assert case_problems([case, other], SUMS) == []
    probe = replace(GOOD, probe="vectorised")
    assert case_problems([replace(probe, larger=probe)], SUMS) == []


def test_example_of_the_docs_has_right_cases() -> None:
    """docs/packs.md shows the cases of a function of plain numbers."""
    text = (ROOT / "docs" / "packs.md").read_text(encoding="utf-8")
    example = text.partition("### Functions of plain numbers")[2].split("```")[1]
    names: dict[str, Any] = {}
    exec(example.removeprefix("python\n"), names)
    cases = list(names["cases"](Draw(1)))
    assert case_problems(cases, SUMS) == []
    given = SimpleNamespace(**cases[0].inputs)
    assert names["drive"](lambda *sizes: sizes, given) == {"bytes": (7, 5, 11)}
