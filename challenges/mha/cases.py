"""Cases for multi-head attention of queries, keys and values that may be different tensors."""

from dataclasses import replace

import torch

from attn_drill.casekit import (
    CaseMaker,
    Projected,
    Scores,
    SecondCall,
    bad_heads,
    realistic_call,
    shaped,
    suites,
)
from attn_drill.worker.returns import unpack

ROLES = Projected(query="query", key="key", value="value")
SELF = {"key": "query", "value": "query"}  # one tensor for query, key and value


def drive(attention, given):
    """Call once, with weights if the case asks for them, or twice on the same object."""
    later = {name[6:]: value for name, value in given.inputs.items() if name.startswith("later_")}
    outputs = {}
    if "weights" in given.inputs:
        returned = call(attention, given.inputs, return_weights=True)
        outputs["out"], weights = unpack(returned, "out", "weights")
        if given.weights == "compared":
            outputs = {"weights": weights, **outputs}
    else:
        outputs["out"] = call(attention, given.inputs)
    if later:
        outputs["later_out"] = call(attention, later)
    return outputs


def call(attention, inputs, **options):
    """Leave the mask out if there is none. The name of an input means the same tensor."""
    query, key, value = inputs["query"], inputs["key"], inputs["value"]
    key = query if isinstance(key, str) else key
    value = {"query": query, "key": key}[value] if isinstance(value, str) else value
    if inputs["mask"] is not None:
        options["mask"] = inputs["mask"]
    return attention(query, key, value, **options)


def with_weights(case):
    """Return the same case, which also asks for the weights. Without dropout, compare them."""
    larger = case.larger and with_weights(case.larger)
    if case.mode == "train" and "dropout" in case.init:
        return replace(case, inputs={**case.inputs, "weights": "ignored"}, larger=larger)
    inputs, dims = {**case.inputs, "weights": "compared"}, {"weights": "B H Lq Lk", **case.dims}
    return replace(case, inputs=inputs, dims=dims, larger=larger)


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = CaseMaker(
        draw,
        init={"d_model": "M", "num_heads": "H"},
        inputs={"query": "B Lq M", "key": "B Lk M", "value": "B Lk M"},
        outputs={"out": "B Lq M"},
        products={"M": "H D"},
        mask="B H Lq Lk",
        roles=ROLES,
    )
    yield from map(with_weights, suites.heads_apart(case, B=2, Lq=5, Lk=7, H=3, D=4))
    yield case("no mask", B=3, Lq=7, Lk=4, H=2, D=5)
    yield case("no biases", B=2, Lq=6, Lk=5, H=4, D=3, init={"bias": False})
    sizes = draw.sizes(B=(2, 3), Lq=(6, 9), Lk=(7, 11), H=(2, 5), D=(6, 9))
    yield case("random sizes", **sizes)
    shared = {"value": "key"}
    yield case("one tensor twice, head dim 1", B=3, Lq=4, Lk=6, H=5, D=1, inputs=shared)
    square = {"B": 2, "Lq": 6, "Lk": 6, "H": 3, "D": 5, "equal": "Lq Lk"}
    yield from suites.one_tensor(case, **square)
    yield case("one tensor for query, key and value, causal", mask="causal", inputs=SELF, **square)
    yield case("all sizes equal, head dim 1", B=4, Lq=4, Lk=4, H=4, D=1, equal="B Lq Lk H")
    yield with_weights(case("one query", B=3, Lq=1, Lk=6, H=4, D=2, mask="B 1 1 Lk"))
    yield with_weights(case("one head", B=3, Lq=4, Lk=6, H=1, D=5, mask="B 1 Lq Lk"))
    yield with_weights(case("one key, one head, one batch item", B=1, Lq=4, Lk=1, H=1, D=5))
    yield from suites.tiny_values(case, B=2, Lq=4, Lk=6, H=3, D=5)
    for typed in suites.dtypes(case, B=3, Lq=5, Lk=7, H=2, D=4):
        yield with_weights(typed) if typed.check == "masks" else typed
    for number, masked in enumerate(suites.masks(case, B=3, Lq=4, Lk=6, H=2, D=5)):
        yield with_weights(masked) if number % 2 else masked
    for steep in suites.steep_scores(case, B=3, Lq=4, Lk=6, H=2, D=5):
        # Gradients are compared only if the output is small; those of the weights would be larger.
        yield steep if steep.gradients else with_weights(steep)
    yield from far_above(case, B=2, Lq=4, Lk=6, H=3, D=5)
    yield from suites.zero_tokens(case, B=2, Lq=5, Lk=7, H=4, D=3)
    for dropped in suites.dropout(case, B=2, Lq=4, Lk=5, H=3, D=6):
        # In training mode without dropout, weights have values to compare, and gradients.
        is_plain = dropped.mode == "train" and "dropout" not in dropped.init
        asks = dropped.mode == "eval" or dropped.dropout == 0.6 or is_plain
        yield with_weights(dropped) if asks else dropped
    yield from suites.layouts(case, B=2, Lq=5, Lk=7, H=4, D=3)
    # A mask [Lq, Lk] could be read as [B, Lk].
    yield from suites.second_calls(case, B=4, Lq=4, Lk=4, H=3, D=5, equal="B Lq Lk")
    later = SecondCall(inputs=SELF, sizes={"B": 5, "Lq": 7, "Lk": 7})
    sizes = {"B": 2, "Lq": 4, "Lk": 6, "H": 3, "D": 5, "mask": "1 H Lq Lk", "check": "properties"}
    name = "a masked call, then self-attention of larger sizes without a mask"
    yield with_weights(case(name, later=later, **sizes))
    small = {"B": 2, "Lq": 3, "Lk": 7, "H": 5, "D": 6}
    large = {"B": 7, "Lq": 9, "Lk": 11, "H": 10}
    small["later"] = SecondCall(inputs=SELF, sizes={"B": 3, "Lq": 4, "Lk": 4})
    large["later"] = SecondCall(inputs=SELF, sizes={"B": 8, "Lq": 10, "Lk": 10})
    growing = suites.growth(case, "everything", small, large, mask="B H Lq Lk")
    yield from map(with_weights, growing)
    small = {"B": 1, "Lq": 4, "Lk": 7, "H": 2, "D": 6}
    yield from suites.growth(case, "length, no mask", small, {"Lq": 300, "Lk": 310})


def far_above(case, **sizes):
    """Yield masked scores of 100000, from which no small number can be subtracted."""
    # One key: the difference of two such scores would be lost in rounding.
    hidden = torch.arange(sizes["Lk"]) == 1
    scores = Scores(torch.where(hidden, 1e5, 0.0), factored=True)
    parts = ROLES.scored(case, case.with_products(sizes), scores)
    yield case("masked scores of 100000", mask=~hidden[None, :], **parts, **sizes)


refusals = bad_heads


def realistic():
    """Return the call that is measured after a pass: a layer of Llama 2 7B with a causal mask."""
    return realistic_call(
        "a layer of 4096 with 32 heads, B = 1, L = 2048",
        init={"d_model": 4096, "num_heads": 32},
        query=shaped(1, 2048, 4096),
        key=shaped(1, 2048, 4096),
        value=shaped(1, 2048, 4096),
        mask=shaped(2048, 2048, dtype="bool"),
    )
