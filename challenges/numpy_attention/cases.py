"""Cases for attention in NumPy: softmax, attention over any leading dims, several heads.

A case names the function that it calls. Its tensors are given to the function as arrays.
"""

import numpy as np
import torch

from attn_drill.casekit import CaseMaker, Direct, Refusal, SecondCall, suites
from attn_drill.worker.returns import UnexpectedReturnError, array_of, tensor_of, unpack

INFINITE = float("-inf")
OUTPUTS = {
    "softmax": ("probabilities",),
    "scaled_dot_product_attention": ("out", "weights"),
    "multi_head_attention": ("result",),
}
MASKS = (
    "causal mask [Lq, Lk]",
    "padding mask, right [B, 1, 1, Lk]",
    "one row for all queries [1, Lk]",
    "one mask per head [1, H, 1, Lk]",
    "causal and padding [B, 1, Lq, Lk]",
    "full mask [B, H, Lq, Lk]",
)
# Masks for q with three dims.
MASKS_OF_THREE_DIMS = ("N Lq Lk", "Lq Lk", "1 Lq Lk", "N 1 Lk")
# Arguments that a case may leave out.
OPTIONS = ("axis", "mask", "causal")


def drive(functions, given):
    """Call the function that the case names, once or twice."""
    first = {
        name: value
        for name, value in given.inputs.items()
        if name != "function" and not name.startswith("later_")
    }
    later = {
        name.removeprefix("later_"): value
        for name, value in given.inputs.items()
        if name.startswith("later_")
    }
    outputs = call(functions, given.function, first)
    if later:
        again = call(functions, given.function, later)
        outputs |= {f"later_{name}": output for name, output in again.items()}
    return outputs


def call(functions, function, inputs):
    """Make one call with arrays. Return its outputs as tensors, by name."""
    arrays = {name: array_of(value) for name, value in inputs.items()}
    # The name of an input means the same array.
    arrays = {
        name: arrays[value] if isinstance(value, str) else value for name, value in arrays.items()
    }
    put_large_entries(arrays)
    shapes = {name: array.shape for name, array in arrays.items() if hasattr(array, "shape")}
    options = {name: arrays[name] for name in OPTIONS if arrays.get(name) is not None}
    arguments = [value for name, value in arrays.items() if name not in OPTIONS]
    # Right code may compute inf or NaN in entries that it replaces afterwards.
    with np.errstate(all="ignore"):
        result = getattr(functions, function)(*arguments, **options)
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise UnexpectedReturnError(
                f"the call changed the shape of the caller's array {name} from {list(shape)} to "
                f"{list(arrays[name].shape)}"
            )
    names = OUTPUTS[function]
    results = unpack(result, *names) if len(names) > 1 else (result,)
    dtype = next(value for value in inputs.values() if isinstance(value, torch.Tensor)).dtype
    return {
        name: in_dtype(tensor_of(value, name), dtype)
        for name, value in zip(names, results, strict=True)
    }


def put_large_entries(arrays):
    """Replace the entries for which `share_of_largest` is not 0.

    A share of 1 is the largest number of the dtype. The reference also runs in a lower dtype, which
    cannot hold the large numbers of float64.
    """
    share = arrays.pop("share_of_largest", None)
    if share is not None:
        name = "x" if "x" in arrays else "v"
        arrays[name] = np.where(share == 0, arrays[name], share * np.finfo(share.dtype).max)


def in_dtype(result, dtype):
    """Return a float64 result in the dtype of the inputs: np.sqrt(D) alone makes it float64."""
    return result.to(dtype) if result.dtype == torch.float64 else result


class ArrayMaker(CaseMaker):
    """Make cases of one function."""

    function = ""
    short = ""

    def __call__(self, name, *, inputs=None, gradients=False, **more):
        """Return one case without gradients, whatever a suite says."""
        given = {"function": self.function, **(inputs or {})}
        return super().__call__(f"{self.short}: {name}", inputs=given, gradients=False, **more)


class SoftmaxMaker(ArrayMaker):
    """Make cases of softmax over an axis; None leaves the argument out."""

    function, short = "softmax", "softmax"

    def __call__(self, name, *, axis=None, x=None, inputs=None, **more):
        """Return one case with drawn entries or with these entries."""
        given = dict(inputs or {})
        given |= {} if x is None else {"x": x}
        given |= {} if axis is None else {"axis": axis}
        return super().__call__(name, inputs=given, **more)


class AttentionMaker(ArrayMaker):
    """Make cases of attention."""

    function, short = "scaled_dot_product_attention", "attention"


class HeadsMaker(ArrayMaker):
    """Make cases of multi-head attention; causal=None leaves the argument out."""

    function, short = "multi_head_attention", "heads"

    def __call__(self, name, *, causal=None, x=None, inputs=None, **more):
        """Return one case with H heads of D features."""
        given = dict(inputs or {})
        given |= {} if x is None else {"x": x}
        given |= {"num_heads": more["H"]}
        given |= {} if causal is None else {"causal": causal}
        more.setdefault("check", "masks" if causal else "values")
        return super().__call__(name, inputs=given, **more)

    def drawn(self, sizes):
        """Return tokens of size 1 and weights that keep this size."""
        drawn = super().drawn(sizes)
        width = self.with_products(sizes)["M"]
        return {
            name: value if name == "x" else value * width**-0.5 for name, value in drawn.items()
        }


def cases(draw):
    """Yield the cases on which a submission runs."""
    yield from softmaxes(draw)
    yield from attentions(draw)
    yield from heads(draw)


def softmaxes(draw):
    """Yield every axis, entries of any size, and entries of -inf."""
    row, table, case, four = (
        SoftmaxMaker(draw, inputs={"x": dims}, outputs={"probabilities": dims})
        for dims in ("N", "B N", "B L N", "B H L N")
    )
    yield table("two dims", B=3, N=6)
    yield row("one row", N=7)
    yield table("two dims, axis 0", axis=0, B=4, N=7)
    for axis in (1, 2, -3):
        yield case(f"three dims, axis {axis}", axis=axis, B=3, L=5, N=7)
    yield four("four dims", B=2, H=3, L=5, N=7)
    for axis in (1, -2):
        yield four(f"four dims, axis {axis}", axis=axis, B=2, H=3, L=5, N=7)
    yield case("three dims, the second of size 1", B=3, L=1, N=5)
    yield table("as many rows as columns, axis 0", axis=0, B=4, N=4, equal="B N")
    sizes = {"B": 3, "L": 4, "N": 6}
    x, far = draw.normal(3, 4, 6), one_far_above(draw, 3, 4, 6)
    signs = torch.tensor([1.0, -1.0, 0.0, 1.0])[:, None]
    yield case("rows near 110, -110, 0 and 110", x=x + 110 * signs, **sizes)
    yield case("columns near 110, -110, 0 and 110, axis 1", axis=1, x=x + 110 * signs, **sizes)
    yield case("rows near ±1e4, float64", x=far + 1e4 * signs, dtype="float64", **sizes)
    extreme = torch.where(far == 0, 3e38, -3e38)
    yield case("an entry of 3e38 in each row, the others -3e38", x=extreme, **sizes)
    yield from entries_of_minus_infinity(row, case)
    yield case("non-contiguous array", layout="transposed", check="properties", **sizes)
    yield case("the same sizes again", later=SecondCall(), check="properties", **sizes)
    small, large = {"B": 2, "L": 3, "N": 5}, {"B": 9, "L": 11, "N": 40}
    yield from suites.growth(case, "everything", small, large)
    yield from suites.growth(case, "everything, axis 1", small, large, axis=1)


def one_far_above(draw, *shape):
    """Return rows with a 0 at a random place and entries near -60 elsewhere."""
    rows = draw.normal(*shape) - 60
    place = draw.integers(*shape[:-1], 1, high=shape[-1])
    return rows.scatter(-1, place, 0.0)


def entries_of_minus_infinity(row, case):
    """Yield rows in which some or all entries are -inf."""
    sizes = {"B": 3, "L": 5, "N": 7, "check": "masks"}
    draw = case.draw
    some = draw.normal(3, 5, 7).masked_fill(~draw.keep(3, 5, 7), INFINITE)
    yield case("some entries are -inf", x=some, **sizes)
    far = one_far_above(draw, 3, 5, 7)
    below = torch.where(far == 0, -2e38, -3e38)
    below = below.masked_fill((far != 0) & ~draw.keep(3, 5, 7), INFINITE)
    yield case("some entries are -inf, the others -2e38 and -3e38", x=below, **sizes)
    share = torch.where(far == 0, -0.5, -1.0)
    share = share.masked_fill((far != 0) & ~draw.keep(3, 5, 7), INFINITE)
    share[0] = torch.where(far[0] == 0, 1.0, -1.0)
    share[1, 2] = INFINITE
    large = {"inputs": {"share_of_largest": share}, "dtype": "float64"}
    yield case("entries of ±1.8e308, -9e307 and -inf, float64", **large, **sizes)
    single = torch.where(torch.arange(5) % 2 == 0, draw.normal(3, 5), INFINITE)[..., None]
    yield case("one entry in each row, some are -inf", x=single, **{**sizes, "N": 1})
    empty = some.clone()
    empty[1, 2] = INFINITE
    yield case("a row of -inf only", x=empty, **sizes)
    columns = some.clone()
    columns[:, 1] = 0.5
    columns[2, :, 3] = INFINITE
    yield case("a column of -inf only, axis 1", axis=1, x=columns, **sizes)
    nothing = torch.full((5,), INFINITE)
    yield row("-inf everywhere, one dim", x=nothing, N=5, check="masks")


def attention_maker(draw, lead):
    """Return a maker of attention with these leading dims."""
    return AttentionMaker(
        draw,
        inputs={"q": f"{lead} Lq D", "k": f"{lead} Lk D", "v": f"{lead} Lk Dv"},
        outputs={"out": f"{lead} Lq Dv", "weights": f"{lead} Lq Lk"},
        mask=f"{lead} Lq Lk",
        roles=Direct(),
    )


def attentions(draw):
    """Yield any leading dims, masks of every shape, and scores of ±200."""
    case, none, single, triple = (attention_maker(draw, lead) for lead in ("B H", "", "N", "G B H"))
    yield none("no leading dims", Lq=5, Lk=3, D=7, Dv=2)
    yield case("two leading dims", B=2, H=3, Lq=5, Lk=4, D=6, Dv=7)
    yield none("no leading dims, mask [Lq, Lk]", Lq=4, Lk=6, D=5, Dv=3, mask="Lq Lk")
    one_lead = {"N": 3, "Lq": 5, "Lk": 4, "D": 7, "Dv": 6}
    for mask in MASKS_OF_THREE_DIMS:
        words = mask.replace(" ", ", ")
        yield single(f"one leading dim, mask [{words}]", mask=mask, **one_lead)
    three_leads = {"G": 2, "B": 3, "H": 4, "Lq": 5, "Lk": 6, "D": 7, "Dv": 8}
    yield triple("three leading dims", **three_leads)
    yield triple("three leading dims, mask [G, 1, H, 1, Lk]", mask="G 1 H 1 Lk", **three_leads)
    square = {"B": 2, "H": 3, "Lq": 5, "Lk": 5, "D": 7, "Dv": 7, "equal": "Lq Lk, D Dv"}
    yield case("as many queries as keys, values as wide as keys", **square)
    shared = {"k": "q", "v": "q"}
    yield case("one array for q, k and v", inputs=shared, **square)
    yield case("one query, one head, head dim 1", B=2, H=1, Lq=1, Lk=6, D=1, Dv=5)
    yield case("one key, one batch item, value dim 1", B=1, H=3, Lq=4, Lk=1, D=5, Dv=1)
    same = {"B": 4, "H": 4, "Lq": 4, "Lk": 4, "D": 4, "Dv": 4, "equal": "B H Lq Lk D Dv"}
    yield case("all sizes equal, masked", mask="Lq Lk", **same)
    sizes = draw.sizes(B=(2, 3), H=(2, 5), Lq=(3, 9), Lk=(3, 9), D=(5, 12), Dv=(2, 9))
    yield case("random sizes", **sizes)
    usual = {"B": 3, "H": 2, "Lq": 5, "Lk": 7, "D": 6, "Dv": 4}
    masks = draw.masks(3, 2, 5, 7)
    for name in MASKS:
        yield case(name, mask=masks[name], **usual)
    square = {**usual, "B": 5, "equal": "B Lq"}
    yield case("as many queries as batch items, mask [Lq, Lk]", mask="Lq Lk", **square)
    yield case("float64, causal", mask="causal", dtype="float64", **usual)
    # With head dim 64, the scale divides a mask's fill value by 8 if the fill comes first.
    yield from suites.steep_scores(case, B=3, H=5, Lq=4, Lk=7, D=64, Dv=6)
    yield hidden_scores(case, B=3, H=2, Lq=5, Lk=7, D=6, Dv=4)
    # A score of 0 is no masked score.
    zeros = {"k": draw.normal_with_zeros(3, 2, 7, 6, row=1)}
    yield case("a key of zeros, causal", mask="causal", inputs=zeros, **usual)
    yield from suites.layouts(case, B=3, H=4, Lq=5, Lk=7, D=6, Dv=2)
    sizes = {"B": 2, "H": 3, "Lq": 4, "Lk": 5, "D": 6, "Dv": 7, "check": "properties"}
    again = SecondCall(mask="Lq Lk")
    yield case("the same sizes again with another mask", mask="Lq Lk", later=again, **sizes)
    small = {"B": 2, "H": 3, "Lq": 4, "Lk": 5, "D": 6, "Dv": 10}
    large = {"B": 8, "H": 9, "Lq": 11, "Lk": 12}
    yield from suites.growth(case, "everything", small, large, mask="B 1 Lq Lk")


def hidden_scores(case, **sizes):
    """Return a case in float64, in which a weight of 1e-261 is still more than 0.

    Mistakes: a fill that hides only the scores of float32 (-500); a number that is added to masked
    scores and is smaller than the scores (-1000, -1e4).
    """
    inputs = case.drawn(sizes)
    is_low = torch.arange(sizes["Lk"]) % 2 == 0
    # The masked scores of the first sequence are 1e5, those of the others 200.
    high = torch.full((sizes["B"], 1, 1), 200.0, dtype=torch.float64)
    high[0] = 1e5
    inputs["q"][..., 0] = sizes["D"] ** 0.5
    inputs["k"][..., 0] = torch.where(is_low, -200.0, high)
    # Half of the largest number: a wrong mean of such values is still finite.
    half = torch.full(inputs["v"].shape, 0.5)
    inputs["share_of_largest"] = torch.where(is_low[:, None], 0.0, half)
    return case(
        "masked scores of 200 and 1e5 with values of 9e307, others at -200, float64",
        inputs=inputs,
        mask=is_low.expand(sizes["Lq"], -1),
        dtype="float64",
        **sizes,
    )


def heads(draw):
    """Yield several heads, with and without the causal mask, with coinciding sizes."""
    weights = dict.fromkeys(("w_q", "w_k", "w_v", "w_o"), "M M")
    case = HeadsMaker(
        draw, inputs={"x": "L M", **weights}, outputs={"result": "L M"}, products={"M": "H D"}
    )
    identity = {"inputs": {"w_o": torch.eye(12)}, "outputs": {"result": "L (H D)"}}
    yield case("w_o is the identity", L=5, H=3, D=4, **identity)
    yield case("no mask", L=5, H=3, D=4)
    yield case("causal", causal=True, L=5, H=3, D=4)
    yield case("causal=False", causal=False, L=7, H=2, D=3)
    yield case("one head, causal", causal=True, L=4, H=1, D=7)
    yield case("one feature for each head, causal", causal=True, L=5, H=6, D=1)
    yield case("one token, causal", causal=True, L=1, H=2, D=3)
    yield case("as many tokens as heads, causal", causal=True, L=4, H=4, D=5, equal="L H")
    yield case("all sizes equal", L=4, H=4, D=4, equal="L H D")
    yield case("random sizes, causal", causal=True, **draw.sizes(L=(4, 9), H=(2, 5), D=(2, 7)))
    yield case("float64, causal", causal=True, L=7, H=2, D=5, dtype="float64")
    # Scores up to 1152, for which exp overflows in float64. In float32, a right answer that
    # subtracts the logarithm of the sum would lose the digits after the point.
    x = draw.integers(5, 12, low=-15, high=16).double()
    x[0] = 24
    exact = {"inputs": {"w_q": torch.eye(12), "w_k": torch.eye(12)}, "dtype": "float64"}
    yield case("scores up to 1152, causal, float64", causal=True, x=x, L=5, H=3, D=4, **exact)
    usual = {"L": 5, "H": 2, "D": 4, "check": "properties"}
    yield case("non-contiguous arrays", causal=True, layout="transposed", **usual)
    yield case("parts of larger arrays", layout="strided", **usual)
    shared = dict.fromkeys(("w_k", "w_v", "w_o"), "w_q")
    yield case("one array for all weights", inputs=shared, **usual)
    small, large = {"L": 5, "H": 2, "D": 3}, {"L": 40, "H": 9}
    yield from suites.growth(case, "length and heads", small, large, causal=True)


def refusals():
    """Yield numbers of heads that do not divide M. Only a ValueError counts."""
    # Features of 4 tokens of 6 in heads of 1 still make an array, with other tokens.
    for length, width, heads in ((3, 20, 8), (5, 26, 6), (4, 6, 4), (8, 17, 4), (3, 4, 8)):
        weights = dict.fromkeys(("w_q", "w_k", "w_v", "w_o"), torch.zeros(width, width))
        given = {"function": "multi_head_attention", "x": torch.zeros(length, width), **weights}
        yield Refusal(
            f"M = {width} is not divisible by num_heads = {heads}",
            {**given, "num_heads": heads},
            init={},
            only_value_error=True,
            shown_call=f"multi_head_attention(x [{length}, {width}], …, num_heads={heads})",
        )
