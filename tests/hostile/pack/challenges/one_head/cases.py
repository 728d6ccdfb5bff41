"""Cases of a module with two outputs: few and small, so that many files can be graded on it."""

from attn_drill.casekit import CaseMaker, Refusal, suites
from attn_drill.worker.returns import unpack


def drive(attention, given):
    """Call once."""
    more = {} if given.mask is None else {"mask": given.mask}
    out, weights = unpack(attention(given.x, **more), "out", "weights")
    return {"out": out, "weights": weights}


def cases(draw):
    """Yield what a submission is run on."""
    case = CaseMaker(
        draw,
        init={"width": "M"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M", "weights": "B L L"},
        mask="L L",
    )
    yield case("no mask", B=2, L=5, M=7)
    yield case("mask with holes", B=3, L=5, M=4, mask="L L")
    yield case("float64", B=2, L=3, M=5, dtype="float64")
    yield case("bfloat16", B=3, L=4, M=6, dtype="bfloat16")
    training = {"mode": "train", "check": "train/eval"}
    yield case("training mode, causal", B=2, L=4, M=3, mask="causal", **training)
    dropout = {"init": {"dropout": 0.4}, "check": "train/eval"}
    yield case("eval mode, dropout 0.4", B=3, L=4, M=5, **dropout)
    yield from suites.growth(case, "everything", {"B": 2, "L": 3, "M": 4}, {"B": 7, "L": 9})


def refusals():
    """Yield constructor arguments that cannot work."""
    yield Refusal("width is below 1", {"width": 0})
