"""Cases for the loss of the next tokens: the shift, ignored targets, logits up to 1e4."""

from dataclasses import replace

import torch

from attn_drill.casekit import SecondCall, TokenMaker, realistic_call, shaped, suites

IGNORED = -100  # the default of ignore_index
SIZES = {"B": 3, "L": 6, "V": 11}


def drive(next_token_loss, given):
    """Call once or twice. A loss in float32 is right for all dtypes."""

    def call(logits, tokens):
        named = {"ignore_index": given.ignore} if "ignore" in given.inputs else {}
        loss = next_token_loss(logits, tokens, **named)
        is_float32 = isinstance(loss, torch.Tensor) and loss.dtype == torch.float32
        return loss.to(logits.dtype) if is_float32 else loss

    outputs = {"loss": call(given.logits, given.tokens)}
    if "later_logits" in given.inputs:
        outputs["later_loss"] = call(given.later_logits, given.later_tokens)
    return outputs


class LossMaker(TokenMaker):
    """Make cases with logits, tokens and the option `ignore`."""

    def __call__(self, name, *, logits=None, tokens=None, ignore=None, inputs=None, **more):
        """Return one case; None leaves `ignore_index` out."""
        given = dict(inputs or {})
        for key, value in (("logits", logits), ("tokens", tokens), ("ignore", ignore)):
            given |= {} if value is None else {key: value}
        return super().__call__(name, inputs=given, **more)


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = LossMaker(draw, inputs={"logits": "B L V", "tokens": "B L"}, outputs={"loss": ""})
    yield case("two sequences of five tokens", B=2, L=5, V=7)
    yield case("one sequence", B=1, L=8, V=5)
    yield case("two tokens", B=5, L=2, V=9)
    yield case("one sequence of two tokens", B=1, L=2, V=6)
    yield case("a vocabulary of two", B=3, L=7, V=2)
    # In bfloat16, tokens from 256 on are rounded.
    yield case("a large vocabulary", B=2, L=3, V=900)
    yield case("as many sequences as targets", B=4, L=5, V=7)
    yield case("as many targets in a sequence as tokens in the vocabulary", B=3, L=8, V=7)
    yield case("as many targets in all as tokens in the vocabulary", B=2, L=4, V=6)
    yield case("all sizes equal", B=5, L=5, V=5, equal="B L V")
    yield case("random sizes", **draw.sizes(B=(2, 5), L=(4, 9), V=(10, 20)))
    same = draw.integers(3, 1, high=11).expand(3, 6)
    yield case("every token of a sequence is the same", tokens=same, **SIZES)
    yield from suites.dtypes(case, **SIZES)
    yield from ignored_targets(case)
    yield from large_logits(case)
    yield from confident_predictions(case)
    yield from suites.layouts(case, **SIZES)
    later = SecondCall(sizes={"L": 4})
    yield case("a shorter batch afterwards", later=later, check="properties", **SIZES)
    small, large = {"B": 2, "L": 4, "V": 7}, {"B": 9, "L": 23}
    yield from suites.growth(case, "batch and length", small, large)


def ignored_targets(case):
    """Yield targets that do not count, with several values of ignore_index."""
    draw = case.draw
    # Each sequence keeps another number of targets, so a mean of means is wrong.
    some = draw.integers(3, 6, high=11)
    hidden = torch.tensor([[0, 1, 0, 0, 0, 0], [0, 1, 0, 1, 1, 0], [0, 0, 0, 1, 1, 1]]).bool()
    padding = torch.tensor([[0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]]).bool()
    default = some.masked_fill(hidden, IGNORED)
    yield case("some targets are -100", tokens=default, **SIZES)
    padded = some.masked_fill(padding, IGNORED)
    yield case("padding of -100 on the right", tokens=padded, **SIZES)
    left = some.masked_fill(padding.flip(-1), IGNORED)
    yield case("padding of -100 on the left", tokens=left, **SIZES)
    first = some.clone()
    first[:, 0] = IGNORED
    yield case("the first token is -100", tokens=first, **SIZES)
    whole = default.clone()
    whole[2, 1:] = IGNORED
    yield case("no target of the last sequence counts", tokens=whole, **SIZES)
    single = torch.full((3, 6), IGNORED)
    single[1, 3:4] = some[1, 3:4]
    yield case("one target counts", tokens=single, **SIZES)
    for value in (0, 4, 10, -1, 500):
        # If the value is a token of the vocabulary, it is ignored wherever it occurs.
        tokens = some.masked_fill(hidden, value)
        tokens[0, 2] = 7
        name = f"some targets are {value}, ignore_index={value}"
        yield case(name, tokens=tokens, ignore=value, **SIZES)
    pairs = draw.integers(5, 2, high=9)
    pairs[:, 1] = torch.tensor([7, 4, 0, 4, 8])
    yield case("two tokens, ignore_index=4", tokens=pairs, ignore=4, B=5, L=2, V=9)
    frequent = draw.integers(3, 6, high=2)
    frequent[0, 1:3] = torch.tensor([0, 1])
    yield case("tokens 0 and 1 all count", tokens=frequent, **SIZES)
    yield case("ignore_index=1 of two tokens", tokens=frequent, ignore=1, **SIZES)
    absent = some.clamp(max=9)
    yield case("no target is ignored, ignore_index=10", tokens=absent, ignore=10, **SIZES)
    yield case("padding, float64", tokens=padded, dtype="float64", **SIZES)
    yield case("padding, bfloat16", tokens=padded, dtype="bfloat16", **SIZES)
    logits = draw.normal(3, 6, 11)
    logits[:, -1] *= 30
    logits[:, :-1][padding[:, 1:]] *= 30
    yield case("large logits where no target counts", logits=logits, tokens=padded, **SIZES)
    parts = {"check": "properties", "tokens": default, "layout": "strided"}
    yield case("some targets are -100, parts of larger inputs", **parts, **SIZES)
    # The number of ignored targets must not change the number of operations.
    small, many = {"B": 2, "L": 4, "V": 7}, {"B": 9, "L": 23, "V": 7}
    holes = [draw.integers(sizes["B"], sizes["L"], high=7) for sizes in (small, many)]
    for tokens in holes:
        tokens[:, 2:] = IGNORED
    counted = {"probe": "vectorised"}
    larger = case("growing ignored targets, large", tokens=holes[1], **counted, **many)
    found = case("growing ignored targets, small", tokens=holes[0], **counted, **small)
    yield replace(found, larger=larger)


def large_logits(case):
    """Yield logits up to ±1e4.

    A logarithm of a sum near 1e4 keeps few digits in float32, which is right. So the losses there
    are large numbers, or exact. Gradients of such logits are rounding errors.
    """
    draw = case.draw
    logits = draw.normal(3, 6, 11)
    rows = torch.tensor([1.0, -1.0, 0.0, 1.0, -1.0, 1.0])[:, None]
    yield case("logits near 110", logits=logits + 110, **SIZES)
    yield case("logits near -110", logits=logits - 110, **SIZES)
    yield case("positions near 110, -110 and 0", logits=logits + 110 * rows, **SIZES)
    yield case("logits up to ±60", logits=25 * logits.clamp(-2.4, 2.4), gradients=False, **SIZES)
    alone = {"gradients": False, **SIZES}
    steep = draw.normal(3, 6, 11).sign() * 1e4
    # The first target of each sequence is certain: its loss is exactly 0, and it counts.
    certain = draw.integers(3, 6, high=11)
    steep[:, 0] = -1e4
    steep[:, 0].scatter_(-1, certain[:, 1:2], 1e4)
    alone["tokens"] = certain
    yield case("logits of ±1e4", logits=steep, **alone)
    yield case("logits of ±1e4, float64", logits=steep, dtype="float64", **alone)
    # A target is 64 to 96 below the largest logit of its row, so its loss is exact.
    alone["tokens"] = draw.integers(3, 6, high=10)
    far = draw.integers(3, 6, 11, low=-96, high=-63).double()
    far[..., 10] = 0.0
    for name, offset in (("1e4", 9900.0), ("-1e4", -9900.0)):
        yield case(f"logits near {name}", logits=far + offset, **alone)
    name = "positions near 1e4, -1e4 and 0"
    yield case(name, logits=far + 9900 * rows, **alone)


def confident_predictions(case):
    """Yield a loss near 0.005, of which a computation in bfloat16 has no right digit."""
    draw = case.draw
    more = {"dtype": "bfloat16", "gradients": False, **SIZES}
    tokens = draw.integers(3, 6, high=11)
    confident = -5.5 - 0.25 * draw.integers(3, 6, 11, high=8).double()
    confident[:, :-1].scatter_(-1, tokens[:, 1:, None], 1.5)
    yield case("confident predictions, bfloat16", logits=confident, tokens=tokens, **more)


def realistic():
    """Return the call that is measured after a pass: the logits of Llama 3."""
    return realistic_call(
        "logits of 128,256 tokens, B = 1, L = 512",
        logits=shaped(1, 512, 128256),
        tokens=shaped(1, 512, dtype="int64"),
    )
