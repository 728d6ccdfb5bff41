"""Cases for masks: every function alone. Sizes differ within a case, and in some they coincide, so that no axis passes by luck."""

import torch

from trainer.core.words import Case

AXES = "B H Lq Lk"


def drive(masks, given):
    """One call of the function that the case names."""
    arguments = [value for name, value in given.inputs.items() if name != "function"]
    return {"mask": getattr(masks, given.function)(*arguments)}


def padding(name, lengths, max_len, **more):
    """One call of padding_mask."""
    inputs = {"function": "padding_mask", "lengths": lengths, "max_len": max_len}
    return Case(name, inputs=inputs, dims={"mask": AXES}, sizes={"B": len(lengths), "H": 1, "Lq": 1, "Lk": max_len}, gradients=False, **more)


def causal(name, q_len, k_len, **more):
    """One call of causal_mask."""
    inputs = {"function": "causal_mask", "q_len": q_len, "k_len": k_len}
    return Case(name, inputs=inputs, dims={"mask": AXES}, sizes={"B": 1, "H": 1, "Lq": q_len, "Lk": k_len}, gradients=False, **more)


def decoder(name, lengths, max_len, **more):
    """One call of decoder_mask."""
    inputs = {"function": "decoder_mask", "lengths": lengths, "max_len": max_len}
    sizes = {"B": len(lengths), "H": 1, "Lq": max_len, "Lk": max_len}
    return Case(name, inputs=inputs, dims={"mask": AXES}, sizes=sizes, gradients=False, **more)


def cross(name, lengths, tgt_len, src_len, **more):
    """One call of cross_attention_mask."""
    inputs = {"function": "cross_attention_mask", "src_lengths": lengths, "tgt_len": tgt_len, "src_len": src_len}
    sizes = {"B": len(lengths), "H": 1, "Lq": tgt_len, "Lk": src_len}
    return Case(name, inputs=inputs, dims={"mask": AXES}, sizes=sizes, gradients=False, **more)


def ragged(draw, batch, longest):
    """int64 [batch], from 1 to `longest`; the second item has 1 and the last `longest`."""
    lengths = draw.integers(batch, low=1, high=longest + 1)
    lengths[1:2] = 1
    lengths[-1] = longest
    return lengths


def cases(draw):
    """What a submission is run on."""
    yield padding("padding: lengths 3, 1, 5 of 5", torch.tensor([3, 1, 5]), 5)
    yield padding("padding: no item is as long as the maximum", torch.tensor([2, 4, 1, 4]), 7)
    yield padding("padding: every item is full", torch.tensor([6, 6]), 6)
    yield padding("padding: one item", torch.tensor([4]), 9)
    yield padding("padding: a maximum of 1", torch.tensor([1, 1, 1]), 1)
    yield padding("padding: as many items as positions", ragged(draw, 5, 5), 5)
    B, L, Lq, Lk = draw.distinct((2, 5), (6, 12), (2, 6), (7, 15))
    yield padding("padding: random sizes", ragged(draw, B, L), L)
    yield causal("causal: 5 queries, 5 keys", 5, 5)
    yield causal("causal: 3 queries, 7 keys", 3, 7)
    yield causal("causal: one query, 6 keys (a decode step)", 1, 6)
    yield causal("causal: one query, one key", 1, 1)
    yield causal("causal: 6 queries, 7 keys", 6, 7)
    yield causal("causal: random sizes", Lq, Lk)
    yield decoder("decoder: lengths 3, 1, 6 of 6", torch.tensor([3, 1, 6]), 6)
    yield decoder("decoder: no item is as long as the maximum", torch.tensor([2, 4, 1, 3]), 7)
    yield decoder("decoder: every item is full", torch.tensor([5, 5]), 5)
    yield decoder("decoder: as many items as positions", ragged(draw, 4, 4), 4)
    yield decoder("decoder: one item", torch.tensor([2]), 5)
    yield decoder("decoder: one item of one position", torch.tensor([1]), 1)
    yield decoder("decoder: random sizes", ragged(draw, B, L), L)
    yield cross("cross: lengths 3, 1, 5 of 5, 4 targets", torch.tensor([3, 1, 5]), 4, 5)
    yield cross("cross: more targets than source positions", torch.tensor([2, 4, 3, 1]), 9, 5)
    yield cross("cross: one item", torch.tensor([2]), 3, 5)
    yield cross("cross: one target", torch.tensor([4, 2]), 1, 6)
    yield cross("cross: one source position", torch.tensor([1, 1]), 3, 1)
    yield cross("cross: as many items as targets and source positions", ragged(draw, 4, 4), 4, 4)
    yield cross("cross: as many targets as items", ragged(draw, 3, 5), 3, 5)
    yield cross("cross: random sizes", ragged(draw, B, Lk), Lq, Lk)
    yield from long(draw)
    yield from laid_out(draw)
    yield from counted(draw)


def long(draw):
    """Lengths that small integers, half precision and tables of a fixed size do not reach."""
    # From 2048 on float16 knows only even numbers, and 2049 + 4n becomes 2048 + 4n.
    lengths = 2049 + 4 * draw.integers(4, high=12)
    yield padding("padding: a maximum of 2100", lengths, 2100)
    yield causal("causal: 3 queries, 2099 keys", 3, 2099)
    yield causal("causal: 300 queries, 302 keys", 300, 302)
    yield cross("cross: 300 targets", draw.integers(2, low=1, high=6), 300, 5)
    yield decoder("decoder: a maximum of 300", draw.integers(3, low=257, high=300), 300)
    yield cross("cross: 2100 source positions", lengths, 3, 2100)


def laid_out(draw):
    """Lengths in memory of other orders."""
    strided, expanded = {"lengths": "strided"}, {"lengths": "expanded"}
    yield padding("padding: part of a larger tensor", ragged(draw, 4, 6), 7, layout=strided, check="properties")
    yield decoder("decoder: part of a larger tensor", ragged(draw, 3, 5), 6, layout=strided, check="properties")
    yield decoder("decoder: one length for all items (expanded)", torch.tensor([4]).expand(4), 5, layout=expanded, check="properties")
    layout = {"src_lengths": "strided"}
    yield cross("cross: part of a larger tensor", ragged(draw, 3, 6), 4, 6, layout=layout, check="properties")


def counted(draw):
    """Operations of a call on few and on many. No other case has these lengths: a mask that was kept would cost nothing."""
    for few_or_many, batch, k_len in (("few", 2, 17), ("many", 9, 27)):
        yield padding(f"padding, {few_or_many}", ragged(draw, batch, k_len), k_len, probe="vectorised")
    for few_or_many, q_len, k_len in (("few", 3, 18), ("many", 10, 28)):
        yield causal(f"causal, {few_or_many}", q_len, k_len, probe="vectorised")
    for few_or_many, batch, k_len in (("few", 2, 16), ("many", 9, 26)):
        yield decoder(f"decoder, {few_or_many}", ragged(draw, batch, k_len), k_len, probe="vectorised")
    for few_or_many, batch, q_len, k_len in (("few", 2, 3, 19), ("many", 9, 10, 29)):
        yield cross(f"cross, {few_or_many}", ragged(draw, batch, k_len), q_len, k_len, probe="vectorised")
