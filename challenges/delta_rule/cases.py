"""Cases for the gated delta rule: one call, calls that pass on a state, long inputs."""

import torch

from attn_drill.casekit import CaseMaker, Direct, SecondCall, realistic_call, shape, shaped, suites
from attn_drill.worker.returns import unpack

STATE = "B H Dv D"
NAMES = ("q", "k", "v", "beta", "decay")


def drive(rule, given):
    """Call once, twice, or chunk by chunk with the state of the chunk before.

    A chunk gets the state as the call before returned it. Only for the comparison, a state in
    float32 is cast to the dtype of the inputs, because it may have either dtype.
    """
    outputs = calls(rule, given)
    return {
        name: value.to(given.q.dtype) if is_float32_state(name, value) else value
        for name, value in outputs.items()
    }


def is_float32_state(name, value):
    """Return whether an output is a state in float32."""
    return name.endswith("S") and getattr(value, "dtype", None) == torch.float32


def calls(rule, given):
    """Return the outputs of all calls, by name."""
    state = given.inputs.get("state")
    if "chunks" in given.inputs:
        return by_chunks(rule, given, state)
    outputs = call(rule, [given.inputs[name] for name in NAMES], state)
    if "later_q" in given.inputs:
        later = call(rule, [given.inputs[f"later_{name}"] for name in NAMES])
        outputs |= {f"later_{name}": value for name, value in later.items()}
    return outputs


def call(rule, tensors, state=None):
    """Return the outputs by name. Leave the state out if there is none."""
    more = {} if state is None else {"state": state}
    out, S = unpack(rule(*tensors, **more), "out", "S")
    return {"out": out, "S": S}


def by_chunks(rule, given, state):
    """Return the joined outputs and the last state; at the first chunk with a wrong shape, end.

    With `branch` in the inputs, continue the state of the first chunk a second time.
    """
    outs, start, first = [], 0, None
    for length in given.chunks:
        parts = [given.inputs[name][:, :, start : start + length] for name in NAMES]
        start += length
        done = call(rule, parts, state)
        state = done["S"]
        first = first or done
        outs.append(done["out"])
        if getattr(outs[-1], "shape", None) != parts[2].shape:
            return done
    outputs = done | {"out": torch.cat(outs, dim=2)}
    if "branch_q" in given.inputs:
        branch = [given.inputs[f"branch_{name}"] for name in NAMES]
        again = call(rule, branch, first["S"])
        outputs |= {f"branch_{name}": value for name, value in again.items()}
        outputs["first_S"] = first["S"]
    return outputs


class StateMaker(CaseMaker):
    """Make cases with the options `past` and `chunks`. Keys have lengths from 0.6 to 1.3."""

    def __call__(self, name, *, past=False, chunks=None, inputs=None, **more):
        """Return one case; with `past`, the first call gets a state."""
        given = dict(inputs or {})
        if chunks is not None:
            given["chunks"] = chunks
            more["L"] = sum(chunks)
        if past:
            given = {"state": self.draw.normal(*shape(STATE, more))} | given
        return super().__call__(name, inputs=given, **more)

    def drawn(self, sizes):
        """Return inputs with beta |k|^2 below 1.7 and decay from 0.5 to 1."""
        return super().drawn(sizes) | {
            "k": self.keys(sizes, 0.6, 1.3),
            "beta": self.draw.uniform(*shape("B H L", sizes), low=0.1, high=1.0),
            "decay": self.draw.uniform(*shape("B H L", sizes), low=0.5, high=1.0),
        }

    def keys(self, sizes, shortest, longest):
        """Return keys of these lengths."""
        keys = self.draw.normal(*shape("B H L D", sizes))
        lengths = self.draw.uniform(*shape("B H L 1", sizes), low=shortest, high=longest)
        return keys / keys.norm(dim=-1, keepdim=True) * lengths


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = StateMaker(
        draw,
        inputs={"q": "B H L D", "k": "B H L D", "v": "B H L Dv", "beta": "B H L", "decay": "B H L"},
        outputs={"out": "B H L Dv", "S": STATE},
        roles=Direct(),
    )
    identity = {"inputs": {"v": torch.eye(6).expand(2, 3, 6, 6)}}
    outputs = {"out": "B H L L", "S": "B H L D"}
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
    yield from gate_cases(case)
    yield from state_cases(case, same)
    sizes = {"B": 3, "H": 2, "L": 7, "D": 5, "Dv": 6}
    yield from suites.tiny_values(case, **sizes)
    yield from suites.dtypes(case, **sizes)
    narrow = {"B": 2, "H": 3, "D": 4, "Dv": 5, "dtype": "bfloat16"}
    yield case("bfloat16, on a state, chunks 3, 2, 1", past=True, chunks=(3, 2, 1), **narrow)
    yield case("float64, on a state", past=True, dtype="float64", **sizes)
    yield from long_cases(case)
    yield from suites.layouts(case, **sizes)
    for layout in ("strided", "transposed"):
        everywhere = dict.fromkeys((*NAMES, "state"), layout)
        name = f"on a state, {layout} inputs"
        yield case(name, past=True, layout=everywhere, check="properties", **sizes)
    S = case.draw.normal(*shape(STATE, sizes))
    same_state = {"inputs": {"state": S[:1].expand(S.shape)}, "layout": {"state": "expanded"}}
    name = "one state for all batch items (expanded)"
    yield case(name, check="properties", **same_state, **sizes)
    sizes = {"B": 3, "H": 4, "L": 6, "D": 5, "Dv": 7, "check": "properties"}
    yield case("the same sizes again", later=SecondCall(), **sizes)
    yield case("more tokens afterwards", later=SecondCall(sizes={"L": 9}), **sizes)


def gate_cases(case):
    """Yield beta and decay at the ends of their ranges, long keys, repeated keys, and zeros."""
    sizes = {"B": 2, "H": 3, "L": 6, "D": 4, "Dv": 5}
    rates = shape("B H L", sizes)
    ones, half = torch.ones(rates), torch.full(rates, 0.5)
    yield case("decay 1: plain delta rule", inputs={"decay": ones}, **sizes)
    yield case("beta 1", inputs={"beta": ones}, **sizes)
    yield case("beta 1, decay 1", inputs={"beta": ones, "decay": ones}, **sizes)
    yield case("decay 0.5", inputs={"decay": half}, past=True, **sizes)
    small = {"beta": case.draw.uniform(*rates, low=0.001, high=0.02)}
    yield case("beta below 0.02", inputs=small, past=True, **sizes)
    short = {"k": case.keys(sizes, 0.1, 0.4)}
    yield case("keys shorter than 0.4", inputs=short, past=True, **sizes)
    # beta |k|^2 is nearly 2 here: what the state holds for the key is almost reflected.
    long = {"k": case.keys(sizes, 1.36, 1.4), "beta": 1 - 0.02 * case.draw.uniform(*rates)}
    yield case("beta |k|^2 from 1.8 to 1.96", inputs=long, past=True, **sizes)
    once = case.keys({**sizes, "L": 1}, 0.8, 1.3)
    again = {"k": once.expand(shape("B H L D", sizes)).clone()}
    yield case("one key for all tokens", inputs=again, past=True, **sizes)
    keys, values = case.keys(sizes, 0.6, 1.3), case.draw.normal_with_zeros(2, 3, 6, 5, row=3)
    keys[..., 1, :] = 0
    zeros = {"k": keys, "v": values, "q": case.draw.normal_with_zeros(2, 3, 6, 4, row=4)}
    yield case("a key, a value and a query of zeros", inputs=zeros, past=True, **sizes)


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
    yield case("on a state of zeros", inputs={"state": torch.zeros(2, 3, 5, 4)}, L=6, **sizes)
    yield case("chunks 3, 2, 1, 1", chunks=(3, 2, 1, 1), **sizes)
    yield case("token by token", chunks=(1,) * 6, **sizes)
    yield case("on a state, chunks 1, 4, 2", past=True, chunks=(1, 4, 2), **sizes)
    branch = case.drawn({**sizes, "L": 3})
    inputs = {f"branch_{name}": tensor for name, tensor in branch.items()}
    dims = {**case.outputs, "branch_out": "B H n Dv", "branch_S": STATE, "first_S": STATE}
    more = {"inputs": inputs, "outputs": dims, "more_sizes": {"n": 3}, "check": "properties"}
    yield case("one state continued twice", chunks=(4, 2), **more, **sizes)


def long_cases(case):
    """Yield lengths at which chunks of 16 to 64 tokens end, and lengths in between.

    Chunked answers invert a triangular matrix. Where the decay is slow, small steps keep the
    inverse small, so that right answers agree.
    """
    sizes = {"B": 1, "H": 2, "D": 16, "Dv": 4}
    for length in (17, 64, 70):
        yield case(f"{length} tokens", L=length, **sizes)
    yield case("70 tokens on a state", past=True, L=70, **sizes)
    # The product of these decays is 0 in float32, so no answer may divide by it.
    fast = {"decay": case.draw.uniform(1, 2, 200, low=0.5, high=0.6)}
    yield case("200 tokens, decay near 0.5", inputs=fast, gradients=False, L=200, **sizes)
    # The keys are nearly one key, and each step moves the state by about 0.2 % of the way to the
    # values. In bfloat16 such steps are lost when the state is half of the way there.
    narrow = {"B": 1, "H": 1, "L": 1024, "D": 3, "Dv": 4}
    keys = 0.05 * case.draw.normal(1, 1, 1024, 3)
    keys[..., 0] += 1
    inputs = {
        "k": keys,
        "v": 1 + 0.1 * case.draw.normal(1, 1, 1024, 4),
        "beta": case.draw.uniform(1, 1, 1024, low=0.001, high=0.003),
        "decay": torch.ones(1, 1, 1024),
    }
    long = {"inputs": inputs, "dtype": "bfloat16", "gradients": False}
    yield case("bfloat16, 1024 tokens, small steps", **long, **narrow)
    for name, more in (
        ("130 tokens, decay from 0.97", {"L": 130}),
        ("64 tokens, then 37, decay from 0.97", {"L": 101, "chunks": (64, 37)}),
    ):
        rates = shape("B H L", {**sizes, **more})
        slow = {
            "beta": case.draw.uniform(*rates, low=0.1, high=0.5),
            "decay": case.draw.uniform(*rates, low=0.97, high=1.0),
        }
        yield case(name, inputs=slow, **more, **sizes)


def realistic():
    """Return the call that is measured after a pass: 16 heads of 128."""
    return realistic_call(
        "16 heads of 128, B = 1, L = 256",
        q=shaped(1, 16, 256, 128),
        k=shaped(1, 16, 256, 128),
        v=shaped(1, 16, 256, 128),
        beta=shaped(1, 16, 256),
        decay=shaped(1, 16, 256),
    )
