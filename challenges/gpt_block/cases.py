"""Cases for a block of GPT-2. The hidden values of the MLP are small; see `small_hidden`."""

from dataclasses import replace

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

MANY = 24  # calls whose results are averaged


def drive(block, given):
    """Call once or twice; or say in words how dropout acts."""
    if "later_x" in given.inputs:
        return {"out": block(given.x), "later_out": block(given.later_x)}
    if "part" not in given.inputs:
        return {"out": block(given.x)}
    return dropout_in_turn(block, given.x) if given.part == "turns" else averages(block, given.x)


def dropout_in_turn(block, x):
    """Call in training mode, in eval mode, and in training mode again, with the same seed."""
    block.train()
    torch.manual_seed(0)
    first, second = block(x), block(x)
    block.eval()
    quiet, quiet_again = block(x), block(x)
    block.train()
    torch.manual_seed(0)
    first_again = block(x)
    block.eval()
    return {
        "two calls differ": str(not torch.equal(first, second)),
        "two calls in eval mode differ": str(not torch.equal(quiet, quiet_again)),
        "training mode after eval mode": agreement(torch.allclose(first, first_again), "before"),
    }


def averages(block, x):
    """Return whether the mean of many calls in training mode is the result of eval mode.

    In the case for this, a third of the features gets the result of the attention, and another
    third that of the MLP. Both do not depend on x.
    """
    block.eval()
    wanted = block(x) - x
    block.train()
    torch.manual_seed(0)
    mean = sum(block(x) - x for _ in range(MANY)) / MANY
    block.eval()
    third = x.shape[-1] // 3
    shares = [float((mean / wanted)[..., part : part + third].mean()) for part in (0, third)]
    names = ("mean of the attention", "mean of the MLP")
    return {
        name: agreement(abs(share - 1) < 0.2, "in eval mode")
        for name, share in zip(names, shares, strict=True)
    }


def agreement(same, when):
    """Return "as ..." or "not as ..."."""
    return f"as {when}" if same else f"not as {when}"


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

    Mistakes: no dropout; dropout in eval mode; dropout that eval mode switches off for all later
    calls; kept entries that are not divided by 1 - p.
    """
    drops = {"outputs": {}, "gradients": False, "init": {"dropout": 0.4}}
    turns = {"inputs": {"part": "turns"}}
    words = ("two calls differ", "two calls in eval mode differ", "training mode after eval mode")
    yield replace(
        case("training, eval and training mode, dropout 0.4", **turns, **drops, **mode),
        plain=dict.fromkeys(words, "str"),
    )
    # With one token, the only weight is 1. The norms give constants.
    width = 12
    rows = torch.arange(width)
    mlp = torch.zeros(width, 4 * width)
    mlp[4:8] = case.draw.normal(4, 4 * width)
    constant = {
        "ln_1.weight": torch.zeros(width),
        "ln_2.weight": torch.zeros(width),
        "attn.o_proj.weight": torch.diag((rows < 4).double()),
        "attn.o_proj.bias": torch.zeros(width),
        "mlp.proj.weight": mlp,
        "mlp.proj.bias": torch.zeros(width),
    }
    single = {**mode, **drops, "B": 64, "L": 1, "hidden": 1.0, "parameters": constant}
    single["inputs"] = {"part": "mean", "x": torch.zeros(64, 1, width)}
    yield replace(
        case("training mode, dropout 0.4, mean of many calls", **single),
        plain=dict.fromkeys(("mean of the attention", "mean of the MLP"), "str"),
    )


def steep_cases(case, sizes):
    """Yield scores of some hundreds, of allowed keys and of hidden keys.

    float32 keeps few digits of the logarithm of a sum of such size, so the case has float64.
    """
    width = 12
    weight = case.draw.normal(3 * width, width, scale=13 * width**-0.5)
    bias = torch.zeros(3 * width)
    steep = {"attn.qkv_proj.weight": weight, "attn.qkv_proj.bias": bias}
    steep = {"parameters": steep, "dtype": "float64", "gradients": False}
    yield case("scores of some hundreds", **steep, **sizes)


refusals = bad_heads


def realistic():
    """Return the call that is measured after a pass: a block of GPT-2 small."""
    return realistic_call(
        "a block of GPT-2 small, B = 1, L = 1024",
        init={"d_model": 768, "num_heads": 12},
        x=shaped(1, 1024, 768),
    )
