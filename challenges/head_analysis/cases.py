"""Cases for the analysis of heads: entropies and distances of many heads, kinds of single heads.

If a head has zeros, other heads of the case have none: otherwise only zeros would determine the
tolerance.
"""

from dataclasses import dataclass, replace

import torch

from attn_drill.casekit import Case, CaseMaker, realistic_call, shaped, suites

OUTPUTS = {"attention_entropy": "entropy", "mean_attention_distance": "distance"}


def drive(analysis, given):
    """Call one function. Call `classify_head` once for each head of the case."""
    if given.function == "classify_head":
        heads = {name: weights for name, weights in given.inputs.items() if name != "function"}
        return {name: analysis.classify_head(weights) for name, weights in heads.items()}
    return {OUTPUTS[given.function]: getattr(analysis, given.function)(given.weights)}


@dataclass(frozen=True)
class MeasureMaker(CaseMaker):
    """Make the cases of one measure. Rows of weights have sums between `low` and `high`."""

    function: str = ""
    low: float = 1.0
    high: float = 1.0

    def __call__(self, name, *, weights=None, inputs=None, **more):
        """Return one case with these weights, or with random weights."""
        given = {"function": self.function, **(inputs or {})}
        if weights is not None:
            given["weights"] = weights
        return super().__call__(f"{OUTPUTS[self.function]}: {name}", inputs=given, **more)

    def drawn(self, sizes):
        """Return rows of positive weights."""
        weights = torch.softmax(super().drawn(sizes)["weights"], dim=-1)
        sums = self.draw.uniform(*weights.shape[:-1], 1, low=self.low, high=self.high)
        return {"weights": weights * sums}


def makers(draw, function, last, **more):
    """Yield a maker for each of the leading dims "B H", "H", none and "G B H"."""
    for lead in ("B H", "H", "", "G B H"):
        dims = {"inputs": {"weights": f"{lead} {last}"}, "outputs": {OUTPUTS[function]: lead}}
        yield MeasureMaker(draw, function=function, **dims, **more)


def cases(draw):
    """Yield the cases on which a submission runs."""
    yield from entropies(draw)
    yield from distances(draw)
    yield from classified(draw)


def rows(draw, *shape, scale=1.0):
    """Return rows of positive weights that sum to 1."""
    return torch.softmax(draw.normal(*shape, scale=scale), dim=-1)


def causal_rows(draw, length):
    """Return rows of three heads that sum to 1, with zeros above the diagonal."""
    causal = rows(draw, 3, length, length) * draw.causal(length)
    return causal / causal.sum(dim=-1, keepdim=True)


def entropies(draw):
    """Yield rows with large and small entropies, with and without zeros."""
    case, of_heads, single, of_groups = makers(draw, "attention_entropy", "Lq Lk")
    scaled = replace(case, low=0.3, high=0.9)
    four, two, single_key = [0.25] * 4, [0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0]
    heads = torch.tensor([[four, four], [two, two], [single_key, four]])
    name = "four equal keys, two equal keys, one or four"
    yield of_heads(name, weights=heads, H=3, Lq=2, Lk=4, gradients=False)
    yield case("softmax rows", B=2, H=3, Lq=5, Lk=7)
    yield single("no leading dims", Lq=4, Lk=6)
    yield of_groups("three leading dims, more queries than keys", G=2, B=3, H=4, Lq=7, Lk=5)
    yield of_heads("as many queries as keys and heads", H=4, Lq=4, Lk=4, equal="H Lq Lk")
    yield scaled("rows that do not sum to 1", B=3, H=2, Lq=4, Lk=6)
    yield case("one query, a batch of one", B=1, H=3, Lq=1, Lk=5)
    # Dropout with p = 0.6 multiplies weights by 2.5.
    dropped = replace(case, low=0.6, high=2.5)
    yield dropped("one key, weights above 1", B=2, H=3, Lq=4, Lk=1)
    square = {"H": 3, "Lq": 6, "Lk": 6, "equal": "Lq Lk", "gradients": False}
    yield of_heads("causal, zeros above the diagonal", weights=causal_rows(draw, 6), **square)
    real = draw.padding(2, 7)[:, None, None, :] * draw.padding(2, 5)[:, None, :, None]
    name, padded = "padding: columns of zeros, and rows all zero", rows(draw, 2, 3, 5, 7) * real
    yield case(name, weights=padded, B=2, H=3, Lq=5, Lk=7, gradients=False)
    name, narrow = "narrow rows, small weights", rows(draw, 3, 4, 5, 9, scale=4.0)
    yield case(name, weights=narrow, B=3, H=4, Lq=5, Lk=9, gradients=False)
    tiny = rows(draw, 3, 5, 4)
    tiny[..., 1] = 1e-30
    yield of_heads("a weight of 1e-30", weights=tiny, H=3, Lq=5, Lk=4, gradients=False)
    yield case("random sizes", **draw.sizes(B=(2, 3), H=(2, 6), Lq=(4, 9), Lk=(5, 12)))
    yield of_heads("float64, 40 keys", H=3, Lq=5, Lk=40, dtype="float64")
    yield case("bfloat16, 60 keys", B=2, H=3, Lq=5, Lk=60, dtype="bfloat16")
    zeros = rows(draw, 3, 6, 6) * draw.causal(6)
    yield of_heads("bfloat16, causal", weights=zeros, dtype="bfloat16", **square)
    yield from suites.layouts(case, B=3, H=2, Lq=5, Lk=4)
    small, large = {"B": 2, "H": 3, "Lq": 4, "Lk": 5}, {"B": 7, "H": 8, "Lq": 9, "Lk": 11}
    yield from suites.growth(case, "everything", small, large)


def distances(draw):
    """Yield heads with small and large distances."""
    function, sums = "mean_attention_distance", {"low": 0.3, "high": 0.9}
    case, of_heads, single, of_groups = makers(draw, function, "L L", **sums)
    previous, first = torch.eye(5).roll(-1, 1).tril(), torch.eye(5)[:1].expand(5, 5)
    heads = torch.stack([torch.eye(5), previous, first])
    yield of_heads("to itself, to the token before, to the first", weights=heads, H=3, L=5)
    usual = replace(case, low=1.0, high=1.0)
    yield usual("softmax rows", B=2, H=3, L=5)
    yield single("no leading dims", weights=rows(draw, 6, 6), L=6)
    yield of_groups("three leading dims", G=2, B=3, H=4, L=5)
    yield of_heads("as many heads as tokens", H=4, L=4, equal="H L")
    yield case("rows that do not sum to 1", B=3, H=2, L=7)
    less = replace(case, low=0.06, high=0.18)
    yield less("weights that sum to less than 1", B=2, H=4, L=3)
    padded = rows(draw, 2, 3, 7, 7) * draw.padding(2, 7)[:, None, :, None]
    yield case("padding: rows all zero", weights=padded, B=2, H=3, L=7)
    yield of_heads("causal", weights=causal_rows(draw, 6), H=3, L=6)
    yield case("one token", B=3, H=2, L=1, gradients=False)
    yield usual("two tokens, a batch of one", B=1, H=3, L=2)
    yield case("random sizes", **draw.sizes(B=(2, 3), H=(2, 6), L=(5, 11)))
    yield of_heads("float64, 40 tokens", H=3, L=40, dtype="float64")
    # Distances and positions that int8 and bfloat16 cannot represent.
    far = 0.001 * rows(draw, 270, 270)
    far[-1] = torch.eye(270)[0]
    yield single("float64, 270 tokens", weights=far, L=270, dtype="float64", gradients=False)
    late = torch.zeros(270, 270)
    late[257, 256] = late[261, 260] = late[265, 264] = 0.75
    yield single("bfloat16, 270 tokens", weights=late, L=270, dtype="bfloat16", gradients=False)
    yield case("bfloat16", B=2, H=3, L=6, dtype="bfloat16")
    yield from suites.layouts(case, B=3, H=2, L=5)
    small, large = {"B": 2, "H": 3, "L": 4}, {"B": 7, "H": 8, "L": 9}
    yield from suites.growth(usual, "everything", small, large)


def matrix(rows_in_words):
    """Return the matrix of a text: ".5 .5 / .2 .8" has two rows."""
    return torch.tensor([[float(word) for word in row.split()] for row in rows_in_words.split("/")])


def head(draw, length, diagonal, column, below, above):
    """Return [L, L] weights, L >= 3, split at random; `diagonal` is the mean of the diagonal.

    The other arguments are sums: column 0 below the diagonal, the rest below it, all above it.
    """
    query, key = torch.arange(length)[:, None], torch.arange(length)
    weights = torch.zeros(length, length, dtype=torch.float64)
    parts = (
        (query == key, diagonal * length),
        ((key == 0) & (query > 0), column),
        ((key > 0) & (query > key), below),
        (query < key, above),
    )
    for place, total in parts:
        share = draw.uniform(int(place.sum()), low=0.8, high=1.2)
        weights[place] = share / share.sum() * total
    # The first entry is exact, and so is the mean of column 0.
    rest = range(1, length)
    weights[0, 0] = diagonal
    weights[rest, rest] *= diagonal * (length - 1) / weights.diagonal()[1:].sum()
    return weights


def kinds(name, heads, **more):
    """Return a case that calls classify_head for every head, by name. Lengths may differ."""
    inputs, plain = {"function": "classify_head", **heads}, dict.fromkeys(heads, "str")
    sizes = {"L": len(next(iter(heads.values())))}
    more = {"dims": {}, "plain": plain, "sizes": sizes, "gradients": False, **more}
    return Case(f"kinds: {name}", inputs, **more)


def classified(draw):
    """Yield heads of every kind, at the limits, with two true conditions, with empty triangles."""

    def heads(length, **parts):
        """Return random heads; `parts` are the last arguments of `head`."""
        return {name: head(draw, length, *numbers) for name, numbers in parts.items()}

    def of_each_kind(length):
        return heads(
            length,
            to_itself=(0.7, 0.3, 0.5, 0.6),
            to_the_first=(0.3, 0.4 * length, 0.4, 0.8),
            to_the_past=(0.2, 0.1 * length, 2.0, 0.3),
            to_the_future=(0.2, 0.2, 0.3, 2.5),
            to_all=(0.2, 0.2, 1.2, 1.4),
        )

    yield kinds("one head of each", of_each_kind(5))
    near = heads(
        5,
        diagonal_51_percent=(0.51, 0.2, 0.6, 0.8),
        diagonal_49_percent=(0.49, 0.2, 0.6, 0.8),
        column_31_percent=(0.2, 0.31 * 5 - 0.2, 0.2, 1.0),
        column_29_percent=(0.2, 0.29 * 5 - 0.2, 0.2, 1.0),
        below_2_1_times_above=(0.3, 0.3, 1.8, 1.0),
        below_1_9_times_above=(0.3, 0.3, 1.6, 1.0),
        above_2_1_times_below=(0.3, 0.3, 0.7, 2.1),
        above_1_9_times_below=(0.3, 0.3, 0.7, 1.9),
    )
    yield kinds("just over and just under the limits", near)
    nearer = heads(
        6,
        diagonal_50_01_percent=(0.5001, 0.2, 0.6, 0.8),
        diagonal_49_99_percent=(0.4999, 0.2, 0.6, 0.8),
        column_30_01_percent=(0.2, 0.3001 * 6 - 0.2, 0.2, 1.0),
        column_29_99_percent=(0.2, 0.2999 * 6 - 0.2, 0.2, 1.0),
        below_2_0004_times_above=(0.3, 0.3, 1.7004, 1.0),
        above_2_0004_times_below=(0.3, 0.3, 0.7, 2.0004),
    )
    yield kinds("a ten-thousandth over and under the limits", nearer)
    # Sums of these numbers are exact in every dtype and order.
    twice = matrix(".25 .25 0 0 / .25 .5 .125 .125 / .125 .25 .5 0 / 0 .25 .125 .25")
    exact = {"below_exactly_twice_above": twice, "above_exactly_twice_below": twice.T}
    half = ".75 .125 0 .125 / .25 .25 .25 .25 / .125 .125 .5 .25 / .125 .25 .125 .5"
    exact["diagonal_exactly_half"] = matrix(half)
    for dtype in ("float32", "float64", "bfloat16"):
        yield kinds(f"exactly at the limits, {dtype}", exact, dtype=dtype)
    # 0.487 + (0.6 - 0.487) is exactly 0.6 in float64, and half of it 0.3. float32 rounds both down.
    column = torch.tensor([[0.6 - 0.487, 0.8], [0.487, 0.5]], dtype=torch.float64)
    exact = {"column_exactly_30_percent": column}
    yield kinds("column 0 at exactly 30%, float64", exact, dtype="float64")
    several = heads(
        6,
        diagonal_and_column=(0.6, 1.8, 0.3, 0.6),
        diagonal_and_below=(0.6, 0.6, 1.0, 0.3),
        diagonal_and_above=(0.6, 0.1, 0.3, 1.8),
        column_and_below=(0.3, 2.0, 0.7, 0.2),
        column_and_above=(0.4, 1.6, 0.1, 5.0),
        diagonal_column_and_below=(0.7, 1.6, 0.3, 0.1),
    )
    yield kinds("several conditions hold", several)
    heavy = heads(
        5,
        triangles_alike=(0.45, 0.3, 0.9, 1.3),
        below_2_5_times_above=(0.45, 0.4, 1.1, 0.6),
        above_2_5_times_below=(0.45, 0.3, 0.3, 1.5),
    )
    yield kinds("heavy diagonals", heavy)
    corner = torch.zeros(6, 6)
    corner[5, 1] = 1
    near_and_far = {
        "to_the_token_before": 0.9 * torch.eye(6).roll(-1, 1).tril(),
        "to_the_token_after": 0.9 * torch.eye(6).roll(1, 1).triu(),
        "far_back": corner,
        "far_ahead": corner.T,
    }
    yield kinds("neighbours only, or one far away", near_and_far)
    empty = heads(5, nothing_above=(0.45, 0.1, 0.2, 0.0), nothing_below=(0.45, 0.0, 0.0, 0.2))
    empty["nothing_beside_the_diagonal"] = torch.tensor([0.5, 0.25, 0.375, 0.25, 0.125]).diag()
    empty["nothing_at_all"] = torch.zeros(4, 4)
    yield kinds("empty triangles", empty)
    single = {"weight_of_1": "1", "weight_of_0_4": ".4", "weight_of_a_quarter": ".25"}
    two = {
        "past": ".3 .1 / .25 .4",
        "future": ".4 .6 / .1 .4",
        "both": ".4 .2 / .15 .4",
        "itself": ".9 .1 / .6 .4",
    }
    sides = {
        "first_row": ".4 .6 .6 .6 / .1 .2 .2 .2 / .2 .3 .2 .2 / .1 .4 .4 .2",
        "last_column": ".2 .1 .1 .6 / .1 .2 .1 .6 / .5 .2 .1 .5 / .1 .3 .4 .4",
        "second_column": ".2 .6 .1 .3 / .1 .4 .1 .2 / .1 .5 .2 .3 / .1 .6 .2 .2",
        "one_large_entry_of_column_0": ".1 .2 .4 .3 / .1 .3 .4 .2 / .1 .3 .3 .3 / .7 .1 .1 .1",
        "column_0_with_its_first_entry": "1 0 0 0 / .1 .3 .3 .3 / .1 .3 .3 .3 / .1 .3 .3 .3",
        "column_0_without_its_first_entry": "0 .4 .4 .2 / .4 .2 .2 .2 / .4 .2 .1 .2 / .3 .2 .2 .2",
        "one_entry_above": ".3 .3 0 0 / .2 .3 0 0 / .2 .2 .3 0 / .2 .2 .2 .3",
        "one_entry_below": ".3 .1 .1 .1 / 0 .3 .1 .1 / .5 0 .3 .1 / 0 0 0 .3",
        "diagonal_from_the_other_corner": ".1 .1 .1 .7 / .1 .1 .7 .1 / .1 .7 .1 .1 / .7 .1 .1 .1",
    }
    # Means are over all rows, including those of padded tokens. Sums of these numbers are exact.
    padded = {
        "first_key_of_half_the_rows": ".5 0 .25 .25 / .5 0 .25 .25 / 0 0 0 0 / 0 0 0 0",
        "itself_in_half_the_rows": ".75 0 0 .25 / .25 .75 0 0 / 0 0 0 0 / 0 0 0 0",
    }
    for name, written in (
        ("one token", single),
        ("two tokens", two),
        ("rows, columns and corners", sides),
        ("padding: rows all zero", padded),
    ):
        yield kinds(name, {key: matrix(rows_in_words) for key, rows_in_words in written.items()})
    (length,) = draw.distinct((6, 12))
    yield kinds("a random length", of_each_kind(length))
    late = torch.zeros(131, 131)
    late[130, 129], late[0, 3] = 0.75, 0.25
    of_late = {"later_to_the_past": late, "later_to_the_future": late.T.contiguous()}
    yield kinds("131 tokens, weights of the last", of_late | of_each_kind(131))
    yield kinds("bfloat16", of_each_kind(5), dtype="bfloat16")
    yield kinds("float64", of_each_kind(7), dtype="float64")
    same = torch.tensor([0.4, 0.2, 0.1, 0.2, 0.1]).expand(5, 5)
    shared = {"to_the_first": same, "to_all": torch.full((1, 7), 1 / 7).expand(7, 7)}
    for name, layout, some_heads in (
        ("non-contiguous weights", "transposed", of_each_kind(6)),
        ("parts of larger weights", "strided", of_each_kind(5)),
        ("the same row for every query (expanded)", "expanded", shared),
    ):
        laid_out = dict.fromkeys(some_heads, layout)
        yield kinds(name, some_heads, layout=laid_out, check="properties")
    # Every answer needs tensor operations in bfloat16, because numpy lacks this dtype. The heads
    # are mixed, so that every condition is evaluated.
    counted = {"dtype": "bfloat16", "probe": "vectorised"}
    many = kinds("many tokens", heads(14, to_all=(0.2, 0.2, 3.0, 3.2)), **counted)
    few = kinds("few tokens", heads(5, to_all=(0.2, 0.2, 1.2, 1.4)), **counted)
    yield replace(few, larger=many)


def realistic():
    """Return the call that is measured after a pass: the entropies of all heads of a layer."""
    return realistic_call(
        "attention_entropy of 32 heads, B = 1, L = 2048",
        function="attention_entropy",
        weights=shaped(1, 32, 2048, 2048),
    )
