"""Cases for flash attention. Sizes differ within a case, so that no axis passes by luck."""

import torch

from trainer.core.words import Case


def drive(attention, given):
    """One call, with the options that the case names."""
    options = {name: given.inputs[name] for name in ("causal", "block_size") if name in given.inputs}
    return {"out": attention(given.q, given.k, given.v, **options)}


def case(draw, name, B, H, Lq, Lk, D, block=None, causal=False, q=None, k=None, v=None, features="D", **more):
    """One case with q, k, v ~ N(0, 1); block None leaves block_size at its default. features: the letter of the output's last dim."""
    q = draw.normal(B, H, Lq, D) if q is None else q
    k = draw.normal(B, H, Lk, D) if k is None else k
    v = draw.normal(B, H, Lk, D) if v is None else v
    options = ({"causal": True} if causal else {}) | ({"block_size": block} if block else {})
    return Case(
        name=name,
        inputs={"q": q, "k": k, "v": v} | options,
        dims={"out": f"B H Lq {features}"},
        sizes={"B": B, "H": H, "Lq": Lq, "Lk": Lk, "D": D},
        **more,
    )


def cases(draw):
    """What a submission is run on."""
    eye = torch.eye(7).expand(2, 4, 7, 7)
    yield case(draw, "weights read out (v is the identity), blocks of 3", 2, 4, 5, 7, 7, 3, v=eye, features="Lk")
    yield case(draw, "12 keys in blocks of 4", 2, 3, 8, 12, 5, 4)
    yield case(draw, "one block holds all keys", 2, 3, 5, 8, 6, 8)
    yield case(draw, "a block larger than all", 3, 2, 4, 7, 5, 32)
    yield case(draw, "blocks of 1", 2, 3, 4, 6, 5, 1)
    yield case(draw, "more queries than keys", 3, 2, 11, 6, 5, 4)
    yield case(draw, "one query, one head, head dim 1", 3, 1, 1, 9, 1, 4)
    yield case(draw, "one key, one batch item", 1, 3, 4, 1, 5, 2)
    yield case(draw, "default block size, 130 keys", 1, 2, 67, 130, 4)
    B, H, Lq, Lk, D, block = draw.distinct((2, 3), (2, 5), (3, 12), (6, 15), (4, 12), (2, 5))
    yield case(draw, "random sizes", B, H, Lq, Lk, D, block)
    yield case(draw, "Lq = Lk = D = block_size", 2, 3, 4, 4, 4, 4)
    yield case(draw, "tiny values", 2, 3, 5, 8, 4, 3, v=draw.normal(2, 3, 8, 4, scale=1e-7))
    yield case(draw, "bfloat16", 3, 2, 5, 7, 6, 3, dtype="bfloat16")
    yield case(draw, "fewer keys than features", 2, 3, 5, 3, 9, 2)
    yield case(draw, "float64, not causal", 2, 4, 5, 8, 6, 3, dtype="float64")
    for words, seen in (("", {}), (", causal", {"causal": True, "check": "masks"})):
        zeros = {"q": draw.normal_with_zeros(2, 4, 5, 6), "k": draw.normal_with_zeros(2, 4, 7, 6, row=2), "v": draw.normal_with_zeros(2, 4, 7, 6, row=3)}
        yield case(draw, f"a query, a key and a value of zeros{words}", 2, 4, 5, 7, 6, 3, **zeros, **seen)
    yield from causal(draw)
    yield from steep(draw)
    layout = {"q": "transposed", "k": "strided", "v": "transposed"}
    yield case(draw, "non-contiguous q, k and v", 3, 2, 5, 9, 6, 4, causal=True, layout=layout, check="properties")
    q, k, v = (draw.normal(1, 4, length, 6).expand(3, 4, length, 6) for length in (5, 7, 7))
    layout = dict.fromkeys(("q", "k", "v"), "expanded")
    yield case(draw, "one q, k, v for the whole batch (expanded)", 3, 4, 5, 7, 6, 2, q=q, k=k, v=v, layout=layout, check="properties")
    yield from counted(draw)


def causal(draw):
    """Ends of blocks and of sight in all the ways that they can fall together."""
    yield case(draw, "causal, as many queries as keys", 2, 3, 8, 8, 5, 4, causal=True, check="masks")
    yield case(draw, "causal, B = H, blocks that do not divide the length", 3, 3, 7, 7, 5, 3, causal=True, check="masks")
    yield case(draw, "causal, 5 keys more than queries", 2, 3, 6, 11, 7, 4, causal=True, check="masks")
    yield case(draw, "causal, a block of keys more than queries", 2, 5, 6, 9, 4, 3, causal=True, check="masks")
    yield case(draw, "causal, the same lengths in other blocks", 2, 3, 6, 11, 7, 3, causal=True, check="masks")
    yield case(draw, "causal, the same lengths in one block", 2, 3, 6, 11, 7, 16, causal=True, check="masks")
    yield case(draw, "causal, blocks of 1", 3, 2, 4, 6, 5, 1, causal=True, check="masks")
    yield case(draw, "causal, a block larger than all", 2, 3, 4, 7, 6, 16, causal=True, check="masks")
    yield case(draw, "causal, one query", 2, 3, 1, 7, 5, 3, causal=True, check="masks")
    yield case(draw, "causal, default block size", 1, 2, 70, 130, 4, causal=True, check="masks")
    yield case(draw, "causal, float64", 2, 4, 5, 8, 6, 3, causal=True, dtype="float64", check="masks")
    yield case(draw, "causal, bfloat16", 2, 3, 5, 6, 7, 4, causal=True, dtype="bfloat16", check="masks")


def steep(draw):
    """Scores up to 1e4. Feature 0 makes them: of_queries * of_keys, exactly, since sqrt(D) = 2."""
    B, H, Lq, Lk, D, block = 2, 5, 7, 11, 4, 3

    def scored(name, of_queries, of_keys, alone=True, causal=False, v=None, gradients=False, check="values"):
        """alone: the other features are 0 in q. Otherwise they add about ±1, and some digits of theirs are lost at 1e4."""
        q, k = draw.normal(B, H, Lq, D), draw.normal(B, H, Lk, D)
        if alone:
            q[..., 1:] = 0
        q[..., 0] = 2 * torch.as_tensor(of_queries)
        k[..., 0] = torch.as_tensor(of_keys)
        return case(draw, name, B, H, Lq, Lk, D, block, causal=causal, q=q, k=k, v=v, gradients=gradients, check=check)

    # Steps of 2000: in every row one key takes all, to the last digit.
    stairs = torch.linspace(-10000, 10000, Lk)
    yield scored("scores rising to 1e4", 1, stairs)
    yield scored("scores falling from 1e4", -1, stairs)
    yield scored("scores rising by 100", 1, stairs / 20 + 500)
    yield scored("scores falling by 100", -1, stairs / 20)
    yield scored("scores rising by 40", 1, stairs / 50)
    # Blocks that weigh little are still to be counted: 8 keys at -6 make 2% of the weights, at -10 four parts in ten thousand.
    yield scored("a first block at 0, the others at -6", 1, torch.where(torch.arange(Lk) < block, 0.0, -6.0))
    yield scored("a first block at 0, the others at -10", 1, torch.where(torch.arange(Lk) < block, 0.0, -10.0))
    yield scored("all scores near 1e4", 1, 10000, alone=False)
    yield scored("all scores near -1e4", 1, -10000, alone=False)
    # Neighbours along every axis lie 20,000 apart, and so do queries a block apart.
    turns = 1 - 2 * ((torch.arange(B)[:, None, None] + torch.arange(H)[:, None] + torch.arange(Lq)) % 2)
    yield scored("one row of scores near 1e4, the next near -1e4", turns, 10000, alone=False)
    yield scored("scores rising to 1e4, causal", 1, stairs, causal=True, check="masks")
    yield scored("scores falling from 1e4, causal", -1, stairs, causal=True, check="masks")
    yield scored("all scores -1e4, causal", 1, -10000, alone=False, causal=True, check="masks")
    # Queries 0 to 4 do not see the last two keys, which would score 1e4 with them; the other queries score 0 or -1e4 there.
    early = torch.arange(Lq) < 5
    late = torch.arange(Lk) > Lk - 3
    ordinary = {"alone": False, "gradients": True}
    yield scored("hidden scores of 1e4 beside ordinary ones", 100.0 * early, 100.0 * late, causal=True, check="masks", **ordinary)
    v = torch.where(late[:, None], 1e20, draw.normal(B, H, Lk, D))
    yield scored("hidden scores of 1e4, hidden values of 1e20", torch.where(early, 1, -1), 10000.0 * late, causal=True, v=v, check="masks")


def counted(draw):
    """Count memory where D is well below block_size.

    A loop over single queries is a legal answer, so there are few queries; but more than a block of them, because a
    block of queries may be compared with all keys at once.
    """
    for name, Lq, Lk, D, block, causal in (
        ("memory, 32 queries and keys, blocks of 4", 32, 32, 1, 4, False),
        ("memory, causal, 18 queries, 64 keys, blocks of 8", 18, 64, 1, 8, True),
        ("memory, 14 queries, 33 keys, blocks of 3, float64", 14, 33, 1, 3, False),
        ("memory, 12 queries, 40 keys, blocks of 5, bfloat16", 12, 40, 1, 5, False),
        ("memory, causal, 70 queries, 530 keys, default block size", 70, 530, 4, None, True),
    ):
        more = {"check": "masks" if causal else "values"} | ({"dtype": name.split()[-1]} if name.split()[-1] in ("float64", "bfloat16") else {})
        yield case(draw, name, 1, 1, Lq, Lk, D, block, causal=causal, probe="memory", limit=Lq * Lk, **more)
    # Many keys in 16 blocks: all that is alive at once, as torch's allocator and the kernel tell.
    for name, Lq, Lk in (("held, 16 queries, 512 keys", 16, 512), ("held, 64 queries, 33000 keys", 64, 33000)):
        yield case(draw, name, 1, 1, Lq, Lk, 2, -(-Lk // 16), probe="held", limit=Lq * Lk, dtype="float64")


# Whom a query attends to shows by nudging an entry of this input and looking at this output.
KEYS, QUERIES = "v", "out"
SCORED_BY = {"v": "k"}
