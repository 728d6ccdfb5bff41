"""Cases for cross-attention. E is the width of memory, which may differ from that of x."""

import torch

from attn_drill.casekit import (
    CaseMaker,
    Projected,
    Scores,
    SecondCall,
    bad_heads,
    realistic_call,
    shaped,
    suites,
)

ROLES = Projected(key="memory", value="memory")


def drive(attention, given):
    """Call once, or twice on the same object."""
    outputs = {"out": call(attention, given.x, given.memory, given.mask)}
    if "later_x" in given.inputs:
        later = given.later_x, given.later_memory, given.later_mask
        outputs["later_out"] = call(attention, *later)
    return outputs


def call(attention, x, memory, mask):
    """Leave the mask out if there is none. Memory "x" means the tensor x itself."""
    memory = x if isinstance(memory, str) else memory
    return attention(x, memory) if mask is None else attention(x, memory, memory_mask=mask)


def maker(draw, width, **more_init):
    """Return a maker of cases with this width of memory."""
    return CaseMaker(
        draw,
        init={"d_model": "M", "num_heads": "H", **more_init},
        inputs={"x": "B Lq M", "memory": f"B Lk {width}"},
        outputs={"out": "B Lq M"},
        products={"M": "H D"},
        mask="B Lk",
        roles=ROLES,
    )


def cases(draw):
    """Yield the cases on which a submission runs."""
    case, same_width = maker(draw, "E", memory_dim="E"), maker(draw, "M")
    yield from suites.heads_apart(case, B=2, Lq=5, Lk=7, H=3, D=4, E=10)
    yield same_width("memory as wide as x", B=3, Lq=7, Lk=4, H=2, D=5)
    name = "memory_dim smaller than d_model and no multiple of the heads"
    yield case(name, B=3, Lq=5, Lk=8, H=4, D=6, E=7)
    yield case("no biases", B=2, Lq=6, Lk=5, H=4, D=3, E=9, init={"bias": False})
    name = "no biases, memory as wide as x"
    yield same_width(name, B=3, Lq=4, Lk=6, H=2, D=5, init={"bias": False})
    yield case("memory_dim given, and it is d_model", B=2, Lq=5, Lk=7, H=3, D=4, E=12)
    sizes = draw.sizes(B=(2, 3), Lq=(6, 9), Lk=(7, 11), H=(2, 5), D=(6, 9), E=(4, 60))
    yield case("random sizes", **sizes)
    yield same_width("x and memory of one shape", B=2, Lq=5, Lk=5, H=3, D=4, equal="Lq Lk")
    same = {"B": 4, "Lq": 4, "Lk": 4, "H": 4, "equal": "B Lq Lk H"}
    yield same_width("all sizes equal, head dim 1", D=1, **same)
    yield case("head dim 1", B=3, Lq=4, Lk=6, H=5, D=1, E=2)
    yield from suites.tiny_values(case, B=2, Lq=4, Lk=6, H=3, D=5, E=8)
    for name, mask in (("training mode, padding", "padding"), ("training mode, no mask", None)):
        training = {"mask": mask, "mode": "train", "check": "train/eval"}
        yield case(name, B=2, Lq=5, Lk=8, H=4, D=3, E=7, **training)
    # If sizes are equal, a wrongly aligned mask raises no error.
    for name, some_equal in (
        ("as many batch items as queries", {"Lq": 4, "equal": "B Lq"}),
        ("as many batch items as heads", {"H": 4, "equal": "B H"}),
        ("as many queries as keys", {"Lq": 7, "equal": "Lq Lk"}),
    ):
        yield case(
            name, mask="B Lk", **{"B": 4, "Lq": 5, "Lk": 7, "H": 2, "D": 3, "E": 9, **some_equal}
        )
    name = "as many batch items as queries, keys and heads"
    yield same_width(name, mask="B Lk", D=3, **same)
    yield case("one query", B=3, Lq=1, Lk=6, H=4, D=2, E=5, mask="B Lk")
    yield case("one key", B=3, Lq=5, Lk=1, H=2, D=4, E=6, mask="B Lk")
    yield case("one head", B=3, Lq=4, Lk=6, H=1, D=5, E=7, mask="B Lk")
    sizes = {"B": 3, "Lq": 5, "Lk": 7, "H": 2, "D": 4, "E": 9}
    yield from suites.masks(case, **sizes)
    yield from suites.dtypes(case, **sizes)
    yield from suites.steep_scores(case, B=3, Lq=4, Lk=6, H=2, D=5, E=7)
    yield from far_above(case, B=2, Lq=4, Lk=6, H=3, D=5, E=7)
    yield from suites.zero_tokens(case, B=2, Lq=5, Lk=7, H=4, D=3, E=9)
    yield from suites.layouts(case, B=3, Lq=5, Lk=7, H=4, D=2, E=10)
    yield from suites.second_calls(case, B=2, Lq=4, Lk=6, H=3, D=5, E=8)
    later = SecondCall(inputs={"memory": "x"}, sizes={"B": 5, "Lq": 7, "Lk": 7})
    sizes = {"B": 2, "Lq": 4, "Lk": 6, "H": 3, "D": 5, "mask": "B Lk", "check": "properties"}
    yield same_width("a masked call, then x as its own memory, no mask", later=later, **sizes)
    small = {"B": 2, "Lq": 3, "Lk": 5, "H": 4, "D": 6, "E": 7}
    large = {"B": 7, "Lq": 9, "Lk": 11, "H": 10, "E": 13}
    yield from suites.growth(case, "everything", small, large, mask="B Lk")
    small, large = {"B": 3, "Lq": 4, "Lk": 6, "H": 2, "D": 7}, {"B": 9, "Lq": 8, "Lk": 10, "H": 6}
    yield from suites.growth(same_width, "everything, no mask", small, large)
    small, large = {"B": 1, "Lq": 4, "Lk": 5, "H": 2, "D": 6, "E": 7}, {"Lq": 300, "Lk": 310}
    yield from suites.growth(case, "length", small, large, mask="B Lk")


def far_above(case, **sizes):
    """Yield padding with scores of 100000, from which no small number can be subtracted."""
    # One key: the difference of two such scores would be lost in rounding.
    padding = torch.arange(sizes["Lk"]) == 1
    scores = Scores(torch.where(padding, 1e5, 0.0), factored=True)
    parts = ROLES.scored(case, case.with_products(sizes), scores)
    real = ~padding.expand(sizes["B"], sizes["Lk"])
    yield case("padding with scores of 100000", mask=real, **parts, **sizes)


def refusals():
    """Yield constructor arguments that must be refused."""
    yield from bad_heads()
    yield from bad_heads(memory_dim=24)  # most of these numbers of heads divide memory_dim


def realistic():
    """Return the call that is measured after a pass: a decoder layer that reads 2048 tokens."""
    return realistic_call(
        "a layer of 1024 with 16 heads, B = 1, Lq = 256, Lk = 2048",
        init={"d_model": 1024, "num_heads": 16},
        x=shaped(1, 256, 1024),
        memory=shaped(1, 2048, 1024),
        mask=shaped(1, 2048, dtype="bool"),
    )
