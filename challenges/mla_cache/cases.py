"""Cases for multi-head latent attention with a cache.

`drive` reads these inputs:

    x                           the new tokens
    past_c_kv, past_k_rope      the cache to start from, if the case has one
    chunks                      the lengths of the steps that make up x; each step uses the cache of
                                the step before
    before, other, branch, branch_from    as in `casekit.caches`
    caches                      the number of calls on x whose caches are all kept
    generating                  whether autograd is off, as in a decode loop

Lengths are odd; all other sizes are even.
"""

from dataclasses import dataclass

import torch

from attn_drill.casekit import (
    CaseMaker,
    Projected,
    Scores,
    realistic_call,
    shape,
    shaped,
    suites,
)
from attn_drill.worker.returns import unpack

C_KV, K_ROPE = "B {} Rkv", "B {} Dr"  # the dimensions of a cache of any length


def drive(attention, given):
    """Call step by step with the cache of the step before."""
    with torch.set_grad_enabled(torch.is_grad_enabled() and "generating" not in given.inputs):
        return called(attention, given)


def called(attention, given):
    """Return the outputs of the last step, and those of other sequences with a prefix."""
    past = (given.past_c_kv, given.past_k_rope) if "past_c_kv" in given.inputs else None
    if "before" in given.inputs:
        list(steps(attention, given.before, (given.before.shape[1] - 1, 1)))
    if "caches" in given.inputs:
        kept = [list(steps(attention, given.x, given.chunks)) for _ in range(given.caches)]
        return kept[-1][-1]
    own_steps = steps(attention, given.x, given.chunks, past)
    if "other" in given.inputs:
        other_steps = steps(attention, given.other, given.chunks)
        *_, (last, other) = zip(own_steps, other_steps, strict=False)
        return last | {f"other_{name}": value for name, value in other.items()}
    done = list(own_steps)
    if "branch" not in given.inputs:
        return done[-1]
    cache = done[given.branch_from]["c_kv"], done[given.branch_from]["k_rope"]
    (branch,) = steps(attention, given.branch, given.branch.shape[1:2], cache)
    return done[-1] | {f"branch_{name}": value for name, value in branch.items()}


def steps(attention, x, chunks, past=None):
    """Yield all outputs so far and the cache after every step. End at a wrong shape."""
    outs, start = [], 0
    for length in chunks:
        chunk = x[:, start : start + length]
        start += length
        on_past = {} if past is None else {"cache": past}
        out, cache = unpack(attention(chunk, **on_past), "out", "(c_kv, k_rope)")
        c_kv, k_rope = past = unpack(cache, "c_kv", "k_rope")
        outs.append(out)
        if getattr(out, "shape", None) != chunk.shape:
            yield {"out": out, "c_kv": c_kv, "k_rope": k_rope}
            return
        joined = torch.cat(outs, dim=1) if len(outs) > 1 else out
        yield {"out": joined, "c_kv": c_kv, "k_rope": k_rope}


@dataclass(frozen=True)
class Latent(Projected):
    """Roles of latents whose first three features are those of x.

    q_up, k_up and v_up project these latents.
    """

    q: str = "q_up"
    k: str = "k_up"
    v: str = "v_up"
    bias: bool | None = None

    def drawn_weights(self, case, sizes):
        """Return random weights of q_up, k_up and v_up, each [H, Dn or Dv, rank]."""
        shapes = {"q": ("H", "Dn", "Rq"), "k": ("H", "Dn", "Rkv"), "v": ("H", "Dv", "Rkv")}
        weights = {}
        for role, letters in shapes.items():
            sized = [sizes[letter] for letter in letters]
            weights[role] = case.draw.normal(*sized, scale=sized[-1] ** -0.5)
        return weights

    def scored(self, case, sizes, scores):
        """Let feature 0 of the unrotated part make the scores; the rotary parts add about ±1."""
        given = super().scored(case, {**sizes, "D": sizes["Dn"] + sizes["Dr"]}, scores)
        for name, rows, columns in (
            ("q_down", sizes["Rq"], sizes["M"]),
            ("kv_down", sizes["Rkv"], sizes["M"]),
            ("k_rope", sizes["Dr"], sizes["M"]),
            ("q_rope", sizes["H"] * sizes["Dr"], sizes["Rq"]),
        ):
            weight = case.draw.normal(rows, columns, scale=columns**-0.5)
            weight[:, :3] = 0
            if name in ("q_down", "kv_down"):
                weight[:3] = torch.eye(3, columns)
            given["parameters"][f"{name}.weight"] = weight
        return given

    def tiny(self, case, sizes):
        """Return small random weights for the values."""
        return super().tiny(case, {**sizes, "D": sizes["Dv"]})

    def heads_apart(self, case, sizes):
        """Return an output projection that is the identity. It needs M = H * Dv."""
        given = super().heads_apart(case, {**sizes, "D": sizes["Dv"]})
        return given | {"outputs": {"out": "B L (H Dv)"}}


@dataclass(frozen=True)
class LatentMaker(CaseMaker):
    """Make the cases of a module with a cache of latents and rotary keys."""

    def __call__(
        self, name, *, chunks, Lpast=None, inputs=None, outputs=None, more_sizes=None, **more
    ):
        """Return one case. Its length L is the sum of `chunks`. Lpast = 0 is an empty cache."""
        more["L"] = sum(chunks)
        all_inputs, extra, length = {"chunks": chunks}, dict(more_sizes or {}), "L"
        if Lpast is not None:
            length = "Lpast+L"
            extra[length] = Lpast + more["L"]
            more["Lpast"] = Lpast
            all_inputs |= self.past(more)
        dims = {**(outputs or self.outputs), "c_kv": C_KV.format(length)}
        dims["k_rope"] = K_ROPE.format(length)
        all_inputs |= inputs or {}
        base = more.pop("base", None)
        init = {} if base is None else {"rope_base": base}
        return super().__call__(
            name, inputs=all_inputs, outputs=dims, more_sizes=extra, init=init, **more
        )

    def past(self, sizes):
        """Return a random cache."""
        return {
            "past_c_kv": self.draw.normal(*shape(C_KV.format("Lpast"), sizes)),
            "past_k_rope": self.draw.normal(*shape(K_ROPE.format("Lpast"), sizes)),
        }


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = LatentMaker(
        draw,
        init={
            "d_model": "M",
            "num_heads": "H",
            "q_rank": "Rq",
            "kv_rank": "Rkv",
            "nope_dim": "Dn",
            "rope_dim": "Dr",
            "v_dim": "Dv",
        },
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        roles=Latent(),
    )
    sizes = {"B": 2, "H": 4, "M": 20, "Rq": 18, "Rkv": 16, "Dn": 10, "Dr": 8, "Dv": 6}
    wide = {**sizes, "M": 24}  # as wide as the values of all heads
    yield from step_cases(case, sizes, wide)
    yield from size_cases(case, sizes)
    yield from position_cases(case, sizes, wide)
    yield from number_cases(case, sizes)
    yield from sequence_cases(case, sizes)
    yield from layout_cases(case, sizes)
    yield from growth_cases(case, sizes)
    yield held_case(case)


def step_cases(case, sizes, wide):
    """Yield calls with and without a cache, of one token and of several."""
    for name, call in (
        ("no cache", {"chunks": (5,)}),
        ("one new token on a cache of 7", {"chunks": (1,), "Lpast": 7}),
        ("a chunk of 3 on a cache of 5", {"chunks": (3,), "Lpast": 5}),
    ):
        name = f"{name}, heads apart (o_proj is the identity)"
        yield from suites.heads_apart(case, name, **call, **wide)
    yield case("prefill 7", chunks=(7,), **sizes)
    lengths = (7, 1, 5, 3, 1, 1, 1)
    yield case("prefill 7, chunks 1, 5, 3, three decode steps", chunks=lengths, **sizes)
    name = "training mode: prefill 3, chunk 2, two decode steps"
    yield case(name, chunks=(3, 2, 1, 1), mode="train", **sizes)
    single = {**sizes, "B": 1}
    yield case("one sequence, token by token", chunks=(1, 1, 1), **single)
    yield case("one sequence, a chunk of 3 on a cache of one token", chunks=(3,), Lpast=1, **single)
    yield case("a chunk of 3 on an empty cache", chunks=(3,), Lpast=0, **sizes)


def size_cases(case, sizes):
    """Yield equal sizes, in which a wrong axis raises no exception, and unusual sizes."""
    everything = dict.fromkeys(sizes, 4)
    letters = " ".join(sizes)
    equal = f"{letters} L Lpast"
    yield case("as many of everything", chunks=(4,), Lpast=4, equal=equal, **everything)
    several = {**everything, "equal": f"{letters} L"}
    yield case("as many of everything, in chunks", chunks=(1, 2, 1), **several)
    same = {**sizes, "Rkv": 8, "equal": "Rkv Dr"}
    yield case("latents as wide as rotary keys", chunks=(3, 1, 1), Lpast=7, **same)
    same = {**sizes, "Rq": 20, "Rkv": 20, "equal": "M Rq Rkv"}
    yield case("ranks as wide as d_model", chunks=(3, 1, 1), Lpast=7, **same)
    yield case("ranks larger than d_model", chunks=(3,), Lpast=5, **{**sizes, "M": 12})
    same = {**sizes, "Dn": 6, "Dr": 6, "equal": "Dn Dr Dv"}
    yield case("parts of one width", chunks=(3, 2), Lpast=7, **same)
    small = {**sizes, "H": 1, "Dr": 2, "equal": "B Dr"}
    yield case("one pair in the rotary part, one head", chunks=(3, 2), Lpast=7, **small)
    # The rotary part starts at an even feature: right answers may view it as complex numbers.
    single = {**sizes, "B": 1, "H": 1, "Dv": 5}
    yield case("one token, one head", chunks=(1,), **single)
    ranges = {"B": (2, 3), "L": (6, 9), "H": (2, 5), "M": (8, 20), "Rq": (4, 20), "Rkv": (4, 20)}
    ranges |= {"Lpast": (2, 9)}
    drawn = case.draw.sizes(times={"Dr": 2}, Dn=(4, 9), Dr=(2, 4), Dv=(3, 9), **ranges)
    length = drawn.pop("L")
    yield case("random sizes", chunks=(length - 2, 1, 1), **drawn)


def position_cases(case, sizes, wide):
    """Yield other bases, and positions of several thousand.

    A right answer may round the tables of cosines to the dtype of the input. So in bfloat16, the
    output projection is the identity, to avoid other rounding. A base of 500 gives frequencies with
    a large rounding error in bfloat16.
    """
    yield case("base 100", chunks=(3, 2), Lpast=7, base=100.0, **sizes)
    yield case("base 500000, no cache", chunks=(5, 1, 1), base=500000.0, **sizes)
    few = {**sizes, "B": 1, "H": 2, "Dr": 14}
    # Right answers may use a table of 4096 positions.
    yield case("3001 cached tokens", chunks=(3,), Lpast=3001, **few)
    yield case("float64, 1501 cached tokens", chunks=(3,), Lpast=1501, dtype="float64", **few)
    apart = {**wide, "B": 1, "H": 2, "M": 12, "Dr": 14}
    parts = case.roles.heads_apart(case, apart)
    more = {"Lpast": 1501, "dtype": "bfloat16", "base": 500.0, **parts, **apart}
    yield case("bfloat16, 1501 cached tokens, two new ones, then one", chunks=(2, 1), **more)


def number_cases(case, sizes):
    """Yield dtypes, tiny values, tokens of zeros, and scores of ±200."""
    for dtype in ("float64", "bfloat16"):
        name = f"{dtype}: chunks 2, 4, one token, on a cache of 5"
        yield case(name, chunks=(2, 4, 1), Lpast=5, dtype=dtype, **sizes)
        yield case(f"{dtype}, no cache", chunks=(7,), dtype=dtype, **sizes)
    new = case.roles.tiny(case, {**sizes, "L": 3, "Lpast": 7})
    yield case("tiny values", chunks=(3,), Lpast=7, **new, **sizes)
    for past, length in ((None, 5), (5, 3)):
        inputs = {"x": case.draw.normal_with_zeros(sizes["B"], length, sizes["M"])}
        name = "tokens of zeros"
        if past:
            name += ", also in the cache"
            full = {**sizes, "Lpast": past}
            inputs["past_c_kv"] = case.draw.normal_with_zeros(*shape("B Lpast Rkv", full))
            inputs["past_k_rope"] = case.draw.normal_with_zeros(*shape("B Lpast Dr", full))
        yield case(name, chunks=(length,), Lpast=past, inputs=inputs, **sizes)
    yield from steep_cases(case, sizes)


def steep_cases(case, sizes):
    """Yield scores of ±200, in the cache and among the new tokens.

    Gradients are compared only if no visible score is much larger than the others, because large
    scores magnify the rounding of right answers by 200.
    """
    signs = (-1.0) ** torch.arange(sizes["B"])[:, None]

    def scored(name, old, new, chunks, gradients=False, huge=False, alternating=False):
        """Return a case with scores of 200 times `old` (cached keys) and `new` (new keys)."""
        all_sizes = {**sizes, "L": len(new), "Lpast": len(old)}
        of_sequences = signs if alternating else torch.ones(1, 1)
        last = torch.arange(len(new)) == len(new) - 1
        scores = Scores(
            200 * torch.tensor(new) * of_sequences,
            # The last query has the opposite sign, so its score is -200 for the last key and +200
            # for all other keys.
            queries=torch.where(last, -1.0, 1.0) if huge else None,
            huge=last if huge else None,
            alternating=alternating,
        )
        parts = case.roles.scored(case, all_sizes, scores)
        if old:
            past = case.past(all_sizes)
            past["past_c_kv"][..., :3] = 0
            past["past_c_kv"][..., 0] = 200 * torch.tensor(old) * of_sequences
            parts["inputs"] |= past
        more = {**parts, **sizes, "gradients": gradients, "check": "masks"}
        return case(name, chunks=chunks, Lpast=len(old) or None, **more)

    name = "a last token at +200 that earlier tokens do not see"
    yield scored(name, [0.0] * 7, [0.0, 0.0, 0.0, 0.0, 1.0], (5,), gradients=True)
    name = "a last token at +200 with values of 1e36, other tokens at -200"
    yield scored(name, [-1.0] * 7, [-1.0, -1.0, -1.0, -1.0, 1.0], (5,), huge=True)
    name = "future tokens at +200, a cache at -200"
    yield scored(name, [-1.0] * 7, [-1.0, -1.0, 1.0, -1.0, 1.0], (5,))
    name = "a cache at +200, new tokens falling to -200"
    yield scored(name, [1.0] * 7, [0.5, 0.1, -0.3, -0.6, -1.0], (5,))
    rising = [-1.0, -0.6, -0.2, 0.1, 0.4, 0.7, 1.0]
    yield scored("no cache, scores rising from -200 to +200", [], rising, (4, 2, 1))
    name = "scores rising in one head and sequence, falling in the next"
    yield scored(name, [-1.0] * 7, rising[:5], (4, 1), alternating=True)


def sequence_cases(case, sizes):
    """Yield several sequences on one object, and caches that are continued twice."""
    usual = {"check": "properties", **sizes}
    batch, width = sizes["B"], sizes["M"]
    before = case.draw.normal(batch, 5, width)
    yield case("a fresh call after a cached one", inputs={"before": before}, chunks=(5,), **usual)
    other = case.draw.normal(batch, 7, width)
    outputs = {
        "out": "B L M",
        "other_out": "B L M",
        "other_c_kv": C_KV.format("L"),
        "other_k_rope": K_ROPE.format("L"),
    }
    name = "two alternating sequences"
    yield case(name, chunks=(3, 1, 3), inputs={"other": other}, outputs=outputs, **usual)
    # A buffer with spare rows may not exist after the prefill, but it exists after a step.
    # Nor does it exist while autograd needs the old caches.
    generating = {"inputs": {"generating": 1}, "gradients": False}
    for name, start, length, more in (
        ("one prefill continued twice", 0, 5, {}),
        ("a cache of two steps continued twice", 1, 8, {}),
        ("a cache of two steps continued twice, autograd is off", 1, 8, generating),
    ):
        inputs = {"branch": case.draw.normal(batch, 3, width), "branch_from": start}
        inputs |= more.get("inputs", {})
        outputs = {
            "out": "B L M",
            "branch_out": "B n M",
            "branch_c_kv": C_KV.format("prefill+n"),
            "branch_k_rope": K_ROPE.format("prefill+n"),
        }
        more = {**more, "inputs": inputs, "outputs": outputs, **usual}
        yield case(name, chunks=(5, 3, 1), more_sizes={"n": 3, "prefill+n": length + 3}, **more)


def layout_cases(case, sizes):
    """Yield new tokens and caches whose memory is not contiguous, or shared by batch items."""
    mixed = {"x": "transposed", "past_c_kv": "strided", "past_k_rope": "transposed"}
    usual = {"Lpast": 7, "check": "properties", **sizes}
    yield case("non-contiguous inputs", chunks=(3, 2), layout=mixed, **usual)
    mixed = {"x": "strided", "past_c_kv": "transposed", "past_k_rope": "strided"}
    name = "non-contiguous inputs, float64"
    yield case(name, chunks=(5,), layout=mixed, dtype="float64", **usual)
    all_sizes = {**sizes, "L": 3, "Lpast": 7}
    shared = {}
    for name, dims in (("x", "B L M"), ("past_c_kv", "B Lpast Rkv"), ("past_k_rope", "B Lpast Dr")):
        full = shape(dims, all_sizes)
        shared[name] = case.draw.normal(1, *full[1:]).expand(full)
    layout = dict.fromkeys(shared, "expanded")
    yield case("expanded inputs", chunks=(3,), inputs=shared, layout=layout, **usual)


def growth_cases(case, sizes):
    """Yield calls in two sizes, with a cache and without, whose operations are counted."""
    large = {**sizes, "B": 14, "H": 22}
    for name, few, many in (
        ("everything, no cache", {"chunks": (3,)}, {"chunks": (9,)}),
        (
            "everything, a chunk and two tokens on a cache",
            {"chunks": (5, 1, 1), "Lpast": 9},
            {"chunks": (11, 1, 1), "Lpast": 15},
        ),
    ):
        base = {"base": 123.0}
        yield from suites.growth(case, name, {**sizes, **base, **few}, {**large, **many})
    few = {**sizes, "B": 1, "chunks": (5,), "base": 321.0}
    yield from suites.growth(case, "length, no cache", few, {"chunks": (301,)})


def held_case(case):
    """Return many caches, whose memory is counted.

    They hold 2560 entries together, and one call holds about 10,000 for a moment. The keys and
    values of all heads and caches would have 92,160.
    """
    sizes = {"B": 1, "H": 16, "M": 12, "Rq": 7, "Rkv": 6, "Dn": 8, "Dr": 2, "Dv": 10}
    more = {"inputs": {"caches": 64}, "probe": "held", "limit": 80_000, **sizes}
    return case("64 caches, held", chunks=(5,), **more)


def realistic():
    """Return the call that is measured after a pass: a decode step of DeepSeek-V2-Lite's form."""
    return realistic_call(
        "one decode step of a layer of 2048 with 16 heads, B = 1, 2047 cached tokens",
        init={
            "d_model": 2048,
            "num_heads": 16,
            "q_rank": 1536,
            "kv_rank": 512,
            "nope_dim": 128,
            "rope_dim": 64,
            "v_dim": 128,
        },
        x=shaped(1, 1, 2048),
        past_c_kv=shaped(1, 2047, 512),
        past_k_rope=shaped(1, 2047, 64),
        chunks=(1,),
    )
