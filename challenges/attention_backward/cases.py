"""Cases for the backward pass of attention: all mask shapes, steep scores, a single key."""

import torch

from attn_drill.casekit import CaseMaker, Direct, Scores, SecondCall, realistic_call, shaped, suites
from attn_drill.worker.returns import unpack

GRADIENTS = ("dq", "dk", "dv")
WITHOUT_DIGITS = {"dq + 1": "B H Lq D", "dk + 1": "B H Lk D", "dv": "B H Lk Dv"}


def drive(backward, given):
    """Call once, or twice."""
    later = {name[6:]: value for name, value in given.inputs.items() if name.startswith("later_")}
    found = call(backward, given.inputs)
    outputs = dict(zip(GRADIENTS, found, strict=True))
    if "plus_one" in given.inputs:
        for name in ("dq", "dk"):
            outputs[f"{name} + 1"] = plus_one(outputs.pop(name))
    if later:
        again = zip(GRADIENTS, call(backward, later), strict=True)
        outputs |= {f"later_{name}": gradient for name, gradient in again}
    return outputs


def call(backward, inputs):
    """Leave the mask out if there is none. The name of an input means the same tensor."""
    named = [inputs[name] for name in ("q", "k", "v", "grad_out")]
    tensors = [inputs[value] if isinstance(value, str) else value for value in named]
    more = {} if inputs["mask"] is None else {"mask": inputs["mask"]}
    return unpack(backward(*tensors, **more), *GRADIENTS)


def plus_one(gradient):
    """Return the gradient plus 1, so that rounding errors are small next to the expected values."""
    return gradient + 1 if isinstance(gradient, torch.Tensor) else gradient


class BackwardMaker(CaseMaker):
    """Make cases. The gradients are results here, so no gradients of them are compared.

    With `alone`, every query sees a single key. Its dq and dk are 0, and right answers return
    rounding errors instead.
    """

    def __call__(self, name, *, alone=False, gradients=False, inputs=None, **more):
        """Return one case."""
        given = dict(inputs or {})
        if alone:
            given["plus_one"] = 1
            more["outputs"] = WITHOUT_DIGITS
        return super().__call__(name, inputs=given, gradients=False, **more)


def cases(draw):
    """Yield the cases on which a submission runs."""
    queries, keys, values = "B H Lq D", "B H Lk D", "B H Lk Dv"
    case = BackwardMaker(
        draw,
        inputs={"q": queries, "k": keys, "v": values, "grad_out": "B H Lq Dv"},
        outputs={"dq": queries, "dk": keys, "dv": values},
        mask="B H Lq Lk",
        roles=Direct(),
    )
    yield from shapes(case)
    yield from small_numbers(case)
    yield from suites.masks(case, B=3, H=2, Lq=5, Lk=7, D=6, Dv=4)
    yield from suites.dtypes(case, B=3, H=2, Lq=5, Lk=7, D=6, Dv=4)
    # With head dim 64, the scale divides a mask's fill value by 8 if the fill comes first. With
    # `gradients`, several keys share the largest score: no weight is 1, so dq is not 0.
    yield from suites.steep_scores(case, gradients=True, B=3, H=5, Lq=4, Lk=7, D=64, Dv=6)
    # With a small head dim, the scale leaves more of such a fill value.
    sizes = {"B": 2, "H": 3, "Lq": 5, "Lk": 7, "D": 4, "Dv": 6}
    low = case.roles.scored(case, sizes, Scores(torch.full((7,), -200.0)))
    yield case("allowed scores near -200, head dim 4", mask="B 1 Lq Lk", **low, **sizes)
    yield from suites.zero_tokens(case, B=2, H=3, Lq=5, Lk=7, D=6, Dv=4)
    yield from suites.layouts(case, B=3, H=4, Lq=5, Lk=7, D=6, Dv=2)
    sizes = {"B": 2, "H": 3, "Lq": 4, "Lk": 5, "D": 6, "Dv": 7, "check": "properties"}
    yield case("the same sizes again", later=SecondCall(), **sizes)
    small = {"B": 2, "H": 3, "Lq": 4, "Lk": 5, "D": 6, "Dv": 10}
    large = {"B": 7, "H": 8, "Lq": 9, "Lk": 11}
    yield from suites.growth(case, "everything", small, large, mask="B 1 Lq Lk")
    # A right answer may make the Jacobian of the softmax, [B, H, Lq, Lk, Lk].
    small = {"B": 2, "H": 3, "Lq": 4, "Lk": 5, "D": 7, "Dv": 6}
    large = {"B": 9, "H": 8, "Lq": 30, "Lk": 40}
    yield from suites.growth(case, "everything, no mask", small, large)


def shapes(case):
    """Yield sizes at which a wrong axis shows, or stays hidden in other cases."""
    sizes = {"B": 2, "H": 3, "Lq": 5, "Lk": 7, "D": 6, "Dv": 5, "equal": "Lq Dv"}
    identity = {"inputs": {"grad_out": torch.eye(5).expand(2, 3, 5, 5)}}
    yield case("weights as dv (grad_out is the identity)", **identity, **sizes)
    square = {"B": 2, "H": 3, "Lq": 5, "Lk": 5, "D": 7, "Dv": 7, "equal": "Lq Lk, D Dv"}
    yield case("as many queries as keys, values as wide as keys", **square)
    yield case("causal, as many queries as keys", mask="causal", **square)
    same = dict.fromkeys(("k", "v", "grad_out"), "q")
    yield case("one tensor for all inputs", inputs=same, **square)
    yield case("one query, one head, head dim 1", B=2, H=1, Lq=1, Lk=6, D=1, Dv=5)
    yield case("one batch item, value dim 1", B=1, H=3, Lq=4, Lk=6, D=5, Dv=1)
    yield case("head dim 1, masked", B=3, H=2, Lq=5, Lk=4, D=1, Dv=6, mask="B 1 Lq Lk")
    yield case("one query, one head, masked", B=3, H=1, Lq=1, Lk=7, D=6, Dv=4, mask="B 1 1 Lk")
    yield case("two keys", B=3, H=4, Lq=5, Lk=2, D=6, Dv=7)
    # A mask [Lq, Lk] could be read as [B, Lk], and a mean without its axis would broadcast.
    same = {"B": 4, "H": 4, "Lq": 4, "Lk": 4, "D": 4, "Dv": 4, "equal": "B H Lq Lk D Dv"}
    yield case("all sizes equal", **same)
    yield case("all sizes equal, causal", mask="causal", **same)
    ranges = {"B": (2, 3), "H": (2, 5), "Lq": (3, 9), "Lk": (3, 9), "D": (5, 12), "Dv": (2, 9)}
    yield case("random sizes", **case.draw.sizes(**ranges))
    yield case("one key", alone=True, B=2, H=3, Lq=4, Lk=1, D=5, Dv=6)
    yield case("all sizes 1", alone=True, B=1, H=1, Lq=1, Lk=1, D=1, Dv=1)
    single = torch.arange(6)[:, None] % 4 == torch.arange(4)
    sizes = {"B": 2, "H": 3, "Lq": 6, "Lk": 4, "D": 5, "Dv": 7}
    yield case("every query sees one key", alone=True, mask=single, **sizes)


def small_numbers(case):
    """Yield values or gradients of about 1e-7, which an epsilon would change."""
    sizes = {"B": 1, "H": 4, "Lq": 3, "Lk": 5, "D": 6, "Dv": 7}
    yield from suites.tiny_values(case, **sizes)
    grad_out = 1e-7 * case.drawn(sizes)["grad_out"]
    yield case("tiny grad_out", inputs={"grad_out": grad_out}, **sizes)


def realistic():
    """Return the call that is measured after a pass: 32 heads of 128 with a causal mask."""
    return realistic_call(
        "32 heads of 128, B = 1, L = 2048",
        q=shaped(1, 32, 2048, 128),
        k=shaped(1, 32, 2048, 128),
        v=shaped(1, 32, 2048, 128),
        grad_out=shaped(1, 32, 2048, 128),
        mask=shaped(2048, 2048, dtype="bool"),
    )
