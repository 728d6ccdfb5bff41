"""Cases for grouped-query attention with QK-norm."""

from dataclasses import replace

import torch

from attn_drill.casekit import (
    CaseMaker,
    Projected,
    Scores,
    bad_groups,
    realistic_call,
    shaped,
    suites,
)
from attn_drill.model.case import Refusal


class Normed(Projected):
    """Describe projections whose queries and keys are normalised before the scores."""

    def scored(self, case, sizes, scores):
        """Return inputs and weights so that feature 0 of a query and a key gives the scores.

        A key has the features sin and cos of one angle, times sqrt(D), so that its mean square is
        1 and feature 0 is the score over 200. A query has feature 0 only. The weights of both norms
        are sqrt(200 / sqrt(D)) in feature 0. In the inputs, features 0 and 1 are the key's, feature
        2 is the query's factor, and feature 3 is a large part of a key's values.
        """
        x = case.drawn(sizes)["x"]
        x[..., :4] = 0
        keys = scores.keys.double() / 200
        x[..., 0], x[..., 1] = keys, (1 - keys.square()).sqrt()
        x[..., 2] = 1 if scores.queries is None else scores.queries
        weights = self.drawn_weights(case, sizes)
        for role, weight in weights.items():
            weight[..., :4] = 0
            if role != "v":
                weight *= 0.02  # so that the other features of x hardly change a score
        root = sizes["D"] ** 0.5
        weights["q"][:, 0], weights["k"][:, :2] = 0, 0
        weights["q"][:, 0, 2] = root * scores.of_heads(sizes["H"])
        weights["k"][:, 0, 0] = weights["k"][:, 1, 1] = root
        if scores.huge is not None:
            x[..., 3] = torch.where(scores.huge, 1e36, 0.0)
            weights["v"] *= 1e-6
            weights["v"][:, :, 3] = 1
        norm = torch.ones(sizes["D"])
        norm[0] = (200 / root) ** 0.5
        found = self.parameters(case, sizes, weights, set())
        found |= {"q_norm.weight": norm, "k_norm.weight": norm}
        return {"inputs": {"x": x}, "parameters": found}


ROLES = Normed(kv_heads="Hkv", bias=None)


def drive(attention, given):
    """Call once, or twice on the same object. In the part "initial", describe the first weights."""
    if "part" in given.inputs:
        return {"first weights of the norms": first_weights(attention)}
    outputs = {"out": call(attention, given.x, given.mask)}
    if "later_x" in given.inputs:
        outputs["later_out"] = call(attention, given.later_x, given.later_mask)
    return outputs


def call(attention, x, mask):
    """Leave the mask out if there is none."""
    return attention(x) if mask is None else attention(x, mask=mask)


def first_weights(attention):
    """Return in words the weights with a single axis, which are those of the norms."""
    norms = [weight for weight in attention.parameters() if weight.dim() == 1]
    for number, word in ((1, "ones"), (0, "zeros")):
        if all(bool((weight == number).all()) for weight in norms):
            return word
    return "other numbers"


class NormMaker(CaseMaker):
    """Make cases with the option `eps`, and with `head_dim` if a case has a size M."""

    def __call__(self, name, *, eps=None, **more):
        """Return one case; None leaves `eps` out."""
        return super().__call__(name, init={} if eps is None else {"eps": eps}, **more)

    def with_products(self, sizes):
        """Return the sizes with M, which is H * D unless the case says it."""
        return {**super().with_products(sizes), **sizes}

    def arguments(self, sizes):
        """Return the constructor arguments; `head_dim` only if M is not H * D."""
        found = super().arguments(sizes)
        if sizes["M"] != sizes["H"] * sizes["D"]:
            found["head_dim"] = sizes["D"]
        return found


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = NormMaker(
        draw,
        init={"d_model": "M", "num_heads": "H", "num_kv_heads": "Hkv"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        mask="B H L L",
        roles=ROLES,
    )
    sizes = {"B": 2, "L": 5, "H": 6, "Hkv": 3, "D": 4}
    yield from suites.heads_apart(case, **sizes)
    yield case("no mask", B=3, L=7, H=4, Hkv=2, D=5)
    yield case("one key/value head, masked", B=2, L=5, H=6, Hkv=1, D=3, mask="B 1 L L")
    name = "as many kv heads as heads, masked"
    yield case(name, B=3, L=7, H=4, Hkv=4, D=5, equal="H Hkv", mask="L L")
    yield case("one token, one head", B=1, L=1, H=1, Hkv=1, D=4)
    yield case("one head", B=3, L=5, H=1, Hkv=1, D=4, mask="B 1 L L")
    # Without a large eps, a single feature becomes ±1 and its gradient is a rounding error.
    yield case("heads of one feature", eps=0.5, B=3, L=5, H=4, Hkv=2, D=1)
    same = {"B": 4, "L": 4, "H": 4, "Hkv": 4, "D": 4, "equal": "B L H Hkv D"}
    yield case("all sizes equal", mask="B 1 L L", **same)
    drawn = {"B": (2, 3), "L": (6, 9), "H": (2, 5), "Hkv": (2, 4), "D": (5, 9)}
    yield case("random sizes", **draw.sizes(times={"H": "Hkv"}, **drawn))
    yield from head_dims(case)
    yield from norm_cases(case, sizes)
    yield from suites.tiny_values(case, B=2, L=3, H=8, Hkv=4, D=5)
    yield from suites.dtypes(case, B=3, L=7, H=4, Hkv=2, D=6)
    yield from suites.masks(case, B=3, L=5, H=6, Hkv=2, D=4)
    yield from suites.steep_scores(case, B=3, L=5, H=6, Hkv=2, D=4)
    yield from far_above(case, B=3, L=5, H=6, Hkv=2, D=4)
    yield from suites.zero_tokens(case, B=2, L=5, H=8, Hkv=4, D=3)
    training = {"mode": "train", "check": "train/eval"}
    yield case("training mode, causal", mask="causal", **training, **sizes)
    yield from suites.layouts(case, B=3, L=5, H=6, Hkv=2, D=4)
    yield from suites.second_calls(case, **sizes)
    small, large = {"B": 2, "L": 3, "H": 8, "Hkv": 4, "D": 5}, {"B": 7, "L": 9, "H": 36, "Hkv": 6}
    yield from suites.growth(case, "everything", small, large, mask="B H L L")
    small |= {"B": 1, "L": 6, "H": 4, "Hkv": 2}
    yield from suites.growth(case, "length, no mask", small, {"L": 300})


def head_dims(case):
    """Yield a head_dim that is larger or smaller than M / H, and an M that H does not divide."""
    wide = {"B": 3, "L": 5, "H": 4, "Hkv": 2, "D": 7, "M": 12}
    yield case("head_dim larger than M / H", **wide)
    yield case("head_dim larger than M / H, masked", mask="B 1 L L", **wide)
    narrow = {"B": 3, "L": 5, "H": 4, "Hkv": 2, "D": 6, "M": 32}
    yield case("head_dim smaller than M / H", **narrow)
    yield case("head_dim smaller than M / H, bfloat16", dtype="bfloat16", **narrow)
    yield case("head_dim given, M not divisible by H", B=2, L=7, H=6, Hkv=3, D=8, M=13)
    yield case("head_dim given, one head", mask="L L", B=3, L=5, H=1, Hkv=1, D=8, M=6)
    drawn = {"B": (2, 3), "L": (6, 9), "H": (2, 5), "Hkv": (2, 4), "D": (5, 9), "M": (21, 40)}
    yield case("random sizes with head_dim", **case.draw.sizes(times={"H": "Hkv"}, **drawn))


def norm_cases(case, sizes):
    """Yield queries and keys of other sizes, other eps, and the first weights of the norms."""
    yield case("eps 0.5", eps=0.5, **sizes)
    # In this size, 1e-6 is most of the sum of mean square and eps.
    for name, eps in (("small x", None), ("small x, eps 1e-8", 1e-8)):
        x = {"x": case.draw.normal(2, 5, 24, scale=3e-4)}
        yield case(name, eps=eps, inputs=x, **sizes)
    for dtype in ("float32", "bfloat16"):
        yield case(f"large q, small k, {dtype}", dtype=dtype, **sized(case, 3e3, 3e-3), **sizes)
    yield case("small q, large k", **sized(case, 3e-3, 3e3), **sizes)
    x = {"x": case.draw.normal(2, 5, 24) + 3}
    yield case("x with a mean of 3", inputs=x, **sizes)
    signs = {f"{name}.weight": case.draw.normal(4) for name in ("q_norm", "k_norm")}
    signs["q_norm.weight"][1] = 0
    yield case("weights of the norms of both signs", parameters=signs, **sizes)
    made = case("first weights of the norms", inputs={"part": "initial"}, outputs={}, **sizes)
    words = {"first weights of the norms": "str"}
    yield replace(made, plain=words, initial=True, gradients=False)


def far_above(case, **sizes):
    """Yield masked scores of 100000, from which no small number can be subtracted.

    The large weight of a norm also magnifies the rounding of gradients.
    """
    # One key: the difference of two such scores would be lost in rounding.
    hidden = torch.arange(sizes["L"]) == 1
    scores = Scores(torch.where(hidden, 200.0, 0.0))
    parts = ROLES.scored(case, case.with_products(sizes), scores)
    weight = parts["parameters"]["q_norm.weight"].clone()
    weight[0] *= 500
    parts["parameters"]["q_norm.weight"] = weight
    more = {"mask": ~hidden[None, :], "gradients": False}
    yield case("masked scores of 100000", **more, **parts, **sizes)


def sized(case, of_q, of_k):
    """Return projections whose queries and keys are of these sizes."""
    q = case.draw.normal(24, 24, scale=of_q * 24**-0.5)
    k = case.draw.normal(12, 24, scale=of_k * 24**-0.5)
    return {"parameters": {"q_proj.weight": q, "k_proj.weight": k}}


def refusals():
    """Yield bad sizes. A d_model that num_heads does not divide is bad without head_dim only."""
    yield from bad_groups()
    for d_model, num_heads, num_kv_heads in ((24, 6, 4), (26, 4, 3), (24, 3, 6)):
        why = f"num_heads is not divisible by num_kv_heads (remainder {num_heads % num_kv_heads})"
        sizes = {"d_model": d_model, "num_heads": num_heads, "num_kv_heads": num_kv_heads}
        yield Refusal(why, {**sizes, "head_dim": 8})


def realistic():
    """Return the call that is measured after a pass: a layer of Qwen3 8B with a causal mask."""
    return realistic_call(
        "a layer of Qwen3 8B, B = 1, L = 2048",
        init={"d_model": 4096, "num_heads": 32, "num_kv_heads": 8, "head_dim": 128},
        x=shaped(1, 2048, 4096),
        mask=shaped(2048, 2048, dtype="bool"),
    )
