"""Cases for the analysis of heads: entropies and distances of many heads, kinds of single ones.

Sizes differ within a case, so that no axis passes by luck. Wherever an entropy has zeros in it, other heads of the same
case have none, so that the zeros are not all that the tolerance is measured by.
"""

import torch

from trainer.core.words import Case

OUTPUTS = {"attention_entropy": "entropy", "mean_attention_distance": "distance"}


def drive(analysis, given):
    """One call, or one of `classify_head` for each head that the case names."""
    if given.function == "classify_head":
        return {name: analysis.classify_head(weights) for name, weights in given.inputs.items() if name != "function"}
    return {OUTPUTS[given.function]: getattr(analysis, given.function)(given.weights)}


def measured(function, name, weights, lead, letters, **more):
    """One call of a measure; lead: the letters of the leading dims, letters: those of the last two."""
    sizes = dict(zip([*lead.split(), *letters.split()], weights.shape, strict=True))
    return Case(name, inputs={"function": function, "weights": weights}, dims={OUTPUTS[function]: lead}, sizes=sizes, **more)


def entropy(name, weights, lead="B H", **more):
    """One call of attention_entropy."""
    return measured("attention_entropy", f"entropy: {name}", weights, lead, "Lq Lk", **more)


def distance(name, weights, lead="B H", **more):
    """One call of mean_attention_distance."""
    return measured("mean_attention_distance", f"distance: {name}", weights, lead, "L L", **more)


def kinds(name, heads, **more):
    """A call of classify_head for every head, by name; the heads may be of several lengths."""
    inputs = {"function": "classify_head"} | heads
    sizes = {"L": len(next(iter(heads.values())))}
    return Case(f"kinds: {name}", inputs=inputs, dims={}, plain=dict.fromkeys(heads, "str"), sizes=sizes, gradients=False, **more)


def rows(draw, *shape, scale=1.0):
    """Rows of positive weights that sum to 1."""
    return torch.softmax(draw.normal(*shape, scale=scale), dim=-1)


def scaled_rows(draw, *shape):
    """Rows of positive weights that sum to something between 0.3 and 0.9."""
    return rows(draw, *shape) * draw.uniform(*shape[:-1], 1, low=0.3, high=0.9)


def cases(draw):
    """What a submission is run on."""
    yield from entropies(draw)
    yield from distances(draw)
    yield from classified(draw)
    yield from counted(draw)


def entropies(draw):
    """Of rows wide and narrow, with zeros and without."""
    even, two, one = [0.25] * 4, [0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 1.0, 0.0]
    heads = torch.tensor([[even, even], [two, two], [one, even]])
    yield entropy("four keys alike, two alike, one or four", heads, "H", gradients=False)
    yield entropy("softmax rows", rows(draw, 2, 3, 5, 7))
    yield entropy("no leading dims", rows(draw, 4, 6), "")
    yield entropy("three leading dims, more queries than keys", rows(draw, 2, 3, 4, 7, 5), "G B H")
    yield entropy("as many queries as keys and heads", rows(draw, 4, 4, 4), "H")
    yield entropy("rows that do not sum to 1", scaled_rows(draw, 3, 2, 4, 6))
    yield entropy("one query, a batch of one", rows(draw, 1, 3, 1, 5))
    yield entropy("one key", draw.uniform(2, 3, 4, 1, low=0.2, high=0.8))
    causal = rows(draw, 3, 6, 6) * draw.causal(6)
    yield entropy("causal, zeros above the diagonal", causal / causal.sum(dim=-1, keepdim=True), "H", gradients=False)
    padded = rows(draw, 2, 3, 5, 7) * draw.padding(2, 7)[:, None, None, :] * draw.padding(2, 5)[:, None, :, None]
    yield entropy("padding: columns of zeros, and rows all zero", padded, gradients=False)
    yield entropy("narrow rows, small weights", rows(draw, 3, 4, 5, 9, scale=4.0), gradients=False)
    tiny = rows(draw, 3, 5, 4)
    tiny[..., 1] = 1e-30
    yield entropy("a weight of 1e-30", tiny, "H", gradients=False)
    B, H, Lq, Lk = draw.distinct((2, 3), (2, 6), (4, 9), (5, 12))
    yield entropy("random sizes", rows(draw, B, H, Lq, Lk))
    yield entropy("float64, 40 keys", rows(draw, 3, 5, 40), "H", dtype="float64")
    yield entropy("bfloat16", rows(draw, 2, 3, 5, 7), dtype="bfloat16")
    yield entropy("bfloat16, causal", rows(draw, 4, 6, 6) * draw.causal(6), "H", dtype="bfloat16", gradients=False)
    yield entropy("non-contiguous weights", rows(draw, 3, 2, 5, 4), layout={"weights": "transposed"}, check="properties")
    same = rows(draw, 1, 2, 5, 4).expand(3, 2, 5, 4)
    yield entropy("the same weights for the whole batch (expanded)", same, layout={"weights": "expanded"}, check="properties")


def distances(draw):
    """Of heads that look near and far."""
    itself, previous, first = torch.eye(5), torch.eye(5).roll(-1, 1).tril(), torch.eye(5)[:1].expand(5, 5)
    yield distance("to itself, to the token before, to the first", torch.stack([itself, previous, first]), "H")
    yield distance("softmax rows", rows(draw, 2, 3, 5, 5))
    yield distance("no leading dims", rows(draw, 6, 6), "")
    yield distance("three leading dims", scaled_rows(draw, 2, 3, 4, 5, 5), "G B H")
    yield distance("as many heads as tokens", scaled_rows(draw, 4, 4, 4), "H")
    yield distance("rows that do not sum to 1", scaled_rows(draw, 3, 2, 7, 7))
    yield distance("weights that sum to less than 1", scaled_rows(draw, 2, 4, 3, 3) * 0.2)
    padded = rows(draw, 2, 3, 7, 7) * draw.padding(2, 7)[:, None, :, None]
    yield distance("padding: rows all zero", padded)
    causal = rows(draw, 3, 6, 6) * draw.causal(6)
    yield distance("causal", causal / causal.sum(dim=-1, keepdim=True), "H")
    yield distance("one token", draw.uniform(3, 2, 1, 1, low=0.2, high=0.8), gradients=False)
    yield distance("two tokens, a batch of one", rows(draw, 1, 3, 2, 2))
    B, H, L = draw.distinct((2, 3), (2, 6), (5, 11))
    yield distance("random sizes", scaled_rows(draw, B, H, L, L))
    yield distance("float64, 40 tokens", scaled_rows(draw, 3, 40, 40), "H", dtype="float64")
    # Positions beyond what int8 and bfloat16 count to.
    yield distance("float64, 270 tokens", scaled_rows(draw, 270, 270), "", dtype="float64", gradients=False)
    yield distance("bfloat16", scaled_rows(draw, 2, 3, 6, 6), dtype="bfloat16")
    yield distance("non-contiguous weights", scaled_rows(draw, 3, 2, 5, 5), layout={"weights": "transposed"}, check="properties")
    same = scaled_rows(draw, 1, 2, 5, 5).expand(3, 2, 5, 5)
    yield distance("the same weights for the whole batch (expanded)", same, layout={"weights": "expanded"}, check="properties")


def head(draw, length, diagonal, column, below, above):
    """[L, L] weights, L >= 3, split at random: `diagonal` is the mean of the diagonal, the others are sums.

    column: of column 0 under the diagonal; below: of the rest under the diagonal; above: of what lies above it.
    """
    at = torch.arange(length)
    query, key = at[:, None], at[None, :]
    weights = torch.zeros(length, length, dtype=torch.float64)
    parts = (
        (query == key, diagonal * length),
        ((key == 0) & (query > 0), column),
        ((key > 0) & (query > key), below),
        (query < key, above),
    )
    for where, total in parts:
        share = draw.uniform(int(where.sum()), low=0.8, high=1.2)
        weights[where] = share / share.sum() * total
    # its first entry is exact, and with it the mean of column 0
    weights[0, 0] = diagonal
    weights[range(1, length), range(1, length)] *= diagonal * (length - 1) / weights.diagonal()[1:].sum()
    return weights


def classified(draw):
    """Heads of every kind, at the limits, of two kinds at once, with empty triangles."""

    def of_each_kind(length):
        return {
            "to_itself": head(draw, length, 0.7, 0.3, 0.5, 0.6),
            "to_the_first": head(draw, length, 0.3, 0.4 * length, 0.4, 0.8),
            "to_the_past": head(draw, length, 0.2, 0.1 * length, 2.0, 0.3),
            "to_the_future": head(draw, length, 0.2, 0.2, 0.3, 2.5),
            "to_all": head(draw, length, 0.2, 0.2, 1.2, 1.4),
        }

    yield kinds("one head of each", of_each_kind(5))
    near = {
        "diagonal_51_percent": head(draw, 5, 0.51, 0.2, 0.6, 0.8),
        "diagonal_49_percent": head(draw, 5, 0.49, 0.2, 0.6, 0.8),
        "column_31_percent": head(draw, 5, 0.2, 0.31 * 5 - 0.2, 0.2, 1.0),
        "column_29_percent": head(draw, 5, 0.2, 0.29 * 5 - 0.2, 0.2, 1.0),
        "below_2_1_times_above": head(draw, 5, 0.3, 0.3, 1.8, 1.0),
        "below_1_9_times_above": head(draw, 5, 0.3, 0.3, 1.6, 1.0),
        "above_2_1_times_below": head(draw, 5, 0.3, 0.3, 0.7, 2.1),
        "above_1_9_times_below": head(draw, 5, 0.3, 0.3, 0.7, 1.9),
    }
    yield kinds("just over and just under the limits", near)
    nearer = {
        "diagonal_50_01_percent": head(draw, 6, 0.5001, 0.2, 0.6, 0.8),
        "diagonal_49_99_percent": head(draw, 6, 0.4999, 0.2, 0.6, 0.8),
        "column_30_01_percent": head(draw, 6, 0.2, 0.3001 * 6 - 0.2, 0.2, 1.0),
        "column_29_99_percent": head(draw, 6, 0.2, 0.2999 * 6 - 0.2, 0.2, 1.0),
        "below_2_0004_times_above": head(draw, 6, 0.3, 0.3, 1.7004, 1.0),
        "above_2_0004_times_below": head(draw, 6, 0.3, 0.3, 0.7, 2.0004),
    }
    yield kinds("a ten-thousandth over and under the limits", nearer)
    # Sums of these are exact in every dtype and order.
    half = torch.tensor([[0.75, 0.125, 0.0, 0.125], [0.25, 0.25, 0.25, 0.25], [0.125, 0.125, 0.5, 0.25], [0.125, 0.25, 0.125, 0.5]])
    twice = torch.tensor([[0.25, 0.25, 0.0, 0.0], [0.25, 0.5, 0.125, 0.125], [0.125, 0.25, 0.5, 0.0], [0.0, 0.25, 0.125, 0.25]])
    exact = {"diagonal_exactly_half": half, "below_exactly_twice_above": twice, "above_exactly_twice_below": twice.T}
    for dtype in ("float32", "float64", "bfloat16"):
        yield kinds(f"exactly at the limits, {dtype}", exact, dtype=dtype)
    # 0.487 + (0.6 - 0.487) is 0.6 to the last bit, and half of it 0.3; in float32 both round down.
    column = {"column_exactly_30_percent": torch.tensor([[0.6 - 0.487, 0.8], [0.487, 0.5]], dtype=torch.float64)}
    yield kinds("column 0 at exactly 30%, float64", column, dtype="float64")
    several = {
        "diagonal_and_column": head(draw, 6, 0.6, 1.8, 0.3, 0.6),
        "diagonal_and_below": head(draw, 6, 0.6, 0.6, 1.0, 0.3),
        "diagonal_and_above": head(draw, 6, 0.6, 0.1, 0.3, 1.8),
        "column_and_below": head(draw, 6, 0.3, 2.0, 0.7, 0.2),
        "column_and_above": head(draw, 6, 0.4, 1.6, 0.1, 5.0),
        "diagonal_column_and_below": head(draw, 6, 0.7, 1.6, 0.3, 0.1),
    }
    yield kinds("several conditions hold", several)
    heavy = {
        "triangles_alike": head(draw, 5, 0.45, 0.3, 0.9, 1.3),
        "below_2_5_times_above": head(draw, 5, 0.45, 0.4, 1.1, 0.6),
        "above_2_5_times_below": head(draw, 5, 0.45, 0.3, 0.3, 1.5),
    }
    yield kinds("heavy diagonals", heavy)
    before, after = torch.eye(6).roll(-1, 1).tril(), torch.eye(6).roll(1, 1).triu()
    corner = torch.zeros(6, 6)
    corner[5, 1] = 1
    near_and_far = {"to_the_token_before": before * 0.9, "to_the_token_after": after * 0.9, "far_back": corner, "far_ahead": corner.T}
    yield kinds("neighbours only, or one far away", near_and_far)
    empty = {
        "nothing_above": head(draw, 5, 0.45, 0.1, 0.2, 0.0),
        "nothing_below": head(draw, 5, 0.45, 0.0, 0.0, 0.2),
        "nothing_beside_the_diagonal": torch.tensor([0.5, 0.25, 0.375, 0.25, 0.125]).diag(),
        "nothing_at_all": torch.zeros(4, 4),
    }
    yield kinds("empty triangles", empty)
    one = {"weight_of_1": torch.ones(1, 1), "weight_of_0_4": torch.full((1, 1), 0.4), "weight_of_a_quarter": torch.full((1, 1), 0.25)}
    yield kinds("one token", one)
    two = {
        "past": torch.tensor([[0.3, 0.1], [0.25, 0.4]]),
        "future": torch.tensor([[0.4, 0.6], [0.1, 0.4]]),
        "both": torch.tensor([[0.4, 0.2], [0.15, 0.4]]),
        "itself": torch.tensor([[0.9, 0.1], [0.6, 0.4]]),
    }
    yield kinds("two tokens", two)
    sides = {
        "first_row": torch.tensor([[0.4, 0.6, 0.6, 0.6], [0.1, 0.2, 0.2, 0.2], [0.2, 0.3, 0.2, 0.2], [0.1, 0.4, 0.4, 0.2]]),
        "last_column": torch.tensor([[0.2, 0.1, 0.1, 0.6], [0.1, 0.2, 0.1, 0.6], [0.5, 0.2, 0.1, 0.5], [0.1, 0.3, 0.4, 0.4]]),
        "second_column": torch.tensor([[0.2, 0.6, 0.1, 0.3], [0.1, 0.4, 0.1, 0.2], [0.1, 0.5, 0.2, 0.3], [0.1, 0.6, 0.2, 0.2]]),
        "one_large_entry_of_column_0": torch.tensor([[0.1, 0.2, 0.4, 0.3], [0.1, 0.3, 0.4, 0.2], [0.1, 0.3, 0.3, 0.3], [0.7, 0.1, 0.1, 0.1]]),
        "column_0_with_its_first_entry": torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.1, 0.3, 0.3, 0.3], [0.1, 0.3, 0.3, 0.3], [0.1, 0.3, 0.3, 0.3]]),
        "column_0_without_its_first_entry": torch.tensor([[0.0, 0.4, 0.3, 0.3], [0.36, 0.2, 0.2, 0.24], [0.38, 0.2, 0.2, 0.22], [0.36, 0.2, 0.24, 0.2]]),
        "one_entry_above": torch.tensor([[0.3, 0.3, 0.0, 0.0], [0.2, 0.3, 0.0, 0.0], [0.2, 0.2, 0.3, 0.0], [0.2, 0.2, 0.2, 0.3]]),
        "one_entry_below": torch.tensor([[0.3, 0.1, 0.1, 0.1], [0.0, 0.3, 0.1, 0.1], [0.5, 0.0, 0.3, 0.1], [0.0, 0.0, 0.0, 0.3]]),
        "diagonal_from_the_other_corner": torch.tensor([[0.1, 0.1, 0.1, 0.7], [0.1, 0.1, 0.7, 0.1], [0.1, 0.7, 0.1, 0.1], [0.7, 0.1, 0.1, 0.1]]),
    }
    yield kinds("rows, columns and corners", sides)
    # Means are over all rows, also those of padded tokens. Sums of these are exact.
    column, diagonal = torch.zeros(4, 4), torch.zeros(4, 4)
    column[:2] = torch.tensor([0.5, 0.0, 0.25, 0.25])
    diagonal[0, 0], diagonal[1, 1], diagonal[0, 3], diagonal[1, 0] = 0.75, 0.75, 0.25, 0.25
    yield kinds("padding: rows all zero", {"first_key_of_half_the_rows": column, "itself_in_half_the_rows": diagonal})
    (length,) = draw.distinct((6, 12))
    yield kinds("a random length", of_each_kind(length))
    late = torch.zeros(131, 131)
    late[130, 129], late[0, 3] = 0.75, 0.25
    yield kinds("131 tokens, weights of the last", {"later_to_the_past": late, "later_to_the_future": late.T.contiguous()} | of_each_kind(131))
    yield kinds("bfloat16", of_each_kind(5), dtype="bfloat16")
    yield kinds("float64", of_each_kind(7), dtype="float64")
    heads = of_each_kind(6)
    yield kinds("non-contiguous weights", heads, layout=dict.fromkeys(heads, "transposed"), check="properties")
    heads = of_each_kind(5)
    yield kinds("parts of larger weights", heads, layout=dict.fromkeys(heads, "strided"), check="properties")
    same = {"to_the_first": torch.tensor([0.4, 0.2, 0.1, 0.2, 0.1]).expand(5, 5), "to_all": torch.full((1, 7), 1 / 7).expand(7, 7)}
    yield kinds("the same row for every query (expanded)", same, layout=dict.fromkeys(same, "expanded"), check="properties")


def counted(draw):
    """Operations of a call on few and on many; the heads to classify are mixed, so that every condition is looked at."""
    yield entropy("few and small", rows(draw, 2, 3, 4, 5), probe="vectorised")
    yield entropy("many and large", rows(draw, 7, 8, 9, 11), probe="vectorised")
    yield distance("few and small", rows(draw, 2, 3, 4, 4), probe="vectorised")
    yield distance("many and large", rows(draw, 7, 8, 9, 9), probe="vectorised")
    # In bfloat16 no answer comes without a tensor operation: numpy has no such dtype.
    yield kinds("few tokens", {"to_all": head(draw, 5, 0.2, 0.2, 1.2, 1.4)}, dtype="bfloat16", probe="vectorised")
    yield kinds("many tokens", {"to_all": head(draw, 14, 0.2, 0.2, 3.0, 3.2)}, dtype="bfloat16", probe="vectorised")
