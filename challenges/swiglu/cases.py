"""Cases for SwiGLU: any number of leading axes, hidden widths above and below the width of x."""

from dataclasses import replace

import torch

from attn_drill.casekit import CaseMaker, SecondCall, realistic_call, shaped, suites


def drive(mlp, given):
    """Call once, or twice on the same object."""
    outputs = {"out": mlp(given.x)}
    if "later_x" in given.inputs:
        outputs["later_out"] = mlp(given.later_x)
    return outputs


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = CaseMaker(
        draw,
        init={"dim": "M", "hidden_dim": "F"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
    )
    sizes = {"B": 3, "L": 5, "M": 6, "F": 11}
    yield case("two axes in front", **sizes)
    yield case("hidden_dim smaller than dim", B=2, L=4, M=9, F=5)
    yield case("hidden_dim as large as dim", B=3, L=5, M=7, F=7, equal="M F")
    yield case("as many tokens as features", B=2, L=6, M=6, F=13, equal="L M")
    yield case("as many tokens as hidden values", B=2, L=8, M=5, F=8, equal="L F")
    yield case("as many sequences as tokens", B=4, L=4, M=6, F=9, equal="B L")
    yield case("all sizes equal", B=4, L=4, M=4, F=4, equal="B L M F")
    yield case("one feature", B=3, L=5, M=1, F=4)
    yield case("one hidden value", B=3, L=5, M=4, F=1)
    yield case("one sequence", B=1, L=7, M=6, F=11)
    yield case("every size 1", B=1, L=1, M=1, F=1)
    yield case("random sizes", **draw.sizes(B=(2, 4), L=(3, 9), M=(4, 16), F=(4, 40)))
    yield from other_axes(case)
    yield from scaled(case, sizes)
    yield from steep_gates(case, sizes)
    yield case("training mode", mode="train", check="train/eval", **sizes)
    yield from suites.dtypes(case, **sizes)
    yield from suites.layouts(case, **sizes)
    later = SecondCall(sizes={"B": 4, "L": 8})
    yield case("more tokens afterwards", later=later, check="properties", **sizes)
    later = SecondCall(sizes={"L": 2})
    yield case("fewer tokens afterwards", later=later, check="properties", **sizes)
    yield from suites.growth(case, "batch and length", sizes, {"B": 8, "L": 120})
    # An answer may take inputs of three axes whole, and those of more axes part by part.
    deep = replace(case, inputs={"x": "A B L M"}, outputs={"out": "A B L M"})
    larger = {"A": 9, "B": 8, "L": 12}
    yield from suites.growth(deep, "all axes in front", {"A": 2, **sizes}, larger)


def other_axes(case):
    """Yield inputs with no axis, one axis and three axes in front of the features."""
    for name, dims, sizes in (
        ("a single token without other axes", "M", {"M": 6, "F": 11}),
        ("one axis in front", "L M", {"L": 5, "M": 6, "F": 11}),
        ("three axes in front", "A B L M", {"A": 2, "B": 3, "L": 4, "M": 5, "F": 7}),
        ("four axes in front", "A B H L M", {"A": 2, "B": 1, "H": 3, "L": 4, "M": 5, "F": 7}),
    ):
        maker = replace(case, inputs={"x": dims}, outputs={"out": dims})
        yield maker(name, **sizes)


def scaled(case, sizes):
    """Yield large and small inputs and tokens of zeros.

    The hidden values grow with the square of large inputs, because both factors are large.
    """
    for name, scale in (("large inputs", 8.0), ("small inputs", 1e-3)):
        inputs = {"x": case.draw.normal(3, 5, 6, scale=scale)}
        yield case(name, inputs=inputs, **sizes)
    yield case("a token of zeros", inputs={"x": case.draw.normal_with_zeros(3, 5, 6)}, **sizes)


def steep_gates(case, sizes):
    """Yield gates of ±200 next to ordinary gates; exp(200) is inf in float32.

    Feature 0 of a token is 1, -1 or 0, and its weights in gate_proj are 200, -200 or 0.
    """
    x, weight = case.draw.normal(3, 5, 6), case.draw.normal(11, 6)
    x[..., 0] = (torch.arange(15).reshape(3, 5) % 3 - 1).double()
    weight[:, 0] = 200.0 * (torch.arange(11) % 3 - 1)
    given = {"inputs": {"x": x}, "parameters": {"gate_proj.weight": weight}}
    for dtype in ("float32", "bfloat16"):
        yield case(f"gates of ±200, {dtype}", dtype=dtype, **given, **sizes)
    low = {"x": x.clone()}
    low["x"][..., 0] = -1
    weight = weight.clone()
    weight[:, 0] = 200.0 * (torch.arange(11) < 8)
    given = {"inputs": low, "parameters": {"gate_proj.weight": weight}}
    yield case("most gates are -200", **given, **sizes)


def realistic():
    """Return the call that is measured after a pass: the MLP of Llama 3 8B."""
    return realistic_call(
        "the MLP of Llama 3 8B, B = 1, L = 2048",
        init={"dim": 4096, "hidden_dim": 14336},
        x=shaped(1, 2048, 4096),
    )
