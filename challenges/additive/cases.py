"""Cases for additive attention: queries, keys and values have different widths."""

import torch

from attn_drill.casekit import CaseMaker, SecondCall, realistic_call, shaped, suites
from attn_drill.worker.returns import unpack


def drive(attention, given):
    """Call once, or twice on the same object."""
    later = {name[6:]: value for name, value in given.inputs.items() if name.startswith("later_")}
    out, weights = call(attention, given.inputs)
    outputs = {"weights": weights, "out": out}
    if later:
        outputs["later_out"], outputs["later_weights"] = call(attention, later)
    return outputs


def call(attention, inputs):
    """Leave the mask out if there is none. The name of an input means the same tensor."""
    query, keys, values = inputs["query"], inputs["keys"], inputs["values"]
    keys = query if isinstance(keys, str) else keys
    values = {"query": query, "keys": keys}[values] if isinstance(values, str) else values
    optional = {} if inputs["mask"] is None else {"mask": inputs["mask"]}
    return unpack(attention(query, keys, values, **optional), "out", "weights")


class Roles:
    """Design inputs and parameters for given scores, for the suites."""

    def scored(self, case, sizes, scores):
        """Let one hidden unit read only feature 0 of keys, another only feature 0 of queries.

        Both add up to ±200 to a score; the other units add about ±1. If queries have factors, all
        keys have the same score, and only queries make the scores.
        """
        inputs, huge = case.drawn(sizes), scores.huge
        hidden = sizes["Dh"]
        q_weight = case.draw.normal(hidden, sizes["Dq"], scale=sizes["Dq"] ** -0.5)
        k_weight = case.draw.normal(hidden, sizes["Dk"], scale=sizes["Dk"] ** -0.5)
        score_weight = case.draw.normal(1, hidden, scale=hidden**-0.5)
        q_weight[:2], k_weight[:2], q_weight[:, 0], k_weight[:, 0] = 0, 0, 0, 0
        k_weight[0, 0], q_weight[1, 0] = 1, 1
        score_weight[0, :2] = 200
        # tanh(4) is almost 1, so the largest scores are close together, and their weights count.
        of_keys, of_queries = scores.keys / 50, torch.tensor(0.01)
        if scores.queries is not None:
            of_keys, of_queries = torch.tensor(0.01), 20 * scores.queries
        inputs["keys"][..., 0] = of_keys
        inputs["query"][..., 0] = of_queries
        if huge is not None:
            inputs["values"] = torch.where(huge[:, None], 1e36, 1e-6 * inputs["values"])
        names = ("q_proj.weight", "k_proj.weight", "score_proj.weight")
        weights = (q_weight, k_weight, score_weight)
        return {"inputs": inputs, "parameters": dict(zip(names, weights, strict=True))}

    def tiny(self, case, sizes):
        """Return small random values."""
        return {"inputs": {"values": 1e-7 * case.drawn(sizes)["values"]}}

    def without_biases(self):
        """Return no argument, because there are no biases."""
        return {}


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = CaseMaker(
        draw,
        init={"query_dim": "Dq", "key_dim": "Dk", "hidden_dim": "Dh"},
        inputs={"query": "B Lq Dq", "keys": "B Lk Dk", "values": "B Lk Dv"},
        outputs={"weights": "B Lq Lk", "out": "B Lq Dv"},
        mask="B Lq Lk",
        roles=Roles(),
    )
    yield case("no mask", B=2, Lq=5, Lk=7, Dq=4, Dk=6, Dh=8, Dv=3)
    name = "more queries than keys, key_dim smaller than query_dim"
    yield case(name, B=3, Lq=7, Lk=4, Dq=9, Dk=5, Dh=6, Dv=8)
    widths = {"Dq": (4, 12), "Dk": (4, 12), "Dh": (4, 14), "Dv": (2, 9)}
    yield case("random sizes", **draw.sizes(B=(2, 3), Lq=(3, 9), Lk=(3, 9), **widths))
    square = {"B": 2, "Lq": 6, "Lk": 6, "Dq": 5, "Dk": 5, "Dh": 3, "Dv": 5}
    square["equal"] = "Lq Lk, Dq Dk Dv"
    yield case("query, keys and values of one shape", **square)
    yield from suites.one_tensor(case, **square)
    sizes = {"B": 3, "Lq": 4, "Lk": 7, "Dq": 6, "Dk": 5, "Dh": 8, "Dv": 5, "equal": "Dk Dv"}
    yield case("one tensor for keys and values alone", inputs={"values": "keys"}, **sizes)
    same = dict.fromkeys(("B", "Lq", "Lk", "Dq", "Dk", "Dh", "Dv"), 4)
    same["equal"] = "B Lq Lk Dq Dk Dh Dv"
    yield case("all sizes equal", **same)
    yield case("all sizes equal, masked", mask="B Lq Lk", **same)
    yield case("one query, one hidden unit", B=3, Lq=1, Lk=6, Dq=4, Dk=5, Dh=1, Dv=2)
    yield case("one key, value dim 1", B=2, Lq=4, Lk=1, Dq=3, Dk=5, Dh=6, Dv=1)
    yield case("one query, one key", B=3, Lq=1, Lk=1, Dq=4, Dk=5, Dh=6, Dv=2)
    single = dict.fromkeys(("B", "Lq", "Lk", "Dq", "Dk", "Dh", "Dv"), 1)
    yield case("one of everything", mask="B Lq Lk", **single)
    sizes = {"B": 2, "Lq": 5, "Lk": 8, "Dq": 4, "Dk": 3, "Dh": 7, "Dv": 6}
    sizes |= {"mode": "train", "check": "train/eval"}
    yield case("training mode", **sizes)
    yield case("training mode, mask", mask="B Lq Lk", **sizes)
    # If sizes are equal, a wrongly aligned mask raises no error.
    same = {"B": 4, "Lq": 4, "Lk": 4, "Dq": 3, "Dk": 5, "Dh": 6, "Dv": 2, "equal": "B Lq Lk"}
    yield case("B = Lq = Lk, mask [B, 1, Lk]", mask="B 1 Lk", **same)
    yield case("B = Lq = Lk, mask [B, Lq, Lk]", mask="B Lq Lk", **same)
    sizes = {"B": 3, "Lq": 1, "Lk": 6, "Dq": 4, "Dk": 5, "Dh": 7, "Dv": 2}
    yield case("one query, mask [B, 1, Lk]", mask="B 1 Lk", **sizes)
    sizes = {"B": 3, "Lq": 5, "Lk": 7, "Dq": 6, "Dk": 4, "Dh": 8, "Dv": 2}
    yield from suites.masks(case, **sizes)
    yield from suites.dtypes(case, **sizes)
    yield from suites.tiny_values(case, **sizes)
    yield from suites.steep_scores(case, B=3, Lq=4, Lk=6, Dq=5, Dk=7, Dh=8, Dv=2)
    # A handwritten tanh that uses |x| has no gradient at 0.
    yield from suites.zero_tokens(case, gradients=False, **sizes)
    # exp overflows here in a handwritten tanh.
    far = {name: 200 * tensor for name, tensor in case.drawn(sizes).items() if name != "values"}
    yield case("hidden units far from 0", inputs=far, gradients=False, **sizes)
    yield from suites.layouts(case, **sizes)
    yield from suites.second_calls(case, **sizes)
    later = {"later": SecondCall(mask="B Lq Lk"), "check": "properties"}
    yield case("the same sizes again, now with a mask", **later, **sizes)
    large = {"B": 9, "Lq": 10, "Lk": 12}
    for words, mask in (("", "B Lq Lk"), (", padding", "B 1 Lk"), (", no mask", None)):
        yield from suites.growth(case, f"everything{words}", sizes, large, mask=mask)
    yield from suites.growth(case, "length, no mask", sizes, {"Lq": 200, "Lk": 210})


def realistic():
    """Return the call that is measured after a pass: the sizes of a translation model."""
    return realistic_call(
        "a layer of width 512, B = 1, 256 queries, 256 keys",
        init={"query_dim": 512, "key_dim": 512, "hidden_dim": 512},
        query=shaped(1, 256, 512),
        keys=shaped(1, 256, 512),
        values=shaped(1, 256, 512),
        mask=None,
    )
