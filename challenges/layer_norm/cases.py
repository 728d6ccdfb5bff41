"""Cases for layer normalisation and its backward pass: leading dims, eps, means far from 0."""

from functools import partial

import torch

from attn_drill.casekit import CaseMaker, SecondCall, realistic_call, shaped, suites
from attn_drill.worker.returns import unpack

GRADIENTS = ("dx", "dweight", "dbias")


def drive(norm, given):
    """Call one of the two functions, once or twice. Leave out an eps that is not given."""
    inputs = given.inputs
    later = {name[6:]: value for name, value in inputs.items() if name.startswith("later_")}
    outputs = call(norm, inputs)
    if "plus_one" in inputs:
        outputs["dx + 1"] = plus_one(outputs.pop("dx"))
    if later:
        outputs |= {f"later_{name}": value for name, value in call(norm, later).items()}
    return outputs


def call(norm, inputs):
    """Return the outputs by name. With `grad_out` among the inputs, they are gradients."""
    more = {"eps": inputs["eps"]} if "eps" in inputs else {}
    if "grad_out" not in inputs:
        return {"out": norm.layer_norm(inputs["x"], inputs["weight"], inputs["bias"], **more)}
    made = norm.layer_norm_backward(inputs["x"], inputs["weight"], inputs["grad_out"], **more)
    return dict(zip(GRADIENTS, unpack(made, *GRADIENTS), strict=True))


def plus_one(gradient):
    """Return the gradient plus 1, so that rounding errors are small next to the expected values."""
    return gradient + 1 if isinstance(gradient, torch.Tensor) else gradient


class NormMaker(CaseMaker):
    """Make cases with the options `eps` and `x`."""

    def __call__(self, name, *, eps=None, x=None, inputs=None, **more):
        """Return one case; None leaves `eps` out, or draws `x`."""
        given = dict(inputs or {})
        given |= {} if eps is None else {"eps": eps}
        given |= {} if x is None else {"x": x}
        return super().__call__(name, inputs=given, **more)


class BackwardMaker(NormMaker):
    """Make cases of the backward pass. The gradients are results here, and none are compared."""

    def __call__(self, name, **more):
        """Return one case."""
        return super().__call__(f"backward, {name}", **(more | {"gradients": False}))


def forward_maker(draw, dims):
    """Return a maker of cases of the function `layer_norm`, for x of these dimensions."""
    return NormMaker(draw, inputs={"x": dims, "weight": "D", "bias": "D"}, outputs={"out": dims})


def backward_maker(draw, dims):
    """Return a maker of cases of the function `layer_norm_backward`."""
    inputs = {"x": dims, "weight": "D", "grad_out": dims}
    return BackwardMaker(draw, inputs=inputs, outputs={"dx": dims, "dweight": "D", "dbias": "D"})


def cases(draw):
    """Yield the cases on which a submission runs."""
    yield from cases_of(draw, partial(forward_maker, draw))
    forward = forward_maker(draw, "B L D")
    yield forward("one feature", eps=0.5, B=3, L=4, D=1)
    yield forward("two features, eps 1e-5", gradients=False, B=3, L=4, D=2)
    yield from cases_of(draw, partial(backward_maker, draw))
    outputs = {"dx + 1": "B L D", "dweight": "D", "dbias": "D"}
    single = {"inputs": {"plus_one": 1}, "outputs": outputs, "B": 3, "L": 4, "D": 1}
    yield backward_maker(draw, "B L D")("one feature", eps=0.5, **single)


def cases_of(draw, maker):
    """Yield the cases of one function; `maker` returns a maker for the dimensions of x."""
    rows, case, four = (maker(dims) for dims in ("N D", "B L D", "B H L D"))
    sizes = {"B": 2, "L": 5, "D": 6}
    yield case("two sequences", **sizes)
    yield rows("one leading dim", N=4, D=7)
    yield rows("a single row", N=1, D=5)
    yield four("three leading dims", B=2, H=3, L=4, D=5)
    # Without a large eps, two features become ±1 whatever they are, and dx is a rounding error.
    yield case("two features", eps=0.5, B=3, L=4, D=2)
    yield rows("as many rows as features", N=6, D=6, equal="N D")
    yield case("all sizes equal", B=4, L=4, D=4, equal="B L D")
    yield case("random sizes", **draw.sizes(B=(2, 4), L=(3, 7), D=(8, 20)))
    yield case("float64", dtype="float64", **sizes)
    yield case("771 features, bfloat16", B=2, L=3, D=771, dtype="bfloat16")
    yield from eps_cases(draw, case)
    yield from mean_cases(draw, case)
    weight = draw.normal(6)
    weight[1], weight[4] = 0, 0
    yield case("a weight with zeros", inputs={"weight": weight}, **sizes)
    apart = draw.normal(2, 5, 6) * torch.tensor([1e-2, 1.0, 30.0, 0.1, 1e3])[:, None]
    yield case("rows of 0.01 to 1000", x=apart, **sizes)
    # float16 in place of float32 overflows here.
    yield case("rows of 0.01 to 1000, bfloat16", x=apart, dtype="bfloat16", **sizes)
    yield from suites.layouts(case, **sizes)
    again = {"check": "properties", **sizes}
    yield case("the same sizes again", later=SecondCall(), **again)
    yield case("larger sizes afterwards", later=SecondCall(sizes={"B": 4, "L": 9}), **again)
    yield from suites.growth(case, "everything", {"B": 2, "L": 3, "D": 5}, {"B": 7, "L": 40})


def eps_cases(draw, case):
    """Yield rows next to whose variance eps counts, and a larger eps."""
    sizes = {"B": 3, "L": 4, "D": 7}
    yield case("eps 0.5", eps=0.5, **sizes)
    # In this size, 1e-5 is most of the sum of variance and eps.
    small = 1e-3 * draw.normal(3, 4, 7)
    yield case("deviations of 0.001", x=small, **sizes)
    yield case("deviations of 0.001, eps 1e-7", x=small, eps=1e-7, **sizes)
    # Powers of two: the mean is exact, in any order of the additions.
    equal = torch.tensor([0.5, -2.0, 0.0]).expand(2, 3).unsqueeze(-1).expand(2, 3, 8)
    yield case("rows of equal entries", x=equal, B=2, L=3, D=8)


def mean_cases(draw, case):
    """Yield rows whose mean is 40 deviations away from 0.

    There are so many rows that E[x^2] - E[x]^2 in float32 is clearly wrong in some of them.
    """
    sizes = {"B": 4, "L": 20, "D": 64}
    deviations = 0.5 + draw.uniform(4, 20, 1)
    signs = 1.0 - 2.0 * draw.integers(4, 20, 1, high=2)
    for dtype in ("float32", "float64", "bfloat16"):
        x = deviations * (draw.normal(4, 20, 64) + 40 * signs)
        yield case(f"a mean of 40 deviations, {dtype}", x=x, dtype=dtype, **sizes)


def realistic():
    """Return the call that is measured after a pass: the norm of GPT-2 small."""
    return realistic_call(
        "GPT-2 small, B = 8, L = 1024",
        x=shaped(8, 1024, 768),
        weight=shaped(768),
        bias=shaped(768),
    )
