"""Cases for multi-head latent attention."""

from dataclasses import dataclass

import torch

from attn_drill.casekit import (
    Projected,
    RotaryMaker,
    Scores,
    SecondCall,
    positions,
    realistic_call,
    shaped,
    suites,
)


@dataclass(frozen=True)
class Latent(Projected):
    """Roles of latents whose first three features are those of x.

    q_up, k_up and v_up project these latents.
    """

    q: str = "q_up"
    k: str = "k_up"
    v: str = "v_up"
    bias: bool | None = None

    def drawn_weights(self, case, sizes):
        """Return random weights of q_up, k_up and v_up, each [H, Dn or Dv, rank]."""
        shapes = {"q": ("H", "Dn", "Rq"), "k": ("H", "Dn", "Rkv"), "v": ("H", "Dv", "Rkv")}
        weights = {}
        for role, letters in shapes.items():
            shape = [sizes[letter] for letter in letters]
            weights[role] = case.draw.normal(*shape, scale=shape[-1] ** -0.5)
        return weights

    def scored(self, case, sizes, scores):
        """Let feature 0 of the unrotated part make the scores; the rotary parts add about ±1."""
        draw, width = case.draw, sizes["H"] * sizes["Dv"]
        given = super().scored(case, {**sizes, "D": sizes["Dn"] + sizes["Dr"]}, scores)
        for name, rows, columns in (
            ("q_down", sizes["Rq"], sizes["M"]),
            ("kv_down", sizes["Rkv"], sizes["M"]),
            ("k_rope", sizes["Dr"], sizes["M"]),
            ("q_rope", sizes["H"] * sizes["Dr"], sizes["Rq"]),
        ):
            weight = draw.normal(rows, columns, scale=columns**-0.5)
            weight[:, :3] = 0
            if name in ("q_down", "kv_down"):
                weight[:3] = torch.eye(3, columns)
            given["parameters"][f"{name}.weight"] = weight
        if scores.factored:
            small = draw.normal(sizes["M"], width, scale=0.01 * width**-0.5)
            given["parameters"]["o_proj.weight"] = small
        return given

    def tiny(self, case, sizes):
        """Return small random weights for the values."""
        return super().tiny(case, {**sizes, "D": sizes["Dv"]})

    def heads_apart(self, case, sizes):
        """Return an output projection that is the identity. It needs M = H * Dv."""
        given = super().heads_apart(case, {**sizes, "D": sizes["Dv"]})
        return given | {"outputs": {"out": "B L (H Dv)"}}


def drive(attention, given):
    """Call once, or twice on the same object with another mask and other positions."""
    later = {name[6:]: value for name, value in given.inputs.items() if name.startswith("later_")}
    outputs = {"out": call(attention, given.inputs)}
    if later:
        outputs["later_out"] = call(attention, later)
    return outputs


def call(attention, inputs):
    """Leave out the mask and the positions if there are none."""
    options = {name: inputs[name] for name in ("mask", "position_ids") if inputs[name] is not None}
    return attention(inputs["x"], **options)


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = RotaryMaker(
        draw,
        init={
            "d_model": "M",
            "num_heads": "H",
            "q_rank": "Rq",
            "kv_rank": "Rkv",
            "nope_dim": "Dn",
            "rope_dim": "Dr",
            "v_dim": "Dv",
        },
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        mask="B H L L",
        rows="",
        roles=Latent(),
    )
    widths = {"M": 10, "Rq": 9, "Rkv": 13, "Dn": 7, "Dr": 8, "Dv": 6}
    wide = {**widths, "M": 12}  # as wide as the values of two heads
    # bfloat16 rounds most exponents 2i / 14.
    far = {**wide, "Dr": 14}
    sizes = {"B": 3, "L": 5, "H": 2, **widths}
    yield from suites.heads_apart(case, **{**sizes, **wide})
    name = "heads apart, scattered positions"
    yield from suites.heads_apart(case, name, positions="scattered", **{**sizes, **wide})
    yield case("no mask, no positions, values as wide as d_model", **{**sizes, **wide})
    yield from positions.orders(case, **sizes)
    yield from positions.equal_sizes(case, **sizes)
    yield from positions.bases(case, **sizes)
    # Right answers may use a table of 4096 positions.
    yield from positions.far_along(case, farthest=3999, **{**sizes, **far})
    yield from positions.left_padding(case, **sizes)
    everything = dict.fromkeys(sizes, 4)
    scattered = {"positions": "scattered"}
    yield case("as many of everything", equal=" ".join(sizes), **everything, **scattered)
    ranks = {**sizes, "Rq": 10, "Rkv": 10, "equal": "M Rq Rkv"}
    yield case("ranks as wide as d_model", **ranks, **scattered)
    yield case("ranks larger than d_model", **{**sizes, "Rq": 12, "Rkv": 14}, **scattered)
    parts = {**sizes, "Dn": 6, "Dr": 6, "equal": "Dn Dr Dv"}
    yield case("parts of one width", **parts, **scattered)
    yield case("values as wide as queries and keys", **{**sizes, "Dv": 15}, **scattered)
    pair = {**sizes, "H": 1, "Dr": 2}
    yield case("one pair in the rotary part, one head", mask="B 1 L L", **pair)
    # The rotary part starts at an even feature: right answers may view it as complex numbers.
    single = {**sizes, "B": 1, "L": 1, "H": 1, "Dn": 6, "Dv": 5}
    yield case("one token, one head", positions=torch.tensor([[17]]), **single)
    ranges = {"B": (2, 3), "L": (6, 9), "H": (2, 5), "M": (8, 20), "Rq": (4, 20), "Rkv": (4, 20)}
    drawn = draw.sizes(times={"Dr": 2}, Dn=(4, 9), Dr=(2, 4), Dv=(3, 9), **ranges)
    yield case("random sizes", positions=300, **drawn)
    training = {"mode": "train", "check": "train/eval", **sizes}
    yield case("training mode, no mask", positions="scattered", **training)
    yield case("training mode, causal", mask="causal", **training)
    yield from suites.tiny_values(case, positions="scattered", **sizes)
    yield from suites.dtypes(case, **sizes)
    yield from suites.masks(case, **sizes)
    yield from suites.steep_scores(case, **sizes)
    yield from far_above(case, **sizes)
    yield from suites.zero_tokens(case, positions=None, **sizes)
    yield from suites.layouts(case, **sizes)
    yield from suites.second_calls(case, **sizes)
    longer = SecondCall(sizes={"B": 6, "L": 9})
    name = "larger sizes afterwards, no positions in either call"
    yield case(name, later=longer, check="properties", **sizes)
    farther = SecondCall(mask="L L", inputs={"position_ids": case.scattered(sizes, 300)})
    name = "the same sizes again at larger positions"
    yield case(name, mask="L L", later=farther, check="properties", **sizes)
    small, large = {"B": 2, "H": 5, **widths, "Rq": 14}, {"B": 12, "H": 11}
    yield from positions.growth(case, small, large)


def far_above(case, **sizes):
    """Yield masked scores of 100000, from which no small number can be subtracted."""
    # One key: the difference of two such scores would be lost in rounding.
    hidden = torch.arange(sizes["L"]) == 1
    scores = Scores(torch.where(hidden, 1e5, 0.0), factored=True)
    parts = case.roles.scored(case, sizes, scores)
    parts["inputs"] |= case.at_one_position(sizes)
    yield case("masked scores of 100000", mask=~hidden[None, :], **parts, **sizes)


def realistic():
    """Return the call that is measured after a pass: a layer in the form of DeepSeek-V2-Lite."""
    return realistic_call(
        "a layer of 2048 with 16 heads and kv_rank 512, B = 1, L = 2048",
        init={
            "d_model": 2048,
            "num_heads": 16,
            "q_rank": 1536,
            "kv_rank": 512,
            "nope_dim": 128,
            "rope_dim": 64,
            "v_dim": 128,
        },
        x=shaped(1, 2048, 2048),
        mask=shaped(2048, 2048, dtype="bool"),
        position_ids=None,
    )
