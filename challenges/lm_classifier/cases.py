"""Cases for a classifier on a small language model, which `drive` builds from its weights.

C is the number of classes, T is max_seq_len. The weights of the language model are inputs whose
names begin with "lm.", so their gradients are compared. `MiniGPT` and `Block` are as in the stub.
"""

import math
from contextlib import nullcontext
from dataclasses import replace

import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from attn_drill.casekit import (
    TURNS,
    SecondCall,
    TokenMaker,
    dropout_in_turn,
    realistic_call,
    shaped,
    suites,
)
from attn_drill.worker.returns import UnexpectedReturnError, describe

LM = "lm."
HEAD = ("head.weight", "head.bias")
UNUSED = "lm.head.weight"
MODES = "modules of another mode after the call"
AT_FIRST = "modules of eval mode after the constructor"
HOOKS = "modules with more hooks after the call"
KEPT = "features of the states that dropout keeps"


class Block(nn.Module):
    """A block of GPT-2 as in the stub."""

    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        self.num_heads = num_heads
        # The attention: all of q, then k, then v in one layer. -> Linear(M, 3M), Linear(M, M)
        self.ln_1 = nn.LayerNorm(d_model)
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.ln_2 = nn.LayerNorm(d_model)
        # The MLP. -> Linear(M, 4M), Linear(4M, M)
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.proj = nn.Linear(4 * d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        """Return [B, L, M] of x [B, L, M]. A token sees itself and earlier tokens."""
        batch, length, width = x.shape
        # Causal attention, which adds its result to x. -> [B, L, M]
        qkv = self.qkv_proj(self.ln_1(x)).view(batch, length, 3, self.num_heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = self.drop(scores.masked_fill(later, float("-inf")).softmax(dim=-1))
        merged = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.drop(self.o_proj(merged))
        # The MLP, which adds its result, too. -> [B, L, M]
        return x + self.drop(self.proj(F.gelu(self.fc(self.ln_2(x)))))


class MiniGPT(nn.Module):
    """A language model as in the stub."""

    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        # The embeddings and their dropout. -> Embedding(V, M), Embedding(max_seq_len, M)
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.drop = nn.Dropout(dropout)
        blocks = [Block(d_model, num_heads, dropout) for _ in range(num_layers)]
        self.blocks = nn.Sequential(*blocks)
        # The last norm and the head. -> LayerNorm(M), Linear(M, V)
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens):
        """Return the logits [B, L, V] of tokens int64 [B, L]."""
        # The states. -> [B, L, M]
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop(self.tok_emb(tokens) + self.pos_emb(positions))
        x = self.blocks(x)
        # The states after the last norm, then the logits. -> [B, L, V]
        return self.head(self.ln_f(x))


def drive(make, given):
    """Build lm and the classifier, and call it once or twice; or say in words how dropout acts."""
    weights = {name: value for name, value in given.inputs.items() if name.startswith(LM)}
    head = {name: given.inputs[name] for name in HEAD}
    options = {"device": given.inputs[HEAD[1]].device.type, "dtype": given.inputs[HEAD[1]].dtype}
    with torch.device("meta") if options["device"] == "meta" else nullcontext():
        lm = new_lm(make, given, weights).to(**options)
        lm.load_state_dict(
            {name.removeprefix(LM): value.detach() for name, value in weights.items()}
        )
        parameters = dict(lm.named_parameters())
        classifier = make(lm, len(head["head.bias"]))
    if not isinstance(classifier, nn.Module):
        raise UnexpectedReturnError(
            f"SequenceClassifier(lm, num_classes) must be an nn.Module, but it is "
            f"{describe(classifier)}"
        )
    at_first = [name for name, part in parts_of(classifier) if not part.training]
    classifier.to(**options).train(bool(given.training))
    # After `train`, because this may be the learner's own method.
    names = checked_names(classifier, parameters, weights, head)
    if options["device"] != "meta":
        check_values(classifier, names, weights)

    def call(tokens, mask):
        swapped = {name: (weights | head)[source] for name, source in names.items()}
        return functional_call(classifier, swapped, (tokens,) if mask is None else (tokens, mask))

    if given.inputs.get("part") == "turns":
        found = in_turn(classifier, lambda: call(given.tokens, given.mask))
        return {AT_FIRST: in_words(at_first), **found}
    if given.inputs.get("part") == "kept":
        torch.manual_seed(0)
        return {KEPT: kept(call(given.tokens, given.mask), given.dropout)}
    outputs = {"out": call(given.tokens, given.mask)}
    if "later_tokens" in given.inputs:
        outputs["later_out"] = call(given.later_tokens, given.later_mask)
    return outputs


def new_lm(make, given, weights):
    """Return an lm of the file's own class, if this works as the given class does, or of that."""
    vocabulary, width = weights["lm.tok_emb.weight"].shape
    length = len(weights["lm.pos_emb.weight"])
    sizes = (vocabulary, width, given.heads, given.layers, length, given.dropout)
    own = getattr(make.__init__, "__globals__", {}).get("MiniGPT")
    return (own if is_like_given(own) else MiniGPT)(*sizes)


def is_like_given(own):
    """Return whether a class has the parameters and the logits of `MiniGPT`."""
    if not isinstance(own, type) or not issubclass(own, nn.Module):
        return False
    try:
        with torch.device("cpu"), torch.no_grad():
            wanted, found = MiniGPT(5, 4, 2, 2, 3).eval(), own(5, 4, 2, 2, 3).eval()
            found.load_state_dict(wanted.state_dict())
            tokens = torch.tensor([[1, 4, 0], [2, 3, 3]])
            return torch.allclose(found(tokens), wanted(tokens), atol=1e-5)
    except Exception:  # of the learner's code
        return False


def checked_names(classifier, parameters, weights, head):
    """Return the input that belongs to each parameter of the classifier.

    A parameter may have several names, for example if the head of lm is replaced by that of the
    classifier. A copy of lm has the names of lm behind a prefix.

    Args:
        parameters: those of lm before the constructor of the classifier, by name.
    """
    of_lm = {id(value): f"{LM}{name}" for name, value in parameters.items()}
    names_of = {}
    for name, value in classifier.named_parameters(remove_duplicate=False):
        names_of.setdefault(id(value), []).append(name)
    names, others = {}, {}
    for name, value in classifier.named_parameters():
        own = [each for each in names_of[id(value)] if each in HEAD]
        source = None if own else of_lm.get(id(value)) or name_in_copy(name, value, weights)
        if source is None:
            name = (own or [name])[0]
            others[name] = f"{name} {list(value.shape)}"
        else:
            names[name] = source
        if not value.requires_grad and source != UNUSED:
            raise UnexpectedReturnError(
                f"the classifier's parameter {name} has requires_grad = False, but the whole model "
                "is trained"
            )
    wanted = {name: f"{name} {list(value.shape)}" for name, value in head.items()}
    if others != wanted:
        raise UnexpectedReturnError(
            f"besides those of lm, the classifier's parameters must be "
            f"{', '.join(wanted.values())}, but they are {', '.join(others.values()) or 'none'}"
        )
    missing = [name for name in weights if name not in names.values() and name != UNUSED]
    if missing:
        raise UnexpectedReturnError(
            f"the classifier's parameters must contain those of lm, but {missing[0]} is missing, "
            "so an optimizer would not train it (is lm kept in an attribute?)"
        )
    return names | {name: name for name in head}


def name_in_copy(name, value, weights):
    """Return the input whose name ends the name of a parameter, if the shapes are equal."""
    for source, weight in weights.items():
        own = source.removeprefix(LM)
        if (name == own or name.endswith(f".{own}")) and value.shape == weight.shape:
            return source
    return None


def check_values(classifier, names, weights):
    """Raise an error if the constructor gave other values to weights of lm.

    A copy may have been in float32 for a while, so the values may differ by its rounding.
    """
    found = dict(classifier.named_parameters())
    other = [
        source.removeprefix(LM)
        for name, source in names.items()
        if source in weights
        and source != UNUSED
        and not torch.allclose(found[name], weights[source], rtol=1e-5, atol=1e-7)
    ]
    if other:
        more = f" and {len(other) - 2} more" if len(other) > 2 else ""
        raise UnexpectedReturnError(
            f"the classifier must start with the weights of the given lm, but after the "
            f"constructor it has other values in {', '.join(other[:2])}{more}"
        )


def parts_of(classifier):
    """Return the modules of the classifier and itself, with names for the report."""
    return [(name or "the classifier", part) for name, part in classifier.named_modules()]


def in_words(names):
    """Return the first two different names."""
    return ", ".join([*dict.fromkeys(names)][:2]) or "none"


def in_turn(classifier, call):
    """Say in words how dropout acts, and in which modules a call leaves a mode or a hook."""
    modes, hooks = [], []

    def watched():
        parts = parts_of(classifier)
        before = [(part.training, hooks_of(part)) for _, part in parts]
        result = call()
        for (name, part), (training, number) in zip(parts, before, strict=True):
            if part.training != training:
                modes.append(name)
            if hooks_of(part) != number:
                hooks.append(name)
        return result

    found = dropout_in_turn(classifier, watched)
    # A learner may have set the mode of some modules only, so every second one is in eval mode.
    for first in (True, False):
        for place, (_, part) in enumerate(parts_of(classifier)):
            part.training = first == (place % 2 == 0)
        watched()
    return {**found, MODES: in_words(modes), HOOKS: in_words(hooks)}


def hooks_of(part):
    """Return the number of hooks of a module's forward pass."""
    return len(part._forward_hooks) + len(part._forward_pre_hooks)


def kept(states, p):
    """Say in words which share of the features of two tokens is not dropped.

    Args:
        states: the mean of the normalised states of two tokens, [B, M]. Before dropout, all
            features of a token are equal, so a feature is large if both tokens keep it, and small
            if both drop it.
        p: the probability of lm.
    """
    low, high = states.amin(1, keepdim=True), states.amax(1, keepdim=True)
    span = high - low
    if bool((span < 1e-2).sum() > len(span) / 8):
        return "all features of a token or none"
    both, none = states > high - span / 100, states < low + span / 100
    share = ((both.double() + 1 - none.double()) / 2).mean().item()
    words = {f"(1 - p)^{power}": (1 - p) ** power for power in range(2, 5)}
    words = {"all": 1.0, "1 - p": 1 - p, **words}
    found = [name for name, value in words.items() if abs(share - value) < 0.04]
    found = found[:1] or ["another share"]
    if torch.equal(both, both[:1].expand_as(both)):
        found.append("the same in every sequence")
    if bool((both | none).all()):
        found.append("the same for every token")
    return ", ".join(found)


class ClassifierMaker(TokenMaker):
    """Make cases with drawn weights. `training` and `dropout` are the mode and that of lm."""

    def __call__(
        self, name, *, layers=2, dropout=0.0, training=False, weights=None, inputs=None, **more
    ):
        """Return one case. `weights` replaces drawn weights."""
        sizes = self.with_products({letter: more[letter] for letter in "BLVHDTC"})
        drawn = self.weights(sizes, layers) | (weights or {})
        given = {
            "heads": sizes["H"],
            "layers": layers,
            "dropout": dropout,
            "training": int(training),
        }
        return super().__call__(name, inputs=drawn | given | (inputs or {}), **more)

    def weights(self, sizes, layers):
        """Return the weights of lm and of the head by name."""
        width, found = sizes["M"], {}
        for name, rows in (("tok_emb", sizes["V"]), ("pos_emb", sizes["T"])):
            found[f"{LM}{name}.weight"] = self.draw.normal(rows, width)
        for block in range(layers):
            path = f"{LM}blocks.{block}"
            found |= self.norm(f"{path}.ln_1", width)
            found |= self.linear(f"{path}.qkv_proj", width, 3 * width)
            found |= self.linear(f"{path}.o_proj", width, width)
            found |= self.norm(f"{path}.ln_2", width)
            found |= self.linear(f"{path}.fc", width, 4 * width)
            found |= self.linear(f"{path}.proj", 4 * width, width)
        found |= self.norm(f"{LM}ln_f", width)
        found[UNUSED] = self.draw.normal(sizes["V"], width, scale=width**-0.5)
        return found | self.linear("head", width, sizes["C"])

    def linear(self, path, columns, rows):
        """Return the weight and the bias of a linear layer."""
        weight = self.draw.normal(rows, columns, scale=columns**-0.5)
        return {f"{path}.weight": weight, f"{path}.bias": self.draw.normal(rows, scale=0.3)}

    def norm(self, path, width):
        """Return the weight and the bias of a norm."""
        weight = 1 + self.draw.normal(width, scale=0.3)
        return {f"{path}.weight": weight, f"{path}.bias": self.draw.normal(width, scale=0.3)}


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = ClassifierMaker(
        draw,
        inputs={"tokens": "B L"},
        outputs={"out": "B C"},
        products={"M": "H D"},
        mask="B L",
    )
    sizes = {"B": 4, "L": 6, "V": 13, "H": 2, "D": 5, "T": 9, "C": 3}
    yield case("no padding", **sizes)
    yield case("padding", mask="padding", **sizes)
    yield from mask_cases(case, sizes)
    yield from size_cases(case, sizes)
    yield from dtype_cases(case, sizes)
    yield from property_cases(case, sizes)
    yield from mode_cases(case, sizes)
    small, large = {**sizes, "B": 3, "T": 130, "C": 7}, {"B": 16, "L": 24}
    yield from suites.growth(case, "batch and length, padding", small, large, mask="padding")
    yield from suites.growth(case, "length, no padding", small, {"L": 120})


def mask_cases(case, sizes):
    """Yield masks with padding on the right."""
    everything = torch.ones(4, 6, dtype=torch.bool)
    yield case("a mask without padding", mask=everything, **sizes)
    first = torch.arange(6).expand(4, 6) < 1
    yield case("one real token in every sequence", mask=first, **sizes)
    same = torch.arange(6).expand(4, 6) < 4
    yield case("four real tokens in every sequence", mask=same, **sizes)
    lengths = torch.tensor([[6], [1], [2], [5]])
    yield case("1 to 6 real tokens", mask=torch.arange(6) < lengths, **sizes)
    single = {"mask": torch.arange(6)[None] < 4, **sizes, "B": 1}
    yield case("one sequence with padding", **single)
    real = torch.arange(6) < lengths
    zeros = {"tokens": torch.where(real, 3, 0)}
    yield case("padding of token 0, real tokens of one kind", inputs=zeros, mask=real, **sizes)
    zeros = {"tokens": torch.zeros(4, 6, dtype=torch.int64)}
    yield case("all tokens are 0", inputs=zeros, mask=real, **sizes)
    # The states share a large bias, so a wrong divisor changes every logit.
    far = {"lm.ln_f.bias": torch.linspace(-9, 9, 10).double()}
    yield case("states far from 0", weights=far, mask=real, **sizes)


def size_cases(case, sizes):
    """Yield other sizes, and sizes that coincide."""
    yield case("no block", layers=0, mask="padding", **sizes)
    yield case("one block", layers=1, mask="padding", **sizes)
    yield case("three blocks", layers=3, mask="padding", **sizes)
    padded = {**sizes, "mask": "padding"}
    for name, some_equal in (
        ("as many sequences as tokens", {"L": 4, "equal": "B L"}),
        ("as many sequences as classes", {"C": 4, "equal": "B C"}),
        ("as many tokens as classes", {"C": 6, "equal": "L C"}),
        ("as many tokens as positions", {"L": 9, "equal": "L T"}),
        ("as many tokens as features", {"D": 4, "L": 8, "equal": "B D"}),
        ("as many classes as features", {"C": 10}),
        ("as many words as features", {"V": 10}),
        ("as many words as classes", {"C": 13, "equal": "V C"}),
        ("two classes", {"C": 2, "equal": "H C"}),
        ("one class", {"C": 1}),
        ("one token", {"L": 1, "mask": torch.ones(4, 1, dtype=torch.bool)}),
        ("one position", {"L": 1, "T": 1, "mask": None}),
        ("one word", {"V": 1}),
    ):
        yield case(name, **{**padded, **some_equal})
    yield case("one sequence", **{**sizes, "B": 1})
    yield case("one sequence of one token", **{**sizes, "B": 1, "L": 1})
    same = {"B": 4, "L": 4, "V": 4, "H": 4, "D": 4, "T": 4, "C": 4, "equal": "B L V H D T C"}
    yield case("all sizes equal", mask="padding", **same)
    ranges = {"B": (2, 5), "L": (3, 8), "V": (12, 19), "H": (2, 4), "D": (3, 7), "T": (9, 12)}
    drawn = case.draw.sizes(C=(2, 6), **ranges)
    yield case("random sizes", mask="padding", **drawn)


def dtype_cases(case, sizes):
    """Yield cases in float64 and bfloat16, with and without a mask."""
    for dtype in ("float64", "bfloat16"):
        for words, mask in (("no padding", None), ("padding", "padding")):
            more = {"dtype": dtype, "gradients": dtype == "float64"}
            yield case(f"{dtype}, {words}", mask=mask, **more, **sizes)
    long = {**sizes, "B": 3, "L": 300, "T": 310, "C": 7}
    real = torch.arange(300) < torch.tensor([[300], [257], [3]])
    more = {"dtype": "bfloat16", "layers": 1, "gradients": False}
    yield case("bfloat16, 300 tokens", mask=real, **more, **long)


def property_cases(case, sizes):
    """Yield inputs in other memory, and second calls on the same object."""
    usual = {"check": "properties", **sizes}
    layout = {"tokens": "strided", "mask": "strided"}
    yield case("parts of larger inputs", mask="padding", layout=layout, **usual)
    shared = {"tokens": case.draw.integers(1, 6, high=13).expand(4, 6)}
    one_mask = (torch.arange(6)[None] < 4).expand(4, 6)
    layout = {"tokens": "expanded", "mask": "expanded"}
    yield case("expanded inputs", inputs=shared, mask=one_mask, layout=layout, **usual)
    # Drawn lengths may be equal in both calls.
    lengths = [
        torch.arange(6) < torch.tensor(each)[:, None] for each in ([3, 6, 1, 4], [6, 2, 5, 1])
    ]
    for name, mask, later in (
        ("other lengths afterwards", lengths[0], SecondCall(mask=lengths[1])),
        ("no mask afterwards", "padding", SecondCall()),
        ("more tokens afterwards", None, SecondCall(mask="padding", sizes={"B": 5, "L": 8})),
        ("fewer tokens afterwards", "padding", SecondCall(sizes={"B": 7, "L": 2})),
    ):
        yield case(name, mask=mask, later=later, **usual)


def mode_cases(case, sizes):
    """Yield cases in training mode. With a dropout of 0.4, the outputs are words.

    Mistakes: no dropout of the embeddings, or one for each of them; more dropout; lm in eval mode;
    a mode that changes, also if the modules are in different modes; a hook that stays.
    """
    usual = {"check": "train/eval", **sizes}
    for words, mask in (("no padding", None), ("padding", "padding")):
        yield case(f"training mode, dropout 0, {words}", mask=mask, training=True, **usual)
    yield case("eval mode, dropout 0.4", mask="padding", dropout=0.4, **usual)
    width = sizes["H"] * sizes["D"]
    idle = idle_blocks(width)
    # The states do not depend on what is dropped in lm, so any other dropout shows.
    noise = {"training": True, "dropout": 0.4, "mask": "padding", "gradients": False, **usual}
    constant = {"lm.ln_f.weight": torch.zeros(width)}
    yield case("training mode, dropout 0.4, constant states", weights=constant, **noise)
    row = case.draw.normal(width)
    opposite = {"lm.tok_emb.weight": row.expand(13, -1), "lm.pos_emb.weight": -row.expand(9, -1)}
    name = "training mode, dropout 0.4, the embeddings cancel, the blocks add 0"
    yield case(name, weights=idle | opposite, **noise)
    # Without embeddings, only the dropout in the blocks is left: the biases still give states.
    nothing = {
        "lm.tok_emb.weight": torch.zeros(13, width),
        "lm.pos_emb.weight": torch.zeros(9, width),
    }
    turns = {"inputs": {"part": "turns"}, "outputs": {}, "gradients": False}
    for words, weights in (
        ("training, eval and training mode, dropout 0.4", {}),
        ("training, eval and training mode, dropout 0.4, the blocks add 0", idle),
        ("training, eval and training mode, dropout 0.4, embeddings of 0", nothing),
    ):
        more = {"dropout": 0.4, "training": True, "weights": weights}
        yield replace(
            case(words, mask="padding", **turns, **more, **usual),
            plain=dict.fromkeys((AT_FIRST, *TURNS, MODES, HOOKS), "str"),
        )
    yield from share_cases(case)


def share_cases(case):
    """Yield cases whose states show which features are dropped. The outputs are words.

    Mistakes: a second dropout, which acts only where lm drops something, too; another probability;
    one draw for all features of a token, or for all sequences.
    """
    sizes = {"B": 40, "L": 2, "V": 13, "H": 4, "D": 12, "T": 9, "C": 48}
    width = sizes["H"] * sizes["D"]
    idle = idle_blocks(width) | {
        "lm.ln_f.weight": torch.ones(width),
        "lm.ln_f.bias": torch.zeros(width),
        "head.weight": torch.eye(width),
        "head.bias": torch.zeros(width),
    }
    for words, embedding, bias in (
        ("equal embeddings, the blocks add 0", 1.0, 0.0),
        ("embeddings of 0, the first block adds equal numbers", 0.0, 1.0),
    ):
        weights = idle | {
            "lm.tok_emb.weight": torch.full((13, width), embedding),
            "lm.pos_emb.weight": torch.full((9, width), embedding),
            "lm.blocks.0.proj.bias": torch.full((width,), bias),
        }
        more = {"dropout": 0.4, "training": True, "weights": weights, "check": "train/eval"}
        more |= {"inputs": {"part": "kept"}, "outputs": {}, "gradients": False}
        name = f"training mode, dropout 0.4, {words}"
        yield replace(case(name, **more, **sizes), plain={KEPT: "str"})


def idle_blocks(width):
    """Return the weights of two blocks that add 0."""
    idle = {}
    for block in range(2):
        for layer, columns in (("o_proj", width), ("proj", 4 * width)):
            idle[f"lm.blocks.{block}.{layer}.weight"] = torch.zeros(width, columns)
            idle[f"lm.blocks.{block}.{layer}.bias"] = torch.zeros(width)
    return idle


def realistic():
    """Return the call that is measured after a pass: a batch for a small GPT."""
    width, layers, words, length = 384, 6, 8000, 256
    weights = {
        "lm.tok_emb.weight": shaped(words, width),
        "lm.pos_emb.weight": shaped(length, width),
        "lm.ln_f.weight": shaped(width),
        "lm.ln_f.bias": shaped(width),
        UNUSED: shaped(words, width),
        "head.weight": shaped(5, width),
        "head.bias": shaped(5),
    }
    for block in range(layers):
        path = f"lm.blocks.{block}"
        for norm in ("ln_1", "ln_2"):
            weights |= {f"{path}.{norm}.{part}": shaped(width) for part in ("weight", "bias")}
        for layer, rows, columns in (
            ("qkv_proj", 3 * width, width),
            ("o_proj", width, width),
            ("fc", 4 * width, width),
            ("proj", width, 4 * width),
        ):
            weights[f"{path}.{layer}.weight"] = shaped(rows, columns)
            weights[f"{path}.{layer}.bias"] = shaped(rows)
    return realistic_call(
        "6 blocks of 384 with 6 heads, 8000 words, B = 16, L = 256",
        tokens=shaped(16, length, dtype="int64"),
        mask=shaped(16, length, dtype="bool"),
        heads=6,
        layers=layers,
        dropout=0.0,
        training=0,
        **weights,
    )
