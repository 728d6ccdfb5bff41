"""Cases for softmax: any axis, entries of any size, entries of -inf."""

from dataclasses import replace

import torch

from attn_drill.casekit import CaseMaker, SecondCall, realistic_call, shaped, suites

INFINITE = float("-inf")
NOT_ZERO = "probabilities of -inf that are not 0"


def drive(softmax, given):
    """Call once or twice, with the axis that the case names."""
    axis = {"dim": given.dim} if "dim" in given.inputs else {}
    outputs = {"out": softmax(given.x, **axis)}
    if "counted" in given.inputs:
        outputs[NOT_ZERO] = nonzero_at(given.x, outputs["out"])
    if "later_x" in given.inputs:
        outputs["later_out"] = softmax(given.later_x, **axis)
    return outputs


def nonzero_at(x, out):
    """Count the entries of `out` that are not 0 although x is -inf there; tolerances hide them."""
    if not isinstance(out, torch.Tensor) or out.shape != x.shape:
        return 0
    return int((out[x == INFINITE] != 0).sum())


class AxisMaker(CaseMaker):
    """Make cases with the option `dim`; None leaves the argument out."""

    def __call__(self, name, *, dim=None, x=None, inputs=None, **more):
        """Return one case for this axis, with drawn entries or with these entries."""
        given = dict(inputs or {})
        given |= {} if dim is None else {"dim": dim}
        given |= {} if x is None else {"x": x}
        return super().__call__(name, inputs=given, **more)


def maker(draw, dims):
    """Return a maker of cases for tensors of these dimensions."""
    return AxisMaker(draw, inputs={"x": dims}, outputs={"out": dims})


def cases(draw):
    """Yield the cases on which a submission runs."""
    row, table, case, four = (maker(draw, dims) for dims in ("N", "B N", "B L N", "B H L N"))
    yield row("one row", N=7)
    yield row("one row, dim 0", dim=0, N=5)
    yield row("a row of one entry", N=1)
    yield table("two dims", B=3, N=6)
    yield table("two dims, dim 0", dim=0, B=4, N=7)
    yield case("three dims", B=2, L=5, N=7)
    for dim in (0, 1, 2, -1, -2, -3):
        yield case(f"three dims, dim {dim}", dim=dim, B=3, L=5, N=7)
    yield four("four dims", B=2, H=3, L=5, N=7)
    for dim in (0, 1, 2):
        yield four(f"four dims, dim {dim}", dim=dim, B=3, H=4, L=2, N=6)
    yield table("as many rows as columns, dim 0", dim=0, B=4, N=4, equal="B N")
    same = {"B": 4, "L": 4, "N": 4, "equal": "B L N"}
    yield case("all sizes equal, dim 1", dim=1, **same)
    yield case("random sizes", **draw.sizes(B=(2, 4), L=(3, 7), N=(4, 12)))
    yield from suites.dtypes(case, B=3, L=4, N=9)
    yield from large_entries(case)
    yield from entries_of_minus_infinity(row, case)
    yield from suites.layouts(case, B=3, L=5, N=8)
    yield case("the same sizes again", later=SecondCall(), check="properties", B=2, L=5, N=7)
    small, large = {"B": 2, "L": 3, "N": 5}, {"B": 7, "L": 9, "N": 40}
    yield from suites.growth(case, "everything", small, large)
    yield from suites.growth(case, "everything, dim 0", small, large, dim=0)


def large_entries(case):
    """Yield rows with entries up to the largest number of float32.

    A logarithm of the sum near 1000 keeps few digits. So rows with such entries have one entry far
    above the others, and the logarithm is exact. Their gradients are rounding errors.
    """
    sizes = {"B": 3, "L": 4, "N": 6}
    x, far = case.draw.normal(3, 4, 6), one_far_above(case.draw, 3, 4, 6)
    rows = torch.tensor([1.0, -1.0, 0.0, 1.0])[:, None]
    items = torch.tensor([1.0, -1.0, 0.0])[:, None, None]
    yield case("entries near 110", x=x + 110, **sizes)
    yield case("entries near -110", x=x - 110, **sizes)
    yield case("rows near 110, -110, 0 and 110", x=x + 110 * rows, **sizes)
    yield case("columns near 110, -110, 0 and 110, dim 1", dim=1, x=x + 110 * rows, **sizes)
    yield case("items near 110, -110 and 0, dim 1", dim=1, x=x + 110 * items, **sizes)
    alone = {"gradients": False, **sizes}
    yield case("entries near 1e4", x=far + 1e4, **alone)
    yield case("entries near -1e4", x=far - 1e4, **alone)
    yield case("entries near 800, float64", x=x + 800, dtype="float64", **sizes)
    yield case("rows near ±1e4, float64", x=far + 1e4 * rows, dtype="float64", **alone)
    yield case("entries near 300, bfloat16", x=far + 300, dtype="bfloat16", **alone)
    mixed = x - 100 * case.draw.keep(3, 4, 6)
    yield case("entries near 0 and near -100 in one row", x=mixed, **sizes)
    yield case("entries 60 apart in one row", x=60 * x, **alone)
    for high, name in ((3e38, "3e38"), (-2e38, "-2e38")):
        extreme = torch.where(far == 0, high, -3e38)
        yield case(f"an entry of {name} in each row, the others -3e38", x=extreme, **alone)
    # The others are 120 below, so exp overflows if the largest entry is not found.
    long = 2 * one_far_above(case.draw, 3, 4, 300)
    yield case("300 entries, the largest anywhere", x=long, gradients=False, B=3, L=4, N=300)


def one_far_above(draw, *shape):
    """Return rows with a 0 at a random place and entries near -60 elsewhere."""
    rows = draw.normal(*shape) - 60
    place = draw.integers(*shape[:-1], 1, high=shape[-1])
    return rows.scatter(-1, place, 0.0)


def entries_of_minus_infinity(row, case):
    """Yield rows in which some or all entries are -inf."""
    sizes = {"B": 3, "L": 5, "N": 7}
    hidden = ~case.draw.keep(3, 5, 7)
    some = case.draw.normal(3, 5, 7).masked_fill(hidden, INFINITE)
    masks, counted = {"check": "masks"}, {"counted": 1}
    yield case("some entries are -inf", x=some, **masks, **sizes)
    near = case("some entries are -inf, near 110", x=some + 110, inputs=counted, **masks, **sizes)
    yield replace(near, plain={NOT_ZERO: "int"})
    yield case("some entries are -inf, near -110", x=some - 110, **masks, **sizes)
    hidden = ~case.draw.keep(3, 7, 5).transpose(1, 2)
    columns = case.draw.normal(3, 5, 7).masked_fill(hidden, INFINITE)
    yield case("some entries are -inf, dim 1", dim=1, x=columns, **masks, **sizes)
    single = torch.full((3, 5, 7), INFINITE)
    single[..., 2] = case.draw.normal(3, 5)
    yield case("all entries but one are -inf", x=single, **masks, **sizes)
    # A fill instead of -inf is the largest entry of these rows, unless it is far enough down.
    far = one_far_above(case.draw, 3, 5, 7)
    hidden = (far != 0) & ~case.draw.keep(3, 5, 7)
    alone = {"gradients": False, **masks, **sizes}
    below = (far - 2e4).masked_fill(hidden, INFINITE)
    yield case("some entries are -inf, near -2e4", x=below, **alone)
    below = torch.where(far == 0, -2e38, -3e38).masked_fill(hidden, INFINITE)
    yield case("some entries are -inf, the others -2e38 and -3e38", x=below, **alone)
    # Their gradients are not graded: the derivative of a constant 0 is a matter of taste.
    empty = some.clone()
    empty[1, 2] = INFINITE
    yield case("a row of -inf only", x=empty, **alone)
    yield case("a row of -inf only, bfloat16", x=empty, dtype="bfloat16", **alone)
    yield case("a row of -inf only, float64", x=empty, dtype="float64", **alone)
    empty = some.clone()
    empty[:, 1] = 0.5
    empty[2, :, 3] = INFINITE
    yield case("a column of -inf only, dim 1", dim=1, x=empty, **alone)
    yield case("-inf everywhere", x=torch.full((3, 5, 7), INFINITE), **alone)
    nothing = torch.full((5,), INFINITE)
    yield row("-inf everywhere, one dim", x=nothing, gradients=False, N=5, **masks)
    short = case.draw.normal(3, 5, 1).masked_fill(hidden[..., :1], INFINITE)
    alone = {"gradients": False, "B": 3, "L": 5, "N": 1, **masks}
    yield case("rows of one entry, some are -inf", x=short, **alone)


def realistic():
    """Return the call that is measured after a pass: the logits of a vocabulary."""
    return realistic_call("logits of 128,256 tokens, 512 positions", x=shaped(512, 128256))
