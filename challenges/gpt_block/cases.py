"""Cases for a block of GPT-2. The hidden values of the MLP are small; see `small_hidden`."""

from dataclasses import replace

import torch

from attn_drill.casekit import (
    TOGETHER,
    TURNS,
    CaseMaker,
    SecondCall,
    bad_heads,
    dropout_factors,
    dropout_in_turn,
    dropped_together,
    realistic_call,
    shaped,
    small_hidden,
    suites,
)

DROPOUT = 0.4
FACTORS = ("factors of the attention's result", "factors of the MLP's result", "factors of x")


def drive(block, given):
    """Call once or twice; or say in words how dropout acts."""
    if "later_x" in given.inputs:
        return {"out": block(given.x), "later_out": block(given.later_x)}
    if "part" not in given.inputs:
        return {"out": block(given.x)}
    if given.part == "turns":
        return dropout_in_turn(block, lambda: block(given.x))
    return factors(block, given.x)


def factors(block, x):
    """Return in words the factors that dropout gives to the results of both branches and to x.

    In the case for this, a third of the features gets the result of the attention to one, two or
    three equal keys, two features of each of two heads. Another third gets the result of the MLP,
    and the last third has the numbers of x.
    """
    block.eval()
    without = block(x)
    block.train()
    torch.manual_seed(0)
    result = torch.stack([block(x), block(x)])
    block.eval()
    attention, mlp, rest = zip(result.chunk(3, dim=-1), without.chunk(3, dim=-1), strict=True)
    of_two_keys = (part[..., :2, :] for part in attention)
    thirds = zip(FACTORS, (of_two_keys, mlp, rest), (2, 1, 1), strict=True)
    words = {name: dropout_factors(*third, DROPOUT, parts) for name, third, parts in thirds}
    return words | dropped_together([attention[0] / attention[1]], [mlp[0]], DROPOUT)


class BlockMaker(CaseMaker):
    """Make cases whose MLP has hidden values of a given size."""

    def __call__(self, name, *, hidden=0.02, parameters=None, **more):
        """Return one case."""
        width = self.with_products({key: more[key] for key in "HD"})["M"]
        quiet = small_hidden(self.draw, "mlp", width, hidden) | dict(parameters or {})
        return super().__call__(name, parameters=quiet, **more)


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = BlockMaker(
        draw,
        init={"d_model": "M", "num_heads": "H"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
    )
    sizes = {"B": 2, "L": 5, "H": 3, "D": 4}
    yield case("two sequences", **sizes)
    yield case("one sequence", B=1, L=7, H=2, D=5)
    yield case("one head", B=3, L=5, H=1, D=6)
    yield case("heads of one feature", B=3, L=4, H=5, D=1)
    yield case("one token", B=3, L=1, H=2, D=4)
    yield case("as many tokens as heads", B=2, L=4, H=4, D=3, equal="L H")
    same = {"B": 3, "L": 3, "H": 3, "D": 3, "equal": "B L H D"}
    yield case("all sizes equal", **same)
    yield case("random sizes", **draw.sizes(B=(2, 4), L=(3, 8), H=(2, 5), D=(3, 9)))
    for hidden in (0.05, 0.1):
        yield case(f"hidden values near {hidden}", hidden=hidden, gradients=False, **sizes)
    yield from suites.dtypes(case, **sizes)
    yield from steep_cases(case, sizes)
    yield small_inputs(case, sizes)
    large = {"inputs": {"x": 30 * draw.normal(2, 5, 12) + 100}}
    yield case("large inputs with a large mean", gradients=False, **large, **sizes)
    repeated = {"inputs": {"x": draw.normal(2, 1, 12).expand(2, 5, 12)}}
    yield case("one token repeated", **repeated, **sizes)
    yield from suites.layouts(case, **sizes)
    later = SecondCall(sizes={"B": 4, "L": 8})
    yield case("more tokens afterwards", later=later, check="properties", **sizes)
    later = SecondCall(sizes={"L": 2})
    yield case("fewer tokens afterwards", later=later, check="properties", **sizes)
    mode = {"check": "train/eval", **sizes}
    yield case("training mode, dropout 0", mode="train", **mode)
    yield case("training mode, dropout 1e-9", mode="train", init={"dropout": 1e-9}, **mode)
    yield case("eval mode, dropout 0.4", init={"dropout": 0.4}, **mode)
    yield from dropout_cases(case, mode)
    small, large = {"B": 2, "L": 5, "H": 3, "D": 4}, {"B": 8, "L": 33, "H": 6}
    yield from suites.growth(case, "everything", small, large)
    yield from suites.growth(case, "length", small | {"L": 6}, {"L": 120})


def dropout_cases(case, mode):
    """Yield cases in training mode with dropout, whose outputs are words.

    Mistakes: no dropout at a place; dropout at another place; dropout in eval mode; dropout that
    eval mode switches off for all later calls; kept entries that are not divided by 1 - p; one draw
    for all calls, sequences, heads, queries or tokens.
    """
    drops = {"outputs": {}, "gradients": False, "init": {"dropout": DROPOUT}}
    turns = {"inputs": {"part": "turns"}}
    yield replace(
        case("training, eval and training mode, dropout 0.4", **turns, **drops, **mode),
        plain=dict.fromkeys(TURNS, "str"),
    )
    # The norms give constants, so every key has the same weight and the same value.
    width = 12
    rows = torch.arange(width)
    mlp = torch.zeros(width, 4 * width)
    mlp[4:8] = case.draw.normal(4, 4 * width)
    of_heads = torch.zeros(width, width)
    of_heads[rows[:4], torch.tensor([0, 1, 4, 5])] = 1  # two features of each of two heads
    constant = {
        "ln_1.weight": torch.zeros(width),
        "ln_2.weight": torch.zeros(width),
        "attn.o_proj.weight": of_heads,
        "attn.o_proj.bias": torch.zeros(width),
        "mlp.proj.weight": mlp,
        "mlp.proj.bias": torch.zeros(width),
    }
    single = {**mode, **drops, "B": 64, "L": 3, "hidden": 1.0, "equal": "L H"}
    single["parameters"] = constant
    x = case.draw.normal(64, 3, width) * (rows >= 8)
    single["inputs"] = {"part": "factors", "x": x}
    yield replace(
        case("training mode, dropout 0.4, both branches add constants", **single),
        plain=dict.fromkeys((*FACTORS, *TOGETHER), "str"),
    )


def small_inputs(case, sizes):
    """Return a case in which both norms read values of about 0.001, where their epsilon counts."""
    width = sizes["H"] * sizes["D"]
    small = {
        "attn.o_proj.weight": case.draw.normal(width, width, scale=1e-3 * width**-0.5),
        "attn.o_proj.bias": torch.zeros(width),
        "mlp.proj.weight": case.draw.normal(width, 4 * width, scale=1e-2),
        "mlp.proj.bias": torch.zeros(width),
    }
    x = case.draw.normal(sizes["B"], sizes["L"], width, scale=1e-3)
    return case("small inputs", inputs={"x": x}, parameters=small, **sizes)


def steep_cases(case, sizes):
    """Yield scores of some hundreds, and many tokens in bfloat16.

    float32 keeps few digits of the logarithm of a sum of such size, so the first case has float64.

    bfloat16 has no number 257, so positions in the dtype of x let an earlier token see a later. In
    the second case, token 256 or 257 has a score of about 200, and all others have 0.
    """
    width = 12
    weight = case.draw.normal(3 * width, width, scale=13 * width**-0.5)
    bias = torch.zeros(3 * width)
    steep = {"attn.qkv_proj.weight": weight, "attn.qkv_proj.bias": bias}
    steep = {"parameters": steep, "dtype": "float64", "gradients": False}
    yield case("scores of some hundreds", **steep, **sizes)
    # x is 0 on average in every token, so the norm does not mix its features.
    x = case.draw.normal(2, 300, width, scale=0.5)
    x[..., 0] = 3 * (torch.arange(300) == torch.tensor([[256], [257]]))
    x[..., 1] = -x[..., 0]
    weight = torch.zeros(3 * width, width)
    weight[width : 2 * width : 4, :2] = torch.tensor([45.0, -45.0])
    weight[2 * width :, 2:] = case.draw.normal(width, width - 2, scale=width**-0.5)
    bias = torch.zeros(3 * width)
    bias[:width] = 2  # of the queries
    late = {"ln_1.weight": torch.ones(width), "ln_1.bias": torch.zeros(width)}
    late |= {"attn.qkv_proj.weight": weight, "attn.qkv_proj.bias": bias}
    late = {"parameters": late, "inputs": {"x": x}, "gradients": False, "dtype": "bfloat16"}
    name = "bfloat16, 300 tokens, token 256 or 257 with scores of 200"
    yield case(name, **late, **{**sizes, "L": 300})


refusals = bad_heads


def realistic():
    """Return the call that is measured after a pass: a block of GPT-2 small."""
    return realistic_call(
        "a block of GPT-2 small, B = 1, L = 1024",
        init={"d_model": 768, "num_heads": 12},
        x=shaped(1, 1024, 768),
    )
