"""Cases for flash attention: block ends, causal limits, scores up to 1e4, memory."""

from dataclasses import replace

import torch

from attn_drill.casekit import CaseMaker, Direct, realistic_call, shaped, suites


def drive(attention, given):
    """Call once, with the options that the case names."""
    options = {
        name: given.inputs[name] for name in ("causal", "block_size") if name in given.inputs
    }
    return {"out": attention(given.q, given.k, given.v, **options)}


class BlockMaker(CaseMaker):
    """Make cases with the options `block` (None for the default size) and `causal`."""

    def __call__(self, name, *, block=None, causal=False, inputs=None, **more):
        """Return one case. Causal cases belong to the check `masks`."""
        options = dict(inputs or {})
        if causal:
            options["causal"] = True
            more.setdefault("check", "masks")
        if block is not None:
            options["block_size"] = block
        return super().__call__(name, inputs=options, **more)


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = BlockMaker(
        draw,
        inputs={"q": "B H Lq D", "k": "B H Lk D", "v": "B H Lk D"},
        outputs={"out": "B H Lq D"},
        roles=Direct(),
    )
    identity = {"inputs": {"v": torch.eye(7).expand(2, 4, 7, 7)}, "outputs": {"out": "B H Lq Lk"}}
    sizes = {"B": 2, "H": 4, "Lq": 5, "Lk": 7, "D": 7, "equal": "Lk D", "block": 3}
    yield case("weights as output (v is the identity), blocks of 3", **identity, **sizes)
    yield case("12 keys in blocks of 4", B=2, H=3, Lq=8, Lk=12, D=5, block=4)
    yield case("one block holds all keys", B=2, H=3, Lq=5, Lk=8, D=6, block=8)
    yield case("a block larger than all", B=3, H=2, Lq=4, Lk=7, D=5, block=32)
    yield case("blocks of 1", B=2, H=3, Lq=4, Lk=6, D=5, block=1)
    yield case("more queries than keys", B=3, H=2, Lq=11, Lk=6, D=5, block=4)
    yield case("fewer keys than features", B=2, H=3, Lq=5, Lk=4, D=9, block=3)
    yield case("one query, one head, head dim 1", B=3, H=1, Lq=1, Lk=9, D=1, block=4)
    yield case("one key, one batch item", B=1, H=3, Lq=4, Lk=1, D=5, block=2)
    yield case("default block size, 130 keys", B=1, H=2, Lq=67, Lk=130, D=4)
    ranges = {"B": (2, 3), "H": (2, 5), "Lq": (3, 12), "Lk": (6, 15), "D": (4, 12)}
    yield case("random sizes", **draw.sizes(**ranges, block=(2, 5)))
    same = {"Lq": 4, "Lk": 4, "D": 4, "block": 4, "equal": "Lq Lk D"}
    yield case("Lq = Lk = D = block_size", B=2, H=3, **same)
    sizes = {"B": 2, "H": 4, "Lq": 5, "Lk": 8, "D": 6, "block": 3}
    yield from suites.tiny_values(case, **sizes)
    yield from suites.dtypes(case, **sizes)
    yield from suites.zero_tokens(case, **sizes)
    for zeros in suites.zero_tokens(case, causal=True, **sizes):
        yield replace(zeros, name=f"{zeros.name}, causal")
    yield from causal_cases(case)
    yield from steep_cases(case)
    yield from suites.layouts(case, causal=True, **sizes)
    yield many_blocks(case)
    yield from memory_cases(case)


def causal_cases(case):
    """Yield all combinations of block ends and the last visible key."""
    for name, block, lengths, more in (
        ("as many queries as keys", 4, (8, 8), {"equal": "Lq Lk"}),
        ("B = H, blocks that do not divide the length", 3, (7, 7), {"B": 3, "equal": "B H, Lq Lk"}),
        ("5 keys more than queries", 4, (6, 11), {}),
        ("a block of keys more than queries", 3, (6, 9), {}),
        ("the same lengths in other blocks", 3, (6, 11), {}),
        ("the same lengths in one block", 16, (6, 11), {}),
        ("blocks of 1", 1, (4, 6), {}),
        ("a block larger than all", 16, (4, 7), {}),
        ("one query", 3, (1, 7), {}),
        ("default block size", None, (70, 130), {"B": 1}),
        ("float64", 3, (6, 9), {"dtype": "float64"}),
        ("bfloat16", 4, (6, 7), {"dtype": "bfloat16"}),
    ):
        sizes = {"B": 2, "H": 3, "Lq": lengths[0], "Lk": lengths[1], "D": 5, **more}
        yield case(f"causal, {name}", causal=True, block=block, **sizes)
    yield late_positions(case)


def late_positions(case):
    """Return causal queries at the positions 296 to 301 in bfloat16.

    bfloat16 has only even numbers from 256 on. The last 8 keys have nearly the whole weight, so
    one visible key more shows.
    """
    Lq, Lk, D = 6, 302, 4
    q, k = case.draw.normal(1, 2, Lq, D), case.draw.normal(1, 2, Lk, D)
    q[..., 0], k[..., 0] = 2.0, 12.0 * (torch.arange(Lk) >= Lk - 8)
    options = {"causal": True, "block": 64, "dtype": "bfloat16", "inputs": {"q": q, "k": k}}
    return case("causal, 302 keys, bfloat16", B=1, H=2, Lq=Lq, Lk=Lk, D=D, **options)


def steep_cases(case):
    """Yield scores up to 1e4."""
    B, H, Lq, Lk, D, block = 2, 5, 7, 11, 4, 3

    def scored(name, of_queries, of_keys, alone=True, v=None, gradients=False, causal=False):
        """Let feature 0 make the exact scores of_queries * of_keys; sqrt(D) is 2.

        Without `alone` the other features add about ±1. At 1e4 some of their digits are lost.
        """
        q, k = case.draw.normal(B, H, Lq, D), case.draw.normal(B, H, Lk, D)
        if alone:
            q[..., 1:] = 0
        q[..., 0], k[..., 0] = 2 * torch.as_tensor(of_queries), torch.as_tensor(of_keys)
        inputs = {"q": q, "k": k} if v is None else {"q": q, "k": k, "v": v}
        sizes = {"B": B, "H": H, "Lq": Lq, "Lk": Lk, "D": D, "block": block, "causal": causal}
        return case(name, inputs=inputs, gradients=gradients, **sizes)

    # With steps of 2000, one key of every row has the whole weight, to the last digit.
    stairs = torch.linspace(-10000, 10000, Lk)
    yield scored("scores rising to 1e4", 1, stairs)
    yield scored("scores falling from 1e4", -1, stairs)
    yield scored("scores rising by 100", 1, stairs / 20 + 500)
    yield scored("scores falling by 100", -1, stairs / 20)
    yield scored("scores rising by 40", 1, stairs / 50)
    # Blocks of little weight still count: 8 keys at -6 have 2% of the weights, at -10 0.04%.
    for others in (-6.0, -10.0):
        low = torch.where(torch.arange(Lk) < block, 0.0, others)
        yield scored(f"a first block at 0, the others at {others:.0f}", 1, low)
    yield scored("all scores near 1e4", 1, 10000, alone=False)
    yield scored("all scores near -1e4", 1, -10000, alone=False)
    # Scores of neighbours along every axis differ by 20,000, and so do those of queries one block
    # apart.
    turns = torch.arange(B)[:, None, None] + torch.arange(H)[:, None] + torch.arange(Lq)
    name = "one row of scores near 1e4, the next near -1e4"
    yield scored(name, 1 - 2 * (turns % 2), 10000, alone=False)
    yield scored("scores rising to 1e4, causal", 1, stairs, causal=True)
    yield scored("scores falling from 1e4, causal", -1, stairs, causal=True)
    yield scored("all scores -1e4, causal", 1, -10000, alone=False, causal=True)
    # Queries 0 to 4 do not see the last two keys, but their scores with them are 1e4. The scores of
    # the other queries with these keys are 0 or -1e4.
    early, late = torch.arange(Lq) < 5, torch.arange(Lk) > Lk - 3
    hidden = {"alone": False, "gradients": True, "causal": True}
    name = "hidden scores of 1e4 next to ordinary scores"
    yield scored(name, 100.0 * early, 100.0 * late, **hidden)
    v = torch.where(late[:, None], 1e20, case.draw.normal(B, H, Lk, D))
    name = "hidden scores of 1e4, hidden values of 1e20"
    yield scored(name, torch.where(early, 1, -1), 10000.0 * late, v=v, causal=True)


def many_blocks(case):
    """Return 1024 keys in blocks of 1, in bfloat16, with weights of about 0.5 to 1.

    A bfloat16 sum of such weights stops at 256. The true sum is about 3 times as large, and so is
    the true sum of weighted values, which are near 0.75. Each of the two sums alone shows.
    """
    sizes = {"B": 1, "H": 1, "Lq": 3, "Lk": 1024, "D": 4}
    inputs = {
        "q": 0.3 * case.draw.normal(1, 1, 3, 4),
        "k": 0.3 * case.draw.normal(1, 1, 1024, 4),
        "v": 0.75 + 0.1 * case.draw.normal(1, 1, 1024, 4),
    }
    name = "bfloat16, 1024 keys in blocks of 1"
    return case(name, inputs=inputs, block=1, dtype="bfloat16", gradients=False, **sizes)


def memory_cases(case):
    """Yield cases whose memory is counted. D is well below the size of a block.

    There are few queries, because a loop over single queries is allowed. They are still more than
    a block, because a block of queries may be compared with all keys at once.
    """
    for name, Lq, Lk, D, block, more in (
        ("32 queries and keys, blocks of 4", 32, 32, 1, 4, {"equal": "Lq Lk"}),
        ("causal, 18 queries, 64 keys, blocks of 8", 18, 64, 1, 8, {"causal": True}),
        ("14 queries, 33 keys, blocks of 3, float64", 14, 33, 1, 3, {"dtype": "float64"}),
        ("12 queries, 40 keys, blocks of 5, bfloat16", 12, 40, 1, 5, {"dtype": "bfloat16"}),
        ("causal, 70 queries, 530 keys, default block size", 70, 530, 4, None, {"causal": True}),
    ):
        sizes = {"B": 1, "H": 1, "Lq": Lq, "Lk": Lk, "D": D, "block": block, **more}
        yield case(f"memory, {name}", probe="memory", limit=Lq * Lk, **sizes)
    # All memory in use at the same time, with many keys in 16 blocks.
    sizes = {"B": 1, "H": 1, "Lq": 64, "Lk": 33000, "D": 2, "block": 2063}
    name = "held, 64 queries, 33000 keys"
    yield case(name, probe="held", dtype="float64", limit=64 * 33000, **sizes)


def realistic():
    """Return the call that is measured after a pass: the heads of a layer."""
    return realistic_call(
        "32 heads of 128, B = 1, L = 2048, causal",
        q=shaped(1, 32, 2048, 128),
        k=shaped(1, 32, 2048, 128),
        v=shaped(1, 32, 2048, 128),
        causal=True,
    )
