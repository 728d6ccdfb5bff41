"""Cases of a module with two outputs: few and small, so that many hostile files can be graded on it."""

from trainer.core.words import Case, Refusal
from trainer.running.returns import unpack


def drive(attention, given):
    """One call."""
    out, weights = unpack(
        attention(given.x) if given.mask is None else attention(given.x, mask=given.mask),
        "out",
        "weights",
    )
    return {"out": out, "weights": weights}


def case(draw, name, B, L, M, mask=None, init=None, **more):
    """One case of these sizes."""
    dims = {"out": "B L M", "weights": "B L K"}
    sizes = {"B": B, "L": L, "M": M, "K": L}
    return Case(
        name=name,
        inputs={"x": draw.normal(B, L, M), "mask": mask},
        dims=dims,
        sizes=sizes,
        init={"width": M} | (init or {}),
        **more,
    )


def cases(draw):
    """What a submission is run on."""
    yield case(draw, "no mask", 2, 5, 7)
    yield case(draw, "mask with holes", 3, 5, 4, mask=draw.keep(5, 5), check="masks")
    yield case(draw, "float64", 2, 3, 5, dtype="float64")
    yield case(draw, "bfloat16", 3, 4, 6, dtype="bfloat16")
    yield case(
        draw,
        "training mode, causal",
        2,
        4,
        3,
        mask=draw.causal(4),
        mode="train",
        check="train/eval",
    )
    yield case(draw, "eval mode, dropout 0.4", 3, 4, 5, init={"dropout": 0.4}, check="train/eval")
    yield case(draw, "few", 2, 3, 4, probe="vectorised")
    yield case(draw, "many", 7, 9, 4, probe="vectorised")


def refusals():
    """Constructor arguments that cannot work."""
    yield Refusal("width is below 1", {"width": 0})
