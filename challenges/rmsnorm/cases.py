"""Cases for RMSNorm: leading dims, eps, the first weights, statistics in float32."""

from dataclasses import replace

import torch

from attn_drill.casekit import CaseMaker, SecondCall, realistic_call, shaped, suites

# Rows of 16 entries: n times the first number, then the second. All are exact in bfloat16. If one
# step rounds to bfloat16, many entries of a row become the next number: the error is 0.4 % or more.
ROUNDED = (
    (0.62109375, 2.953125, 1),  # squares, mean and root
    (0.65625, 3.15625, 1),
    (1.5625, 3.28125, 5),
    (0.69921875, 2.84375, 13),  # the squares only
    (0.70703125, 2.875, 13),  # the squares or the mean
    (2.921875, 1.5390625, 15),  # the mean, then its root or one over its root
    (1.890625, 3.625, 1),
)


def drive(norm, given):
    """Call once or twice. With `size` among the inputs, return the size of the output's rows."""
    out = norm(given.x)
    if "size" in given.inputs:
        return {"relative size - 0.95": relative_size(out, given.size)}
    outputs = {"out": out}
    if "later_x" in given.inputs:
        outputs["later_out"] = norm(given.later_x)
    return outputs


def relative_size(out, size):
    """Return the mean of the absolute entries of each row, divided by `size`, minus 0.95.

    The mean removes most of the rounding of single entries, and without 0.95, the tolerance of
    bfloat16 is small.
    """
    if not isinstance(out, torch.Tensor):
        return out
    return (out.double().abs().mean(-1) / size.double() - 0.95).to(out.dtype)


class NormMaker(CaseMaker):
    """Make cases with the options `eps` and `x`."""

    def __call__(self, name, *, eps=None, x=None, inputs=None, **more):
        """Return one case; None leaves `eps` out, or draws `x`."""
        given = dict(inputs or {}) | ({} if x is None else {"x": x})
        init = {} if eps is None else {"eps": eps}
        return super().__call__(name, inputs=given, init=init, **more)


def cases(draw):
    """Yield the cases on which a submission runs."""
    vector, rows, case, four = (
        NormMaker(draw, init={"dim": "D"}, inputs={"x": dims}, outputs={"out": dims})
        for dims in ("D", "N D", "B L D", "B H L D")
    )
    sizes = {"B": 2, "L": 5, "D": 6}
    yield case("two sequences", **sizes)
    yield replace(case("two sequences, the first weights", **sizes), initial=True)
    yield vector("a single vector", D=7)
    yield rows("two dims", N=4, D=7)
    yield four("heads", B=2, H=3, L=4, D=5)
    yield case("one sequence of one token", B=1, L=1, D=8)
    # Without a large eps, a single feature becomes ±1 and its gradient is a rounding error.
    yield case("one feature", eps=0.5, B=3, L=4, D=1)
    yield rows("as many rows as features", N=6, D=6, equal="N D")
    yield case("all sizes equal", B=4, L=4, D=4, equal="B L D")
    yield case("random sizes", **draw.sizes(B=(2, 4), L=(3, 7), D=(8, 20)))
    yield case("float64", dtype="float64", **sizes)
    yield case("bfloat16", dtype="bfloat16", **sizes)
    yield case("771 features, bfloat16", B=2, L=3, D=771, dtype="bfloat16")
    yield from eps_cases(draw, case)
    yield case("entries near 5", x=draw.normal(2, 5, 6) + 5, **sizes)
    apart = draw.normal(2, 5, 6) * torch.tensor([1e-2, 1.0, 30.0, 0.1, 3e3])[:, None]
    yield case("rows of 0.01 to 3000", x=apart, **sizes)
    # float16 in place of float32 overflows here.
    yield case("rows of 0.01 to 3000, bfloat16", x=apart, dtype="bfloat16", **sizes)
    yield rounded_case(draw)
    weight = draw.normal(6)
    weight[1], weight[4] = 0, 0
    yield case("a weight with zeros", parameters={"weight": weight}, **sizes)
    yield case("training mode", mode="train", check="train/eval", **sizes)
    yield from suites.layouts(case, **sizes)
    again = {"check": "properties", **sizes}
    yield case("the same sizes again", later=SecondCall(), **again)
    yield case("larger sizes afterwards", later=SecondCall(sizes={"B": 4, "L": 9}), **again)
    yield from suites.growth(case, "everything", {"B": 2, "L": 3, "D": 5}, {"B": 7, "L": 40})


def eps_cases(draw, case):
    """Yield rows next to whose mean square eps counts, and a larger eps."""
    sizes = {"B": 3, "L": 4, "D": 7}
    yield case("eps 0.5", eps=0.5, **sizes)
    # In this size, 1e-6 is most of the sum of mean square and eps.
    small = 3e-4 * draw.normal(3, 4, 7)
    yield case("entries of 0.0003", x=small, **sizes)
    yield case("entries of 0.0003, eps 0", x=small, eps=0.0, **sizes)
    zeros = draw.normal_with_zeros(3, 4, 7)
    yield case("tokens of zeros", x=zeros, **sizes)


def rounded_case(draw):
    """Yield rows that show if the statistics of bfloat16 rows are computed in bfloat16.

    The tolerance of bfloat16 is larger than this error, so the case compares means of rows.
    """
    rows = torch.tensor([[first] * n + [second] * (16 - n) for first, second, n in ROUNDED])
    signs = 1.0 - 2.0 * draw.integers(len(ROUNDED), 16, high=2)
    size = (rows * rows.square().mean(-1, keepdim=True).rsqrt()).mean(-1)
    inputs, outputs = {"x": "N D", "size": "N"}, {"relative size - 0.95": "N"}
    case = NormMaker(draw, init={"dim": "D"}, inputs=inputs, outputs=outputs)
    found = case(
        "statistics of bfloat16 rows",
        x=rows.double() * signs,
        inputs={"size": size.double()},
        parameters={"weight": torch.ones(16)},
        dtype="bfloat16",
        gradients=False,
        N=len(ROUNDED),
        D=16,
    )
    return replace(found, constants=frozenset({"size"}))


def realistic():
    """Return the call that is measured after a pass: a norm of Llama 3 8B."""
    return realistic_call(
        "a norm of Llama 3 8B, B = 1, L = 2048", init={"dim": 4096}, x=shaped(1, 2048, 4096)
    )
