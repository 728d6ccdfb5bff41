"""Cases for the merge of two attention results: large and infinite lse, dtypes, equal sizes."""

from dataclasses import replace

import torch

from attn_drill.casekit import CaseMaker, SecondCall, realistic_call, shaped, suites
from attn_drill.worker.returns import unpack

INFINITE = float("-inf")
PARTS = ("out_a", "lse_a", "out_b", "lse_b")


def drive(merge_attention, given):
    """Call once or twice, or once for each of several parts."""
    if "outs" in given.inputs:
        out, lse = folded(merge_attention, given.outs, given.lses)
        return {"out": out, "lse": lse}
    out, lse = unpack(merge_attention(*parts(given)), "out", "lse")
    outputs = {"out": out} | named(lse, given)
    if "later_out_a" in given.inputs:
        later = [given.inputs[f"later_{name}"] for name in PARTS]
        out, lse = unpack(merge_attention(*later), "out", "lse")
        outputs |= {"later_out": out, "later_lse": lse}
    return outputs


def parts(given):
    """Return the four arguments. Where the case says `hidden`, an lse becomes -inf."""
    arguments = [given.inputs[name] for name in PARTS]
    for place, side in ((1, "a"), (3, "b")):
        if "lse_dtype" in given.inputs:
            arguments[place] = arguments[place].to(getattr(torch, given.lse_dtype))
        if f"hidden_{side}" in given.inputs:
            hidden = given.inputs[f"hidden_{side}"]
            arguments[place] = arguments[place].masked_fill(hidden, float("-inf"))
    return arguments


def folded(merge_attention, outs, lses):
    """Return the result for several parts, merged into the first of them."""
    out, lse = outs[0], lses[0]
    for other_out, other_lse in zip(outs[1:], lses[1:], strict=True):
        out, lse = unpack(merge_attention(out, lse, other_out, other_lse), "out", "lse")
    return out, lse


def named(lse, given):
    """Return lse by name. A value of -inf becomes a boolean, and 0 in `lse`."""
    outputs = {}
    if not isinstance(lse, torch.Tensor):
        return {"lse": lse}
    if "empty" in given.inputs:
        infinite = lse == float("-inf")
        outputs["lse is -inf"] = infinite
        lse = lse.masked_fill(infinite, 0.0)
    if "lse_dtype" in given.inputs:
        outputs["dtype of lse"] = str(lse.dtype)
        lse = (lse - given.offset).to(given.out_a.dtype)
    return outputs | {"lse": lse}


class PartMaker(CaseMaker):
    """Make cases with two parts. lse is drawn from N(0, 4)."""

    def __call__(self, name, *, lse_a=None, lse_b=None, empty=False, inputs=None, **more):
        """Return one case.

        Args:
            name: the name of the case.
            lse_a: the first lse, if it is not drawn.
            lse_b: the second lse, if it is not drawn.
            empty: True if an lse of -inf is expected. Gradients are not graded then.
            inputs: further inputs that are not drawn.
            more: sizes, and further arguments of a case.
        """
        given = dict(inputs or {})
        given |= {} if lse_a is None else {"lse_a": lse_a}
        given |= {} if lse_b is None else {"lse_b": lse_b}
        if empty:
            given["empty"] = 1
            more["outputs"] = self.outputs | {"lse is -inf": self.outputs["lse"]}
        return super().__call__(name, inputs=given, **more)

    def drawn(self, sizes):
        """Return draws from N(0, 1) for the outputs, and from N(0, 4) for the lse."""
        drawn = super().drawn(sizes)
        return {name: 2 * x if name.startswith("lse") else x for name, x in drawn.items()}


def maker(draw, rows):
    """Return a maker of cases whose lse has these dimensions."""
    inputs = {name: f"{rows} D" if name.startswith("out") else rows for name in PARTS}
    return PartMaker(draw, inputs=inputs, outputs={"out": f"{rows} D", "lse": rows})


def cases(draw):
    """Yield the cases on which a submission runs."""
    case, three, two = (maker(draw, rows) for rows in ("B H L", "B L", "L"))
    sizes = {"B": 2, "H": 3, "L": 5, "D": 4}
    yield case("two parts", **sizes)
    yield three("three dims", B=3, L=5, D=4)
    yield two("two dims", L=6, D=5)
    yield two("two dims, as many queries as features", L=4, D=4, equal="L D")
    yield three("three dims, all sizes equal", B=4, L=4, D=4, equal="B L D")
    yield case("all sizes equal", B=3, H=3, L=3, D=3, equal="B H L D")
    yield case("as many queries as features", B=2, H=3, L=6, D=6, equal="L D")
    yield case("as many heads as queries", B=2, H=5, L=5, D=3, equal="H L")
    yield case("one query", B=2, H=3, L=1, D=5)
    yield case("head dim 1", B=2, H=3, L=5, D=1)
    yield case("one batch item, one head", B=1, H=1, L=5, D=4)
    yield two("one query, head dim 1", L=1, D=1)
    yield maker(draw, "N B H L")("five dims", N=2, B=3, H=4, L=5, D=6)
    yield case("random sizes", **draw.sizes(B=(2, 4), H=(2, 6), L=(3, 9), D=(3, 10)))
    tiny = {name: 1e-7 * draw.normal(2, 3, 5, 4) for name in ("out_a", "out_b")}
    yield case("tiny outputs", inputs=tiny, **sizes)
    zeros = torch.zeros(2, 3, 5)
    yield case("every lse is 0", lse_a=zeros, lse_b=zeros, **sizes)
    same = 2 * draw.normal(2, 3, 5)
    yield case("both lse are equal", lse_a=same, lse_b=same, **sizes)
    yield from suites.dtypes(case, **sizes)
    yield from two_dtypes(case, sizes)
    yield from large_lse(case, sizes)
    yield from parts_without_keys(case, sizes)
    yield from several_parts(case)
    yield from suites.layouts(case, **sizes)
    later = SecondCall(sizes={"L": 7})
    yield case("more queries afterwards", later=later, check="properties", **sizes)
    yield from suites.growth(case, "everything", sizes, {"B": 5, "H": 8, "L": 21, "D": 11})


def two_dtypes(case, sizes):
    """Yield an lse of another dtype than the outputs. An offset is subtracted from the result."""

    def typed(name, dtype, lse_dtype, offset=0, **more):
        inputs = {"lse_dtype": lse_dtype, "offset": offset, **more.pop("inputs", {})}
        made = case(name, inputs=inputs, dtype=dtype, **more, **sizes)
        return replace(made, plain={"dtype of lse": "str"})

    for dtype, lse_dtype in (
        ("bfloat16", "float32"),
        ("float32", "float64"),
        ("float64", "float32"),
    ):
        yield typed(f"{dtype} outputs, {lse_dtype} lse", dtype, lse_dtype)
    # bfloat16 has only even numbers near 300, so the difference of the two lse would be lost.
    fine = {name: 300 + case.draw.normal(2, 3, 5) for name in ("lse_a", "lse_b")}
    name = "bfloat16 outputs, float32 lse near 300"
    made = typed(name, "bfloat16", "float32", offset=300, inputs=fine)
    yield replace(made, constants=frozenset(fine))


def large_lse(case, sizes):
    """Yield lse for which exp overflows or underflows.

    An lse near 1e4 keeps few digits in float32. So in these cases the lse of a row are far apart,
    and the result is the larger lse. Their gradients are rounding errors.
    """
    draw, alone = case.draw, {"gradients": False, **sizes}
    rows = torch.tensor([1.0, -1.0, 0.0, 1.0, -1.0])
    for name, offset in (
        ("lse near 110", torch.tensor(110.0)),
        ("lse near -110", torch.tensor(-110.0)),
        ("rows near 110, -110 and 0", 110 * rows),
        ("heads near 110, -110 and 0", torch.tensor([110.0, -110.0, 0.0])[:, None]),
        ("sequences near 110 and -110", torch.tensor([110.0, -110.0])[:, None, None]),
    ):
        a, b = draw.normal(2, 3, 5) + offset, draw.normal(2, 3, 5) + offset
        yield case(name, lse_a=a, lse_b=b, **alone)
    a, b = 800 + draw.normal(2, 3, 5), 800 + draw.normal(2, 3, 5)
    yield case("lse near 800, float64", lse_a=a, lse_b=b, dtype="float64", **sizes)
    # The larger lse is in part a for some rows, and in part b for others.
    side = torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0])
    for name, height, apart, dtype in (
        ("lse 12 apart", 0.0, 6.0, "float32"),
        ("lse 220 apart", 0.0, 110.0, "float32"),
        ("lse of 1e4 and -1e4", 0.0, 1e4, "float32"),
        ("lse near 1e4", 1e4, 60.0, "float32"),
        ("lse near -1e4", -1e4, 60.0, "float32"),
        ("lse near 400, bfloat16", 400.0, 60.0, "bfloat16"),
        ("lse near -1e4, float64", -1e4, 60.0, "float64"),
    ):
        a = height + apart * side + draw.normal(2, 3, 5)
        b = height - apart * side + draw.normal(2, 3, 5)
        yield case(name, lse_a=a, lse_b=b, dtype=dtype, **alone)


def parts_without_keys(case, sizes):
    """Yield lse of -inf: a part saw no key. Its output holds numbers that do not count."""
    draw = case.draw
    query = torch.arange(5)
    none, everywhere = query < 0, query >= 0
    some = (query + torch.arange(3)[:, None]) % 2 == 0  # other queries in each head
    others = query > 2

    def hidden(name, a, b, offset=0.0, scale=5.0, **more):
        """Return a case in which the queries `a` saw no key in part a, and `b` in part b."""
        inputs = {"hidden_a": a, "hidden_b": b}
        for side in "ab":
            inputs[f"lse_{side}"] = 2 * draw.normal(2, 3, 5) + offset
            factor = torch.where(inputs[f"hidden_{side}"], scale, 1.0)[..., None]
            inputs[f"out_{side}"] = factor * draw.normal(2, 3, 5, 4)
        empty = bool((a & b).any())
        given = {"empty": empty, "inputs": inputs, "gradients": False, "check": "masks"}
        return case(name, **given, **more, **sizes)

    yield hidden("some queries saw no key in part a", some, none)
    yield hidden("some queries saw no key in part b", none, others)
    yield hidden("part a saw no key", everywhere, none)
    yield hidden("part b saw no key", none, everywhere)
    for offset in (110, -110, -1e4):
        yield hidden(f"-inf next to {offset:g}", query < 2, query >= 2, offset)
    name = "some queries saw no key in either part"
    yield hidden(name, some, others)
    yield hidden("no key in either part", everywhere, everywhere)
    for dtype in ("bfloat16", "float64"):
        yield hidden(f"{name}, {dtype}", some, others, scale=1.0, dtype=dtype)


def several_parts(case):
    """Yield several parts, which are merged one after the other."""
    draw, sizes = case.draw, {"B": 2, "H": 3, "L": 5, "D": 4}

    def fold(name, first_out, first_lse, heights=(2, -1, 3), **more):
        outs = (first_out, *(draw.normal(2, 3, 5, 4) for _ in heights))
        lses = (first_lse, *(2 * draw.normal(2, 3, 5) + height for height in heights))
        return replace(case(name, **more, **sizes), inputs={"outs": outs, "lses": lses})

    yield fold("four parts", draw.normal(2, 3, 5, 4), 2 * draw.normal(2, 3, 5))
    start = torch.zeros(2, 3, 5, 4), torch.full((2, 3, 5), INFINITE)
    yield fold("three parts, merged into zeros", *start, gradients=False)
    # The lse of two empty parts is -inf. A stand-in such as 0 would outweigh an lse below -100.
    low = {"check": "masks", "gradients": False}
    for height in (-110, -500):
        name = f"two empty parts, then an lse near {height}"
        yield fold(name, *start, heights=(INFINITE, height), **low)


def realistic():
    """Return the call that is measured after a pass: the queries of a layer."""
    return realistic_call(
        "32 heads of 128, B = 1, L = 2048",
        out_a=shaped(1, 32, 2048, 128),
        lse_a=shaped(1, 32, 2048),
        out_b=shaped(1, 32, 2048, 128),
        lse_b=shaped(1, 32, 2048),
    )
