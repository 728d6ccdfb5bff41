"""Cases for a decode step on latents: steep scores in both parts, memory and products."""

import torch

from attn_drill.casekit import CaseMaker, Direct, SecondCall, realistic_call, shape, shaped, suites

NAMES = ("q_nope", "q_rope", "c_kv", "k_rope", "w_uk", "w_uv")


def drive(decode, given):
    """Call once, or twice."""
    outputs = {"out": decode(*(given.inputs[name] for name in NAMES))}
    if "later_c_kv" in given.inputs:
        outputs["later_out"] = decode(*(given.inputs[f"later_{name}"] for name in NAMES))
    return outputs


class LatentMaker(CaseMaker):
    """Make cases whose keys and values have entries of about ±1, like the latents."""

    def drawn(self, sizes):
        """Return inputs from N(0, 1); the matrices are divided by the square root of r."""
        found = super().drawn(sizes)
        scale = sizes["r"] ** -0.5
        return found | {name: scale * found[name] for name in ("w_uk", "w_uv")}


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = LatentMaker(
        draw,
        inputs={
            "q_nope": "B H dn",
            "q_rope": "B H dr",
            "c_kv": "B L r",
            "k_rope": "B L dr",
            "w_uk": "H dn r",
            "w_uv": "H dv r",
        },
        outputs={"out": "B H dv"},
        roles=Direct(q="q_nope", k="c_kv", v="w_uv"),
    )
    sizes = {"B": 2, "H": 3, "L": 7, "dn": 6, "dr": 4, "r": 9, "dv": 5}
    yield case("a rank larger than the parts", **sizes)
    yield case("a rank smaller than the parts", B=3, H=2, L=6, dn=7, dr=4, r=5, dv=8)
    # The result is the weighted sum of latents, and latents are unit vectors: it is the weights.
    identity = {"c_kv": torch.eye(7).expand(2, 7, 7), "w_uv": torch.eye(7).expand(3, 7, 7)}
    as_output = {"inputs": identity, "outputs": {"out": "B H L"}}
    square = {**sizes, "r": 7, "dv": 7, "equal": "L r dv"}
    yield case("weights as output (latents and w_uv are identities)", **as_output, **square)
    yield from equal_sizes(case, sizes)
    yield from small_sizes(case, sizes)
    ranges = {"B": (2, 4), "H": (2, 6), "L": (4, 12), "dn": (3, 12), "dr": (2, 12)}
    yield case("random sizes", **draw.sizes(r=(3, 14), dv=(2, 12), **ranges))
    yield case("300 tokens", **{**sizes, "L": 300})
    yield case("300 tokens, bfloat16", dtype="bfloat16", **{**sizes, "L": 300})
    yield from suites.dtypes(case, **sizes)
    yield from suites.tiny_values(case, **sizes)
    yield from zero_cases(case, sizes)
    yield from steep_cases(case, sizes)
    yield from suites.layouts(case, **sizes)
    yield case("the same sizes again", later=SecondCall(), check="properties", **sizes)
    longer = SecondCall(sizes={"L": 8})
    yield case("one more token afterwards", later=longer, check="properties", **sizes)
    small = {"B": 2, "H": 3, "L": 5, "dn": 9, "dr": 4, "r": 6, "dv": 7}
    large = {"B": 10, "H": 11, "L": 12}
    yield from suites.growth(case, "everything", small, large)
    yield from suites.growth(case, "length", small | {"B": 1, "H": 2}, {"L": 300})
    yield from counted_cases(case)


def equal_sizes(case, sizes):
    """Yield coinciding sizes. A wrong axis or a wrong broadcast raises no error there."""
    for name, letters, size in (
        ("as many heads as batch items", "B H", 3),
        ("as many tokens as heads", "H L", 3),
        ("as many tokens as batch items", "B L", 4),
        ("as many heads as features in a latent", "H r", 4),
        ("both parts of a query of one width", "dn dr", 5),
        ("values as wide as the unrotated part", "dn dv", 6),
        ("unrotated part as wide as a latent", "dn r", 6),
        ("values as wide as a latent", "r dv", 6),
        ("rotary part as wide as a latent", "dr r", 5),
        ("all widths equal", "dn dr r dv", 4),
        ("all sizes equal", "B H L dn dr r dv", 4),
    ):
        same = dict.fromkeys(letters.split(), size)
        spare = iter((8, 10, 11, 12, 13, 14))
        others = {
            letter: next(spare) if old == size else old
            for letter, old in sizes.items()
            if letter not in same
        }
        yield case(name, equal=letters, **same, **others)


def small_sizes(case, sizes):
    """Yield sizes of 1."""
    for name, letters in (
        ("one batch item", "B"),
        ("one head", "H"),
        ("one batch item, one head", "B H"),
        ("one cached token", "L"),
        ("unrotated part of width 1", "dn"),
        ("rotary part of width 1", "dr"),
        ("rank 1", "r"),
        ("value dim 1", "dv"),
    ):
        yield case(name, **{**sizes, **dict.fromkeys(letters.split(), 1)})
    yield case("two cached tokens, two batch items", **{**sizes, "L": 2, "equal": "B L"})


def zero_cases(case, sizes):
    """Yield tokens of zeros, whose score is 0 and whose weight is not, and parts of zeros."""
    full = {name: shape(dims, sizes) for name, dims in case.inputs.items()}
    tokens = {name: case.draw.normal_with_zeros(*full[name], row=2) for name in ("c_kv", "k_rope")}
    yield case("a token of zeros", inputs=tokens, **sizes)
    heads = {name: case.draw.normal_with_zeros(*full[name], row=1) for name in ("q_nope", "q_rope")}
    yield case("a head whose query is zero", inputs=heads, **sizes)
    for words, name in (("rotary", "q_rope"), ("unrotated", "q_nope")):
        zeros = {name: torch.zeros(full[name])}
        yield case(f"queries whose {words} part is zero", inputs=zeros, **sizes)


def steep_cases(case, sizes):
    """Yield scores of ±200 of one part, and of both parts that nearly cancel.

    Right answers compute these scores in different orders, so the gradients are rounding errors.
    """
    B, H, L = sizes["B"], sizes["H"], sizes["L"]
    root = (sizes["dn"] + sizes["dr"]) ** 0.5
    falling = torch.linspace(1, -1, L)
    signs = (-1.0) ** (torch.arange(B)[:, None] + torch.arange(H))  # [B, H]

    def scored(name, of_rows, nope, rope):
        """Let the features 0 make the scores 200 * of_rows * (nope + rope); others add about ±1."""
        given = case.drawn(sizes)
        given["w_uk"][:, 0, :] = 0
        given["w_uk"][:, :, 0] = 0
        given["w_uk"][:, 0, 0] = 1
        given["q_nope"][..., 0] = 200 * root * of_rows
        given["q_rope"][..., 0] = 200 * root * of_rows
        given["c_kv"][..., 0] = nope
        given["k_rope"][..., 0] = rope
        return case(name, inputs=given, gradients=False, **sizes)

    none = torch.zeros(L)
    yield scored("scores of the latents falling from 200", torch.ones(B, H), falling, none)
    yield scored("scores of the rotary part falling from 200", torch.ones(B, H), none, falling)
    name = "scores falling in one head and sequence, rising in the next"
    yield scored(name, signs, falling, none)
    name = "all scores near 200 in one head and sequence, near -200 in the next"
    yield scored(name, signs, torch.full((L,), 0.5), torch.full((L,), 0.5))
    opposite = 0.5 * falling + 0.01 * torch.arange(L) / L
    yield scored("large scores of both parts that nearly cancel", signs, 0.5 * falling, -opposite)


def counted_cases(case):
    """Yield cases whose largest tensor or whose products are counted.

    Keys or values of all heads would have H * L * dn or H * L * dv entries. Right answers may copy
    the latents and the rotary keys for every head, which takes fewer.
    """
    for words, H, L, dn, dv, dtype in (
        ("values wider than keys", 2, 70, 24, 31, "float32"),
        ("keys wider than values", 6, 40, 29, 20, "float32"),
        ("float64", 4, 50, 21, 26, "float64"),
        ("bfloat16", 2, 60, 22, 25, "bfloat16"),
    ):
        sizes = {"B": 1, "H": H, "L": L, "dn": dn, "dr": 3, "r": 8, "dv": dv, "dtype": dtype}
        yield case(f"memory, {words}", probe="memory", limit=L * H * min(dn, dv), **sizes)
    # Keys and values that are made chunk by chunk are never in memory at once, but their products
    # count. Making the keys alone takes 17 times as many products as all right steps together. Real
    # ranks are larger than the parts, and absorption saves as much there.
    for B, r in ((1, 16), (2, 80)):
        sizes = {"B": B, "H": 3, "L": 200, "dn": 64, "dr": 4, "r": r, "dv": 48}
        name = f"products, batch {B}, rank {r}"
        yield case(name, probe="work", limit=4 * products(sizes), **sizes)


def products(sizes):
    """Return the FLOPs of a decode step on latents; the sum of latents may include k_rope."""
    B, H, L, dn, dr, r, dv = (sizes[letter] for letter in ("B", "H", "L", "dn", "dr", "r", "dv"))
    return 2 * B * H * (dn * r + 2 * L * (r + dr) + dv * r)


def realistic():
    """Return the call that is measured after a pass: a layer of DeepSeek-V3."""
    return realistic_call(
        "128 heads, r = 512, dn = dv = 128, dr = 64, B = 1, L = 4096",
        q_nope=shaped(1, 128, 128),
        q_rope=shaped(1, 128, 64),
        c_kv=shaped(1, 4096, 512),
        k_rope=shaped(1, 4096, 64),
        w_uk=shaped(128, 128, 512),
        w_uv=shaped(128, 128, 512),
    )
