"""Cases for a decoder block. E is the width of memory, which may differ from that of x.

The hidden values of the MLP are small; see `small_hidden`.
"""

import torch

from attn_drill.casekit import (
    CaseMaker,
    SecondCall,
    bad_heads,
    realistic_call,
    shaped,
    small_hidden,
    suites,
)


def drive(block, given):
    """Call once, or twice on the same object."""
    outputs = {"out": call(block, given.x, given.memory, given.mask)}
    if "later_x" in given.inputs:
        later = given.later_x, given.later_memory, given.later_mask
        outputs["later_out"] = call(block, *later)
    return outputs


def call(block, x, memory, mask):
    """Leave the mask out if there is none. Memory "x" means the tensor x itself."""
    memory = x if isinstance(memory, str) else memory
    return block(x, memory) if mask is None else block(x, memory, memory_mask=mask)


class BlockMaker(CaseMaker):
    """Make cases whose MLP has hidden values of a given size."""

    def __call__(self, name, *, hidden=0.02, parameters=None, **more):
        """Return one case."""
        width = self.with_products({key: more[key] for key in "HD"})["M"]
        quiet = small_hidden(self.draw, "mlp", width, hidden) | dict(parameters or {})
        return super().__call__(name, parameters=quiet, **more)


def maker(draw, width):
    """Return a maker of cases with this width of memory."""
    return BlockMaker(
        draw,
        init={"d_model": "M", "num_heads": "H", "memory_dim": width},
        inputs={"x": "B L M", "memory": f"B S {width}"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        mask="B S",
    )


def cases(draw):
    """Yield the cases on which a submission runs."""
    case, same_width = maker(draw, "E"), maker(draw, "M")
    sizes = {"B": 2, "L": 5, "S": 7, "H": 3, "D": 4, "E": 10}
    yield case("no mask", **sizes)
    yield case("padding", mask="padding", **sizes)
    name = "memory_dim smaller than d_model and no multiple of the heads"
    yield case(name, B=3, L=7, S=8, H=4, D=6, E=5)
    yield same_width("memory as wide as x", B=3, L=6, S=4, H=2, D=5, mask="B S")
    yield from equal_sizes(case, same_width)
    yield from size_one(case)
    some = draw.sizes(B=(2, 3), L=(5, 8), S=(4, 9), H=(2, 5), D=(3, 8), E=(4, 40))
    yield case("random sizes", **some)
    yield case("hidden values near 0.1", hidden=0.1, gradients=False, **sizes)
    yield from small_inputs(case, sizes)
    large = {"inputs": {"x": 30 * draw.normal(2, 5, 12) + 100}}
    yield case("large x with a large mean", gradients=False, **large, **sizes)
    yield from suites.masks(case, **{**sizes, "B": 4, "D": 2})
    yield from suites.dtypes(case, **sizes)
    yield from steep_scores(case, sizes)
    yield zero_tokens(case, sizes)
    for name, mask in (("training mode, no mask", None), ("training mode, padding", "padding")):
        yield case(name, mask=mask, mode="train", check="train/eval", **sizes)
    yield from suites.layouts(case, **sizes)
    yield from suites.second_calls(case, **sizes)
    later = SecondCall(sizes={"B": 4, "L": 8, "S": 9})
    yield case("more tokens afterwards", later=later, check="properties", **sizes)
    later = SecondCall(mask="B S", sizes={"L": 2, "S": 3})
    name = "fewer tokens afterwards"
    yield case(name, mask="B S", later=later, check="properties", **sizes)
    small = {"B": 2, "L": 3, "S": 5, "H": 4, "D": 6, "E": 7}
    grown = {"B": 7, "L": 9, "S": 11, "H": 10, "E": 13}
    yield from suites.growth(case, "everything", small, grown, mask="B S")
    yield from suites.growth(case, "both lengths, no mask", small, {"L": 120, "S": 130})


def equal_sizes(case, same_width):
    """Yield sizes that coincide. A mask in the wrong place or on x raises no error there."""
    apart = {"B": 4, "L": 5, "S": 7, "H": 2, "D": 3, "E": 9, "mask": "B S"}
    for name, some_equal in (
        ("as many batch items as tokens of x", {"L": 4, "equal": "B L"}),
        ("as many batch items as heads", {"H": 4, "equal": "B H"}),
        ("as many tokens in x as in memory", {"L": 7, "equal": "L S"}),
        ("as many batch items as tokens of memory", {"S": 4, "equal": "B S"}),
    ):
        yield case(name, **{**apart, **some_equal})
    one_shape = {"B": 2, "L": 5, "S": 5, "H": 3, "D": 4, "equal": "L S"}
    yield same_width("x and memory of one shape", **one_shape)
    yield same_width("x is its own memory", inputs={"memory": "x"}, **one_shape)
    same = {"B": 3, "L": 3, "S": 3, "H": 3, "D": 3, "equal": "B L S H D", "mask": "B S"}
    yield same_width("all sizes equal", **same)


def size_one(case):
    """Yield cases in which a size is 1."""
    masked = {"mask": "B S"}
    yield case("one sequence", B=1, L=7, S=6, H=2, D=5, E=4, **masked)
    yield case("one head", B=3, L=5, S=4, H=1, D=6, E=7, **masked)
    # A norm over few features enlarges rounding, and a gradient of few entries is a small sample of
    # the rounding that a right answer may have. So there are more heads than elsewhere.
    yield case("heads of one feature", B=3, L=4, S=6, H=11, D=1, E=2, **masked)
    yield case("one token in x", B=3, L=1, S=6, H=2, D=4, E=5, **masked)
    yield case("one token in memory", B=3, L=5, S=1, H=2, D=4, E=6, **masked)
    yield case("memory of width 1", B=3, L=4, S=5, H=2, D=6, E=1, **masked)


def small_inputs(case, sizes):
    """Yield x of about 0.001, where the epsilon of a norm decides the result.

    A branch whose o_proj is zero adds nothing, so the next norm reads small values too.
    """
    found = {}
    for name, silent in (
        ("small x", ""),
        ("small x, self-attention adds nothing", "self_attn"),
        ("small x, both attentions add nothing", "cross_attn"),
    ):
        if silent:
            found |= no_output(silent, sizes)
        x = {"x": case.draw.normal(2, 5, 12, scale=1e-3)}
        yield case(name, inputs=x, parameters=dict(found), **sizes)


def no_output(part, sizes):
    """Return an output projection of zeros."""
    width = sizes["H"] * sizes["D"]
    return {
        f"{part}.o_proj.weight": torch.zeros(width, width),
        f"{part}.o_proj.bias": torch.zeros(width),
    }


def steep_scores(case, sizes):
    """Yield scores of ±200 in both attentions.

    Mistakes: `exp` without subtracting the largest score; a largest score taken over more than one
    row or before the mask; a fill that is not far enough below -200; hidden tokens that are added
    with weights of nearly 0.
    """
    usual = {"gradients": False, "check": "masks", **sizes}
    low = torch.arange(7) % 2 == 0
    for name, highs, mask in (
        ("memory: hidden scores of +200, others of -200", ~low, low.expand(2, 7)),
        ("memory: scores of ±200, no mask", ~low, None),
        ("memory: one sequence at +200, the next at -200", torch.tensor([[True], [False]]), None),
    ):
        yield case(name, mask=mask, **memory_scores(case, sizes, highs, mask), **usual)
    for name, signs in (
        ("x: later scores of +200, others of -200", [-1, -1, -1, 1, 1]),
        ("x: falling scores", [1, 1, -1, -1, -1]),
        ("x: one sequence at -200, the next at +200", [[-1], [1]]),
    ):
        yield case(name, **own_scores(case, sizes, signs), **usual)
    # bfloat16 has no number 257, so positions in the dtype of x let an earlier token see a later.
    long = {**sizes, "L": 300}
    signs = (torch.arange(300) == torch.tensor([[256], [257]])).tolist()
    name = "x: bfloat16, 300 tokens, token 256 or 257 at +200, others at 0"
    yield case(name, dtype="bfloat16", **own_scores(case, long, signs), **{**usual, **long})


def memory_scores(case, sizes, highs, mask):
    """Return inputs and weights with which feature 0 of memory is the score of a token.

    If there is a mask, the hidden tokens have values of 1e36, which feature 1 of memory gives, and
    everything else is about 1e-6. So a weight of 1e-43 shows.
    """
    heads, head_dim, width = sizes["H"], sizes["D"], sizes["E"]
    memory = case.draw.normal(sizes["B"], sizes["S"], width)
    memory[..., 0] = torch.where(highs, 200.0, -200.0)
    memory[..., 1] = 0 if mask is None else torch.where(mask, 0.0, 1e36)
    key = case.draw.normal(heads, head_dim, width, scale=0.1)
    key[..., :2], key[:, 0] = 0, 0
    key[:, 0, 0] = 1  # the score of a token, without the scale
    value = case.draw.normal(heads * head_dim, width, scale=width**-0.5)
    value[:, 0], value[:, 1] = 0, 1
    inputs = {"memory": memory}
    if mask is None:
        return {"inputs": inputs} | weights("cross_attn", heads, head_dim, key, value)
    value[:, 2:] *= 1e-6
    inputs["x"] = case.draw.normal(sizes["B"], sizes["L"], heads * head_dim, scale=1e-6)
    given = weights("cross_attn", heads, head_dim, key, value)["parameters"]
    for name in ("cross_attn.v_proj.bias", "cross_attn.o_proj.bias", "mlp.proj.bias"):
        given[name] = torch.zeros(heads * head_dim)
    given["mlp.proj.weight"] = torch.zeros(heads * head_dim, 4 * heads * head_dim)
    return {"inputs": inputs, "parameters": given | no_output("self_attn", sizes)}


def own_scores(case, sizes, signs):
    """Return inputs and weights that give the tokens of x scores of 200 times their signs.

    The first two features of x give the score. They are opposite, so the mean of a token stays 0.
    """
    heads, head_dim = sizes["H"], sizes["D"]
    width = heads * head_dim
    x = case.draw.normal(sizes["B"], sizes["L"], width, scale=0.5)
    x[..., 0] = 3 * torch.tensor(signs)
    x[..., 1] = -x[..., 0]
    key = case.draw.normal(heads, head_dim, width, scale=0.1)
    key[..., :2], key[:, 0] = 0, 0
    key[:, 0, 0], key[:, 0, 1] = 45, -45
    value = case.draw.normal(width, width, scale=width**-0.5)
    value[:, :2] = 0
    given = weights("self_attn", heads, head_dim, key, value)
    norm = {"norm_1.weight": torch.ones(width), "norm_1.bias": torch.zeros(width)}
    return {"inputs": {"x": x}, "parameters": given["parameters"] | norm}


def weights(part, heads, head_dim, key, value):
    """Return weights of an attention whose queries are all the same: sqrt(D) in feature 0."""
    width = heads * head_dim
    query = torch.full((heads, head_dim), 0.1)
    query[:, 0] = head_dim**0.5
    return {
        "parameters": {
            f"{part}.q_proj.weight": torch.zeros(width, width),
            f"{part}.q_proj.bias": query.flatten(),
            f"{part}.k_proj.weight": key.flatten(0, 1),
            f"{part}.k_proj.bias": torch.zeros(width),
            f"{part}.v_proj.weight": value,
        }
    }


def zero_tokens(case, sizes):
    """Return a case with scores of exactly 0: x and memory have tokens of zeros, keys no biases.

    Mistakes: a score of 0 taken for a hidden score.
    """
    width = sizes["H"] * sizes["D"]
    names = ("norm_1.bias", "self_attn.k_proj.bias", "cross_attn.k_proj.bias")
    inputs = {
        "x": case.draw.normal_with_zeros(2, 5, width, row=1),
        "memory": case.draw.normal_with_zeros(2, 7, sizes["E"], row=2),
    }
    mask = torch.arange(7).expand(2, 7) < 5
    without = {name: torch.zeros(width) for name in names}
    return case("tokens of zeros", mask=mask, inputs=inputs, parameters=without, **sizes)


def refusals():
    """Yield constructor arguments that must be refused."""
    yield from bad_heads(memory_dim=24)  # every one of these numbers of heads divides 24
    yield from bad_heads(memory_dim=7)


def realistic():
    """Return the call that is measured after a pass: a block that reads 1500 tokens of sound."""
    return realistic_call(
        "a block of 1024 with 16 heads, B = 1, L = 448, S = 1500",
        init={"d_model": 1024, "num_heads": 16, "memory_dim": 1024},
        x=shaped(1, 448, 1024),
        memory=shaped(1, 1500, 1024),
        mask=shaped(1, 1500, dtype="bool"),
    )
