"""Cases for scaled dot-product attention. Queries, keys and values have any leading dims."""

import torch

from attn_drill.casekit import (
    CaseMaker,
    Direct,
    Scores,
    SecondCall,
    realistic_call,
    shaped,
    suites,
)


def drive(attention, given):
    """Call once, or twice."""
    later = {name[6:]: value for name, value in given.inputs.items() if name.startswith("later_")}
    outputs = {"out": call(attention, given.inputs)}
    if later:
        outputs["later_out"] = call(attention, later)
    return outputs


def call(attention, inputs):
    """Leave the mask out if there is none. The name of an input means the same tensor."""
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    k = q if isinstance(k, str) else k
    v = {"q": q, "k": k}[v] if isinstance(v, str) else v
    return attention(q, k, v) if inputs["mask"] is None else attention(q, k, v, mask=inputs["mask"])


def maker(draw, lead):
    """Return a maker of cases with these leading dims."""
    return CaseMaker(
        draw,
        inputs={"q": f"{lead} Lq D", "k": f"{lead} Lk D", "v": f"{lead} Lk Dv"},
        outputs={"out": f"{lead} Lq Dv"},
        mask=f"{lead} Lq Lk",
        roles=Direct(),
    )


def cases(draw):
    """Yield the cases on which a submission runs."""
    case, none, single, triple = (maker(draw, lead) for lead in ("B H", "", "N", "G B H"))
    sizes = {"B": 2, "H": 3, "Lq": 5, "Lk": 7, "D": 6, "Dv": 7, "equal": "Lk Dv"}
    identity = {"inputs": {"v": torch.eye(7).expand(2, 3, 7, 7)}, "outputs": {"out": "B H Lq Lk"}}
    yield case("weights as output (v is the identity)", **identity, **sizes)
    yield none("no leading dims", Lq=5, Lk=3, D=7, Dv=2)
    yield none("no leading dims, mask [Lq, Lk]", Lq=4, Lk=6, D=5, Dv=3, mask="Lq Lk")
    yield single("one leading dim", N=3, Lq=4, Lk=6, D=5, Dv=7)
    yield single("one leading dim, bfloat16", N=4, Lq=6, Lk=5, D=7, Dv=9, dtype="bfloat16")
    yield single("one leading dim, mask [N, Lq, Lk]", N=3, Lq=5, Lk=4, D=7, Dv=6, mask="N Lq Lk")
    yield single("one leading dim, mask [1, Lk]", N=4, Lq=3, Lk=5, D=6, Dv=2, mask="1 Lk")
    yield single("one leading dim, mask [N, 1, Lk]", N=3, Lq=5, Lk=4, D=6, Dv=7, mask="N 1 Lk")
    # This mask [Lq, Lk] could be read as [N, Lk].
    same = {"N": 4, "Lq": 4, "Lk": 6, "D": 5, "Dv": 7, "equal": "N Lq"}
    yield single("one leading dim, mask [Lq, Lk]", mask=draw.causal(4, 6), **same)
    lead = {"G": 2, "B": 3, "H": 4, "Lq": 5, "Lk": 6, "D": 7, "Dv": 8}
    yield triple("three leading dims", **lead)
    yield triple("three leading dims, mask [G, 1, H, 1, Lk]", mask="G 1 H 1 Lk", **lead)
    lead |= {"G": 5, "equal": "G Lq"}
    yield triple("three leading dims, mask [Lq, Lk]", mask="causal", **lead)
    square = {"B": 2, "H": 3, "Lq": 5, "Lk": 5, "D": 7, "Dv": 7, "equal": "Lq Lk, D Dv"}
    yield case("as many queries as keys, values as wide as keys", **square)
    yield from suites.one_tensor(case, **square)
    yield case("one query, one head, head dim 1", B=2, H=1, Lq=1, Lk=6, D=1, Dv=5)
    yield case("one key, one batch item, value dim 1", B=1, H=3, Lq=4, Lk=1, D=5, Dv=1)
    yield case("one query, one head, masked", B=3, H=1, Lq=1, Lk=7, D=6, Dv=4, mask="B 1 1 Lk")
    same = {"B": 4, "H": 4, "Lq": 4, "Lk": 4, "D": 4, "Dv": 4, "equal": "B H Lq Lk D Dv"}
    yield case("all sizes equal", **same)
    yield case("all sizes equal, masked", mask="Lq Lk", **same)
    sizes = draw.sizes(B=(2, 3), H=(2, 5), Lq=(3, 9), Lk=(3, 9), D=(5, 12), Dv=(2, 9))
    yield case("random sizes", **sizes)
    yield from suites.tiny_values(case, B=1, H=4, Lq=1, Lk=5, D=6, Dv=7)
    yield from suites.masks(case, B=3, H=2, Lq=5, Lk=7, D=6, Dv=4)
    yield from suites.dtypes(case, B=3, H=2, Lq=5, Lk=7, D=6, Dv=4)
    # With head dim 64, the scale divides a mask's fill value by 8 if the fill comes first.
    yield from suites.steep_scores(case, gradients=True, B=3, H=5, Lq=4, Lk=7, D=64, Dv=6)
    yield from far_above(case, B=2, H=3, Lq=5, Lk=7, D=6, Dv=4)
    yield from suites.zero_tokens(case, B=2, H=3, Lq=5, Lk=7, D=6, Dv=4)
    yield from suites.layouts(case, B=3, H=4, Lq=5, Lk=7, D=6, Dv=2)
    sizes = {"B": 2, "H": 3, "Lq": 4, "Lk": 5, "D": 6, "Dv": 7, "check": "properties"}
    yield case("the same sizes again", later=SecondCall(), **sizes)
    small, large = {"B": 2, "H": 3, "Lq": 4, "Lk": 5, "D": 6, "Dv": 10}, {"B": 7, "H": 8}
    longer = {"Lq": 9, "Lk": 11}
    yield from suites.growth(case, "everything", small, large | longer, mask="B H Lq Lk")
    small = {"D": 12, "Dv": 13, "Lq": 5, "Lk": 6, "G": 2, "B": 3, "H": 4}
    large = {"Lq": 10, "Lk": 11, "G": 7, "B": 8, "H": 9}
    yield from suites.growth(triple, "three leading dims", small, large)
    small = {"B": 1, "H": 2, "Lq": 4, "Lk": 5, "D": 7, "Dv": 6}
    yield from suites.growth(case, "length, no mask", small, {"Lq": 300, "Lk": 310})


def far_above(case, **sizes):
    """Yield masked scores of 100000, from which no small number can be subtracted."""
    # One key: the difference of two such scores would be lost in rounding.
    hidden = torch.arange(sizes["Lk"]) == 1
    parts = case.roles.scored(case, sizes, Scores(torch.where(hidden, 1e5, 0.0)))
    yield case("masked scores of 100000", mask=~hidden[None, :], **parts, **sizes)


def realistic():
    """Return the call that is measured after a pass: 32 heads of 128 with a causal mask."""
    return realistic_call(
        "32 heads of 128, B = 1, L = 2048",
        q=shaped(1, 32, 2048, 128),
        k=shaped(1, 32, 2048, 128),
        v=shaped(1, 32, 2048, 128),
        mask=shaped(2048, 2048, dtype="bool"),
    )
