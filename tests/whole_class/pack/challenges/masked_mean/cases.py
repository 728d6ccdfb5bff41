"""Cases of a small challenge with masks. Gradients are compared only without a mask."""

import torch

from attn_drill.casekit import CaseMaker, suites


def drive(masked_mean, given):
    """Call once."""
    if given.mask is None:
        return {"out": masked_mean(given.x)}
    return {"out": masked_mean(given.x, mask=given.mask)}


def cases(draw):
    """Yield two cases for values, one for masks, and one in two sizes."""
    case = CaseMaker(draw, inputs={"x": "B L D"}, outputs={"out": "B D"}, mask="B L")
    yield case("no mask", B=2, L=5, D=3)
    yield case("float64", B=3, L=4, D=2, dtype="float64")
    padding = torch.tensor([[True, True, False, False], [True, True, True, False]])
    yield case("padding", B=2, L=4, D=3, mask=padding, gradients=False)
    yield from suites.growth(case, "everything", {"B": 2, "L": 4, "D": 3}, {"B": 9, "L": 11})
