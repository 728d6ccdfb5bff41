"""Cases for a small GPT with a given cache class: calls in chunks, and generation step by step.

T is max_seq_len, N the number of blocks and P the number of new tokens. The hidden values of every
MLP are small; see `small_hidden`.
"""

from dataclasses import replace

import torch

from attn_drill.casekit import (
    TURNS,
    Refusal,
    TokenMaker,
    bad_heads,
    branch_factors,
    branch_words,
    branches_apart,
    dropout_in_turn,
    own_scores_far_below_zero,
    realistic_call,
    shaped,
    small_hidden,
    suites,
)
from attn_drill.worker.arguments import own_module
from attn_drill.worker.execution import functions_of
from attn_drill.worker.returns import UnexpectedReturnError, describe

AS_ASKED = "the prompt, then one token a step"
DROPOUT = 0.4
LENGTHS = "cache.length after each call"
LAYERS = "layers that each call updates"


class KVCache:
    """The class of the task. It explains wrong calls, which the class of the task does not."""

    def __init__(self, num_layers):
        self.keys = [None] * num_layers
        self.values = [None] * num_layers
        self.length = 0
        self._updated = []

    def update(self, layer, k, v):
        """Add k, v [B, H, n, D] of new tokens to a layer; return k, v of all its tokens."""
        self.check(layer, k, v)
        self._updated.append(layer)
        if self.keys[layer] is not None:
            k = torch.cat([self.keys[layer], k], dim=2)
            v = torch.cat([self.values[layer], v], dim=2)
        self.keys[layer] = k
        self.values[layer] = v
        if layer == len(self.keys) - 1:
            self.length = k.shape[2]
        return k, v

    def check(self, layer, k, v):
        """Raise an exception if an update cannot work."""
        count = len(self.keys)
        if not isinstance(layer, int):
            raise TypeError(f"update(layer, k, v): layer must be an int, not {describe(layer)}")
        if not -count <= layer < count:
            raise IndexError(f"update(layer, k, v): layer is {layer}, but there are {count} layers")
        for name, new, old in (("k", k, self.keys[layer]), ("v", v, self.values[layer])):
            wanted = "[B, H, n, D] of the new tokens"
            if not isinstance(new, torch.Tensor) or new.dim() != 4:
                raise TypeError(
                    f"update(layer, k, v): {name} must be {wanted}, not {describe(new)}"
                )
            if old is not None and old[:, :, 0].shape != new[:, :, 0].shape:
                kept, given = list(old.shape), list(new.shape)
                raise ValueError(
                    f"update(layer, k, v): {name} must be {wanted}. It is {given}, after {kept}"
                )

    def updated(self):
        """Return in words the layers that were updated since the last call of this method."""
        layers, self._updated = self._updated, []
        return " ".join(map(str, layers)) or "none"

    def copy(self):
        """Return another cache with the same tokens."""
        other = KVCache(len(self.keys))
        other.keys, other.values, other.length = [*self.keys], [*self.values], self.length
        return other

    def __getattr__(self, name):
        raise AttributeError(f"the KVCache of the task has no {name!r}")


def drive(model, given):
    """Feed the tokens in chunks, or generate."""
    if given.part == "generation":
        return generation(own_module(model), functions_of(model).generate, given)
    if given.part == "dropout":
        return dropout_in_turn(own_module(model), lambda: logits_of(model, given.tokens))
    if given.part == "factors":
        return factors(model, given)
    if given.part == "turns":
        return turns(model, given)
    if given.part == "refused":
        return refused(model, given)
    if given.chunks is None:
        return {"logits": logits_of(model, given.tokens)}
    cache = KVCache(given.layers)
    logits, lengths, layers = [], [], []
    for chunk in given.tokens.split(given.chunks, 1):
        logits.append(logits_of(model, chunk, cache))
        lengths.append(str(cache.length))
        layers.append(cache.updated())
    if given.part == "kept":
        return {"keys": direction(cache.keys), "values": direction(cache.values)}
    words = {LENGTHS: " ".join(lengths), LAYERS: ", ".join(layers)}
    return {"logits": torch.cat(logits, 1), **words}


def direction(kept):
    """Return the keys or values of all layers, up to a factor: scaled keys are right, too."""
    if not all(isinstance(layer, torch.Tensor) for layer in kept):
        raise UnexpectedReturnError("after model(tokens, cache), a layer has no keys or values")
    joined = torch.stack(kept)
    return joined / joined.norm()


def logits_of(model, tokens, cache=None):
    """Call the model; return its result if it is a tensor, and with a cache, one for all tokens."""
    call = "model(tokens)" if cache is None else "model(tokens, cache)"
    found = model(tokens) if cache is None else model(tokens, cache)
    if not isinstance(found, torch.Tensor):
        raise UnexpectedReturnError(
            f"{call} must return the logits alone, but it returns {describe(found)}"
        )
    if cache is not None and (found.dim() != 3 or found.shape[:2] != tokens.shape):
        raise UnexpectedReturnError(
            f"{call} must return logits [B, n, V] for tokens {list(tokens.shape)}, but it returns "
            f"{describe(found)}"
        )
    return found


def turns(model, given):
    """Feed two texts with a cache for each, in turn, with a call without a cache between them.

    The first text goes on with a copy of its cache.
    """
    one_cache, other_cache = KVCache(given.layers), KVCache(given.layers)
    first, second, alone = [], [], []
    one_chunks = given.one_tokens.split(given.one_chunks, 1)
    other_chunks = given.other_tokens.split(given.other_chunks, 1)
    for one_chunk, other_chunk in zip(one_chunks, other_chunks, strict=True):
        first.append(logits_of(model, one_chunk, one_cache))
        second.append(logits_of(model, other_chunk, other_cache))
        alone.append(logits_of(model, given.tokens))
        one_cache = one_cache.copy()
    return {
        "logits of the first text": torch.cat(first, 1),
        "logits of the second text": torch.cat(second, 1),
        "logits without a cache": torch.cat(alone, 1),
    }


def refused(model, given):
    """Feed a chunk, then more tokens than there are positions, and go on after the refusal."""
    cache = KVCache(given.layers)
    start, rest = given.tokens.split(given.lengths, 1)
    first = logits_of(model, start, cache)
    found = raises_value_error(lambda: model(given.tokens, cache))
    length = cache.length
    second = logits_of(model, rest, cache)
    return {
        "logits": torch.cat([first, second], 1),
        "too many tokens": found,
        "cache.length after the refusal": str(length),
    }


def raises_value_error(call):
    """Return in words whether a call raises ValueError."""
    try:
        call()
    except ValueError:
        return "ValueError"
    return "no error"


def factors(model, given):
    """Return in words how dropout acts on the embeddings and on all branches."""

    def feed():
        cache = None if given.lengths is None else KVCache(given.layers)
        for chunk in given.tokens.split(given.lengths or given.tokens.shape[1], 1):
            logits_of(model, chunk, cache)

    return branch_factors(own_module(model), feed, 2, DROPOUT)


def mode_of(model):
    """Return the mode of a model and all of its modules."""
    modes = {module.training for module in model.modules()}
    return "mixed" if len(modes) > 1 else "training" if True in modes else "eval"


def generation(model, generate, given):
    """Generate tokens; note the tokens that are fed, the recording of gradients, and the mode."""
    modes = [(module, module.training) for module in model.modules()]
    recorded, during, in_norm, in_model = set(), set(), [], []

    def note(module, arguments):
        recorded.add(torch.is_grad_enabled())
        during.add(mode_of(model))
        if module is last_norm:
            in_norm.append(arguments[0].shape[1])

    def noted_forward(*arguments, **named):
        recorded.add(torch.is_grad_enabled())
        during.add(mode_of(model))
        in_model.append(first_tensor(*arguments, *named.values()).shape[1])
        return forward(*arguments, **named)

    norms = [part for name, part in model.named_modules() if name.split(".")[-1] == "ln_f"]
    last_norm = norms[0] if norms else None
    hooks = [module.register_forward_pre_hook(note) for module in model.modules()]
    # A hook sees no direct call of `forward`, and ln_f need not be called as a module.
    forward, model.forward = model.forward, noted_forward
    try:
        model.train(given.training)
        before = mode_of(model)
        torch.manual_seed(0)
        with torch.set_grad_enabled(given.recording):
            tokens = generate(model, given.tokens, given.new)
            recorded_after = torch.is_grad_enabled()
            after, modes_in_calls = mode_of(model), " and ".join(sorted(during))
            fed = in_words(in_norm or in_model, given.tokens.shape[1], given.new)
            # A refusal must leave the mode as it was, too.
            model.train(given.training)
            raises_value_error(lambda: generate(model, given.tokens, given.too_many))
        return {
            "tokens": tokens,
            "tokens fed": fed,
            "records gradients": f"{True in recorded} in generate(), {recorded_after} after it",
            "mode of the model": f"{before} before generate(), {after} after it",
            "mode in generate()": modes_in_calls or "no call",
            "mode after a ValueError": mode_of(model),
        }
    finally:
        model.forward = forward
        for hook in hooks:
            hook.remove()
        for module, mode in modes:
            module.training = mode


def first_tensor(*arguments):
    """Return the first tensor of the arguments, the tokens."""
    return next(value for value in arguments if isinstance(value, torch.Tensor))


def in_words(fed, prompt, new):
    """Return the numbers of tokens of all calls; a last call more is allowed."""
    if new == 0:
        return AS_ASKED if not fed else " ".join(map(str, fed))
    wanted = [prompt] + [1] * (new - 1)
    return AS_ASKED if fed in (wanted, [*wanted, 1]) else " ".join(map(str, fed))


class CacheMaker(TokenMaker):
    """Make cases for models with a number of blocks. Calls without `chunks` get no cache."""

    def __call__(
        self, name, *, part="model", layers=2, chunks=None, inputs=None, hidden=0.02, **more
    ):
        """Return one case."""
        given = {"part": part, "layers": layers, "chunks": chunks, **(inputs or {})}
        init = {"num_layers": layers, **more.pop("init", {})}
        quiet = dict(more.pop("parameters", None) or {})
        for layer in range(layers):
            width = self.with_products(more)["M"]
            quiet |= small_hidden(self.draw, f"blocks.{layer}.mlp", width, hidden)
        if chunks is not None:
            more["L"] = sum(chunks)
        made = super().__call__(name, inputs=given, parameters=quiet, init=init, **more)
        plain = dict.fromkeys((LENGTHS, LAYERS), "str") if chunks is not None else {}
        return replace(made, part="generation" if part == "generation" else "model", plain=plain)


def maker(draw, inputs, outputs):
    """Return a maker of cases with these inputs and outputs."""
    return CacheMaker(
        draw,
        init={"vocab_size": "V", "d_model": "M", "num_heads": "H", "max_seq_len": "T"},
        inputs=inputs,
        outputs=outputs,
        products={"M": "H D"},
    )


def cases(draw):
    """Yield the cases on which a submission runs."""
    model = maker(draw, {"tokens": "B L"}, {"logits": "B L V"})
    sizes = {"B": 2, "L": 7, "V": 13, "H": 3, "D": 4, "T": 9}
    yield from model_cases(model, sizes)
    yield from chunk_cases(model, sizes)
    yield from growing(model)
    inputs = {"tokens": "B L", "one_tokens": "B S", "other_tokens": "B S"}
    outputs = dict.fromkeys(("logits of the first text", "logits of the second text"), "B S V")
    outputs["logits without a cache"] = "B all V"
    several = maker(draw, inputs, outputs)
    # Two texts with equal totals, but other splits, show masks that are kept by the total alone.
    for words, L, D, one_chunks, other_chunks in (
        ("several tokens", 5, 4, (4, 1, 3), (3, 2, 3)),
        ("one token", 4, 5, (1, 1), (1, 1)),
    ):
        yield several(
            f"two caches in turn, {words} a call",
            part="turns",
            check="properties",
            gradients=False,
            S=sum(one_chunks),
            inputs={"one_chunks": one_chunks, "other_chunks": other_chunks},
            more_sizes={"all": L * len(one_chunks)},
            **(sizes | {"B": 7, "L": L, "D": D}),
        )
    new = maker(draw, {"tokens": "B L"}, {"tokens": "B length"})
    yield from generation_cases(new, sizes)


def model_cases(case, sizes):
    """Yield single calls without a cache."""

    def whole(name, **more):
        return case(f"no cache, {name}", **{**sizes, **more})

    yield whole("two blocks")
    yield whole("one block", layers=1, B=3, L=5, V=11, H=2, D=4, T=8)
    yield whole("three blocks", layers=3, B=2, L=4, V=7, H=3, D=5, T=6)
    yield whole("as many tokens as positions", L=9, equal="L T")
    yield whole("one token, one head", B=3, L=1, V=11, H=1, D=6, T=5)
    same = {"B": 4, "L": 4, "V": 4, "H": 4, "D": 4, "T": 4, "equal": "B L V H D T"}
    yield whole("all sizes equal", **same)
    yield whole("hidden values near 0.1", hidden=0.1, gradients=False)
    yield from (
        replace(found, name=f"no cache, {found.name}") for found in suites.dtypes(case, **sizes)
    )
    yield whole("own scores near -100", gradients=False, **steep(case.draw))
    yield whole("training mode, dropout 0", mode="train", check="train/eval")
    # This probability drops nothing, so the results are those of eval mode.
    rare = {"mode": "train", "init": {"dropout": 1e-9}, "check": "train/eval"}
    yield whole("training mode, dropout 1e-9", **rare)
    yield whole("eval mode, dropout 0.4", init={"dropout": DROPOUT}, check="train/eval")
    drops = {
        "outputs": {},
        "init": {"dropout": DROPOUT},
        "check": "train/eval",
        "gradients": False,
    }
    changes = whole("training, eval and training mode, dropout 0.4", part="dropout", **drops)
    yield replace(changes, plain=dict.fromkeys(TURNS, "str"))
    # Nothing is left to drop, because all embeddings and results of branches are 0.
    silent = {"init": {"dropout": DROPOUT}, "mode": "train", "check": "train/eval"}
    silent |= {"parameters": zeros(12), "gradients": False}
    yield whole("training mode, dropout 0.4 of zeros", **silent)
    single = {**drops, "part": "factors", "B": 64, "L": 3, "H": 10, "D": 2}
    single |= {"hidden": 1.0, "parameters": branches_apart(case.draw, 2, tok_emb=13, pos_emb=9)}
    for words, lengths in (("no cache", None), ("chunks", (1, 1, 1))):
        name = f"{words}: training mode, dropout 0.4, branches apart"
        apart = case(name, inputs={"lengths": lengths}, **{**sizes, **single})
        yield replace(apart, plain=dict.fromkeys(branch_words(2), "str"))


def zeros(width):
    """Return weights with which the embeddings and the results of all branches are 0."""
    found = {"tok_emb.weight": torch.zeros(13, width), "pos_emb.weight": torch.zeros(9, width)}
    for layer in range(2):
        found[f"blocks.{layer}.attn.o_proj.weight"] = torch.zeros(width, width)
        found[f"blocks.{layer}.attn.o_proj.bias"] = torch.zeros(width)
        found[f"blocks.{layer}.mlp.proj.weight"] = torch.zeros(width, 4 * width)
        found[f"blocks.{layer}.mlp.proj.bias"] = torch.zeros(width)
    return found


def steep(draw):
    """Return a block whose hidden scores are above the visible scores by about 100."""
    parameters = own_scores_far_below_zero(draw, 12)
    return {"layers": 1, "parameters": parameters, "B": 6, "dtype": "float64"}


def chunk_cases(case, sizes):
    """Yield calls in chunks with one cache."""
    for name, chunks, more in (
        ("a prompt, then single tokens", (4, 1, 1, 1), {}),
        ("single tokens from the beginning", (1, 1, 1, 1, 1, 1, 1), {}),
        ("one call", (7,), {}),
        ("one call with a single token", (1,), {}),
        ("two chunks", (3, 4), {}),
        ("a long chunk after one token", (1, 6), {}),
        ("three chunks, one block", (2, 3, 2), {"layers": 1}),
        ("three chunks, three blocks", (2, 1, 4), {"layers": 3, "D": 5}),
        ("up to the last position", (5, 4), {"equal": "L T"}),
        ("as many new tokens as heads", (2, 3), {}),
        ("one head, one sequence", (3, 4), {"B": 1, "H": 1}),
        ("as many sequences as heads and tokens", (3, 3), {"B": 3, "equal": "B H"}),
        ("float64", (3, 1, 3), {"dtype": "float64"}),
        ("bfloat16", (3, 1, 3), {"dtype": "bfloat16"}),
        ("own scores near -100", (3, 4), steep(case.draw)),
        ("training mode", (4, 1, 2), {"mode": "train", "check": "train/eval"}),
        ("eval mode, dropout 0.4", (3, 4), {"init": {"dropout": DROPOUT}, "check": "train/eval"}),
    ):
        # Gradients that reach earlier chunks through the cache are a matter of taste.
        yield case(f"chunks: {name}", **{"chunks": chunks, "gradients": False, **sizes, **more})
    kept = dict.fromkeys(("keys", "values"), "N B H L D")
    again = {"outputs": kept, "gradients": False, "more_sizes": {"N": 2}, **sizes}
    made = case("chunks: keys and values in the cache", part="kept", chunks=(3, 4), **again)
    yield replace(made, plain={})
    name = "chunks: too many tokens after a chunk, then the rest"
    again = {"inputs": {"lengths": (4, 3)}, "mode": "train", "gradients": False, **sizes}
    made = case(name, part="refused", check="properties", **again)
    words = ("too many tokens", "cache.length after the refusal")
    yield replace(made, plain=dict.fromkeys(words, "str"))


def growing(case):
    """Yield calls in two sizes, whose operations are counted, and calls with a limit of work."""
    small = {"B": 2, "V": 7, "H": 3, "D": 4, "T": 60}
    large = small | {"B": 8, "H": 6, "V": 11}
    for name, few, many in (
        ("no cache", None, None),
        ("a chunk", (5, 3), (40, 13)),
        ("a step", (5, 1), (40, 1)),
    ):
        short = case(f"{name}, small", probe="vectorised", chunks=few, **small | {"L": 5})
        long = case(f"{name}, large", probe="vectorised", chunks=many, **large | {"L": 33})
        yield replace(short, larger=long)
    for name, chunks in (("a step", (40, 1)), ("a chunk", (20, 20))):
        name = f"{name} after a long prompt"
        limit = work_of(chunks, **small) * 5 // 4
        yield case(name, probe="work", limit=limit, chunks=chunks, gradients=False, **small)


def work_of(chunks, B, V, H, D, T, layers=2):
    """Return the multiplications and additions of all products, with scores for every key."""
    width, tokens = H * D, sum(chunks)
    scores = sum(chunk * sum(chunks[: place + 1]) for place, chunk in enumerate(chunks))
    of_layer = tokens * 12 * width**2 + 2 * scores * width
    return 2 * B * (layers * of_layer + tokens * width * V)


def generation_cases(case, sizes):
    """Yield generations in float64, so that no two logits are equal up to rounding.

    A wrong context may give the right token by luck, so there are many sequences.
    """

    def new(name, count=3, training=False, recording=True, **more):
        known = {**sizes, "L": 4, "B": 17, "V": 31, "T": 24, **more}
        made = case(
            f"generation: {name}",
            part="generation",
            inputs={
                "new": count,
                "training": training,
                "recording": recording,
                "too_many": known["T"] + 1,
            },
            outputs={"tokens": "B length"},
            dtype="float64",
            gradients=False,
            **{**known, "more_sizes": {"length": known["L"] + count, "P": count}},
        )
        words = ("tokens fed", "records gradients", "mode of the model", "mode in generate()")
        return replace(made, plain=dict.fromkeys((*words, "mode after a ValueError"), "str"))

    yield new("three tokens", D=5, layout="strided")
    yield new("one token, one sequence", count=1, B=1, D=5)
    yield new("no token", count=0, D=5)
    mode = {"training": True, "check": "train/eval"}
    yield new("no token, from training mode", count=0, D=5, **mode)
    yield new("up to max_seq_len", count=5, D=5, T=9)
    yield new("no token, a prompt of max_seq_len", count=0, D=5, L=9, T=9, equal="L T")
    yield new("a prompt of one token, gradients off before", L=1, count=4, recording=False)
    init = {"dropout": DROPOUT}
    yield new("from training mode, dropout 0.4", count=2, D=5, init=init, **mode)


def refusals():
    """Yield sizes and lengths that must be refused."""
    rest = {"vocab_size": 11, "num_layers": 1, "max_seq_len": 5}
    yield from bad_heads(**rest)
    init = {"init": {**rest, "d_model": 6, "num_heads": 2}, "only_value_error": True}
    tokens = torch.zeros(2, 6, dtype=torch.int64)
    given = {"part": "model", "tokens": tokens, "layers": 1, "chunks": None}
    why = "there are 6 tokens, but max_seq_len is 5"
    shown = "MiniGPT.forward(tokens [2, 6])"
    yield Refusal(why, given, shown_call=shown, **init)
    why = "there are 3 cached and 3 new tokens, but max_seq_len is 5"
    shown = "MiniGPT.forward(tokens [2, 3], cache)"
    yield Refusal(why, given | {"chunks": (3, 3)}, shown_call=shown, **init)
    modes = {"training": False, "recording": True, "too_many": 0}
    for prompt, new in ((3, 3), (6, 0)):
        given = {"part": "generation", "tokens": tokens[:, :prompt], "new": new, **modes}
        why = f"a prompt of {prompt} and {new} new tokens, but max_seq_len is 5"
        shown = f"generate(model, tokens [2, {prompt}], {new})"
        yield Refusal(why, given, shown_call=shown, **init)


def realistic():
    """Return the call that is measured after a pass: a decode step of GPT-2 small."""
    return realistic_call(
        "GPT-2 small, a prompt of 255 tokens and one step",
        init={
            "vocab_size": 50257,
            "d_model": 768,
            "num_heads": 12,
            "num_layers": 12,
            "max_seq_len": 1024,
        },
        part="model",
        tokens=shaped(1, 256, dtype="int64"),
        layers=12,
        chunks=(255, 1),
    )
