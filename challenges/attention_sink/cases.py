"""Cases for attention with a sink: sinks of any size and dtype, rows without any allowed key."""

from dataclasses import replace

import torch

from attn_drill.casekit import (
    CaseMaker,
    Direct,
    Scores,
    SecondCall,
    realistic_call,
    shape,
    shaped,
    suites,
)


def drive(attention, given):
    """Call once, or twice."""
    later = {name[6:]: value for name, value in given.inputs.items() if name.startswith("later_")}
    outputs = {"out": call(attention, given.inputs)}
    if later:
        outputs["later_out"] = call(attention, later)
    return outputs


def call(attention, inputs):
    """Leave the mask out if there is none. Give the sinks the dtype that the case names."""
    sinks = inputs["sink_logits"]
    if "sink_dtype" in inputs:
        sinks = sinks.to(getattr(torch, inputs["sink_dtype"]))
    arguments = (inputs["q"], inputs["k"], inputs["v"], sinks)
    mask = inputs["mask"]
    return attention(*arguments) if mask is None else attention(*arguments, mask=mask)


def cases(draw):
    """Yield the cases on which a submission runs."""
    keys = "B H Lk D"
    case = CaseMaker(
        draw,
        inputs={"q": "B H Lq D", "k": keys, "v": keys, "sink_logits": "H"},
        outputs={"out": "B H Lq D"},
        mask="B H Lq Lk",
        roles=Direct(),
    )
    identity = {"inputs": {"v": torch.eye(7).expand(2, 3, 7, 7)}, "outputs": {"out": "B H Lq Lk"}}
    sizes = {"B": 2, "H": 3, "Lq": 5, "Lk": 7, "D": 7, "equal": "Lk D"}
    yield case("weights as output (v is the identity)", **identity, **sizes)
    yield case("one batch item, one head", B=1, H=1, Lq=4, Lk=6, D=5)
    yield case("one query, head dim 1", B=2, H=3, Lq=1, Lk=6, D=1)
    yield case("one key", B=3, H=2, Lq=5, Lk=1, D=4)
    yield case("one query, one key", B=2, H=4, Lq=1, Lk=1, D=3)
    square = {"Lq": 5, "Lk": 5}
    yield case("as many queries as keys", B=2, H=3, D=6, equal="Lq Lk", **square)
    yield case("as many heads as batch items", B=3, H=3, Lq=5, Lk=7, D=6, equal="B H")
    yield case("as many heads as queries", B=2, H=5, Lq=5, Lk=7, D=6, equal="H Lq")
    yield case("as many heads as keys", B=2, H=5, Lq=3, Lk=5, D=6, equal="H Lk")
    same = {"B": 4, "H": 4, "Lq": 4, "Lk": 4, "D": 4, "equal": "B H Lq Lk D"}
    yield case("all sizes equal", **same)
    yield case("all sizes equal, masked", mask="Lq Lk", **same)
    yield case("random sizes", **draw.sizes(B=(2, 3), H=(2, 5), Lq=(3, 9), Lk=(3, 9), D=(4, 9)))
    sizes = {"B": 3, "H": 2, "Lq": 5, "Lk": 7, "D": 6}
    yield from suites.tiny_values(case, **sizes)
    yield from suites.masks(case, **sizes)
    yield from empty_rows(case)
    yield from suites.dtypes(case, **sizes)
    yield from sink_dtypes(case)
    yield from sink_sizes(case)
    yield from steep_scores(case)
    zeros = {name: draw.normal_with_zeros(3, 2, 7, 6, row=row) for row, name in enumerate("kv")}
    zeros["q"] = draw.normal_with_zeros(3, 2, 5, 6)
    yield case("tokens of zeros", inputs=zeros, **sizes)
    yield case("tokens of zeros, masked", inputs=zeros, mask="Lq Lk", **sizes)
    yield from suites.layouts(case, B=3, H=4, Lq=5, Lk=7, D=6)
    later = SecondCall(mask="Lq Lk", sizes={"Lq": 8, "Lk": 9})
    again = {"B": 2, "H": 3, "Lq": 4, "Lk": 5, "D": 6, "check": "properties"}
    yield case("the same sizes again", later=SecondCall(), **again)
    yield case("larger sizes afterwards, now with a mask", later=later, **again)
    small = {"B": 2, "H": 3, "Lq": 4, "Lk": 5, "D": 12}
    large = {"B": 7, "H": 8, "Lq": 9, "Lk": 11}
    yield from suites.growth(case, "everything", small, large, mask="B 1 Lq Lk")
    small |= {"B": 1, "H": 2}
    yield from suites.growth(case, "length, no mask", small, {"Lq": 300, "Lk": 310})


def empty_rows(case):
    """Yield masks with rows that hide every key."""
    sizes = {"B": 3, "H": 4, "Lq": 5, "Lk": 7, "D": 6}
    rows = ~case.draw.keep(3, 4, 5)
    queries = ~case.draw.keep(3, 1, 5)
    for name, dims, empty, dtype in (
        ("one query sees nothing [Lq, Lk]", "Lq Lk", 1, "float32"),
        ("the first sequence is padding only [B, 1, 1, Lk]", "B 1 1 Lk", 0, "float32"),
        ("one head sees nothing [1, H, 1, Lk]", "1 H 1 Lk", (0, 1), "float64"),
        ("some rows see nothing [B, H, Lq, Lk]", "B H Lq Lk", rows, "bfloat16"),
        # A column for the sink must not be appended to a mask with one entry for all keys.
        ("some queries see nothing, others all keys [B, 1, Lq, 1]", "B 1 Lq 1", queries, "float32"),
        ("nothing is seen at all [1, 1, 1, Lk]", "1 1 1 Lk", 0, "float32"),
    ):
        mask = case.draw.keep(*shape(dims, sizes))
        mask[empty] = False
        yield case(name, mask=mask, dtype=dtype, **sizes)
    mask = torch.tensor([True, False]).reshape(2, 1, 1, 1)
    yield case("one key, which a sequence does not see", mask=mask, B=2, H=3, Lq=4, Lk=1, D=5)
    # A sink of -200 is far below any score, and still far above a hidden score.
    mask = case.draw.keep(2, 7)
    mask[1] = False
    sizes |= {"Lq": 2}
    sinks = {"sink_logits": torch.tensor([-200.0, 200.0, -30.0, 0.0])}
    yield case("one query sees nothing, sinks of -200 and 200", mask=mask, inputs=sinks, **sizes)


def sink_dtypes(case):
    """Yield sinks of another dtype than q. Gradients that are rounded to a coarser dtype differ."""
    sizes = {"B": 2, "H": 4, "Lq": 3, "Lk": 6, "D": 5}
    for dtype, sink_dtype, gradients in (
        ("bfloat16", "float32", True),
        ("bfloat16", "float64", True),
        ("float32", "float64", True),
        ("float32", "bfloat16", False),
        ("float32", "float16", False),
        ("float64", "float32", False),
    ):
        inputs = {"sink_dtype": sink_dtype}
        mask = "Lq Lk" if (dtype, sink_dtype) == ("bfloat16", "float32") else None
        more = {"mask": mask, "dtype": dtype, "gradients": gradients}
        yield case(f"q of {dtype}, sinks of {sink_dtype}", inputs=inputs, **more, **sizes)


def sink_sizes(case):
    """Yield sinks that are far above or below the scores, or near scores of ±200."""
    sizes = {"B": 2, "H": 5, "Lq": 4, "Lk": 6, "D": 3}
    far = {"sink_logits": torch.tensor([200.0, -200.0, 0.5, 100.0, -100.0])}
    yield case("sinks of ±200 and ±100, ordinary scores", inputs=far, **sizes)
    yield case("sinks of ±200 and ±100, bfloat16", inputs=far, dtype="bfloat16", **sizes)
    rising = {"sink_logits": torch.linspace(-4, 4, 5)}
    yield case("sinks from -4 to 4", inputs=rising, mask="B 1 Lq Lk", **sizes)
    # A sink of 20 leaves about 1e-8 to the keys, so its head has values of about 1e8. The scores
    # are near 0, so that the logsumexp of a row is between 1 and 3.
    near = case.drawn(sizes)
    near["q"] *= 0.3
    near["sink_logits"] = torch.tensor([20.0, 20.0, -20.0, 20.0, -20.0])
    near["v"] *= near["sink_logits"].clamp(min=0).exp()[:, None, None]
    yield case("sinks of ±20, scores near 0", inputs=near, **sizes)
    yield case("sinks of ±20, scores near 0, float64", inputs=near, dtype="float64", **sizes)
    for level in (200, -200):
        scores = Scores(torch.full((6,), float(level)))
        inputs = case.roles.scored(case, sizes, scores)["inputs"]
        inputs["sink_logits"] = level + case.draw.normal(5)
        name = f"scores and sinks near {level}"
        yield case(name, inputs=inputs, gradients=False, **sizes)


def steep_scores(case):
    """Yield the suite of scores of ±200, with a sink near some of the scores in each head."""
    for steep in suites.steep_scores(case, B=3, H=5, Lq=4, Lk=7, D=64):
        inputs = dict(steep.inputs)
        if not steep.gradients:
            level = torch.tensor([-200.0, 200.0, -200.0, 0.0, 200.0])
            inputs["sink_logits"] = level + case.draw.normal(5)
        yield replace(steep, inputs=inputs)


def realistic():
    """Return the call that is measured after a pass: 64 heads of 64, as in gpt-oss."""
    return realistic_call(
        "64 heads of 64, B = 1, L = 1024",
        q=shaped(1, 64, 1024, 64),
        k=shaped(1, 64, 1024, 64),
        v=shaped(1, 64, 1024, 64),
        sink_logits=shaped(64),
        mask=shaped(1024, 1024, dtype="bool"),
    )
