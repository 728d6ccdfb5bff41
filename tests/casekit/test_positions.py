"""Every case of the suites for positions catches a mistake that no other case catches."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from attn_drill.casekit import Case, Draw, Projected, RotaryMaker, SecondCall, positions, suites
from attn_drill.diagnosis.patched_references import PatchedReferences
from attn_drill.grading.case_set import load_case_set
from attn_drill.grading.comparison import Comparison
from attn_drill.packs import pack_reader
from tests.support.casekit import ROTARY, STAYS, Patch, caught_by, patched

PROJECTED = "        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)\n"
AXIS = "        angles = angles[:, None]\n"
BASE = "max_seq_len, rope_base\n"
SIZES = {"B": 3, "L": 5, "H": 2, "D": 8, "T": 23}
FAR = {"B": 2, "L": 9, "H": 3, "D": 16}


def places_if(condition: str, places: str) -> Patch:
    """Return a patch that changes the positions under a condition."""
    return PROJECTED, f"        if {condition}:\n            places = {places}\n{PROJECTED}"


def axis_if(condition: str, angles: str) -> Patch:
    """Return a patch that moves the axis for the heads under a condition."""
    return AXIS, f"        angles = {angles} if {condition} else angles[:, None]\n"


RISING = "given and B > 1 and L > 1 and (places.diff(dim=-1) > 0).all()"
FALLING = "given and (places.diff(dim=-1) <= 0).all()"
FREQUENCIES = "places[..., None] * frequencies"
TABLE: dict[str, tuple[dict[str, int], dict[str, Patch]]] = {
    "orders": (
        SIZES,
        {
            "scattered positions": places_if("given and B > 1", "places.clamp(min=1)"),
            "repeated and falling positions": places_if(FALLING, "places.flip(-1)"),
            "every other position, far along": places_if(RISING, "torch.arange(L).expand(B, L)"),
            "one sequence, shuffled": places_if("B == 1", "torch.arange(L)[None]"),
            "one token of every sequence, far along (a decode step)": places_if(
                "L == 1", "places.squeeze(-1)"
            ),
        },
    ),
    "full_table": (
        {"B": 2, "L": 7, "H": 3, "D": 10},
        {
            "as many tokens as the table has rows": places_if(
                "L == T and not given", "places.clamp(max=T - 2)"
            ),
            "as many tokens as the table has rows, in other orders": places_if(
                "L == T", "torch.arange(L)[None]"
            ),
        },
    ),
    "equal_sizes": (
        SIZES,
        {
            "as many batch items as heads": axis_if("B == H != L", "angles[None]"),
            "as many heads as tokens": axis_if("given and B != H == L", "angles[:, :, None]"),
            "as many batch items as tokens": axis_if(
                "B == L != H", "angles.transpose(0, 1)[:, None]"
            ),
            "as many batch items as heads and tokens": axis_if("B == H == L", "angles[None]"),
            "as many heads as tokens, no positions": axis_if("not given", "angles[:, :, None]"),
        },
    ),
    "bases": (
        SIZES,
        {
            "base 100": (BASE, "max_seq_len, max(rope_base, 10000.0)\n"),
            "base 500000": (BASE, "max_seq_len, min(rope_base, 10000.0)\n"),
        },
    ),
    "far_along": (
        FAR,
        {
            "positions up to 8999": places_if("given", "places.clamp(max=2047)"),
            "float64, positions up to 1999": (
                FREQUENCIES,
                "places[..., None] * (frequencies.half() if x.dtype == torch.float64 "
                "else frequencies)",
            ),
            "bfloat16, positions up to 1999": (
                FREQUENCIES,
                "places[..., None].to(x.dtype) * frequencies",
            ),
        },
    ),
    "left_padding": (
        {"B": 3, "L": 7, "H": 4, "D": 6, "T": 11},
        {
            "bfloat16, padding on the left, positions count real tokens": places_if(
                "mask is not None", "torch.arange(L)[None]"
            )
        },
    ),
    "weights_shown": (
        {"B": 2, "L": 5, "H": 3, "D": 8, "T": 15},
        {
            "heads apart, their first features are the weights": STAYS,
            "the same with gaps between positions": STAYS,
        },
    ),
}


ROWS = [
    pytest.param(suite, name, id=f"{suite}: {name}")
    for suite, (_, mistakes) in TABLE.items()
    for name, patch in mistakes.items()
    if patch is not STAYS
]


def drive(attention: Any, given: Any) -> dict[str, Any]:
    """Call the implementation once."""
    return {"out": attention(given.x, mask=given.mask, position_ids=given.position_ids)}


def maker() -> RotaryMaker:
    """Return a maker for the plain implementation."""
    return RotaryMaker(
        Draw(1),
        init={"d_model": "M", "num_heads": "H", "max_seq_len": "T"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        mask="B H L L",
        roles=Projected(bias=None),
    )


@cache
def made(suite: str) -> list[Case]:
    """Return the cases of a suite."""
    return list(getattr(positions, suite)(maker(), **TABLE[suite][0]))


@pytest.mark.parametrize("suite", TABLE)
def test_table_is_complete_and_right_code_passes(suite: str) -> None:
    """Every case has a reason in the table, and right code passes every case."""
    cases = made(suite)
    assert {case.name for case in cases} == set(TABLE[suite][1])
    assert caught_by(cases, drive, ROTARY, ROTARY) == set()


@pytest.mark.parametrize(("suite", "name"), ROWS)
def test_only_this_case_catches_the_mistake(suite: str, name: str) -> None:
    """If another case also caught the mistake, this case would be unnecessary."""
    mistaken = patched(ROTARY, *TABLE[suite][1][name])
    assert caught_by(made(suite), drive, ROTARY, mistaken) == {name}


def test_positions_follow_the_mask_unless_given() -> None:
    """A call without a mask has no positions if the challenge has masks."""
    case = maker()
    assert case("no mask", **SIZES).inputs["position_ids"] is None
    assert case("masked, none", mask="L L", positions=None, **SIZES).inputs["position_ids"] is None
    for given in (
        case("masked", mask="L L", **SIZES).inputs["position_ids"],
        case("scattered", positions="scattered", **SIZES).inputs["position_ids"],
        case("below 23", positions=23, **{**SIZES, "T": 40}).inputs["position_ids"],
    ):
        assert given.shape == (3, 5)
        assert (given.amin(-1).tolist(), given.amax(-1).tolist()) == ([0] * 3, [22] * 3)


def test_function_without_masks_always_gets_positions() -> None:
    """The base of the angles is an input of the function."""
    dims = {"x": "B H L D"}
    case = RotaryMaker(Draw(1), inputs=dims, outputs=dims, rows="", places="L", words=", one line")
    made = case("any", base=7.0, B=2, H=3, L=5, D=4)
    assert (made.name, made.inputs["base"], made.init) == ("any, one line", 7.0, {})
    assert made.inputs["position_ids"].shape == (5,)  # type: ignore[attr-defined]


def test_module_without_table_size_keeps_the_default() -> None:
    """The base goes to the constructor of a module."""
    assert maker()("default", base=7.0, B=2, L=5, H=3, D=4).init == {
        "d_model": 12,
        "num_heads": 3,
        "rope_base": 7.0,
    }


def test_second_call_has_separate_positions() -> None:
    """The positions of the second call depend on its own mask."""
    later = SecondCall(mask="L L", sizes={"L": 7})
    inputs = maker()("twice", later=later, **SIZES).inputs
    assert inputs["position_ids"] is None
    assert inputs["later_position_ids"].shape == (3, 7)  # type: ignore[attr-defined]


def test_steep_scores_are_at_one_position() -> None:
    """With different positions, the rotation would change the designed scores."""
    cases = list(suites.steep_scores(maker(), **SIZES))
    for case in cases:
        lines = case.inputs["position_ids"]
        assert bool((lines == lines[:, :1]).all())
        assert int(lines.min()) >= 1
    assert caught_by(cases, drive, ROTARY, ROTARY) == set()


def test_expanded_inputs_have_expanded_positions() -> None:
    """All batch items share the memory of the positions."""
    (case,) = (case for case in suites.layouts(maker(), **SIZES) if "expanded" in case.name)
    assert case.inputs["position_ids"].stride(0) == 0  # type: ignore[attr-defined]
    assert case.layout["position_ids"] == "expanded"


@pytest.mark.parametrize("rows", ["T", ""])
def test_growth_sets_table_sizes_if_there_are_tables(rows: str) -> None:
    """Each probe has another base, and the probe without positions has at least 17 tokens."""
    case = replace(maker(), rows=rows)
    probes = list(positions.growth(case, {"B": 2, "H": 4, "D": 6}, {"B": 7, "H": 11}))
    assert [probe.init["rope_base"] for probe in probes] == [123.0, 321.0, 231.0]
    assert [probe.sizes["L"] for probe in probes] == [3, 17, 33]
    for probe in probes:
        assert probe.larger.sizes["L"] > probe.sizes["L"]
        assert ("T" in probe.sizes) == bool(rows)


@pytest.mark.parametrize("seed", [5028, 2_108_074_545])
def test_far_along_accepts_other_formulas_for_frequencies(seed: int) -> None:
    """With a base of 500, these seeds refused three right answers to mla: one angle was rounded."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "mla")
    case_set = load_case_set(challenge, seed)
    far = [case.name for case in case_set.cases].index("float64, positions up to 1999")
    source = (challenge.solutions / "also_right" / "deepseek_style.py").read_text("utf-8")
    references = PatchedReferences(case_set, lambda: None)
    far_case = case_set.select([far])
    comparison = Comparison(far_case, references.run(far_case, source, "grade"))
    assert comparison.results[0].right
