"""Describe the source of queries, keys and values, so that suites can design scores and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from attn_drill.casekit._maker import CaseMaker, Parts, Scores, Sizes

HUGE = 1e36


@dataclass(frozen=True)
class Direct:
    """Roles for a function whose inputs are queries, keys and values."""

    # The names of the inputs.
    q: str = "q"
    k: str = "k"
    v: str = "v"

    def scored(self, case: CaseMaker, sizes: Sizes, scores: Scores) -> Parts:
        """Return inputs whose feature 0 gives the scores; the other features add about ±1."""
        inputs = case.drawn(sizes)
        q, k, v = inputs[self.q], inputs[self.k], inputs[self.v]
        queries = torch.ones(1) if scores.queries is None else scores.queries
        factors = scores.of_heads(q.shape[-3])[:, None] * queries.unsqueeze(-2)  # [B, H, Lq]
        # The factor 200 is in q. The gradient of q is 0 in feature 0, so the factor does not
        # magnify its rounding.
        q[..., 0] = 200 * sizes["D"] ** 0.5 * factors
        k[..., 0] = scores.keys.unsqueeze(-2) / 200
        if scores.huge is not None:
            inputs[self.v] = torch.where(scores.huge[:, None], HUGE, v * 1e-6)
        return {"inputs": inputs}

    def tiny(self, case: CaseMaker, sizes: Sizes) -> Parts:
        return {"inputs": {self.v: 1e-7 * case.drawn(sizes)[self.v]}}

    def without_biases(self) -> Parts:
        return {}  # a function has no biases


@dataclass(frozen=True)
class Projected:
    """Roles for a module that projects its inputs to q, k and v: H heads of width D."""

    # The names of the projections.
    q: str = "q_proj"
    k: str = "k_proj"
    v: str = "v_proj"
    o: str = "o_proj"
    # The name of the projection that makes q, k and v together. The module then has no projections
    # `q`, `k` and `v`.
    fused: str = ""
    # The letter for the number of key/value heads; "" for a single key/value head.
    kv_heads: str = "H"
    # Whether the projections have biases by default; None if the constructor has no `bias`.
    bias: bool | None = True
    # The names of the inputs that become queries, keys and values.
    query: str = "x"
    key: str = "x"
    value: str = "x"

    def scored(self, case: CaseMaker, sizes: Sizes, scores: Scores) -> Parts:
        """Return inputs and weights so that feature 0 of a head gives the scores.

        The other features of a head add about ±1. In the inputs, feature 0 is a key's score,
        feature 1 is a query's factor, and feature 2 is a large part of a key's values. No other
        feature of a head depends on these three features.
        """
        inputs = case.drawn(sizes)
        large, to_query, to_key = (0.0, 10.0, 12.0) if scores.factored else (HUGE, 1.0, 1.0)
        for name in {self.query, self.key, self.value}:
            inputs[name][..., :3] = 0
        inputs[self.key][..., 0] = scores.keys / (to_query * to_key)
        inputs[self.query][..., 1] = 1 if scores.queries is None else scores.queries
        weights = self.drawn_weights(case, sizes)
        for weight in weights.values():
            weight[..., :3] = 0
        factors = to_query * sizes["D"] ** 0.5 * scores.of_heads(sizes["H"])
        weights["q"][:, 0], weights["k"][:, 0] = 0, 0
        weights["q"][:, 0, 1] = factors
        weights["k"][:, 0, 0] = to_key
        zero = {"q", "k"}
        if scores.huge is not None:
            inputs[self.value][..., 2] = torch.where(scores.huge, large, 0.0)
            weights["v"] *= 1e-6
            weights["v"][:, :, 2] = 1
            zero |= {"v", "o"}
        if scores.factored:
            width = sizes["H"] * sizes["D"]
            weights["o"] = case.draw.normal(sizes["M"], width, scale=0.01 * width**-0.5)
        return {"inputs": inputs, "parameters": self.parameters(case, sizes, weights, zero)}

    def tiny(self, case: CaseMaker, sizes: Sizes) -> Parts:
        """Return weights that give values of about 1e-7, without biases in v and o."""
        weights = {"v": 1e-7 * self.drawn_weights(case, sizes)["v"]}
        return {"parameters": self.parameters(case, sizes, weights, {"v", "o"})}

    def without_biases(self) -> Parts:
        return {} if self.bias is None else {"init": {"bias": False}}

    def heads_apart(self, case: CaseMaker, sizes: Sizes) -> Parts:
        """Return weights with an identity as output projection: the output is the joined heads."""
        identity = {"o": torch.eye(sizes["H"] * sizes["D"])}
        return {
            "parameters": self.parameters(case, sizes, identity, {"o"}),
            "outputs": {name: _apart(dims, "(H D)") for name, dims in case.outputs.items()},
        }

    def weights_as_output(self, case: CaseMaker, sizes: Sizes) -> Parts:
        """Return inputs and weights with which every head outputs its attention weights, twice.

        D must be twice the number of keys. Value j is the unit vector e_j, which the projection
        writes to features j and Lk + j.
        """
        inputs = case.drawn(sizes)
        batch, length, width = inputs[self.value].shape
        inputs[self.value] = torch.eye(length, width).expand(batch, length, width)
        value = torch.eye(length, width).repeat(2 * self.number_of_kv_heads(sizes), 1)
        weights = {"v": value, "o": torch.eye(sizes["H"] * sizes["D"])}
        return {
            "inputs": inputs,
            "parameters": self.parameters(case, sizes, weights, {"v", "o"}),
            "outputs": {name: _apart(dims, "(H copy K)") for name, dims in case.outputs.items()},
            "more_sizes": {"copy": 2, "K": length},
        }

    def zero_values(self, case: CaseMaker, sizes: Sizes) -> Parts:
        """Return weights of zero for v and o, so that dropout does not change any result."""
        weights = {"v": 0 * self.drawn_weights(case, sizes)["v"]}
        weights["o"] = torch.zeros(sizes["M"], sizes["H"] * sizes["D"])
        return {"parameters": self.parameters(case, sizes, weights, {"v"})}

    def number_of_kv_heads(self, sizes: Sizes) -> int:
        return sizes[self.kv_heads] if self.kv_heads else 1

    def drawn_weights(self, case: CaseMaker, sizes: Sizes) -> dict[str, Tensor]:
        """Return random weights for q, k and v in the shape [heads, D, width of the input]."""
        kv_heads = self.number_of_kv_heads(sizes)
        weights: dict[str, Tensor] = {}
        sources = {"q": self.query, "k": self.key, "v": self.value}
        for role, source in sources.items():
            heads = sizes["H"] if role == "q" else kv_heads
            width = sizes[case.inputs[source].split()[-1]]
            weights[role] = case.draw.normal(heads, sizes["D"], width, scale=width**-0.5)
        return weights

    def parameters(
        self, case: CaseMaker, sizes: Sizes, weights: Mapping[str, Tensor], zero: set[str]
    ) -> dict[str, Tensor]:
        """Return weights and zero biases by the names of the module's parameters.

        The weights have their roles as keys: "q", "k", "v", "o". `zero` has the roles whose biases
        are 0. A fused projection needs all its rows, so missing rows are drawn.
        """
        flat = {role: weight.reshape(-1, weight.shape[-1]) for role, weight in weights.items()}
        names = {"q": self.q, "k": self.k, "v": self.v, "o": self.o}
        kv_rows = self.number_of_kv_heads(sizes) * sizes["D"]
        rows = {"q": sizes["H"] * sizes["D"], "k": kv_rows, "v": kv_rows, "o": sizes["M"]}
        parameters: dict[str, Tensor] = {}
        if self.fused and flat.keys() & {"q", "k", "v"}:
            names = {"o": self.o}
            weight: list[Tensor] = []
            bias: list[Tensor] = []
            for role, drawn in self.drawn_weights(case, sizes).items():
                weight.append(flat.get(role, drawn.flatten(0, 1)).double())
                bias.append(case.draw.normal(rows[role], scale=0.0 if role in zero else 0.5))
            parameters[f"{self.fused}.weight"] = torch.cat(weight)
            if self.bias:
                parameters[f"{self.fused}.bias"] = torch.cat(bias)
        for role, name in names.items():
            if role in flat:
                parameters[f"{name}.weight"] = flat[role]
            if role in zero and self.bias:
                parameters[f"{name}.bias"] = torch.zeros(rows[role])
        return parameters


def _apart(dims: str, last: str) -> str:
    return f"{dims.rsplit(' ', 1)[0]} {last}"
