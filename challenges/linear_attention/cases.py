"""Cases for linear attention: one call, calls that pass on a state, long inputs, memory."""

import torch

from attn_drill.casekit import CaseMaker, Direct, SecondCall, realistic_call, shape, shaped, suites
from attn_drill.worker.returns import unpack

STATE = {"S": "B H D Dv", "z": "B H D"}


def drive(attention, given):
    """Call once, twice, or chunk by chunk with the state of the chunk before.

    A chunk gets the state as the call before returned it. Only for the comparison, a state in
    float32 is cast to the dtype of the inputs, because it may have either dtype.
    """
    outputs = calls(attention, given)
    return {
        name: value.to(given.q.dtype) if is_float32_state(name, value) else value
        for name, value in outputs.items()
    }


def is_float32_state(name, value):
    """Return whether an output is a part of a state in float32."""
    return name[-1] in "Sz" and getattr(value, "dtype", None) == torch.float32


def calls(attention, given):
    """Return the outputs of all calls, by name."""
    state = given.inputs.get("state")
    if "chunks" in given.inputs:
        return by_chunks(attention, given, state)
    outputs = call(attention, (given.q, given.k, given.v), state)
    if "later_q" in given.inputs:
        later = call(attention, (given.later_q, given.later_k, given.later_v))
        outputs |= {f"later_{name}": value for name, value in later.items()}
    return outputs


def call(attention, tensors, state=None):
    """Return the outputs by name. Leave the state out if there is none."""
    more = {} if state is None else {"state": state}
    out, after = unpack(attention(*tensors, **more), "out", "(S, z)")
    S, z = unpack(after, "S", "z")
    return {"out": out, "S": S, "z": z}


def by_chunks(attention, given, state):
    """Return the joined outputs and the last state; at the first chunk with a wrong shape, end.

    With `branch` in the inputs, continue the state of the first chunk a second time.
    """
    outs, start, first = [], 0, None
    for length in given.chunks:
        parts = [tensor[:, :, start : start + length] for tensor in (given.q, given.k, given.v)]
        start += length
        done = call(attention, parts, state)
        state = done["S"], done["z"]
        first = first or done
        outs.append(done["out"])
        if getattr(outs[-1], "shape", None) != parts[2].shape:
            return done
    outputs = done | {"out": torch.cat(outs, dim=2)}
    if "branch_q" in given.inputs:
        branch = (given.branch_q, given.branch_k, given.branch_v)
        again = call(attention, branch, (first["S"], first["z"]))
        outputs |= {f"branch_{name}": value for name, value in again.items()}
        outputs |= {"first_S": first["S"], "first_z": first["z"]}
    return outputs


class StateMaker(CaseMaker):
    """Make cases with the options `past` and `chunks`. Entries of q and k are within ±4."""

    def __call__(self, name, *, past=False, chunks=None, inputs=None, **more):
        """Return one case; with `past`, the first call gets a state."""
        given = dict(inputs or {})
        if chunks is not None:
            given["chunks"] = chunks
            more["L"] = sum(chunks)
        if past:
            given = {"state": self.state(more)} | given
        return super().__call__(name, inputs=given, **more)

    def drawn(self, sizes):
        """Return inputs from N(0, 1), cut off at ±4."""
        return {name: x.clamp(-4, 4) for name, x in super().drawn(sizes).items()}

    def state(self, sizes):
        """Return a state. Its sums of features are positive."""
        S = self.draw.normal(*shape(STATE["S"], sizes))
        return S, self.draw.uniform(*shape(STATE["z"], sizes), low=0.5, high=4.0)


def cases(draw):
    """Yield the cases on which a submission runs."""
    keys, values = "B H L D", "B H L Dv"
    case = StateMaker(
        draw,
        inputs={"q": keys, "k": keys, "v": values},
        outputs={"out": values, **STATE},
        roles=Direct(),
    )
    identity = {"inputs": {"v": torch.eye(6).expand(2, 3, 6, 6)}}
    outputs = {"out": "B H L L", "S": "B H D L", "z": "B H D"}
    sizes = {"B": 2, "H": 3, "L": 6, "D": 5, "Dv": 6, "equal": "L Dv"}
    yield case("weights as output (v is the identity)", outputs=outputs, **identity, **sizes)
    yield case("one batch item, one head", B=1, H=1, L=6, D=5, Dv=4)
    yield case("as many features as values", B=2, H=3, L=6, D=5, Dv=5, equal="D Dv")
    yield case("head dim 1", B=2, H=3, L=5, D=1, Dv=4)
    yield case("value dim 1", B=3, H=2, L=6, D=4, Dv=1)
    yield case("one token", B=2, H=3, L=1, D=4, Dv=5)
    yield case("two tokens", B=3, H=4, L=2, D=5, Dv=6)
    yield case("as many heads as batch items", B=3, H=3, L=6, D=5, Dv=4, equal="B H")
    yield case("as many heads as tokens", B=2, H=5, L=5, D=6, Dv=3, equal="H L")
    yield case("as many tokens as features", B=2, H=3, L=5, D=5, Dv=4, equal="L D")
    same = {"B": 4, "H": 4, "L": 4, "D": 4, "Dv": 4, "equal": "B H L D Dv"}
    yield case("all sizes equal", **same)
    yield case("random sizes", **draw.sizes(B=(2, 3), H=(2, 5), L=(4, 12), D=(3, 9), Dv=(2, 8)))
    yield from state_cases(case, same)
    sizes = {"B": 3, "H": 2, "L": 7, "D": 5, "Dv": 6}
    yield from suites.tiny_values(case, **sizes)
    yield from suites.dtypes(case, **sizes)
    yield case("bfloat16, on a state, chunks 3, 2, 1", past=True, chunks=(3, 2, 1), **bfloat16())
    yield case("float64, on a state", past=True, dtype="float64", **sizes)
    # Right ways to write phi differ in the derivative that autograd gives at exactly 0.
    yield from suites.zero_tokens(case, gradients=False, **sizes)
    yield from feature_cases(case)
    yield from long_cases(case)
    yield from suites.layouts(case, **sizes)
    for layout in ("strided", "transposed"):
        everywhere = dict.fromkeys(("q", "k", "v", "state"), layout)
        name = f"on a state, {layout} inputs"
        yield case(name, past=True, layout=everywhere, check="properties", **sizes)
    S, z = case.state(sizes)
    same_state = {"state": (S[:1].expand(S.shape), z[:1].expand(z.shape))}
    expanded = {"inputs": same_state, "layout": {"state": "expanded"}, "check": "properties"}
    yield case("one state for all batch items (expanded)", **expanded, **sizes)
    sizes = {"B": 3, "H": 4, "L": 6, "D": 5, "Dv": 7, "check": "properties"}
    yield case("the same sizes again", later=SecondCall(), **sizes)
    yield case("more tokens afterwards", later=SecondCall(sizes={"L": 9}), **sizes)
    yield from memory_cases(case)


def bfloat16():
    """Return the sizes and the dtype of a case in bfloat16."""
    return {"B": 2, "H": 3, "D": 4, "Dv": 5, "dtype": "bfloat16"}


def state_cases(case, same):
    """Yield calls on a state, and calls that pass on their state."""
    sizes = {"B": 2, "H": 3, "D": 4, "Dv": 5}
    yield case("on a state", past=True, L=6, **sizes)
    yield case("one token on a state", past=True, L=1, **sizes)
    square = {"B": 2, "H": 3, "L": 7, "D": 5, "Dv": 5, "equal": "D Dv"}
    yield case("on a state, as many features as values", past=True, **square)
    yield case("on a state, all sizes equal", past=True, **same)
    yield case("on a state, one batch item, one head", past=True, B=1, H=1, L=5, D=3, Dv=4)
    yield case("on a state, head dim 1, value dim 1", past=True, B=2, H=4, L=3, D=1, Dv=1)
    zeros = torch.zeros(2, 3, 4, 5), torch.zeros(2, 3, 4)
    yield case("on a state of zeros", inputs={"state": zeros}, L=6, **sizes)
    # Without values, a state still has weight in the denominator.
    S, z = case.state(sizes)
    yield case("on a state whose values are zero", inputs={"state": (0 * S, z)}, L=6, **sizes)
    yield case("chunks 3, 2, 1, 1", chunks=(3, 2, 1, 1), **sizes)
    yield case("token by token", chunks=(1,) * 6, **sizes)
    yield case("on a state, chunks 1, 4, 2", past=True, chunks=(1, 4, 2), **sizes)
    ranges = {"B": (2, 4), "H": (2, 5), "D": (3, 9), "Dv": (2, 8)}
    ranges |= {"first": (1, 6), "second": (1, 6), "third": (1, 6)}
    drawn = case.draw.sizes(sums={"L": ("first", "second", "third")}, **ranges)
    chunks = drawn.pop("first"), drawn.pop("second"), drawn.pop("third")
    yield case("random chunks on a state", past=True, chunks=chunks, **drawn)
    branch = case.drawn({**sizes, "L": 3})
    inputs = {f"branch_{name}": tensor for name, tensor in branch.items()}
    dims = {**case.outputs, "branch_out": "B H n Dv"}
    dims |= {f"{part}_{name}": STATE[name] for part in ("branch", "first") for name in STATE}
    more = {"inputs": inputs, "outputs": dims, "more_sizes": {"n": 3}, "check": "properties"}
    yield case("one state continued twice", chunks=(4, 2), **more, **sizes)


def feature_cases(case):
    """Yield queries and keys at the ends of ±4, where the features are as small as 0.02."""
    sizes = {"B": 2, "H": 3, "L": 6, "D": 5, "Dv": 4}
    for low, high in ((-4, 4), (-4, -3), (3, 4)):
        yield case(f"entries from {low} to {high}", inputs=between(case, low, high, sizes), **sizes)
    # The result for a first token is its value, also if the denominator is only 0.0004.
    for dtype in ("float32", "float64"):
        sizes = {"B": 3, "H": 2, "L": 1, "D": 1, "Dv": 4}
        inputs = between(case, -4, -3.9, sizes)
        yield case(f"a denominator below 0.001, {dtype}", inputs=inputs, dtype=dtype, **sizes)


def between(case, low, high, sizes):
    """Return queries and keys with entries in this range."""
    full = shape(case.inputs["q"], sizes)
    return {name: case.draw.uniform(*full, low=low, high=high) for name in ("q", "k")}


def long_cases(case):
    """Yield lengths at which chunks of 16 to 256 tokens end, and lengths in between."""
    sizes = {"B": 1, "H": 2, "D": 3, "Dv": 4}
    for length in (16, 64, 70, 128, 300):
        yield case(f"{length} tokens", L=length, **sizes)
    yield case("70 tokens on a state", past=True, L=70, **sizes)
    # Features are near 1 and values near 0.75, so sums in bfloat16 stop at about 256. They must be
    # about 1024 and 768.
    narrow = {"B": 1, "H": 1, "L": 1024, "D": 3, "Dv": 4}
    inputs = {name: 0.2 * case.draw.normal(1, 1, 1024, 3) for name in ("q", "k")}
    inputs["v"] = 0.75 + 0.1 * case.draw.normal(1, 1, 1024, 4)
    long = {"inputs": inputs, "dtype": "bfloat16", "gradients": False}
    yield case("bfloat16, 1024 tokens", **long, **narrow)
    yield case("256 tokens, then 131", chunks=(256, 131), **sizes)


def memory_cases(case):
    """Yield cases whose memory is counted. A state for every token is allowed."""
    sizes = {"B": 1, "H": 1, "L": 600, "D": 16, "Dv": 24}
    yield case("memory, 600 tokens", probe="memory", limit=600 * 600, **sizes)
    sizes = {"B": 1, "H": 1, "L": 530, "D": 3, "Dv": 5}
    name = "memory, 530 tokens on a state"
    yield case(name, past=True, probe="memory", limit=530 * 530, **sizes)


def realistic():
    """Return the call that is measured after a pass: 16 heads of 64."""
    return realistic_call(
        "16 heads of 64, B = 1, L = 512",
        q=shaped(1, 16, 512, 64),
        k=shaped(1, 16, 512, 64),
        v=shaped(1, 16, 512, 64),
    )
