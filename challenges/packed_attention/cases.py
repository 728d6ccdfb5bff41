"""Cases for packed sequences: empty sequences, many short sequences, steep scores."""

import torch

from attn_drill.casekit import CaseMaker, Direct, SecondCall, realistic_call, shaped, suites


def drive(attention, given):
    """Call once, or twice."""
    outputs = {"out": attention(given.q, given.k, given.v, given.cu_seqlens)}
    if "later_q" in given.inputs:
        later = (given.later_q, given.later_k, given.later_v, given.later_cu_seqlens)
        outputs["later_out"] = attention(*later)
    return outputs


def bounds(lengths):
    """Return cu_seqlens for these lengths."""
    return torch.tensor([0, *lengths]).cumsum(0)


def mirrored(draw):
    """Return random lengths of 12 sequences, 40 tokens in all, that read the same backwards.

    They differ in both calls of the grader. The sum of their boundaries is always the same.
    """
    cuts = draw.integers(5, low=0, high=21).sort().values.tolist()
    half = torch.tensor([0, *cuts, 20]).diff().tolist()
    return (*half, *half[::-1])


class PackedMaker(CaseMaker):
    """Make cases with the option `lengths`: the lengths of the sequences, whose sum is L."""

    def __call__(self, name, *, lengths, inputs=None, **more):
        """Return one case. L is the number of all tokens."""
        given = {"cu_seqlens": bounds(lengths), **(inputs or {})}
        return super().__call__(name, inputs=given, L=sum(lengths), **more)

    def with_products(self, sizes):
        """Return the sizes, with L instead of the lengths."""
        known = dict(sizes)
        if "lengths" in known:
            known["L"] = sum(known.pop("lengths"))
        return super().with_products(known)


def cases(draw):
    """Yield the cases on which a submission runs."""
    dims = "L H D"
    case = PackedMaker(
        draw, inputs={"q": dims, "k": dims, "v": dims}, outputs={"out": dims}, roles=Direct()
    )
    one_hot = {"inputs": {"v": torch.eye(7)[:, None].expand(7, 3, 7)}}
    sizes = {"H": 3, "D": 7, "equal": "L D"}
    yield case(
        "weights as output: value j is e_j, so feature d is key d",
        lengths=(3, 4),
        **one_hot,
        **sizes,
    )
    yield case("one sequence", lengths=(6,), H=3, D=5)
    yield case("two sequences", lengths=(4, 3), H=2, D=5)
    yield case("one head", lengths=(2, 4), H=1, D=5)
    yield case("head dim 1", lengths=(3, 2), H=4, D=1)
    yield case("one token", lengths=(1,), H=2, D=5)
    yield case("one token, one head, head dim 1", lengths=(1,), H=1, D=1)
    yield case("every sequence has one token", lengths=(1,) * 6, H=2, D=5)
    yield case("three equal lengths", lengths=(3, 3, 3), H=2, D=5)
    yield case("five sequences", lengths=(2, 1, 3, 1, 4), H=3, D=5)
    yield case("as many heads as tokens", lengths=(3, 2), H=5, D=4, equal="L H")
    yield case("as many tokens as features", lengths=(2, 4), H=3, D=6, equal="L D")
    yield case("as many heads as features", lengths=(2, 5), H=4, D=4, equal="H D")
    yield case("all sizes equal, as many sequences", lengths=(2, 0, 1, 1), **square())
    yield case("all sizes equal, as many boundaries", lengths=(1, 2, 1), **square())
    yield from empty_sequences(case)
    yield from random_sequences(case)
    usual = {"lengths": (3, 1, 0, 4), "H": 3, "D": 5}
    yield from suites.tiny_values(case, **usual)
    yield from suites.dtypes(case, **usual)
    yield from zero_tokens(case, usual)
    yield from steep_cases(case)
    yield from many_tokens(case)
    usual = {"lengths": (2, 5, 0, 3), "H": 4, "D": 6}
    yield from suites.layouts(case, **usual)
    # A mask that is kept for other sequences of as many tokens shows in the first cases: several
    # have 7 tokens, in two sequences each.
    longer = SecondCall(sizes={"L": 13}, inputs={"cu_seqlens": bounds((5, 8))})
    yield case("more tokens afterwards", later=longer, check="properties", **usual)
    # The two calls of the grader have other boundaries in the same memory. Neither the numbers of
    # tokens and sequences nor the sum of the boundaries shows it. There is no `later` with other
    # boundaries: the diagnosis finds a mask that is kept only if each case is right alone.
    name = "as many tokens and sequences again, other boundaries"
    yield case(name, lengths=mirrored(draw), check="properties", H=3, D=5)
    yield from growth(case)


def square():
    """Return equal sizes, for four tokens."""
    return {"H": 4, "D": 4, "equal": "L H D"}


def empty_sequences(case):
    """Yield empty sequences at the start, in the middle and at the end."""
    for name, lengths in (
        ("at the start", (0, 3, 4)),
        ("in the middle", (3, 0, 4)),
        ("at the end", (4, 3, 0)),
        ("two in a row", (2, 0, 0, 5)),
        ("two at the start, two at the end", (0, 0, 4, 3, 0, 0)),
        ("everywhere, around one token", (0, 1, 0, 5, 0, 1, 0)),
    ):
        yield case(f"empty sequences, {name}", lengths=lengths, check="masks", H=2, D=5)
    # There are more sequences than tokens.
    lengths = (0, 0, 1, 0, 0, 0, 2, 0, 0)
    yield case("more sequences than tokens", lengths=lengths, check="masks", H=4, D=5)
    yield case("one token among empty sequences", lengths=(0, 1, 0), check="masks", H=4, D=5)


def random_sequences(case):
    """Yield random lengths. They are the same in both calls of the grader."""
    sizes = case.draw.sizes(H=(2, 4), D=(5, 8))
    first, second, third, fourth = case.draw.distinct((1, 6), (1, 6), (1, 6), (1, 6))
    yield case("random lengths", lengths=(first, second, third, fourth), **sizes)
    with_empty = (second, 0, fourth, first, 0, third)
    yield case("random lengths, some of them 0", lengths=with_empty, **sizes)


def zero_tokens(case, sizes):
    """Yield a token of zeros in q, k and v. Its scores are 0, and its keys are still visible."""
    inputs = case.drawn(case.with_products(sizes))
    for token, tensor in zip((6, 1, 5), inputs.values(), strict=True):
        tensor[token] = 0
    yield case("tokens of zeros", inputs=inputs, **sizes)


def steep_cases(case):
    """Yield scores of ±200, of visible keys and of hidden keys."""
    lengths, H, D = (3, 0, 4, 2), 5, 4
    sizes = {"lengths": lengths, "H": H, "D": D, "check": "masks"}
    tokens = sum(lengths)
    token = torch.arange(tokens)

    # All marked pairs are hidden. The other scores are about ±1, so gradients keep their digits.
    before = (token >= 3, token < 3)
    after = (token < 7, token >= 7)
    last = (token < 2, token == 2)  # the future, in the same sequence
    every = [before, after, last]
    for name, marked in (
        ("the sequence before", [before]),
        ("the sequence after", [after]),
        ("the future of the same sequence", [last]),
        ("everywhere", every),
    ):
        inputs = case.drawn(case.with_products(sizes))
        for feature, (queries, keys) in enumerate(marked):
            inputs["q"][..., feature] = (12 * D**0.5 * queries)[:, None]
            inputs["k"][..., feature] = (10.0 * keys)[:, None]
        yield case(f"hidden scores of 120 next to ordinary scores, {name}", inputs=inputs, **sizes)

    # The last key of each sequence has values of 1e36. Only the last query of a sequence sees it,
    # with the weight 0, because its score is 400 below that of the query's other keys. The other
    # queries score -200 with all keys that they see.
    ends = (token == 2) | (token == 6) | (token == 8)
    of_keys, of_queries = torch.where(ends, -200.0, 200.0), torch.where(ends, 1.0, -1.0)
    huge = torch.where(ends[:, None, None], 1e36, 1e-6 * case.draw.normal(tokens, H, D))
    name = "hidden scores of +200 with values of 1e36, others at -200"
    yield scored(case, name, sizes, of_keys, of_queries, v=huge)

    # With head dim 64, the scale divides a fill value by 8 if the fill comes first.
    everywhere = torch.ones(tokens)
    yield scored(case, "all scores near -200", sizes | {"D": 64}, -200 * everywhere)
    falling = torch.linspace(200, -200, tokens)
    yield scored(case, "scores falling from 200", sizes, falling)
    name = "scores rising in one head, falling in the next"
    yield scored(case, name, sizes, -falling, alternating=True)
    signs = (-1.0) ** token
    name = "alternating rows of scores 400 apart"
    yield scored(case, name, sizes, 200 * everywhere, signs, alternating=True)
    # The scores of a sequence are 400 above those of its neighbours.
    signs = torch.where((token < 3) | (token >= 7), -1.0, 1.0)
    yield scored(case, "sequences with scores 400 apart", sizes, 200 * everywhere, signs)


def scored(case, name, sizes, of_keys, of_queries=None, alternating=False, **more):
    """Return a case whose feature 0 gives the scores; the other features add about ±1.

    Gradients would be rounding errors.
    """
    inputs = case.drawn(case.with_products(sizes)) | more
    H, D = sizes["H"], sizes["D"]
    of_heads = (-1.0) ** torch.arange(H) if alternating else torch.ones(H)
    rows = torch.ones(len(of_keys)) if of_queries is None else of_queries
    inputs["q"][..., 0] = 200 * D**0.5 * rows[:, None] * of_heads
    inputs["k"][..., 0] = of_keys[:, None] / 200
    return case(name, inputs=inputs, gradients=False, **sizes)


def many_tokens(case):
    """Yield numbers of tokens and of sequences that small types cannot count.

    bfloat16 has only even numbers from 256 on, int8 ends at 127, and uint8 at 255.
    """
    for dtype in ("float32", "bfloat16"):
        sizes = {"dtype": dtype, "H": 2, "D": 4}
        yield case(f"300 tokens, {dtype}", lengths=(5, 290, 0, 5), **sizes)
        lengths = (*[1] * 270, 0, *[2] * 10, 8)
        yield case(f"282 sequences, {dtype}", lengths=lengths, **sizes)


def growth(case):
    """Yield calls of two sizes. The number of operations must not grow with the sizes.

    All calls have sequences of unequal lengths, none of them empty: a right answer may have
    a shorter way for equal lengths.
    """
    small = {"lengths": (3, 2), "H": 3, "D": 11}
    many = (1, 4, 2, 3, 1, 5, 2, 1, 2, 3)
    yield from suites.growth(case, "everything", small, {"lengths": many, "H": 8})
    few, many = small | {"lengths": (5, 4)}, {"lengths": (1, 2, 1, 1, 1, 2, 1)}
    yield from suites.growth(case, "number of sequences", few, many)
    yield from suites.growth(case, "number of heads", small, {"H": 9})
    yield from suites.growth(case, "length", small, {"lengths": (180, 120)})


def realistic():
    """Return the call that is measured after a pass: 8 sequences with 32 heads of 128."""
    return realistic_call(
        "8 sequences of 2048 tokens together, 32 heads of 128",
        q=shaped(2048, 32, 128),
        k=shaped(2048, 32, 128),
        v=shaped(2048, 32, 128),
        cu_seqlens=shaped(9, dtype="int64"),
    )
