"""Cases for scaled dot-product attention. Sizes differ within a case, so that no axis passes by luck."""

import torch

from trainer.core.words import Case


def drive(attention, given):
    """One call, or one after another call on `before`, of the same sizes. A name in place of k or v is that very tensor once more."""
    if "before" in given.inputs:
        attention(*given.before)
    q = given.q
    k = q if isinstance(given.k, str) else given.k
    v = {"q": q, "k": k}[given.v] if isinstance(given.v, str) else given.v
    return {"out": attention(q, k, v) if given.mask is None else attention(q, k, v, mask=given.mask)}


def case(draw, name, lead, Lq, Lk, D, Dv, mask=None, q=None, k=None, v=None, features="Dv", **more):
    """One case with q, k, v ~ N(0, 1).

    lead: the leading dims by letter, e.g. {"B": 2, "H": 3}; features: the letter of the output's last dim.
    """
    q = draw.normal(*lead.values(), Lq, D) if q is None else q
    k = draw.normal(*lead.values(), Lk, D) if k is None else k
    v = draw.normal(*lead.values(), Lk, Dv) if v is None else v
    return Case(
        name=name,
        inputs={"q": q, "k": k, "v": v, "mask": mask} | more.pop("inputs", {}),
        dims={"out": " ".join([*lead, "Lq", features])},
        sizes={**lead, "Lq": Lq, "Lk": Lk, "D": D, "Dv": Dv},
        **more,
    )


def batch(B, H):
    """The leading dims of most cases."""
    return {"B": B, "H": H}


def with_zeros(draw):
    """q, k and v of sizes 5, 7, 6 and 4 with a row of zeros each: a score is 0, and hidden by no mask."""
    return {"q": draw.normal_with_zeros(2, 3, 5, 6), "k": draw.normal_with_zeros(2, 3, 7, 6, row=2), "v": draw.normal_with_zeros(2, 3, 7, 4, row=3)}


def cases(draw):
    """What a submission is run on."""
    eye = torch.eye(7).expand(2, 3, 7, 7)
    yield case(draw, "weights read out (v is the identity)", batch(2, 3), 5, 7, 6, 7, v=eye, features="Lk")
    yield case(draw, "no leading dims", {}, 5, 3, 7, 2)
    yield case(draw, "one leading dim", {"N": 3}, 4, 6, 5, 7)
    yield case(draw, "as many queries as keys, values as wide as keys", batch(2, 3), 5, 5, 7, 7)
    yield case(draw, "three leading dims", {"G": 2, "B": 3, "H": 4}, 5, 6, 7, 8)
    yield case(draw, "one query, one head, head dim 1", batch(2, 1), 1, 6, 1, 5)
    yield case(draw, "one key, a batch of one, value dim 1", batch(1, 3), 4, 1, 5, 1)
    B, H, Lq, Lk, D, Dv = draw.distinct((2, 3), (2, 5), (3, 9), (3, 9), (5, 12), (2, 9))
    yield case(draw, "random sizes", batch(B, H), Lq, Lk, D, Dv)
    for words, same in (("q and k", {"k": "q"}), ("k and v", {"v": "k"}), ("q and v", {"v": "q"}), ("q, k and v", {"k": "q", "v": "k"})):
        yield case(draw, f"one tensor for {words}", batch(2, 3), 5, 5, 6, 6, **same)
    yield case(draw, "all sizes alike", batch(4, 4), 4, 4, 4, 4)
    yield case(draw, "a query, a key and a value of zeros", batch(2, 3), 5, 7, 6, 4, **with_zeros(draw))
    yield case(draw, "tiny values, one query, a batch of one", batch(1, 4), 1, 5, 6, 7, v=draw.normal(1, 4, 5, 7, scale=1e-7))
    yield case(draw, "bfloat16, one leading dim", {"N": 4}, 6, 5, 7, 9, dtype="bfloat16")
    yield from masked(draw)
    yield from steep(draw)
    before = (draw.normal(2, 3, 4, 6), draw.normal(2, 3, 5, 6), draw.normal(2, 3, 5, 7))
    yield case(draw, "after another call of the same sizes", batch(2, 3), 4, 5, 6, 7, inputs={"before": before}, gradients=False, check="properties")
    yield from laid_out(draw)
    yield from counted(draw)


def masked(draw):
    """Every shape of mask, in every dtype."""
    yield case(draw, "float64, causal, as many queries as batch items", batch(4, 3), 4, 7, 5, 6, mask=draw.causal(4, 7), dtype="float64", check="masks")
    padding = draw.padding(3, 7)[:, None, None, :]
    yield case(draw, "bfloat16, padding", batch(3, 2), 5, 7, 6, 4, mask=padding, dtype="bfloat16", check="masks")
    B, H, Lq, Lk, D, Dv = 3, 2, 5, 7, 6, 4
    fewer = {"padding mask, right [B, 1, 1, Lk]": ("one head, ", 1, Lq), "padding mask, left [B, 1, 1, Lk]": ("one query, ", H, 1)}
    for name, mask in draw.masks(B, H, Lq, Lk).items():
        words, heads, queries = fewer.get(name, ("", H, Lq))
        yield case(draw, words + name, batch(B, heads), queries, Lk, D, Dv, mask=mask, check="masks")
    # A dim of the mask is told by its place, not by its size.
    yield case(draw, "B = Lq = Lk, mask [Lq, Lk]", batch(5, 2), 5, 5, 7, 6, mask=draw.keep(5, 5), check="masks")
    yield case(draw, "B = H, mask [H, Lq, Lk]", batch(4, 4), 5, 7, 6, 3, mask=draw.keep(4, 5, 7), check="masks")
    yield case(draw, "no leading dims, mask [Lq, Lk]", {}, 4, 6, 5, 3, mask=draw.keep(4, 6), check="masks")
    yield case(draw, "one leading dim, mask [N, Lq, Lk]", {"N": 3}, 5, 4, 7, 6, mask=draw.keep(3, 5, 4), check="masks")
    yield case(draw, "one leading dim, mask [1, Lk]", {"N": 4}, 3, 5, 6, 2, mask=draw.keep(1, 5), check="masks")
    yield case(draw, "a query, a key and a value of zeros, masked", batch(2, 3), 5, 7, 6, 4, mask=draw.causal(5, 7), **with_zeros(draw), check="masks")
    yield case(draw, "all sizes alike, masked", batch(4, 4), 4, 4, 4, 4, mask=draw.keep(4, 4), check="masks")
    # What is hidden has weight 0, not nearly 0: 1e20 times anything more would be seen.
    mask = draw.keep(1, 1, Lq, Lk) & (torch.arange(Lk) > 0)
    mask[..., 1] = True
    v = draw.normal(1, H, Lk, Dv)
    v[..., 0, :] = 1e20
    yield case(draw, "a hidden value of 1e20, a batch of one", batch(1, H), Lq, Lk, D, Dv, v=v, mask=mask, check="masks")


def steep(draw):
    """Scores of ±200. Feature 0 makes them, 200 * of_queries * of_keys; the other features add about ±1 to each."""
    B, H, Lq, Lk, Dv = 3, 5, 4, 7, 6

    def scored(name, of_queries, of_keys, mask=None, v=None, D=8, check="masks"):
        q, k = draw.normal(B, H, Lq, D), draw.normal(B, H, Lk, D)
        q[..., 0] = of_queries * 200 * D**0.5
        k[..., 0] = of_keys
        return case(draw, name, batch(B, H), Lq, Lk, D, Dv, q=q, k=k, v=v, mask=mask, check=check)

    # Several keys share the top: where one key takes all, the gradients of q and k are 0 but for rounding, which is nobody's mistake.
    falling = torch.tensor([1.0, 1.0, 1.0, 1.0, 0.3, -0.4, -1.0])
    yield scored("scores falling from +200 to -200", 1, falling, check="values")
    sign = 1 - 2 * ((torch.arange(B)[:, None, None] + torch.arange(H)[:, None] + torch.arange(Lq)) % 2)
    yield scored("rows 400 apart: +200 and -200 in turn", sign, 1, check="values")
    yield scored("scores rising from -200 to +200, causal", 1, falling.flip(0), mask=draw.causal(Lq, Lk))
    low = torch.arange(Lk) % 2 == 0
    # Keys 0, 2, 4, 6 score -200 and the rest +200; query i is left with three of the low ones, not with key 2i.
    mask = low & (torch.arange(Lk) != 2 * torch.arange(Lq)[:, None])
    # A fill of -300 leaves the high ones weights of about 1e-43; their values are large enough, and the others small enough, to show it.
    v = torch.where(low[:, None], draw.normal(B, H, Lk, Dv, scale=1e-6), 1e36)
    yield scored("masked scores of +200 beside -200", 1, torch.where(low, -1.0, 1.0), mask=mask, v=v)
    # A fill that is put in before the scale is an eighth of itself.
    yield scored("masked scores of +200 beside -200, head dim 64", 1, torch.where(low, -1.0, 1.0), mask=mask, D=64)


def laid_out(draw):
    """Inputs in memory of other orders."""
    layout = {"q": "transposed", "k": "strided", "v": "transposed", "mask": "transposed"}
    mask = draw.keep(3, 4, 5, 7)
    yield case(draw, "non-contiguous q, k, v and mask", batch(3, 4), 5, 7, 6, 2, mask=mask, layout=layout, check="properties")
    B, H, Lq, Lk, D, Dv = 3, 2, 4, 6, 5, 7
    q, k, v = (draw.normal(1, H, *size).expand(B, H, *size) for size in ((Lq, D), (Lk, D), (Lk, Dv)))
    mask = draw.keep(1, H, Lq, Lk).expand(B, H, Lq, Lk)
    layout = dict.fromkeys(("q", "k", "v", "mask"), "expanded")
    yield case(draw, "one q, k, v for the whole batch (expanded)", batch(B, H), Lq, Lk, D, Dv, q=q, k=k, v=v, mask=mask, layout=layout, check="properties")


def counted(draw):
    """Operations of a call on few and on many."""
    yield case(draw, "few and small", batch(2, 3), 4, 5, 6, 10, mask=draw.keep(2, 1, 4, 5), check="masks", probe="vectorised")
    yield case(draw, "many and large", batch(7, 8), 9, 11, 6, 10, mask=draw.keep(7, 1, 9, 11), check="masks", probe="vectorised")
    yield case(draw, "few and small, three leading dims", {"G": 2, "B": 3, "H": 4}, 5, 6, 12, 13, probe="vectorised")
    yield case(draw, "many and large, three leading dims", {"G": 7, "B": 8, "H": 9}, 10, 11, 12, 13, probe="vectorised")
    yield case(draw, "short, no mask", batch(2, 3), 4, 5, 2, 6, probe="vectorised")
    yield case(draw, "long, no mask", batch(2, 3), 300, 310, 2, 6, probe="vectorised")


# Whom a query attends to shows by nudging an entry of this input and looking at this output.
KEYS, QUERIES = "v", "out"
SCORED_BY = {"v": "k"}
