"""Cases for a block of Llama. F is hidden_dim, and T is max_seq_len, the rows of the table."""

import torch

from attn_drill.casekit import (
    RotaryMaker,
    SecondCall,
    bad_groups,
    positions,
    realistic_call,
    shaped,
    suites,
)
from attn_drill.model.case import Refusal


def drive(block, given):
    """Call once, or twice on the same object with other tokens and other positions."""
    outputs = {"out": call(block, given.x, given.position_ids)}
    if "later_x" in given.inputs:
        outputs["later_out"] = call(block, given.later_x, given.later_position_ids)
    return outputs


def call(block, x, position_ids):
    """Leave out the positions if there are none."""
    return block(x) if position_ids is None else block(x, position_ids=position_ids)


class BlockMaker(RotaryMaker):
    """Make cases, with the argument `head_dim` if a case has a size M that is not H * D."""

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
    case = BlockMaker(
        draw,
        init={
            "d_model": "M",
            "num_heads": "H",
            "num_kv_heads": "Hkv",
            "hidden_dim": "F",
            "max_seq_len": "T",
        },
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
    )
    sizes = {"B": 3, "L": 7, "H": 4, "Hkv": 2, "D": 10, "F": 15, "T": 23}
    yield case("no positions", positions=None, **sizes)
    yield from inside_the_norms(case)
    yield from positions.orders(case, **sizes)
    yield from positions.full_table(case, B=2, L=7, H=6, Hkv=3, D=10, F=11)
    yield from positions.equal_sizes(case, B=3, L=5, H=4, Hkv=2, D=8, F=13, T=17)
    yield from positions.bases(case, **sizes)
    yield from other_sizes(case)
    yield from head_dims(case)
    yield from far_along(case)
    sizes = {"B": 2, "L": 5, "H": 6, "Hkv": 3, "D": 4, "F": 9, "T": 17}
    yield case("training mode", mode="train", check="train/eval", **sizes)
    yield from suites.dtypes(case, **sizes)
    yield from steep_scores(case)
    yield from suites.layouts(case, **sizes)
    yield from second_calls(case, **sizes)
    yield from growing(case)


def other_sizes(case):
    """Yield sizes of 1, equal sizes, the defaults of the constructor, and random sizes."""
    yield case("one key/value head", B=2, L=5, H=4, Hkv=1, D=6, F=9, T=17)
    yield case("as many kv heads as heads", B=2, L=7, H=3, Hkv=3, D=8, F=5, T=17, equal="H Hkv")
    yield case("one head, one pair", B=3, L=6, H=1, Hkv=1, D=2, F=5, T=17)
    yield case("one sequence, one hidden value", B=1, L=6, H=4, Hkv=2, D=8, F=1, T=17)
    two = {"B": 3, "L": 2, "H": 8, "Hkv": 4, "D": 6, "F": 9, "T": 17}
    yield case("two tokens, no positions", positions=None, **two)
    places = torch.tensor([[5, 6], [9, 4], [3, 16]])
    yield case("two tokens, positions that do not begin at 0", positions=places, **two)
    single = {"B": 1, "L": 1, "H": 1, "Hkv": 1, "F": 1, "T": 1}
    yield case("every size 1, one pair", positions=None, D=2, **single)
    same = dict.fromkeys(("B", "L", "H", "Hkv", "D"), 4)
    equal = "B L H Hkv D"
    yield case("all sizes equal", positions="scattered", F=16, T=23, equal=equal, **same)
    default = {"B": 2, "L": 6, "H": 4, "Hkv": 1, "D": 16, "F": 24}
    yield case("default table and base, positions up to 2047", positions=2048, **default)
    ranges = {
        "B": (2, 3),
        "L": (6, 9),
        "H": (2, 4),
        "Hkv": (2, 4),
        "D": (4, 6),
        "F": (5, 30),
        "T": (15, 40),
    }
    (base,) = case.draw.distinct((50, 5000))
    drawn = case.draw.sizes(times={"H": "Hkv", "D": 2}, **ranges)
    yield case("random sizes and base", base=float(base), **drawn)


def head_dims(case):
    """Yield a head_dim that is larger or smaller than M / H, and an M that H does not divide."""
    wide = {"B": 3, "L": 5, "H": 4, "Hkv": 2, "D": 8, "F": 9, "T": 17, "M": 12}
    yield case("head_dim larger than M / H", positions="scattered", **wide)
    yield case("head_dim larger than M / H, no positions", positions=None, **wide)
    narrow = {"B": 2, "L": 5, "H": 6, "Hkv": 3, "D": 4, "F": 9, "T": 17, "M": 36}
    yield case("head_dim smaller than M / H", positions="scattered", **narrow)
    yield case("head_dim smaller than M / H, bfloat16", dtype="bfloat16", **narrow)
    odd = {"B": 3, "L": 7, "H": 4, "Hkv": 2, "D": 6, "F": 15, "T": 23, "M": 13}
    yield case("head_dim given, M not divisible by H", **odd)
    single = {"B": 2, "L": 5, "H": 1, "Hkv": 1, "D": 8, "F": 9, "T": 17, "M": 6}
    yield case("head_dim given, one head", positions="scattered", **single)


def far_along(case):
    """Yield large positions in all dtypes.

    Right answers may round tables of cosines to bfloat16. In bfloat16, the output is therefore the
    result of the attention alone, next to a small x.
    """
    sizes = {"B": 2, "L": 9, "H": 6, "Hkv": 3, "D": 16, "F": 24}
    yield case("positions up to 4999", positions=5000, T=5000, **sizes)
    yield case("float64, positions up to 1999", positions=2000, T=2000, dtype="float64", **sizes)
    alone = {"attn.o_proj.weight": torch.eye(96), "mlp.down_proj.weight": torch.zeros(96, 24)}
    alone = {"parameters": alone, "inputs": {"x": case.draw.normal(2, 9, 96, scale=0.02)}}
    name = "bfloat16, positions up to 1999"
    yield case(name, positions=2000, base=500.0, T=2000, dtype="bfloat16", **alone, **sizes)


def inside_the_norms(case):
    """Yield inputs and values of eps that show what the norms divide by."""
    sizes = {"B": 3, "L": 5, "H": 4, "Hkv": 2, "D": 6, "F": 11, "T": 17}
    width = 24
    # Both norms read values of about 1e-3, whose mean square is about the default eps.
    small = {
        "inputs": {"x": case.draw.normal(3, 5, width, scale=1e-3)},
        "parameters": {
            "attn.o_proj.weight": case.draw.normal(width, width, scale=1e-3 * width**-0.5),
            "mlp.down_proj.weight": case.draw.normal(width, 11, scale=1e-3),
        },
    }
    yield case("small inputs, so that eps counts", **small, **sizes)
    yield case("small inputs, float64", dtype="float64", **small, **sizes)
    yield case("small inputs, eps 1e-5", init={"eps": 1e-5}, **small, **sizes)
    yield case("eps 0.3", init={"eps": 0.3}, **sizes)
    large = {"inputs": {"x": 30 * case.draw.normal(3, 5, width) + 100}}
    yield case("large inputs with a large mean", **large, **sizes)
    zeros = {"inputs": {"x": case.draw.normal_with_zeros(3, 5, width)}}
    yield case("a token of zeros", **zeros, **sizes)


def steep_scores(case):
    """Yield scores of ±200.

    Each query is a multiple of the key of its token. In the first case the multiple is positive in
    one head and negative in the next. A token then has a score of about -200 with itself, and the
    first token sees nothing else. Hidden scores are as large. In the second case, all tokens are
    equal, and the largest score of every row is 200.
    """
    heads, groups, dim = 4, 2, 10
    width, shared = heads * dim, heads // groups
    sizes = {"B": 3, "L": 7, "H": heads, "Hkv": groups, "D": dim, "F": 15, "T": 23}
    keys = case.draw.normal(groups, dim, width, scale=width**-0.5)
    keys_of_heads = keys.repeat_interleave(shared, dim=0)

    def steep(name, factors, **more):
        projections = {
            "attn.q_proj.weight": (factors[:, None, None] * keys_of_heads).flatten(0, 1),
            "attn.k_proj.weight": keys.flatten(0, 1),
        }
        parameters = projections | more.pop("parameters", {})
        return case(name, parameters=parameters, gradients=False, **sizes, **more)

    yield steep("scores of 200 and -200, hidden ones too", 70 * (-1.0) ** torch.arange(heads))
    token = case.draw.normal(width)
    normed = token / token.pow(2).mean().sqrt()
    own = (keys_of_heads @ normed).pow(2).sum(dim=-1) / dim**0.5  # [H], scores for a factor of 1
    yield steep(
        # exp overflows here, but exp(score - logsumexp) has enough right digits.
        "one token everywhere, scores up to 95",
        95 / own,
        inputs={"x": token.expand(3, 7, width)},
        parameters={"input_norm.weight": torch.ones(width)},
    )


def second_calls(case, **sizes):
    """Yield two calls on one object."""
    for name, first, later in (
        ("the same sizes again, other positions", "scattered", SecondCall()),
        ("the same sizes again, no positions", "scattered", no_positions()),
        ("more sequences and tokens afterwards", None, SecondCall(sizes={"B": 4, "L": 9})),
        ("more tokens afterwards, no positions", None, no_positions({"L": 11})),
        ("fewer tokens afterwards, no positions", None, no_positions({"L": 3})),
    ):
        yield case(name, positions=first, later=later, check="properties", **sizes)


def no_positions(sizes=None):
    """Return a second call without positions."""
    return SecondCall(sizes=sizes or {}, inputs={"position_ids": None})


def growing(case):
    """Yield calls in two sizes whose operations are counted.

    No other case has these bases, so an answer that keeps tables makes them in both sizes.
    """
    small = {"B": 3, "L": 5, "H": 4, "Hkv": 2, "D": 6, "F": 13, "T": 31}
    large = {"B": 7, "L": 11, "H": 36, "Hkv": 12, "F": 40}
    yield from suites.growth(case, "everything", small, large, base=123.0)
    yield from suites.growth(
        case, "everything, no positions", small, large, positions=None, base=321.0
    )
    long = {"B": 1, "L": 33, "T": 400}
    yield from suites.growth(case, "length", small | long, {"L": 300}, base=231.0)


def refusals():
    """Yield constructor arguments that must be refused."""
    yield from bad_groups(hidden_dim=20)
    for d_model, num_heads, num_kv_heads in ((24, 6, 4), (26, 4, 3), (24, 3, 6)):
        why = f"num_heads is not divisible by num_kv_heads (remainder {num_heads % num_kv_heads})"
        sizes = {"d_model": d_model, "num_heads": num_heads, "num_kv_heads": num_kv_heads}
        yield Refusal(why, {**sizes, "hidden_dim": 20, "head_dim": 8})


def realistic():
    """Return the call that is measured after a pass: a block of Llama 3 8B."""
    return realistic_call(
        "a block of Llama 3 8B, B = 1, L = 2048",
        init={
            "d_model": 4096,
            "num_heads": 32,
            "num_kv_heads": 8,
            "hidden_dim": 14336,
            "head_dim": 128,
            "max_seq_len": 2048,
            "rope_base": 500000.0,
        },
        x=shaped(1, 2048, 4096),
        position_ids=None,
    )
