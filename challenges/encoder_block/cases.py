"""Cases for a post-norm block of an encoder. F is the width of the MLP's hidden layer.

Finite results at padding are set to 0, because right answers differ there.
"""

from dataclasses import replace

import torch
from torch.nn import functional

from attn_drill.casekit import (
    TURNS,
    CaseMaker,
    SecondCall,
    bad_heads,
    dropout_in_turn,
    realistic_call,
    shaped,
    suites,
)

DROPOUT = 0.4
# The outputs of the cases with dropout, and the names of their values.
FACTORS = {
    "attention": "factors of the attention's result",
    "mlp": "factors of the MLP's result",
}
DRAWS = {
    "attention": "axes along which the attention's result has one draw",
    "mlp": "axes along which the MLP's result has one draw",
}
WEIGHTS = "axes along which the attention weights have one draw"
OTHER = "other numbers"
_KEPT = 1 / (1 - DROPOUT)
# The share of a sum that its kept weights give, and the factor of its dropouts.
ATTENTION = {
    "0": 0,
    **{
        f"{words}{power}": share * factor
        for power, factor in (("", 1), (" / (1 - p)", _KEPT), (" / (1 - p)^2", _KEPT**2))
        for words, share in (("1/4", 0.25), ("3/4", 0.75), ("1", 1))
    },
}
# A dropout of the five equal hidden values leaves some of them.
MLP = {
    "0": 0,
    "1": 1,
    "1 / (1 - p)": _KEPT,
    **{f"{count}/5 / (1 - p)^2": count / 5 * _KEPT**2 for count in range(1, 6)},
}


def drive(block, given):
    """Call once, or twice on the same object; or say in words how dropout acts."""
    if "part" in given.inputs:
        if given.part == "turns":
            return dropout_in_turn(block, lambda: block(given.x))
        found = dropped(block, given.part, given.x[:, :2])
        hidden = dropped(block, given.part, given.x, given.mask)
        return found | {f"{name}, with padding": words for name, words in hidden.items()}
    outputs = {"out": call(block, given.x, given.mask)}
    if "later_x" in given.inputs:
        outputs["later_out"] = call(block, given.later_x, given.later_mask, named=False)
    return outputs


def call(block, x, mask, named=True):
    """Leave the mask out if there is none. Set finite results at padding to 0."""
    if mask is None:
        return block(x)
    out = block(x, padding_mask=mask) if named else block(x, mask)
    if not isinstance(out, torch.Tensor) or out.shape != x.shape:
        return out
    return out * mask[:, :, None]  # NaN and infinity become NaN


def dropped(block, part, x, mask=None):
    """Say in words what dropout does to the result of a branch, of which `one_branch` is the case.

    The attention adds 2 to features 0 and 1 from head 0, and to feature 2 from head 1. The MLP adds
    3 to the same features. The features 3 and 4 get nothing, so they show how the norms changed the
    sum.
    """
    block.train()
    torch.manual_seed(0)
    out = block(x) if mask is None else block(x, padding_mask=mask)
    block.eval()
    x, out = x[:, :2], out[:, :2]
    if part == "mlp":
        x = normed(x)
    scale = (out[..., 3] - out[..., 4]) / (x[..., 3] - x[..., 4])
    shift = out[..., 3] - scale * x[..., 3]
    added = ((out - shift[..., None]) / scale[..., None] - x)[..., :3]
    whole, names = (2, ATTENTION) if part == "attention" else (3, MLP)
    found = {FACTORS[part]: factors(added / whole, names)}
    kept = added.abs() > 0.1
    pair = kept[..., :2]
    # If both are 0, the weights may have been dropped instead of the results.
    known = pair.any(-1, keepdim=True) if part == "attention" else torch.tensor(True)
    found[DRAWS[part]] = same_draws(pair, known.expand_as(pair))
    if part == "attention":
        sums = torch.stack([added[..., :2].amax(-1), added[..., 2]], dim=-1)
        found[WEIGHTS] = same_draws(sums, sums > 0.1, "heads")
    return found


def factors(added, names):
    """Return the names of the factors that occur in `added`."""
    values = torch.tensor([*names.values()], dtype=added.dtype)
    smallest, places = (added[..., None] - values).abs().min(-1)
    if not bool((smallest < 1e-3).all()):  # also if one is NaN
        return OTHER
    return ", ".join(name for place, name in enumerate(names) if bool((places == place).any()))


def same_draws(entries, known, last="features"):
    """Return the axes along which all known entries are equal. entries: [B, L, 2]."""
    found = []
    for axis, name in enumerate(("sequences", "tokens", last)):
        length = entries.shape[axis] - 1
        first, second = entries.narrow(axis, 0, length), entries.narrow(axis, 1, length)
        both = known.narrow(axis, 0, length) & known.narrow(axis, 1, length)
        if not bool(((first.double() - second.double()).abs() > 0.1)[both].any()):
            found.append(name)
    return ", ".join(found) or "none"


def normed(x):
    """Return x after a norm without weights."""
    return functional.layer_norm(x, x.shape[-1:])


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = CaseMaker(
        draw,
        init={"d_model": "M", "num_heads": "H", "hidden_dim": "F"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        mask="B L",
    )
    sizes = {"B": 2, "L": 5, "H": 3, "D": 4, "F": 14}
    yield case("no padding", **sizes)
    yield case("padding", mask="padding", **sizes)
    wide = {"norm_1.weight": 20 * draw.normal(24)}  # hidden values of some tens
    yield case("a hidden layer narrower than x", B=3, L=7, H=4, D=6, F=5, parameters=wide)
    yield from equal_sizes(case)
    yield from size_one(case)
    ranges = {"B": (2, 4), "L": (3, 8), "H": (2, 5), "D": (3, 9), "F": (8, 50)}
    yield case("random sizes", mask="B L", **draw.sizes(**ranges))
    yield from small_values(case, sizes)
    # With queries of 0 all scores are 0: scores of some thousands would magnify rounding.
    zero = {
        "self_attn.q_proj.weight": torch.zeros(12, 12),
        "self_attn.q_proj.bias": torch.zeros(12),
    }
    large = {"inputs": {"x": 30 * draw.normal(2, 5, 12) + 100}, "parameters": zero}
    yield case("large x with a large mean", gradients=False, **large, **sizes)
    yield from suites.masks(case, **{**sizes, "B": 4, "D": 2})
    everything = torch.ones(2, 5, dtype=torch.bool)
    yield case("a mask without padding", mask=everything, **sizes)
    last = torch.arange(5) == torch.tensor([[0], [4]])
    yield case("only one real token, the first or the last", mask=last, **sizes)
    yield from suites.dtypes(case, **sizes)
    yield from steep_scores(case, sizes)
    yield zero_tokens(case, sizes)
    yield from suites.layouts(case, **sizes)
    yield from suites.second_calls(case, **sizes)
    later = SecondCall(mask="B L", sizes={"L": 3})
    name = "fewer tokens afterwards"
    yield case(name, mask="B L", later=later, check="properties", **sizes)
    yield from dropout_cases(case, sizes)
    small = {"B": 2, "L": 3, "H": 4, "D": 5, "F": 6}
    grown = {"B": 7, "L": 9, "H": 8, "F": 11}
    yield from suites.growth(case, "everything", small, grown, mask="B L")
    yield from suites.growth(case, "batch and length, no padding", small, {"B": 7, "L": 120})


def equal_sizes(case):
    """Yield sizes that coincide. A mask in the wrong place raises no error there."""
    apart = {"B": 4, "L": 5, "H": 2, "D": 3, "F": 9, "mask": "B L"}
    for name, some_equal in (
        ("as many batch items as tokens", {"L": 4, "equal": "B L"}),
        ("as many batch items as heads", {"H": 4, "equal": "B H"}),
        ("as many tokens as heads", {"H": 5, "equal": "L H"}),
    ):
        yield case(name, **{**apart, **some_equal})
    yield case("a hidden layer as wide as x", B=2, L=5, H=3, D=4, F=12)
    same = {"B": 3, "L": 3, "H": 3, "D": 3, "F": 3, "equal": "B L H D F", "mask": "B L"}
    yield case("all sizes equal", **same)


def size_one(case):
    """Yield cases in which a size is 1."""
    masked = {"mask": "B L"}
    yield case("one sequence", B=1, L=7, H=2, D=5, F=4, **masked)
    yield case("one head", B=3, L=5, H=1, D=6, F=7, **masked)
    # A norm over few features enlarges rounding, so there are more heads than elsewhere.
    yield case("heads of one feature", B=3, L=4, H=11, D=1, F=5, **masked)
    yield case("one token", B=3, L=1, H=2, D=4, F=5, **masked)
    yield case("a hidden layer of one feature", B=3, L=5, H=2, D=4, F=1, **masked)


def silent(part, width, columns):
    """Return a last layer of zeros, so that a branch adds nothing."""
    return {f"{part}.weight": torch.zeros(width, columns), f"{part}.bias": torch.zeros(width)}


def small_values(case, sizes):
    """Yield sums of about 0.001, of which the epsilon of a norm decides the result."""
    x = {"x": case.draw.normal(2, 5, 12, scale=1e-3)}
    found = silent("self_attn.o_proj", 12, 12)
    yield case("small x, the attention adds nothing", inputs=x, parameters=found, **sizes)
    small = {
        "norm_1.weight": case.draw.normal(12, scale=1e-3),
        "norm_1.bias": case.draw.normal(12, scale=1e-3),
        **silent("mlp.proj", 12, 14),
    }
    yield case("norm_1 gives small values, the MLP adds nothing", parameters=small, **sizes)


def steep_scores(case, sizes):
    """Yield scores of ±200.

    Mistakes: `exp` without subtracting the largest score; a largest score taken over more than one
    row or before the mask; a fill that is not far enough below -200; padding that is added with
    weights of nearly 0.
    """
    usual = {"gradients": False, "check": "masks", **sizes}
    low = torch.arange(5) % 2 == 0
    for name, highs, mask in (
        ("padding with scores of +200 and values of 1e36, others at -200", ~low, low.expand(2, 5)),
        ("scores of ±200, no padding", ~low, None),
        ("one sequence at +200, the next at -200", torch.tensor([[True], [False]]), None),
    ):
        yield case(name, mask=mask, **scored(case, sizes, highs, mask), **usual)


def scored(case, sizes, highs, mask):
    """Return inputs and weights with which feature 0 of x gives the score of a token as a key.

    With a mask, padding has values of 1e36, which feature 1 gives, and everything else is about
    1e-6. So a weight of 1e-43 shows.
    """
    heads, head_dim = sizes["H"], sizes["D"]
    width = heads * head_dim
    unit = 1.0 if mask is None else 1e-6
    x = case.draw.normal(sizes["B"], sizes["L"], width, scale=unit)
    x[..., 0] = torch.where(highs, unit, -unit)
    x[..., 1] = 0 if mask is None else torch.where(mask, 0.0, 1e36)
    query = torch.full((heads, head_dim), 0.1)
    query[:, 0] = head_dim**0.5
    key = torch.zeros(heads, head_dim, width)
    key[:, 0, 0] = 200 / unit
    value = case.draw.normal(width, width, scale=width**-0.5)
    value[:, 1] = 1
    given = {
        "self_attn.q_proj.weight": torch.zeros(width, width),
        "self_attn.q_proj.bias": query.flatten(),
        "self_attn.k_proj.weight": key.flatten(0, 1),
        "self_attn.k_proj.bias": torch.zeros(width),
        "self_attn.v_proj.weight": value,
    }
    if mask is not None:
        names = ("self_attn.v_proj", "self_attn.o_proj", "norm_1", "norm_2")
        given |= {f"{name}.bias": torch.zeros(width) for name in names}
        given |= silent("mlp.proj", width, sizes["F"])
    return {"inputs": {"x": x}, "parameters": given}


def zero_tokens(case, sizes):
    """Return a case with scores of exactly 0: x has a token of zeros, and keys have no biases.

    Mistakes: a score of 0 taken for a hidden score.
    """
    inputs = {"x": case.draw.normal_with_zeros(2, 5, 12, row=1)}
    mask = torch.arange(5).expand(2, 5) < 4
    without = {"self_attn.k_proj.bias": torch.zeros(12)}
    return case("tokens of zeros", mask=mask, inputs=inputs, parameters=without, **sizes)


def dropout_cases(case, sizes):
    """Yield cases in training mode. With a dropout of 0.4, the outputs are words.

    Mistakes: no dropout at a place; dropout at another place; dropout in eval mode; dropout that
    eval mode switches off for all later calls; kept entries that are not divided by 1 - p; one
    draw for all heads, tokens or sequences; no dropout with a mask; a draw in float32.
    """
    mode = {"check": "train/eval", **sizes}
    for words, mask in (("no padding", None), ("padding", "padding")):
        yield case(f"training mode, dropout 0, {words}", mask=mask, mode="train", **mode)
    least = {"mode": "train", "init": {"dropout": 1e-9}}
    yield case("training mode, dropout 1e-9, padding", mask="padding", **least, **mode)
    drops = {"init": {"dropout": DROPOUT}}
    yield case("eval mode, dropout 0.4", mask="padding", **drops, **mode)
    nothing = silent("self_attn.o_proj", 12, 12) | silent("mlp.proj", 12, 14)
    yield case(
        "bfloat16, training mode, dropout 0.4, both branches add 0",
        mask="padding",
        dtype="bfloat16",
        parameters=nothing,
        gradients=False,
        **{**least, **drops},
        **mode,
    )
    drops |= {"outputs": {}, "gradients": False}
    yield replace(
        case("training, eval and training mode", inputs={"part": "turns"}, **drops, **mode),
        plain=dict.fromkeys(TURNS, "str"),
    )
    for part, words in (
        ("attention", "the MLP adds 0, two tokens with values of 1 and 3"),
        ("mlp", "the attention adds 0"),
    ):
        names = [FACTORS[part], DRAWS[part]]
        names += [WEIGHTS] if part == "attention" else []
        names += [f"{name}, with padding" for name in names]
        yield replace(
            case(f"training mode, dropout 0.4, {words}", **one_branch(part), **drops),
            plain=dict.fromkeys(names, "str"),
        )


def one_branch(part):
    """Return sizes, inputs and weights with which only one branch adds to x, the same each time.

    All scores are 1/2, but each token has other keys. So a dropout of queries or keys shows. In
    front of the MLP, the sum of a token is 0, so a dropout there shows, too.
    """
    width, hidden = 8, 5
    attention, mlp, value, key = torch.zeros(4, 8, 8)
    mlp = mlp[:, :hidden]
    value[:, 7] = 1
    key[0::4, 6], key[1::4, 6] = 0.5, -0.5
    if part == "attention":
        attention[:2, :4] = attention[2, 4:] = 1 / 4
    else:
        mlp[:3] = 3 / hidden
    ones, zeros = torch.ones(width), torch.zeros(width)
    constant = {
        "self_attn.q_proj.weight": torch.zeros(8, 8),
        "self_attn.q_proj.bias": ones,
        "self_attn.k_proj.weight": key,
        "self_attn.k_proj.bias": torch.tensor([0.5, 0.5, 0, 0]).repeat(2),
        "self_attn.v_proj.weight": value,
        "self_attn.v_proj.bias": zeros,
        "self_attn.o_proj.weight": attention,
        "self_attn.o_proj.bias": zeros,
        "mlp.fc.weight": torch.ones(hidden, width),
        "mlp.fc.bias": torch.ones(hidden),
        "mlp.proj.weight": mlp,
        "mlp.proj.bias": zeros,
    }
    for norm in ("norm_1", "norm_2"):
        constant |= {f"{norm}.weight": ones, f"{norm}.bias": zeros}
    tokens = torch.linspace(-1.5, 2, width).repeat(3, 1)
    tokens[:, 6] = torch.tensor([1.0, -1.0, 1.0])
    tokens[:, 7] = torch.tensor([1.0, 3.0, 50.0])
    sizes = {"B": 200, "L": 3, "H": 2, "D": 4, "F": hidden, "check": "train/eval"}
    real = torch.tensor([True, True, False]).expand(200, 3)
    inputs = {"part": part, "x": tokens.expand(200, 3, width)}
    return {"inputs": inputs, "mask": real, "parameters": constant, **sizes}


def refusals():
    """Yield constructor arguments that must be refused."""
    yield from bad_heads(hidden_dim=24)  # every one of these numbers of heads divides 24
    yield from bad_heads(hidden_dim=7)


def realistic():
    """Return the call that is measured after a pass: a block of the base model."""
    return realistic_call(
        "a block of the base model (512, 8 heads, 2048), B = 4, L = 256",
        init={"d_model": 512, "num_heads": 8, "hidden_dim": 2048},
        x=shaped(4, 256, 512),
        mask=shaped(4, 256, dtype="bool"),
    )
