"""Cases for the check of a draft: single calls with a chosen first refusal, and many calls at once.

n is the number of draft tokens and m that of the result. Probabilities are multiples of 1/64 and
uniforms are odd multiples of 1/128, which bfloat16 holds exactly, except in large vocabularies. No
uniform is near a quotient p / q or a cumulative probability, except where it is 0.
"""

from dataclasses import replace
from itertools import pairwise

import torch

from attn_drill.casekit import CaseMaker

GRID = 64
NEAR = 0.004  # no uniform is as near to a border as this
NAMES = ("draft_tokens", "draft_probs", "target_probs", "uniforms")
SIZES = {"n": 4, "V": 11}


def drive(accept_draft, given):
    """Make one call; or many calls, whose results get -1 after their last token."""
    if given.draft_tokens.dim() == 1:
        return {"tokens": accept_draft(*(given.inputs[name] for name in NAMES))}
    rows = []
    longest = given.uniforms.shape[1]
    for parts in zip(*(given.inputs[name] for name in NAMES), strict=True):
        found = accept_draft(*parts)
        is_tensor = isinstance(found, torch.Tensor)
        if not is_tensor or found.dim() != 1 or len(found) > longest:
            return {"tokens": found}
        rows.append(torch.cat([found, found.new_full((longest - len(found),), -1)]))
    return {"tokens": torch.stack(rows)}


class DraftMaker(CaseMaker):
    """Make cases from the four inputs of a call."""

    def __call__(self, name, parts, **more):
        """Return one case. `more_sizes` has the size m, unless the case is of many calls."""
        given = dict(zip(NAMES, parts, strict=True))
        return super().__call__(name, inputs=given, gradients=False, **more)


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = DraftMaker(draw, inputs={}, outputs={"tokens": "m"})

    def call(name, n, V, kept, equal="", **more):
        parts = draft(draw, n, V, kept)
        return case(name, parts, n=n, V=V, equal=equal, more_sizes={"m": kept + 1}, **more)

    yield call("the first of 4 tokens is refused", kept=0, **SIZES)
    yield call("the second of 4 tokens is refused", kept=1, **SIZES)
    yield call("the third of 4 tokens is refused", kept=2, **SIZES)
    yield call("the last of 4 tokens is refused", kept=3, **SIZES)
    yield call("all 4 tokens are accepted", kept=4, **SIZES)
    yield call("one draft token, refused", n=1, V=9, kept=0)
    yield call("one draft token, accepted", n=1, V=9, kept=1)
    yield call("no draft token", n=0, V=9, kept=0)
    yield call("a draft of 9 tokens, the sixth is refused", n=9, V=12, kept=5)
    yield call("a draft of 9 tokens, all accepted", n=9, V=12, kept=9)
    same = {"n": 8, "V": 8, "equal": "n V"}
    yield call("as many draft tokens as there are in the vocabulary", kept=3, **same)
    yield call("as many target rows as tokens in the vocabulary", n=7, V=8, kept=7)
    n, V = draw.distinct((3, 7), (9, 14))
    yield call("random sizes, the third token is refused", n=n, V=V, kept=2)
    yield from special_distributions(case)
    yield from uniforms_of_zero(case)
    yield from many_calls(case)
    for dtype in ("float64", "bfloat16"):
        for words, kept in (("the second of 4 is refused", 1), ("all accepted", 4)):
            yield call(f"{dtype}, {words}", kept=kept, dtype=dtype, **SIZES)
    yield from large_vocabularies(case)
    for words, kept in (("the third of 4 is refused", 2), ("all accepted", 4), ("no draft", 0)):
        layout = {"layout": dict.fromkeys(NAMES, "strided"), "check": "properties"}
        sizes = {**SIZES, "n": 0} if words == "no draft" else SIZES
        yield call(f"parts of larger inputs, {words}", kept=kept, **layout, **sizes)
    yield from growing(case)


def draft(draw, n, V, kept, plain=False):
    """Return the inputs of a call in which `kept` tokens are accepted before the first refusal.

    Unless `plain`, the drawn token is another one than those of wrong draws.
    """
    # Later tokens are accepted and refused in turn: they must not count.
    wanted = [True] * kept + [place % 2 == 1 for place in range(n - kept)]
    places = [place(draw, V, accepted) for accepted in wanted]
    while True:
        if kept < n:
            places[kept] = place(draw, V, False)
        last, uniform = shares(draw, V), odd(draw)
        tokens, qs, ps, uniforms = ([part[index] for part in places] for index in range(4))
        ps, uniforms = [*ps, last], [*uniforms, uniform]
        right = rest(ps[kept], qs[kept]) if kept < n else last
        wrong = [] if plain else wrong_draws(tokens, qs, ps, uniforms, kept)
        if not is_near(right, uniform) and drawn(right, uniform) not in wrong:
            return as_tensors(tokens, qs, ps, uniforms, V)


def as_tensors(tokens, qs, ps, uniforms, V):
    """Return the four inputs of a call as tensors."""
    q, p = (torch.tensor(rows, dtype=torch.float64).reshape(-1, V) / GRID for rows in (qs, ps))
    return torch.tensor(tokens, dtype=torch.int64), q, p, torch.tensor(uniforms).double()


def place(draw, V, accepted):
    """Return a draft token with its rows of q and p and its uniform."""
    while True:
        q, p, uniform = shares(draw, V), shares(draw, V), odd(draw)
        token = drawn(q, odd(draw))
        quotient = p[token] / q[token]
        if abs(uniform - quotient) > NEAR and (uniform < quotient) == accepted:
            return token, q, p, uniform


def shares(draw, V):
    """Return random whole numbers from 0 that sum to GRID."""
    cuts = [0, *sorted(draw.integers(V - 1, high=GRID + 1).tolist()), GRID]
    return [after - before for before, after in pairwise(cuts)]


def odd(draw):
    """Return an odd multiple of 1/128 in (0, 1)."""
    return (2 * int(draw.integers(1, high=GRID)) + 1) / (2 * GRID)


def rest(p, q):
    """Return the part of p above q, not divided by its sum."""
    return [max(a - b, 0) for a, b in zip(p, q, strict=True)]


def drawn(weights, uniform, total=None):
    """Return the first token whose cumulative weight exceeds this part of the total."""
    reached, limit = 0, uniform * (sum(weights) if total is None else total)
    for token, weight in enumerate(weights):
        reached += weight
        if reached > limit:
            return token
    return 0


def is_near(weights, uniform):
    """Return whether a uniform is near a cumulative probability."""
    sums = torch.tensor(weights).double().cumsum(0) / sum(weights)
    return float((sums - uniform).abs().min()) < NEAR


def wrong_draws(tokens, qs, ps, uniforms, kept):
    """Return the tokens that wrong answers draw: other rows, other uniforms, other weights."""
    last = uniforms[-1]
    wrong = [0, len(ps[0]) - 1]  # no cumulative sum exceeds a uniform
    if kept == len(tokens):
        right = ps[-1]
        if tokens:
            wrong += [drawn(weights, last) for weights in (ps[-2], qs[-1], rest(right, qs[-1]))]
            wrong += [drawn(ps[-2], uniforms[-2])]
    else:
        p, q, after = ps[kept], qs[kept], ps[kept + 1]
        right = rest(p, q)
        others = [weight * (token != tokens[kept]) for token, weight in enumerate(p)]
        both = [abs(a - b) for a, b in zip(p, q, strict=True)]
        for weights in (p, q, after, ps[-1], others, both, rest(q, p), rest(after, q)):
            wrong.append(drawn(weights, last))
        wrong += [drawn(right, last, GRID), drawn(p, uniforms[kept])]
    if tokens:
        wrong += [drawn(right, uniforms[min(kept, len(tokens) - 1)]), drawn(right, uniforms[0])]
    return [*wrong, right.index(max(right)), drawn(right, 1 - last)]


def special_distributions(case):
    """Yield equal distributions, and distributions with a single possible token."""
    draw, V, n = case.draw, SIZES["V"], SIZES["n"]
    sizes = {"n": n, "V": V}

    def call(name, tokens, qs, ps, uniforms, kept, **more):
        parts = as_tensors(tokens, qs, ps, uniforms, len(ps[0]))
        return case(name, parts, more_sizes={"m": kept + 1}, **{**sizes, **more})

    def sure(token):
        return [GRID * (other == token) for other in range(V)]

    def last_row():
        while True:
            row, uniform = shares(draw, V), odd(draw)
            wrong = (0, V - 1, row.index(max(row)))
            if not is_near(row, uniform) and drawn(row, uniform) not in wrong:
                return row, uniform

    equal = [shares(draw, V) for _ in range(n)]
    tokens = [drawn(row, odd(draw)) for row in equal]
    row, uniform = last_row()
    high = [127 / 128, 0.5, 125 / 128, 127 / 128]
    name = "both distributions are equal"
    yield call(name, tokens, equal, [*equal, row], [*high, uniform], n)
    # A draft that is drawn greedily has q = 1 for its tokens.
    tokens = draw.integers(n, high=V).tolist()
    rows, uniforms = [], []
    for index, token in enumerate(tokens):
        while True:
            p, u = shares(draw, V), odd(draw)
            if abs(p[token] / GRID - u) > NEAR and (u < p[token] / GRID) == (index != 2):
                break
        rows.append(p)
        uniforms.append(u)
    while is_near(rest(rows[2], sure(tokens[2])), uniform):
        uniform = odd(draw)
    name = "a greedy draft, the third token is refused"
    qs = [sure(token) for token in tokens]
    yield call(name, tokens, qs, [*rows, shares(draw, V)], [*uniforms, uniform], 2)
    # A greedy target accepts exactly its own tokens.
    qs = [shares(draw, V) for _ in range(n)]
    tokens = [drawn(q, odd(draw)) for q in qs]
    own = [*tokens[:2], (tokens[2] + 3) % V, tokens[3], 5]
    uniforms = [odd(draw) for _ in range(n + 1)]
    name = "a greedy target, the third token is refused"
    yield call(name, tokens, qs, [sure(token) for token in own], uniforms, 2)
    name = "greedy on both sides, the third token is refused"
    yield call(name, tokens, [*map(sure, tokens)], [*map(sure, own)], uniforms, 2)
    own[2] = tokens[2]
    name = "greedy on both sides, all accepted"
    yield call(name, tokens, [*map(sure, tokens)], [*map(sure, own)], uniforms, n)
    only = [[GRID]] * n
    yield call("a vocabulary of one", [0] * n, only, [*only, [GRID]], uniforms, n, V=1)


def uniforms_of_zero(case):
    """Yield uniforms of 0: they accept every token that p allows, and draw the first such token."""
    draw, n, V = case.draw, 3, 10
    places = [place(draw, V, True) for _ in range(n)]
    tokens, qs, ps = ([part[index] for part in places] for index in range(3))
    empty = [0] * V
    while empty[3] == 0:
        empty = [0, 0, 0, *shares(draw, V - 3)]
    zeros = [0.0] * (n + 1)
    usual = {"n": n, "V": V}
    parts = as_tensors(tokens, qs, [*ps, empty], zeros, V)
    name = "all uniforms are 0, all accepted"
    yield case(name, parts, more_sizes={"m": n + 1}, **usual)
    # Token 1 has p = 0; the first token with p > q has the number 4.
    even = [8, 8, 8, 8, 8, 8, 4, 4, 4, 4]
    p = [8, 0, 4, 8, 10, 14, 4, 4, 8, 4]
    qs[1], ps[1], tokens[1] = even, p, 1
    parts = as_tensors(tokens, qs, [*ps, empty], zeros, V)
    name = "all uniforms are 0, the second token has p = 0"
    yield case(name, parts, more_sizes={"m": 2}, **usual)


def many_calls(case):
    """Yield many calls in one case, with refusals at all places."""
    draw = case.draw
    for count, n, V, dtype in (
        (40, 5, 9, "float32"),
        (40, 3, 6, "bfloat16"),
        (30, 2, 3, "float64"),
    ):
        parts = [draft(draw, n, V, index % (n + 1), plain=True) for index in range(count)]
        stacked = [torch.stack(part) for part in zip(*parts, strict=True)]
        name = f"{count} calls with {n} draft tokens (-1 is no token)"
        sizes = {"K": count, "n": n, "V": V, "more_sizes": {"longest": n + 1}}
        yield case(name, stacked, outputs={"tokens": "K longest"}, dtype=dtype, **sizes)


def large_vocabularies(case):
    """Yield vocabularies in which probabilities are small, and no multiples of 1/64."""
    for dtype, kept in (("float32", 1), ("float32", 3), ("bfloat16", 1), ("bfloat16", 3)):
        words = "all accepted" if kept == 3 else "the second of 3 is refused"
        parts = smooth(case.draw, 3, 500, kept, dtype)
        name = f"{dtype}, 500 tokens, {words}"
        yield case(name, parts, n=3, V=500, dtype=dtype, more_sizes={"m": kept + 1})


def smooth(draw, n, V, kept, dtype="float32", is_fine=True):
    """Return the inputs of a call without zeros.

    If `is_fine`, the draw in bfloat16 would give another token; a small vocabulary rarely has this.
    """
    kind = getattr(torch, dtype)
    while True:
        target = draw.normal(n + 1, V)
        p = target.softmax(-1).to(kind).double()
        q = (target[:-1] + draw.normal(n, V)).softmax(-1).to(kind).double()
        tokens = draw.integers(n, high=V)
        quotients = p[:-1].gather(1, tokens[:, None])[:, 0] / q.gather(1, tokens[:, None])[:, 0]
        uniforms = (draw.integers(n + 1, high=128).double() * 2 + 1) / 256
        accepted = (uniforms[:-1] < quotients).tolist()
        if accepted != [place != kept for place in range(n)]:
            continue
        row = p[kept] if kept == n else (p[kept] - q[kept]).clamp(min=0)
        sums = row.cumsum(0) / row.sum()
        rough = row.bfloat16()
        coarse = (rough / rough.sum()).cumsum(0) > uniforms[-1]
        distances = torch.cat([uniforms[:-1] - quotients, uniforms[-1] - sums]).abs()
        fine = sums > uniforms[-1]
        tells = not is_fine or int(coarse.sum()) != int(fine.sum())
        if float(distances.min()) > 2e-4 and tells:
            return tokens, q, p, uniforms


def growing(case):
    """Yield calls with a small and a large vocabulary, whose operations are counted."""
    for words, kept in (("the second of 3 is refused", 1), ("all accepted", 3)):
        pair = []
        for size, V in (("small", 20), ("large", 400)):
            parts = smooth(case.draw, 3, V, kept, is_fine=False)
            sizes = {"n": 3, "V": V, "more_sizes": {"m": kept + 1}}
            pair.append(case(f"vocabulary, {words}, {size}", parts, probe="vectorised", **sizes))
        yield replace(pair[0], larger=pair[1])
