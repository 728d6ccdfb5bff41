"""Cases for interleaved rotary position embedding."""

from dataclasses import replace

import torch

from attn_drill.casekit import RotaryMaker, SecondCall, positions, realistic_call, shaped, suites


def drive(rope, given):
    """Call once, or twice. The name of an input means the same tensor."""
    outputs = {"out": call(rope, given.inputs, "")}
    if "later_x" in given.inputs:
        outputs["later_out"] = call(rope, {**given.inputs, "later_x": given.x}, "later_")
    return outputs


def call(rope, inputs, prefix):
    """Leave the base out if the case has none."""
    options = {"base": inputs[f"{prefix}base"]} if f"{prefix}base" in inputs else {}
    return rope(inputs[f"{prefix}x"], inputs[f"{prefix}position_ids"], **options)


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = RotaryMaker(draw, inputs={"x": "B H L D"}, outputs={"out": "B H L D"}, rows="")
    line = replace(case, places="L", words=", one line of positions")
    # Every token of head h is the unit vector e_h, so the output consists of cosines and sines.
    unit = {"x": torch.eye(4, 6)[None, :, None].expand(2, 4, 5, 6)}
    yield line("unit vectors", B=2, H=4, L=5, D=6, positions=torch.arange(5), inputs=unit)
    sizes = {"B": 3, "H": 4, "L": 5, "D": 14}
    for made in (case, line):
        yield from positions.orders(made, **sizes)
        yield from positions.equal_sizes(made, **{**sizes, "H": 2})
        yield from positions.far_along(made, **sizes)
    yield from positions.bases(line, **sizes)
    yield case("one pair, one head, one token", B=1, H=1, L=1, D=2, positions=torch.tensor([[3]]))
    # The angle of a single pair is the position itself, which float32 holds exactly.
    beyond = 1300000 - draw.positions(3, 5)
    yield case("one pair, one head, positions beyond 1000000", B=3, H=1, L=5, D=2, positions=beyond)
    ranges = {"B": (2, 3), "H": (3, 6), "L": (6, 9), "D": (4, 9)}
    (base,) = draw.distinct((50, 5000))
    yield case("random sizes and base", base=float(base), **draw.sizes(times={"D": 2}, **ranges))
    yield line("random sizes", **draw.sizes(times={"D": 2}, **ranges))
    yield case("head dim 256", B=1, H=2, L=3, D=256, base=500)
    tiny = {"x": draw.normal(3, 4, 5, 14, scale=1e-7)}
    yield case("tiny values", inputs=tiny, **sizes)
    yield from suites.layouts(case, **sizes)
    yield line("parts of larger inputs", layout="strided", check="properties", **sizes)
    again = SecondCall(inputs={"x": "x", "base": 100.0})
    usual = {"check": "properties", **sizes}
    yield case("the same x at other positions, with another base", later=again, **usual)
    places = draw.positions(3, 5)
    again = SecondCall(inputs={"x": "x", "position_ids": places, "base": 10.9})
    name = "the same x and positions with bases of 10.5 and 10.9"
    yield case(name, positions=places, base=10.5, later=again, **usual)
    small, large = {"B": 2, "H": 4, "L": 3, "D": 12}, {"B": 7, "H": 36, "L": 11}
    yield from suites.growth(case, "everything", small, large)
    yield from suites.growth(line, "everything", small, large)


def realistic():
    """Return the call that is measured after a pass: the rotation of the queries of a layer."""
    return realistic_call(
        "32 heads of 128, B = 1, L = 2048",
        x=shaped(1, 32, 2048, 128),
        position_ids=shaped(2048, dtype="int64"),
    )
