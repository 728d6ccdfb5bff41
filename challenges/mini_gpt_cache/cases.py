"""Cases for a small GPT with a KV cache: calls in chunks, and generation step by step.

T is max_seq_len, N the number of blocks and P the number of new tokens. The hidden values of every
MLP are small; see `small_hidden`.
"""

from copy import copy
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
from attn_drill.worker.returns import UnexpectedReturnError, describe, unpack

AS_ASKED = "the prompt, then one token a step"
DROPOUT = 0.4


def drive(model, given):
    """Feed the tokens in chunks, or generate."""
    if given.part == "generation":
        return generation(own_module(model), functions_of(model).generate, given)
    if given.part == "dropout":
        return dropout_in_turn(own_module(model), lambda: model(given.tokens)[0])
    if given.part == "factors":
        return factors(model, given)
    if given.part == "branches":
        return branches(model, given)
    if given.part == "refused":
        return refused(model, given)
    logits, cache, start = [], None, 0
    for length in given.chunks:
        chunk = given.tokens[:, start : start + length]
        first = cache is None
        found = model(chunk) if first else model(chunk, cache)
        part, cache = unpack(found, "logits", "cache")
        logits.append(part)
        start += length
    keys, values = zip(*(unpack(layer, "k", "v") for layer in layers_of(cache)), strict=True)
    return {
        "logits": torch.cat(logits, 1),
        # No gradients through the cache are graded, so it may be detached.
        "keys": torch.stack(keys).detach(),
        "values": torch.stack(values).detach(),
    }


def layers_of(cache):
    """Return the cache if it is a list with an entry for each block."""
    if not isinstance(cache, list | tuple):
        raise UnexpectedReturnError(f"the cache must be a list of (k, v), not {describe(cache)}")
    return cache


def branches(model, given):
    """Continue twice from a prompt's cache and from a continuation. No cache may change.

    Another prompt of the same sizes comes between them, and a call with the text of the prompt and
    a continuation. Some calls get a copy of the list.
    """
    _, cache = unpack(model(given.tokens), "logits", "cache")
    model(given.tokens.flip(1))
    first, longer = unpack(model(given.one_tokens, cache), "logits", "cache")
    whole, _ = unpack(model(torch.cat([given.tokens, given.one_tokens], 1)), "logits", "cache")
    _, longest = unpack(model(given.one_tokens, copy(longer)), "logits", "cache")
    second, _ = unpack(model(given.other_tokens, copy(cache)), "logits", "cache")
    continued, _ = unpack(model(given.other_tokens, longer), "logits", "cache")
    last, _ = unpack(model(given.other_tokens, longest), "logits", "cache")
    again, _ = unpack(model(given.one_tokens, cache), "logits", "cache")
    found = {"first": first, "second": second, "continued": continued}
    return found | {"last": last, "again": again, "whole": whole}


def refused(model, given):
    """Feed a chunk, then more tokens than there are positions, and go on after the refusal."""
    start, rest = given.tokens.split(given.lengths, 1)
    first, cache = unpack(model(start), "logits", "cache")
    found = raises_value_error(lambda: model(given.tokens, cache))
    second, _ = unpack(model(rest, cache), "logits", "cache")
    return {"logits": torch.cat([first, second], 1), "too many tokens": found}


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
        cache = None
        for chunk in given.tokens.split(given.lengths, 1):
            found = model(chunk) if cache is None else model(chunk, cache)
            _, cache = unpack(found, "logits", "cache")

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
    """Make cases for models with a number of blocks."""

    def __call__(self, name, *, part="model", layers=2, inputs=None, hidden=0.02, **more):
        """Return one case. The number of blocks is the size N of the outputs."""
        given = {"part": part, **(inputs or {})}
        init = {"num_layers": layers, **more.pop("init", {})}
        quiet = dict(more.pop("parameters", None) or {})
        for layer in range(layers):
            width = self.with_products(more)["M"]
            quiet |= small_hidden(self.draw, f"blocks.{layer}.mlp", width, hidden)
        known = {"N": layers, **(more.pop("more_sizes", None) or {})}
        rest = {"parameters": quiet, "init": init, "more_sizes": known, **more}
        made = super().__call__(name, inputs=given, **rest)
        return replace(made, part="generation" if part == "generation" else "model")


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
    outputs = {"logits": "B L V", "keys": "N B H L D", "values": "N B H L D"}
    model = maker(draw, {"tokens": "B L"}, outputs)
    sizes = {"B": 2, "L": 7, "V": 13, "H": 3, "D": 4, "T": 9}
    yield from model_cases(model, sizes)
    yield from chunk_cases(model, sizes)
    inputs = {"tokens": "B L", "one_tokens": "B S", "other_tokens": "B R"}
    outputs = dict.fromkeys(("first", "again"), "B S V")
    outputs |= dict.fromkeys(("second", "continued", "last"), "B R V")
    several = maker(draw, inputs, outputs | {"whole": "B all V"})
    # Other splits of equal totals show masks that are kept by the total alone.
    for words, S, R in (("two tokens and by three", 2, 3), ("one token and by two", 1, 2)):
        yield several(
            f"continuations of one cache by {words}",
            part="branches",
            check="properties",
            gradients=False,
            S=S,
            R=R,
            more_sizes={"all": 4 + S},
            **(sizes | {"B": 8, "H": 5, "L": 4, "D": 7, "T": 15}),
        )
    new = maker(draw, {"tokens": "B L"}, {"tokens": "B length"})
    yield from generation_cases(new, sizes)


def model_cases(case, sizes):
    """Yield single calls without a cache."""

    def whole(name, **more):
        length = {**sizes, **more}["L"]
        return case(name, **{"inputs": {"chunks": (length,)}, **sizes, **more})

    yield whole("no past, two blocks")
    yield whole("no past, one block", layers=1, B=3, L=5, V=11, H=2, D=4, T=8)
    yield whole("no past, three blocks", layers=3, B=2, L=4, V=7, H=3, D=5, T=6)
    yield whole("no past, as many tokens as positions", L=9, equal="L T")
    yield whole("no past, one token, one head", B=3, L=1, V=11, H=1, D=6, T=5)
    same = {"B": 4, "L": 4, "V": 4, "H": 4, "D": 4, "T": 4, "equal": "B L V H D T"}
    yield whole("no past, all sizes equal", **same)
    yield whole("no past, hidden values near 0.1", hidden=0.1, gradients=False)
    yield from (
        replace(found, name=f"no past, {found.name}")
        for found in suites.dtypes(case, inputs={"chunks": (7,)}, **sizes)
    )
    yield whole("no past, own scores near -100", gradients=False, **steep(case.draw))
    yield whole("no past, training mode, dropout 0", mode="train", check="train/eval")
    # This probability drops nothing, so the results are those of eval mode.
    rare = {"mode": "train", "init": {"dropout": 1e-9}, "check": "train/eval"}
    yield whole("no past, training mode, dropout 1e-9", **rare)
    yield whole("no past, eval mode, dropout 0.4", init={"dropout": DROPOUT}, check="train/eval")
    drops = {
        "outputs": {},
        "init": {"dropout": DROPOUT},
        "check": "train/eval",
        "gradients": False,
    }
    turns = whole("training, eval and training mode, dropout 0.4", part="dropout", **drops)
    yield replace(turns, plain=dict.fromkeys(TURNS, "str"))
    # Nothing is left to drop, because all embeddings and results of branches are 0.
    silent = {"init": {"dropout": DROPOUT}, "mode": "train", "check": "train/eval"}
    silent |= {"parameters": zeros(12), "gradients": False}
    yield whole("no past, training mode, dropout 0.4 of zeros", **silent)
    single = {**drops, "part": "factors", "B": 64, "L": 3, "H": 10, "D": 2}
    single |= {"hidden": 1.0, "parameters": branches_apart(case.draw, 2, tok_emb=13, pos_emb=9)}
    for words, lengths in (("no past", (3,)), ("chunks", (1, 1, 1))):
        name = f"{words}: training mode, dropout 0.4, branches apart"
        apart = case(name, inputs={"lengths": lengths}, **{**sizes, **single})
        yield replace(apart, plain=dict.fromkeys(branch_words(2), "str"))
    small = {"B": 2, "V": 7, "H": 3, "D": 4, "T": 60, "L": 5}
    short = case("growing, small", probe="vectorised", inputs={"chunks": (5,)}, **small)
    large = small | {"B": 8, "L": 33, "H": 6, "V": 11}
    long = case("growing, large", probe="vectorised", inputs={"chunks": (33,)}, **large)
    yield replace(short, larger=long)
    # A longer chunk after a longer past, and a step, must not need more operations.
    short = case(
        "a chunk, small", probe="vectorised", inputs={"chunks": (5, 3)}, **small | {"L": 8}
    )
    large = small | {"B": 8, "L": 53, "H": 6, "V": 11}
    long = case("a chunk, large", probe="vectorised", inputs={"chunks": (40, 13)}, **large)
    yield replace(short, larger=long)
    short = case("a step, small", probe="vectorised", inputs={"chunks": (5, 1)}, **small | {"L": 6})
    large = small | {"B": 8, "L": 41, "H": 6, "V": 11}
    long = case("a step, large", probe="vectorised", inputs={"chunks": (40, 1)}, **large)
    yield replace(short, larger=long)


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
    """Yield calls in chunks, with the cache of the call before."""
    for name, chunks, more in (
        ("a prompt, then single tokens", (4, 1, 1, 1), {}),
        ("single tokens from the beginning", (1, 1, 1, 1, 1, 1, 1), {}),
        ("two chunks", (3, 4), {}),
        ("a long chunk after one token", (1, 6), {}),
        ("three chunks, one block", (2, 3, 2), {"layers": 1}),
        ("three chunks, three blocks", (2, 1, 4), {"layers": 3}),
        ("up to the last position", (5, 4), {"L": 9, "equal": "L T"}),
        ("as many new tokens as heads", (2, 3), {"L": 5}),
        ("one head, one sequence", (3, 4), {"B": 1, "H": 1}),
        ("float64", (3, 1, 3), {"dtype": "float64"}),
        ("bfloat16", (3, 1, 3), {"dtype": "bfloat16"}),
        ("own scores near -100", (3, 4), steep(case.draw)),
    ):
        # Gradients that reach earlier chunks through the cache are a matter of taste.
        given = {"inputs": {"chunks": chunks}, "gradients": False, **sizes, **more}
        yield case(f"chunks: {name}", **given)
    name = "chunks: too many tokens after a chunk, then the rest"
    given = {"inputs": {"lengths": (4, 3)}, "mode": "train", "gradients": False, **sizes}
    given |= {"outputs": {"logits": "B L V"}, "part": "refused", "check": "properties"}
    yield replace(case(name, **given), plain={"too many tokens": "str"})


def generation_cases(case, sizes):
    """Yield generations in float64, so that no two logits are equal up to rounding.

    A wrong context may give the right token by luck, so there are many sequences.
    """

    def new(name, count=3, training=False, recording=True, **more):
        known = {**sizes, "L": 4, "B": 17, "V": 31, **more}
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
    yield new("up to max_seq_len", count=5, D=5)
    yield new("no token, a prompt of max_seq_len", count=0, D=5, L=9, equal="L T")
    yield new("a prompt of one token, gradients off before", L=1, count=4, recording=False)
    init = {"dropout": DROPOUT}
    yield new("from training mode, dropout 0.4", count=2, D=5, init=init, **mode)


def refusals():
    """Yield sizes and lengths that must be refused."""
    rest = {"vocab_size": 11, "num_layers": 1, "max_seq_len": 5}
    yield from bad_heads(**rest)
    init = {"init": {**rest, "d_model": 6, "num_heads": 2}, "only_value_error": True}
    tokens = torch.zeros(2, 6, dtype=torch.int64)
    given = {"part": "model", "tokens": tokens}
    why = "there are 6 tokens, but max_seq_len is 5"
    shown = "MiniGPT.forward(tokens [2, 6])"
    yield Refusal(why, given | {"chunks": (6,)}, shown_call=shown, **init)
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
        chunks=(255, 1),
    )
