"""Cases for sliding-window attention: windows from 1 to beyond the length, steep scores."""

import torch

from attn_drill.casekit import CaseMaker, Direct, Scores, SecondCall, realistic_call, shaped, suites


def drive(attention, given):
    """Call once, or twice."""
    outputs = {"out": attention(given.q, given.k, given.v, given.window)}
    if "later_q" in given.inputs:
        later = (given.later_q, given.later_k, given.later_v, given.later_window)
        outputs["later_out"] = attention(*later)
    return outputs


class WindowMaker(CaseMaker):
    """Make cases with the option `window`."""

    def __call__(self, name, *, window=3, inputs=None, **more):
        """Return one case with this window."""
        return super().__call__(name, inputs={"window": window, **(inputs or {})}, **more)


def cases(draw):
    """Yield the cases on which a submission runs."""
    dims = "B H L D"
    case = WindowMaker(
        draw, inputs={"q": dims, "k": dims, "v": dims}, outputs={"out": dims}, roles=Direct()
    )
    identity = {"inputs": {"v": torch.eye(7).expand(2, 3, 7, 7)}, "outputs": {"out": "B H L L"}}
    sizes = {"B": 2, "H": 3, "L": 7, "D": 7, "equal": "L D"}
    yield case("weights as output (v is the identity)", **identity, **sizes)
    yield case("one batch item, one head", B=1, H=1, L=6, D=5)
    yield case("head dim 1", B=2, H=3, L=5, D=1)
    yield case("one token", B=2, H=3, L=1, D=4)
    yield case("one token, window 1", B=3, H=2, L=1, D=5, window=1)
    yield case("two tokens", B=3, H=4, L=2, D=5, window=1)
    yield case("as many heads as batch items", B=3, H=3, L=6, D=5, equal="B H", window=4)
    yield case("as many heads as tokens", B=2, H=5, L=5, D=6, equal="H L")
    same = {"B": 4, "H": 4, "L": 4, "D": 4, "equal": "B H L D"}
    yield case("all sizes equal", window=2, **same)
    yield case("all sizes and the window equal", window=4, **same)
    sizes = draw.sizes(B=(2, 3), H=(2, 5), L=(6, 12), D=(4, 9), window=(2, 5))
    yield case("random sizes", **sizes)
    yield from windows(case)
    sizes = {"B": 3, "H": 2, "L": 7, "D": 5}
    yield from suites.tiny_values(case, **sizes)
    yield from suites.dtypes(case, **sizes)
    yield case("bfloat16, window 4, one batch item", dtype="bfloat16", window=4, **sizes | {"B": 1})
    yield from suites.zero_tokens(case, **sizes)
    yield from steep_cases(case)
    # bfloat16 has only even numbers from 256 on, and int8 ends at 127.
    sizes = {"B": 1, "H": 2, "L": 300, "D": 4, "window": 3}
    yield case("300 tokens", **sizes)
    yield case("300 tokens, bfloat16", dtype="bfloat16", **sizes)
    yield case("300 tokens, window 200", **sizes | {"window": 200})
    sizes = {"B": 3, "H": 4, "L": 7, "D": 5}
    yield from suites.layouts(case, **sizes)
    # A mask that is kept for another window shows in `windows`: two cases there have 6 tokens.
    later = SecondCall(sizes={"L": 9}, inputs={"window": 3})
    yield case("more tokens afterwards", later=later, check="properties", **sizes)
    small = {"B": 2, "H": 3, "L": 5, "D": 11}
    yield from suites.growth(case, "everything", small, {"B": 7, "H": 8, "L": 10})
    yield from suites.growth(case, "length", small | {"B": 1, "H": 2}, {"L": 300})


def windows(case):
    """Yield windows up to and beyond the length."""
    for name, window, L in (
        ("window 1: every token sees itself only", 1, 6),
        ("window 2", 2, 6),
        ("window 4", 4, 9),
        ("window 21, an odd length", 21, 41),
        ("one key less than the length", 6, 7),
        ("as long as the sequence", 7, 7),
        ("one key more than the length", 8, 7),
        ("twice the length", 10, 5),
        ("far beyond the length", 100, 6),
    ):
        yield case(name, window=window, check="masks", B=2, H=3, L=L, D=4)
    sizes = {"B": 2, "H": 4, "L": 8, "D": 6, "check": "masks"}
    yield case("window 3, float64", window=3, dtype="float64", **sizes)
    yield case("beyond the length, bfloat16", window=12, dtype="bfloat16", **sizes)
    yield case("beyond the length, one batch item", window=9, **sizes | {"B": 1})


def steep_cases(case):
    """Yield scores of ±200, of visible keys and of hidden keys."""
    B, H, L, D, window = 2, 5, 9, 4, 3
    sizes = {"B": B, "H": H, "L": L, "D": D, "window": window, "check": "masks"}
    token = torch.arange(L)

    # Late queries score 120 with the first two keys, early queries with the last two. All of these
    # pairs are hidden. The other scores are about ±1, so gradients keep their digits.
    past = (token >= 1 + window, token < 2)
    future = (token < L - 2, token >= L - 2)
    for name, marked in (("the past", [past]), ("the future", [future]), ("both", [past, future])):
        q, k = case.draw.normal(B, H, L, D), case.draw.normal(B, H, L, D)
        for feature, (queries, keys) in enumerate(marked):
            q[..., feature] = 12 * D**0.5 * queries
            k[..., feature] = 10.0 * keys
        inputs = {"q": q, "k": k}
        yield case(f"hidden scores of 120 next to ordinary scores, {name}", inputs=inputs, **sizes)

    # Keys 1 and L - 1 have values of 1e36. A query that sees such a key gives it the weight 0,
    # because its score is 400 below that of the query's other keys. Queries that do not see it
    # score -200 with all keys that they see.
    huge = (token == 1) | (token == L - 1)
    of_queries = torch.where((token <= window) | (token == L - 1), 1.0, -1.0)
    of_keys = torch.where(huge, -200.0, 200.0)
    scores = Scores(of_keys, queries=of_queries, huge=huge)
    name = "hidden scores of +200 with values of 1e36, others at -200"
    yield scored(case, name, scores, sizes)

    # With head dim 64, the scale divides a fill value by 8 if the fill comes first.
    low = Scores(torch.full((L,), -200.0))
    yield scored(case, "all scores near -200", low, sizes | {"D": 64})
    yield scored(case, "scores falling from 200", Scores(torch.linspace(200, -200, L)), sizes)
    rising = Scores(torch.linspace(-200, 200, L), alternating=True)
    yield scored(case, "scores rising in one head, falling in the next", rising, sizes)
    rows = (-1.0) ** torch.arange(B)[:, None] * (-1.0) ** token
    apart = Scores(torch.full((L,), 200.0), queries=rows, alternating=True)
    yield scored(case, "alternating rows of scores 400 apart", apart, sizes)


def scored(case, name, scores, sizes):
    """Return a case with designed scores. Its gradients would be rounding errors."""
    inputs = case.roles.scored(case, sizes, scores)["inputs"]
    return case(name, inputs=inputs, gradients=False, **sizes)


def realistic():
    """Return the call that is measured after a pass: 32 heads of 128."""
    return realistic_call(
        "32 heads of 128, B = 1, L = 2048, window 512",
        q=shaped(1, 32, 2048, 128),
        k=shaped(1, 32, 2048, 128),
        v=shaped(1, 32, 2048, 128),
        window=512,
    )
