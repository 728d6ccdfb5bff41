"""The layer matching finds the role of each of the learner's layers."""

import re

import pytest

from attn_drill.worker.layer_matching import (
    MOST_ASSIGNMENTS,
    Shapes,
    assignments,
    contract_of,
    explain_mismatch,
    plain_names,
)
from tests.support.rows import each_row

GQA = {
    "q_proj.weight": (12, 12),
    "q_proj.bias": (12,),
    "k_proj.weight": (6, 12),
    "k_proj.bias": (6,),
    "v_proj.weight": (6, 12),
    "v_proj.bias": (6,),
    "o_proj.weight": (12, 12),
    "o_proj.bias": (12,),
}


def linear(**layers: tuple[int, int]) -> Shapes:
    """Return the parameters of linear layers with a bias. `__` in a name becomes a dot."""
    found: dict[str, tuple[int, ...]] = {}
    for name, (rows, columns) in layers.items():
        path = name.replace("__", ".")
        found[f"{path}.weight"] = (rows, columns)
        found[f"{path}.bias"] = (rows,)
    return found


@each_row(
    "shapes, roles",
    {
        "the contract's own names": (
            GQA,
            {"q_proj": ("q",), "k_proj": ("k",), "v_proj": ("v",), "o_proj": ("o",)},
        ),
        "another family": (
            linear(W_q=(12, 12), W_k=(6, 12), W_v=(6, 12), W_o=(12, 12)),
            {"W_q": ("q",), "W_k": ("k",), "W_v": ("v",), "W_o": ("o",)},
        ),
        "fused": (
            linear(c_attn=(24, 12), c_proj=(12, 12)),
            {"c_attn": ("q", "k", "v"), "c_proj": ("o",)},
        ),
        "fused, as in vision transformers": (
            linear(to_qkv=(24, 12), to_out__0=(12, 12)),
            {"to_qkv": ("q", "k", "v"), "to_out.0": ("o",)},
        ),
        "nested, kv fused": (
            linear(to_q=(12, 12), to_kv=(12, 12), to_out__0=(12, 12)),
            {"to_q": ("q",), "to_kv": ("k", "v"), "to_out.0": ("o",)},
        ),
        "the last by elimination": (
            linear(inner__query=(12, 12), inner__key=(6, 12), inner__value=(6, 12), fc=(12, 12)),
            {"inner.query": ("q",), "inner.key": ("k",), "inner.value": ("v",), "fc": ("o",)},
        ),
    },
)
def test_known_names_give_a_single_assignment(
    shapes: Shapes, roles: dict[str, tuple[str, ...]]
) -> None:
    """If the names are known, there is exactly one assignment."""
    assert assignments(contract_of(GQA), shapes) == [roles]


def test_fused_contract_accepts_split_layers() -> None:
    """A contract with a fused layer accepts three separate layers."""
    contract = contract_of({"qkv_proj.weight": (36, 12), "o_proj.weight": (12, 12)})
    split = {
        "wq.weight": (12, 12),
        "wk.weight": (12, 12),
        "wv.weight": (12, 12),
        "wo.weight": (12, 12),
    }
    assert assignments(contract, split) == [
        {"wq": ("q",), "wk": ("k",), "wv": ("v",), "wo": ("o",)}
    ]
    assert contract.atoms["v"].start == 24


def test_layers_with_unknown_names_are_tried() -> None:
    """Four layers of the same shape have 24 assignments, which is the limit."""
    square = {name: (12, 12) if len(shape) == 2 else (12,) for name, shape in GQA.items()}
    found = assignments(
        contract_of(square), linear(fc1=(12, 12), fc2=(12, 12), fc3=(12, 12), fc4=(12, 12))
    )
    assert len(found) == MOST_ASSIGNMENTS == 24
    assert {"fc1": ("q",), "fc2": ("k",), "fc3": ("v",), "fc4": ("o",)} in found


def test_layers_with_contradicting_names_are_tried() -> None:
    """All of `proj.0 … proj.3` mean output, so their shapes decide."""
    found = assignments(
        contract_of(GQA),
        linear(proj__0=(12, 12), proj__1=(6, 12), proj__2=(6, 12), proj__3=(12, 12)),
    )
    assert len(found) == 4


@each_row(
    "shapes, pattern",
    {
        "an extra layer": (
            {**GQA, "extra.weight": (3, 12)},
            r"your module has extra\.weight \[3, 12\]",
        ),
        "a missing layer": (
            {k: v for k, v in GQA.items() if "v_proj" not in k},
            r"asks for v_proj\.weight \[6, 12\]",
        ),
        "no bias": (
            {k: v for k, v in GQA.items() if k != "o_proj.bias"},
            r"asks for o_proj\.bias \[12\]",
        ),
        "wrong shape": (
            {**GQA, "k_proj.weight": (12, 12), "k_proj.bias": (12,)},
            r"k_proj\.weight is \[12, 12\] and must be \[6, 12\]",
        ),
        "the learner's own scalar": (
            {**GQA, "temperature": (1,)},
            r"your module has temperature \[1\]",
        ),
        "no bias under another name": (
            {**{k: v for k, v in GQA.items() if "o_proj" not in k}, "wo.weight": (12, 12)},
            r"^the contract asks for wo\.bias \[12\], which your module lacks; "
            r"wo is taken for o_proj$",
        ),
        "wrong shape under another name": (
            {
                **{k: v for k, v in GQA.items() if "k_proj" not in k},
                "attn.to_k.weight": (12, 12),
                "attn.to_k.bias": (12,),
            },
            r"attn\.to_k\.weight is \[12, 12\] and must be \[6, 12\].*; "
            r"attn\.to_k is taken for k_proj$",
        ),
        "two stacked roles without a bias": (
            {**{k: v for k, v in GQA.items() if k[0] not in "kv"}, "to_kv.weight": (12, 12)},
            r"^the contract asks for to_kv\.bias \[12\], which your module lacks; "
            r"to_kv is taken for k_proj and v_proj$",
        ),
        "a bare matrix": ({"W": (12, 12)}, r"asks for q_proj\.weight"),
    },
)
def test_missing_assignment_is_explained(shapes: Shapes, pattern: str) -> None:
    """The sentence contains the names and shapes of both sides."""
    contract = contract_of(GQA)
    assert assignments(contract, shapes) == []
    assert re.search(pattern, explain_mismatch(contract, GQA, shapes))


UNNAMED = linear(f__0=(12, 12), f__1=(6, 12), f__2=(6, 12), f__3=(12, 12))


def without(shapes: Shapes, *names: str) -> Shapes:
    """Return the parameters whose names do not begin with any of `names`."""
    return {name: shape for name, shape in shapes.items() if not name.startswith(names)}


@each_row(
    "shapes, phrase",
    {
        "a bare parameter next to layers with unknown names": (
            {**without(UNNAMED, "f.2"), "W_v": (6, 12)},
            "W_v is a bare nn.Parameter [6, 12] where the contract asks for v_proj.weight [6, 12]; "
            "use nn.Linear(12, 6)",
        ),
        "a bare parameter, transposed": (
            {**without(GQA, "v_proj"), "v_proj": (12, 6)},
            "v_proj is a bare nn.Parameter [12, 6] where the contract asks for v_proj.weight "
            "[6, 12]; use nn.Linear(12, 6)",
        ),
        "a bare parameter with a dim for heads": (
            {**without(GQA, "v_proj"), "per_head": (2, 12, 3)},
            "per_head is a bare nn.Parameter [2, 12, 3] where the contract asks for v_proj.weight "
            "[6, 12]; use nn.Linear(12, 6)",
        ),
        "a layer with an unknown name and no bias": (
            without(UNNAMED, "f.1.bias"),
            "the contract asks for f.1.bias [6], which your module lacks",
        ),
        "a foreign layer norm": (
            {**UNNAMED, "norm.weight": (12,), "norm.bias": (12,)},
            "your module has norm.weight [12], norm.bias [12], which the contract does not have",
        ),
        "a foreign layer": (
            {**UNNAMED, "more.weight": (5, 7)},
            "your module has more.weight [5, 7], which the contract does not have",
        ),
        "a missing layer, the others with unknown names": (
            without(UNNAMED, "f.3"),
            "the contract asks for o_proj.weight [12, 12], o_proj.bias [12], which your module "
            "lacks",
        ),
        "an unknown name and a foreign parameter": (
            {**without(GQA, "k_proj"), **linear(mine=(6, 12)), "norm.weight": (12,)},
            "your module has norm.weight [12], which the contract does not have",
        ),
        "an unknown name and a missing bias": (
            {**without(GQA, "k_proj", "o_proj.bias"), **linear(mine=(6, 12))},
            "the contract asks for o_proj.bias [12], which your module lacks",
        ),
        "fused and separate layers": (
            {**GQA, **linear(qkv=(24, 12))},
            "your module has qkv.weight [24, 12], qkv.bias [24], which the contract does not have",
        ),
        "two layers for the same role": (
            {**GQA, **linear(to_k=(6, 12))},
            "to_k and k_proj both hold k: keep one of them",
        ),
        "an unknown name and another shape": (
            {**without(UNNAMED, "f.1"), **linear(f__1=(12, 12))},
            "must be [6, 12]",
        ),
    },
)
def test_only_the_difference_is_reported(shapes: Shapes, phrase: str) -> None:
    """The sentence does not list layers that fit."""
    contract = contract_of(GQA)
    assert assignments(contract, shapes) == []
    sentence = explain_mismatch(contract, GQA, shapes)
    assert phrase in sentence
    parts = set(re.findall(r"[\w.]+(?= \[)", sentence.partition("; f.")[0]))
    assert len(parts) <= 2, sentence


def test_extra_bias_is_named() -> None:
    """The contract has no biases, but a layer of the learner's has a bias."""
    bare = {name: shape for name, shape in GQA.items() if name.endswith("weight")}
    unnamed = {name: shape for name, shape in UNNAMED.items() if name.endswith("weight")}
    sentence = explain_mismatch(contract_of(bare), bare, {**unnamed, "f.3.bias": (12,)})
    assert sentence == "your module has f.3.bias [12], which the contract does not have"


def test_missing_part_of_a_fused_layer_is_named() -> None:
    """The contract's layer is fused, and the learner's module lacks one of its parts."""
    fused = {"qkv_proj.weight": (36, 12), "o_proj.weight": (12, 12)}
    own = {"wq.weight": (12, 12), "wk.weight": (12, 12), "wo.weight": (12, 12)}
    sentence = explain_mismatch(contract_of(fused), fused, own)
    assert sentence == (
        "the contract asks for the rows of v in qkv_proj.weight [12, 12], which your module lacks"
    )


def test_many_foreign_layers_are_reported_quickly() -> None:
    """Two hundred layers of the same shape, next to the contract's names, cause no long search."""
    many = {f"blocks.{index}.weight": (12, 12) for index in range(200)}
    sentence = explain_mismatch(contract_of(GQA), GQA, {**without(GQA, "v_proj"), **many})
    assert "your module has blocks.0.weight [12, 12]" in sentence


def test_layers_with_contract_names_are_never_reassigned() -> None:
    """A k_proj with the shape of q_proj is an error, not a q_proj with another name."""
    swapped = {
        **GQA,
        "q_proj.weight": (6, 12),
        "q_proj.bias": (6,),
        "k_proj.weight": (12, 12),
        "k_proj.bias": (12,),
    }
    assert assignments(contract_of(GQA), swapped) == []


def block(attn: Shapes, mlp: Shapes, prefix: str = "") -> Shapes:
    """Return the parameters of a block of width 4: two norms, attention and mlp."""
    norms = {f"{norm}.{kind}": (4,) for norm in ("ln_1", "ln_2") for kind in ("weight", "bias")}
    inside = {f"attn.{name}": shape for name, shape in attn.items()}
    inside |= {f"mlp.{name}": shape for name, shape in mlp.items()}
    return {f"{prefix}{name}": shape for name, shape in (norms | inside).items()}


FUSED, SPLIT = (
    linear(qkv_proj=(12, 4), o_proj=(4, 4)),
    linear(q=(4, 4), k=(4, 4), v=(4, 4), o=(4, 4)),
)
GPT_2, MLP = linear(c_attn=(12, 4), c_proj=(4, 4)), linear(fc=(16, 4), proj=(4, 16))
BLOCK = block(FUSED, MLP)
MODEL = {
    "tok_emb.weight": (9, 4),
    **block(FUSED, MLP, "blocks.0."),
    **block(FUSED, MLP, "blocks.1."),
    "ln_f.weight": (4,),
}


@pytest.mark.parametrize(
    ("contract", "shapes", "path", "roles"),
    [
        (BLOCK, BLOCK, "mlp.fc", ("mlp.fc",)),
        (BLOCK, block(SPLIT, MLP), "attn.k", ("attn.k",)),
        (BLOCK, block(GPT_2, linear(c_fc=(16, 4), c_proj=(4, 16))), "mlp.c_proj", ("mlp.o",)),
        (BLOCK, block(GPT_2, MLP, "inner.0."), "inner.0.attn.c_proj", ("attn.o",)),
        (
            MODEL,
            {
                "tok_emb.weight": (9, 4),
                **block(GPT_2, MLP, "h.0."),
                **block(SPLIT, MLP, "h.1."),
                "norm.ln_f.weight": (4,),
            },
            "h.1.attn.v",
            ("blocks.1.attn.v",),
        ),
    ],
)
def test_layers_inside_parts_are_found_by_name(
    contract: Shapes, shapes: Shapes, path: str, roles: tuple[str, ...]
) -> None:
    """The last two parts of a name decide, and the numbers in front of them."""
    (assignment,) = assignments(contract_of(contract), shapes)
    assert assignment[path] == roles
    names = plain_names(contract_of(contract), shapes) or {}
    assert sorted(names.values()) == sorted(contract_of(contract).plain)


@each_row(
    "shapes",
    {
        "unknown names": block(FUSED, linear(a=(16, 4), b=(4, 16))),
        "both split and fused": block(SPLIT | FUSED, MLP),
        "attention outside of its part": {**FUSED, **block({}, MLP)},
        "another norm": block(FUSED, MLP) | {"ln_3.weight": (4,)},
        "a norm of another width": {**BLOCK, "ln_1.weight": (5,)},
    },
)
def test_layers_inside_parts_are_never_guessed(shapes: Shapes) -> None:
    """Shapes alone do not find a layer that is inside a part."""
    assert assignments(contract_of(BLOCK), shapes) == []
    assert explain_mismatch(contract_of(BLOCK), BLOCK, shapes)


def test_gate_and_up_are_never_exchanged() -> None:
    """The two layers have the same shape, so only their names tell them apart."""
    swiglu = {"gate_proj.weight": (8, 4), "up_proj.weight": (8, 4), "down_proj.weight": (4, 8)}
    llama = {"w1.weight": (8, 4), "w2.weight": (4, 8), "w3.weight": (8, 4)}
    (assignment,) = assignments(contract_of(swiglu), llama)
    assert assignment == {"w1": ("gate",), "w2": ("down",), "w3": ("up",)}
    for names in ("abc", ("gate", "up", "down")):  # the words for the roles are no names
        shapes = zip(names, ((8, 4), (8, 4), (4, 8)), strict=True)
        other = {f"{name}.weight": shape for name, shape in shapes}
        assert assignments(contract_of(swiglu), other) == []


def test_known_names_with_wrong_shapes_are_told_their_shapes() -> None:
    """The names are right, so no layer is called missing or too much."""
    swiglu = {"gate_proj.weight": (8, 4), "up_proj.weight": (8, 4), "down_proj.weight": (4, 8)}
    wide = {"w1.weight": (16, 4), "w2.weight": (4, 16), "w3.weight": (16, 4)}
    words = explain_mismatch(contract_of(swiglu), swiglu, wide)
    assert "w1.weight is [16, 4] and must be [8, 4]" in words
    assert "w3 is taken for up_proj" in words
    assert "lacks" not in words
    assert "does not have" not in words
