"""Cases for multi-head attention with its gradients: weights as inputs, sizes that coincide."""

from dataclasses import replace

import torch

from attn_drill.casekit import (
    HUGE,
    CaseMaker,
    Projected,
    Refusal,
    Scores,
    SecondCall,
    realistic_call,
    shaped,
    suites,
)
from attn_drill.worker.returns import unpack

ARGUMENTS = ("x", "w_q", "w_k", "w_v", "w_o", "num_heads", "mask", "grad_out")
RESULTS = ("out", "dx", "dw_q", "dw_k", "dw_v", "dw_o")
WEIGHTS = ("w_q", "w_k", "w_v", "w_o")
DIMS = {"out": "B L M", "dx": "B L M"} | {f"dw_{role}": "M M" for role in "qkvo"}


def drive(function, given):
    """Call once, or twice."""
    later = {name[6:]: value for name, value in given.inputs.items() if name.startswith("later_")}
    outputs = dict(zip(RESULTS, call(function, given.inputs), strict=True))
    if "forwards_only" in given.inputs:
        return {"out": outputs["out"]}
    if "joined" in given.inputs:
        return {"out": outputs["out"], "gradients": joined([outputs[name] for name in RESULTS[1:]])}
    if "plus_one" in given.inputs:
        for name in ("dw_q", "dw_k"):
            outputs[f"{name} + 1"] = plus_one(outputs.pop(name))
    if later:
        again = zip(RESULTS, call(function, later), strict=True)
        outputs |= {f"later_{name}": result for name, result in again}
    return outputs


def call(function, inputs):
    """Return the six results. The name of an input means the same tensor."""
    named = [inputs[name] for name in ARGUMENTS]
    arguments = [inputs[value] if isinstance(value, str) else value for value in named]
    return unpack(function(*arguments), *RESULTS)


def joined(gradients):
    """Return all entries of the gradients in one row; the first gradient that is no tensor."""
    others = [found for found in gradients if not isinstance(found, torch.Tensor)]
    return others[0] if others else torch.cat([found.flatten() for found in gradients])


def plus_one(gradient):
    """Return the gradient plus 1, so that rounding errors are small next to the expected values."""
    return gradient + 1 if isinstance(gradient, torch.Tensor) else gradient


class Weights(Projected):
    """Roles for weights that are inputs of a function, not parameters of a module."""

    def scored(self, case, sizes, scores):
        """Return inputs and weights so that feature 0 of queries and keys gives the scores.

        Feature 0 of x is the score of a key, and feature 1 is the factor of a query. A key has ±1
        in its feature 0, a query ±200 sqrt(D): a large number that all keys share would magnify
        rounding errors of dS, which sum to 0 over the keys otherwise. With values of 1e36, only the
        result is compared.
        """
        inputs, weights = case.drawn(sizes), self.drawn_weights(case, sizes)
        inputs["x"][..., 0] = scores.keys / 200
        inputs["x"][..., 1] = 1 if scores.queries is None else scores.queries
        for role in "qk":
            weights[role][..., :2] = 0
            weights[role][:, 0] = 0
        weights["q"][:, 0, 1] = 200 * sizes["D"] ** 0.5 * scores.of_heads(sizes["H"])
        weights["k"][:, 0, 0] = 1
        if scores.huge is None:
            return as_inputs(inputs, self.parameters(case, sizes, weights, set()))
        inputs["x"][..., 2] = torch.where(scores.huge, HUGE, 0.0)
        inputs["forwards_only"] = 1
        for role in "qk":
            weights[role][..., 2] = 0
        weights["v"] *= 1e-6
        weights["v"][..., 2] = 1
        given = as_inputs(inputs, self.parameters(case, sizes, weights, set()))
        return given | {"outputs": {"out": DIMS["out"]}}

    def tiny(self, case, sizes):
        """Return weights that give values of about 1e-7."""
        return as_inputs({}, super().tiny(case, sizes)["parameters"])


def as_inputs(inputs, parameters):
    """Return inputs with the weights among them."""
    weights = {name.removesuffix(".weight"): value for name, value in parameters.items()}
    return {"inputs": inputs | weights}


class WeightMaker(CaseMaker):
    """Make cases. The gradients are results here, so no gradients of them are compared.

    With `alone`, every query sees a single key. The gradients of w_q and w_k are 0 then, and right
    answers return rounding errors instead.
    """

    def __call__(self, name, *, alone=False, gradients=False, inputs=None, later=None, **more):
        """Return one case."""
        given = {"num_heads": more["H"], **(inputs or {})}
        if alone:
            given["plus_one"] = 1
            renamed = {"dw_q": "dw_q + 1", "dw_k": "dw_k + 1"}
            more["outputs"] = {renamed.get(key, key): dims for key, dims in DIMS.items()}
        if later is not None:
            heads = later.sizes.get("H", more["H"])
            later = SecondCall(later.mask, later.sizes, {"num_heads": heads, **later.inputs})
        return super().__call__(name, inputs=given, later=later, gradients=False, **more)

    def drawn(self, sizes):
        """Return inputs from N(0, 1), and weights that keep this size."""
        found = super().drawn(sizes)
        for name in WEIGHTS:
            found[name] *= len(found[name]) ** -0.5
        return found


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = WeightMaker(
        draw,
        inputs={"x": "B L M", "grad_out": "B L M"} | dict.fromkeys(WEIGHTS, "M M"),
        outputs=DIMS,
        products={"M": "H D"},
        mask="B H L L",
        roles=Weights(q="w_q", k="w_k", v="w_v", o="w_o", bias=None),
    )
    yield from shapes(case)
    yield from small_numbers(case)
    yield from suites.masks(case, B=3, L=5, H=2, D=4)
    for found in suites.dtypes(case, B=3, L=5, H=2, D=4):
        yield with_joined_gradients(found) if found.dtype == "bfloat16" else found
    # With `gradients`, several keys share the largest score: no weight is 1, so dw_q is not 0.
    yield from suites.steep_scores(case, gradients=True, B=3, L=6, H=2, D=5)
    yield from fills(case)
    yield from zero_tokens(case)
    yield from suites.layouts(case, B=2, L=5, H=4, D=3)
    sizes = {"B": 2, "L": 4, "H": 3, "D": 5, "check": "properties"}
    yield case("the same sizes again", later=SecondCall(), **sizes)
    later = SecondCall(sizes={"B": 4, "L": 7, "H": 5, "D": 2, "M": 10})
    yield case("other sizes and more heads afterwards", later=later, **sizes)
    small, large = {"B": 2, "L": 4, "H": 3, "D": 5}, {"B": 7, "L": 9, "H": 8}
    yield from suites.growth(case, "everything", small, large, mask="B 1 L L")
    yield from suites.growth(case, "everything, no mask", small, large | {"L": 40})


def with_joined_gradients(case):
    """Return the case with all gradients as one output, compared with one bound.

    dS is a difference of rounded numbers: in bfloat16, dx, dw_q and dw_k of right answers are
    further apart than the rounding of one reference shows. All gradients together show it.
    """
    sizes = case.sizes
    entries = sizes["B"] * sizes["L"] * sizes["M"] + 4 * sizes["M"] ** 2
    return replace(
        case,
        inputs={**case.inputs, "joined": 1},
        dims={"out": DIMS["out"], "gradients": "E"},
        sizes={**sizes, "E": entries},
    )


def shapes(case):
    """Yield sizes at which a wrong axis shows, or stays hidden in other cases."""
    sizes = {"B": 2, "L": 5, "H": 3, "D": 4}
    identity = {"inputs": {"w_o": torch.eye(12)}}
    yield case("w_o is the identity", **identity, **sizes)
    yield case("no mask", B=3, L=7, H=2, D=5)
    yield case("causal", mask="causal", B=3, L=6, H=4, D=2)
    yield case("one head", B=3, L=4, H=1, D=5)
    yield case("one head, causal", B=2, L=4, H=1, D=6, mask="causal")
    yield case("head dim 1", B=2, L=5, H=4, D=1)
    yield case("one batch item", B=1, L=5, H=3, D=2)
    yield case("two tokens", B=3, L=2, H=4, D=5)
    yield case("as many heads as batch items", B=3, L=5, H=3, D=4, equal="B H", mask="B 1 L L")
    yield case("as many heads as tokens", B=2, L=5, H=5, D=3, equal="L H", mask="L L")
    yield case("as many heads as features of a head", B=2, L=5, H=3, D=3, equal="H D")
    yield case("as many tokens as features, M = L", B=4, L=6, H=3, D=2)
    yield case("as many tokens in all as features, M = B L", B=2, L=6, H=3, D=4)
    same = {"B": 4, "L": 4, "H": 4, "D": 4, "equal": "B L H D"}
    yield case("all sizes equal", **same)
    yield case("all sizes equal, causal", mask="causal", **same)
    small = {"B": 2, "L": 6, "H": 2, "D": 3, "equal": "B H"}
    yield case("x and grad_out are one tensor", inputs={"grad_out": "x"}, **small)
    shared = dict.fromkeys(("w_k", "w_v", "w_o"), "w_q")
    yield case("all weights are one tensor", inputs=shared, **small)
    yield case("random sizes", **case.draw.sizes(B=(2, 3), L=(6, 9), H=(2, 5), D=(3, 8)))
    yield case("one token", alone=True, B=3, L=1, H=2, D=4)
    # The mask hides nothing, so wrong values are no mistake of the mask.
    single = {"B": 1, "L": 1, "H": 2, "D": 4, "mask": torch.ones(1, 1, dtype=torch.bool)}
    yield case("one token in all, with a mask", alone=True, check="values", **single)
    yield case("all sizes 1", alone=True, B=1, L=1, H=1, D=1)


def small_numbers(case):
    """Yield values or gradients of about 1e-7, which an epsilon would change."""
    sizes = {"B": 2, "L": 4, "H": 3, "D": 5}
    yield from suites.tiny_values(case, **sizes)
    grad_out = 1e-7 * case.drawn(case.with_products(sizes))["grad_out"]
    yield case("tiny grad_out", inputs={"grad_out": grad_out}, **sizes)


def fills(case):
    """Yield allowed scores near -200, for which a weak fill value of masked scores is too high."""
    for D in (4, 64):
        sizes = {"B": 2, "L": 5, "H": 3, "D": D}
        low = Scores(torch.full((5,), -200.0))
        given = case.roles.scored(case, case.with_products(sizes), low)
        yield case(f"allowed scores near -200, head dim {D}", mask="B 1 L L", **given, **sizes)
    sizes = {"B": 3, "L": 6, "H": 2, "D": 5}
    hidden = torch.arange(6) % 2 == 1
    apart = Scores(torch.where(hidden, 200.0, -200.0))
    given = case.roles.scored(case, case.with_products(sizes), apart)
    name = "masked scores of +200, others at -200"
    yield case(name, mask=~hidden.expand(6, 6), **given, **sizes)


def zero_tokens(case):
    """Yield tokens and gradients of zeros. A score of 0 is no masked score."""
    sizes = {"B": 2, "L": 5, "H": 4, "D": 3}
    for mask in (None, "causal"):
        inputs = case.drawn(case.with_products(sizes))
        inputs["x"][:, 1] = 0
        inputs["grad_out"][:, 3] = 0
        words = ", causal" if mask else ""
        yield case(f"tokens of zeros{words}", mask=mask, inputs=inputs, **sizes)


def refusals():
    """Yield numbers of heads that do not divide M. Only a ValueError counts."""
    for d_model, num_heads in ((20, 8), (26, 6), (17, 4), (25, 6), (4, 8)):
        x, weight = torch.zeros(2, 3, d_model), torch.zeros(d_model, d_model)
        arguments = {"x": x, "num_heads": num_heads, "mask": None, "grad_out": x}
        arguments |= dict.fromkeys(WEIGHTS, weight)
        why = f"M = {d_model} is not divisible by num_heads = {num_heads}"
        yield Refusal(why, arguments, only_value_error=True)


def realistic():
    """Return the call that is measured after a pass: a layer of 1024 with 16 heads, causal."""
    return realistic_call(
        "a layer of 1024 with 16 heads, B = 1, L = 1024",
        x=shaped(1, 1024, 1024),
        w_q=shaped(1024, 1024),
        w_k=shaped(1024, 1024),
        w_v=shaped(1024, 1024),
        w_o=shaped(1024, 1024),
        num_heads=16,
        mask=shaped(1024, 1024, dtype="bool"),
        grad_out=shaped(1, 1024, 1024),
    )
