"""Cases for a block of GPT-2. The hidden values of the MLP are small; see `small_hidden`."""

from dataclasses import replace

import torch

from trainer.casekit import (
    CaseMaker,
    SecondCall,
    bad_heads,
    realistic_call,
    shaped,
    small_hidden,
    suites,
)


def drive(block, given):
    """Call once or twice. In the part "dropout", say whether training mode drops something."""
    if "later_x" in given.inputs:
        return {"out": block(given.x), "later_out": block(given.later_x)}
    if "part" not in given.inputs:
        return {"out": block(given.x)}
    block.train()
    torch.manual_seed(0)
    first, second = block(given.x), block(given.x)
    block.eval()
    return {"two calls differ": str(not torch.equal(first, second))}


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
    drops = {"inputs": {"part": "dropout"}, "outputs": {}, "gradients": False}
    yield replace(
        case("training mode, dropout 0.4", init={"dropout": 0.4}, **drops, **mode),
        plain={"two calls differ": "str"},
    )
    small, large = {"B": 2, "L": 5, "H": 3, "D": 4}, {"B": 8, "L": 33, "H": 6}
    yield from suites.growth(case, "everything", small, large)
    yield from suites.growth(case, "length", small | {"L": 6}, {"L": 120})


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
