"""Cases for ALiBi: slopes for many numbers of heads, then attention with a linear bias."""

from dataclasses import dataclass, replace

import torch

from attn_drill.casekit import CaseMaker, Direct, Scores, SecondCall, realistic_call, shaped, suites


def drive(alibi, given):
    """Call one of the two functions; attention once, or twice."""
    inputs = given.inputs
    if inputs["function"] == "alibi_slopes":
        return {"slopes": alibi.alibi_slopes(inputs["num_heads"])}
    if "slopes_of" in inputs:
        alibi.alibi_slopes(inputs["slopes_of"])
    outputs = {"out": alibi.alibi_attention(given.q, given.k, given.v)}
    if "later_q" in inputs:
        outputs["later_out"] = alibi.alibi_attention(given.later_q, given.later_k, given.later_v)
    return outputs


@dataclass(frozen=True)
class FunctionMaker(CaseMaker):
    """Make the cases of one function."""

    function: str = ""

    def __call__(self, name, *, inputs=None, **more):
        """Return one case, whose name begins with the function."""
        given = {"function": self.function, **(inputs or {})}
        name = f"{self.function.removeprefix('alibi_')}: {name}"
        return super().__call__(name, inputs=given, **more)


def cases(draw):
    """Yield the cases on which a submission runs."""
    yield from slopes_cases(draw)
    dims = "B H L D"
    case = FunctionMaker(
        draw,
        inputs={"q": dims, "k": dims, "v": dims},
        outputs={"out": dims},
        roles=Direct(),
        function="alibi_attention",
    )
    yield from attention_cases(case, draw)


def slopes_cases(draw):
    """Yield numbers of heads: powers of two, and numbers from just above to just below them."""
    case = FunctionMaker(draw, inputs={}, outputs={"slopes": "H"}, function="alibi_slopes")

    def slopes(name, H):
        return case(name, inputs={"num_heads": H}, gradients=False, H=H)

    for H in (8, 4, 16, 2, 1, 32, 64, 6, 12, 3, 5, 7, 9, 15, 20, 24, 33, 40, 63, 71, 100, 112):
        yield slopes("1 head" if H == 1 else f"{H} heads", H)
    (H,) = draw.distinct((10, 60))
    yield slopes("a random number of heads", H)


def attention_cases(case, draw):
    """Yield the cases of `alibi_attention`."""
    identity = {"inputs": {"v": torch.eye(6).expand(2, 4, 6, 6)}, "outputs": {"out": "B H L L"}}
    sizes = {"B": 2, "H": 4, "L": 6, "D": 6, "equal": "L D"}
    yield case("weights as output (v is the identity)", **identity, **sizes)
    silent = {"q": torch.zeros(2, 4, 6, 6), **identity["inputs"]}
    yield case("queries of zeros: the bias alone", **identity | {"inputs": silent}, **sizes)
    yield case("8 heads", B=3, H=8, L=6, D=5)
    yield case("6 heads", B=2, H=6, L=7, D=5)
    yield case("3 heads", B=2, H=3, L=8, D=5)
    yield case("12 heads", B=2, H=12, L=5, D=7)
    yield case("5 heads, one batch item", B=1, H=5, L=7, D=4)
    yield case("16 heads, head dim 1", B=2, H=16, L=6, D=1)
    yield case("one head", B=3, H=1, L=6, D=5)
    yield case("one head, one batch item", B=1, H=1, L=5, D=3)
    yield case("one token", B=2, H=3, L=1, D=4)
    yield case("as many heads as batch items", B=4, H=4, L=6, D=5, equal="B H")
    yield case("as many heads as tokens", B=2, H=5, L=5, D=6, equal="H L")
    yield case("as many batch items as tokens", B=4, H=3, L=4, D=5, equal="B L")
    same = {"B": 4, "H": 4, "L": 4, "D": 4, "equal": "B H L D"}
    yield case("all sizes equal", **same)
    yield case("random sizes", **draw.sizes(B=(2, 3), H=(4, 12), L=(4, 12), D=(4, 9)))
    yield case("40 tokens", B=2, H=8, L=40, D=5)
    sizes = {"B": 3, "H": 2, "L": 7, "D": 5}
    yield from suites.tiny_values(case, **sizes)
    yield from suites.dtypes(case, **sizes)
    yield case("float64, 12 heads", dtype="float64", **sizes | {"H": 12})
    yield case("bfloat16, 6 heads, one batch item", dtype="bfloat16", **sizes | {"B": 1, "H": 6})
    yield from suites.zero_tokens(case, **sizes)
    yield from steep_cases(case)
    # bfloat16 has only even numbers from 256 on, and int8 ends at 127.
    sizes = {"B": 1, "H": 8, "L": 300, "D": 4}
    yield case("300 tokens", **sizes)
    yield case("300 tokens, bfloat16", dtype="bfloat16", **sizes)
    sizes = {"B": 3, "H": 4, "L": 7, "D": 5}
    yield from suites.layouts(case, **sizes)
    for name, later in (
        ("the same sizes again", SecondCall()),
        ("more tokens afterwards", SecondCall(sizes={"L": 9})),
        ("more heads afterwards", SecondCall(sizes={"H": 6})),
    ):
        yield case(name, later=later, check="properties", **sizes)
    small = {"B": 2, "H": 3, "L": 5, "D": 11}
    yield from suites.growth(case, "batch and length", small, {"B": 7, "L": 10})
    yield from suites.growth(case, "length", small | {"B": 1, "H": 2}, {"L": 300})
    yield growing_heads(case, small)


def growing_heads(case, sizes):
    """Return a growth probe for the number of heads.

    A loop over heads is allowed in `alibi_slopes`. So the small call also makes the slopes of the
    large number of heads, and the large call those of the small number: the loops there cancel,
    and only a loop in `alibi_attention` makes a difference.
    """
    few, many = (
        case(
            f"growing heads, {word}",
            probe="vectorised",
            inputs={"slopes_of": other},
            **sizes | {"H": heads},
        )
        for word, heads, other in (("small", 6, 14), ("large", 14, 6))
    )
    return replace(few, larger=many)


def steep_cases(case):
    """Yield scores of ±200, of visible keys and of hidden keys."""
    B, H, L, D = 2, 5, 9, 4
    sizes = {"B": B, "H": H, "L": L, "D": D}
    token = torch.arange(L)

    # Early queries score 120 with the last two keys, which they do not see. The other scores are
    # about ±1, so gradients keep their digits.
    q, k = case.draw.normal(B, H, L, D), case.draw.normal(B, H, L, D)
    q[..., 0] = 12 * D**0.5 * (token < L - 2)
    k[..., 0] = 10.0 * (token >= L - 2)
    name = "hidden scores of 120 next to ordinary scores"
    yield case(name, inputs={"q": q, "k": k}, check="masks", **sizes)

    # The last key has values of 1e36. The last query gives it the weight 0, because its score is
    # 400 below that of the other keys. The other queries do not see it, and score -200 with the
    # keys that they see.
    huge = token == L - 1
    of_queries = torch.where(huge, 1.0, -1.0)
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
    return case(name, inputs=inputs, check="masks", gradients=False, **sizes)


def realistic():
    """Return the call that is measured after a pass: 32 heads of 128."""
    return realistic_call(
        "alibi_attention, 32 heads of 128, B = 1, L = 2048",
        function="alibi_attention",
        q=shaped(1, 32, 2048, 128),
        k=shaped(1, 32, 2048, 128),
        v=shaped(1, 32, 2048, 128),
    )
