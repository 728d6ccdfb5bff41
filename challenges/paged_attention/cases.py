"""Cases for paged attention: lengths around page borders, shared pages, slots that hold NaN."""

import math

import torch

from attn_drill.casekit import CaseMaker, SecondCall, realistic_call, shaped, suites

NAN, INF = math.nan, math.inf
PAGES = ("k_pages", "v_pages")
ARGUMENTS = ("q", *PAGES, "block_table", "lengths")


def drive(attention, given):
    """Call once, or twice."""
    outputs = {"out": attention(*(given.inputs[name] for name in ARGUMENTS))}
    if "later_q" in given.inputs:
        later = (given.inputs[f"later_{name}"] for name in ARGUMENTS)
        outputs["later_out"] = attention(*later)
    return outputs


class PagedMaker(CaseMaker):
    """Make cases with the options `lengths`, `table` and `blocks`. P is the number of pages."""

    def __call__(
        self,
        name,
        *,
        lengths,
        table=None,
        blocks=0,
        fill=None,
        fills=PAGES,
        inputs=None,
        **more,
    ):
        """Return one case.

        Args:
            name: the name of the case.
            lengths: the lengths of the sequences; B is their number.
            table: the pages of every sequence; by default, all sequences have pages of their own.
            blocks: the number of columns of the table, if it is more than necessary.
            fill: the numbers in the slots that no sequence uses, in turn; None for random numbers.
            fills: the inputs with these numbers.
            inputs: inputs that are not drawn.
            more: further arguments of a CaseMaker.
        """
        sizes = {"lengths": lengths, **{key: more[key] for key in ("H", "Hkv", "D", "P", "page")}}
        given = self.paged(sizes, table, blocks) | dict(inputs or {})
        if fill is not None:
            free = ~used_slots(given["block_table"], lengths, more["P"], more["page"])
            for pages in fills:
                given[pages] = filled(given[pages], free, fill)
        return super().__call__(name, inputs=given, B=len(lengths), **more)

    def paged(self, sizes, table=None, blocks=0):
        """Return all inputs of a call."""
        lengths, page = sizes["lengths"], sizes["page"]
        if table is None:
            table = self.tables(lengths, sizes["P"], page)
        columns = max(blocks, *map(len, table))
        rows = [[*row, *[-1] * (columns - len(row))] for row in table]
        given = {"block_table": torch.tensor(rows), "lengths": torch.tensor(lengths)}
        return self.drawn(self.with_products(sizes)) | given

    def tables(self, lengths, pages, page):
        """Return pages in random order, in which neighbours do not follow each other."""
        order = self.draw.uniform(pages).argsort().tolist()
        if order == sorted(order):
            order.reverse()
        return [[order.pop() for _ in range(-(-length // page))] for length in lengths]

    def with_products(self, sizes):
        """Return the sizes, with B in place of the lengths."""
        known = dict(sizes)
        if "lengths" in known:
            known["B"] = len(known.pop("lengths"))
        return super().with_products(known)


def used_slots(table, lengths, pages, page):
    """Return bool [P, page]: True for the slots that hold a token of some sequence."""
    used = torch.zeros(pages, page, dtype=torch.bool)
    for row, length in zip(table.tolist(), lengths, strict=True):
        for token in range(length):
            used[row[token // page], token % page] = True
    return used


def filled(pages, free, numbers):
    """Return pages in which these numbers, in turn, fill the free slots."""
    turns = torch.tensor(numbers, dtype=pages.dtype).repeat(pages.numel())[: pages.numel()]
    return torch.where(free[:, :, None, None], turns.view_as(pages), pages)


def cases(draw):
    """Yield the cases on which a submission runs."""
    pages = "P page Hkv D"
    case = PagedMaker(
        draw,
        inputs={"q": "B H D", "k_pages": pages, "v_pages": pages},
        outputs={"out": "B H D"},
    )
    values = torch.eye(20).view(5, 4, 1, 20).expand(5, 4, 3, 20)
    sizes = {"H": 6, "Hkv": 3, "D": 20, "P": 5, "page": 4}
    name = "weights as output: feature d is slot d % 4 of page d // 4"
    table = ((3, 1), (4, 0))
    yield case(name, lengths=(6, 5), table=table, inputs={"v_pages": values}, **sizes)
    yield from sizes_of_the_model(case)
    yield from lengths_and_tables(case)
    yield from unused_slots(case)
    yield from number_cases(case)
    yield from steep_cases(case)
    sizes = {"lengths": (5, 12, 7), "H": 4, "Hkv": 2, "D": 6, "P": 9, "page": 5}
    yield from suites.layouts(case, **sizes)
    same = torch.tensor([[6, 2, 4]]).expand(3, 3)
    same = {"inputs": {"block_table": same}, "layout": {"block_table": "expanded"}}
    name = "one row of the table for all sequences (expanded)"
    yield case(name, check="properties", **same, **sizes | {"lengths": (11, 15, 13)})
    again = SecondCall(inputs=case.paged(sizes | {"lengths": (9, 3, 14)}))
    yield case("the same sizes again, another table", later=again, check="properties", **sizes)
    larger = sizes | {"lengths": (8, 2, 21, 4), "P": 12, "page": 7}
    later = {letter: larger[letter] for letter in ("P", "page")} | {"B": 4}
    again = SecondCall(sizes=later, inputs=case.paged(larger))
    yield case("more and larger pages afterwards", later=again, check="properties", **sizes)


def sizes_of_the_model(case):
    """Yield numbers of heads and features, and sizes that coincide."""
    usual = {"lengths": (7, 3, 10, 1), "P": 10, "page": 5}
    yield case("six heads, three key/value heads", H=6, Hkv=3, D=7, **usual)
    yield case("six heads, two key/value heads", H=6, Hkv=2, D=7, **usual)
    yield case("as many key/value heads as heads", H=2, Hkv=2, D=7, equal="H Hkv", **usual)
    yield case("one key/value head", H=3, Hkv=1, D=6, **usual)
    yield case("one head", H=1, Hkv=1, D=6, **usual)
    yield case("head dim 1", H=6, Hkv=2, D=1, **usual)
    yield case("as many groups as heads in a group", H=9, Hkv=3, D=7, **usual)
    yield case("as many heads as sequences", H=4, Hkv=2, D=7, equal="B H", **usual)
    yield case("as many key/value heads as sequences", H=8, Hkv=4, D=7, equal="B Hkv", **usual)
    yield case("as many heads as features", H=6, Hkv=2, D=6, equal="H D", **usual)
    yield case("as many key/value heads as slots", H=15, Hkv=5, D=7, equal="Hkv page", **usual)
    usual["page"] = 6
    yield case("as many heads as slots in a page", H=6, Hkv=2, D=7, equal="H page", **usual)
    same = {"H": 4, "Hkv": 4, "D": 4, "P": 4, "page": 4, "equal": "B H Hkv D P page"}
    yield case("all sizes equal", lengths=(4, 1, 3, 2), **same)
    times = {"H": "Hkv"}
    drawn = case.draw.sizes(Hkv=(4, 5), H=(2, 3), D=(6, 7), page=(9, 11), times=times)
    lengths = case.draw.distinct((1, 9), (8, 20), (12, 30))
    yield case("random sizes", lengths=lengths, P=16, **drawn)


def lengths_and_tables(case):
    """Yield lengths around page borders, and tables with shared pages and unused columns."""
    usual = {"H": 10, "Hkv": 5, "D": 7, "P": 8, "page": 4, "check": "masks"}
    for name, lengths, more in (
        ("one token", (1,), {}),
        ("one token, the only page", (1,), {"P": 1}),
        ("one sequence", (10,), {}),
        ("around a page border", (3, 4, 5, 7, 8, 9), {"P": 13}),
        ("full pages only, no unused column", (8, 8), {}),
        ("three unused columns", (5, 2), {"blocks": 5}),
        ("all pages in use", (9, 5, 4), {"P": 6}),
        ("pages of one slot", (3, 6, 1), {"P": 12, "page": 1}),
        ("pages longer than every sequence", (3, 5, 1), {"page": 11}),
        ("two sequences with the same pages", (10, 10), {"table": [[4, 0, 2]] * 2}),
        ("a shared prefix", (11, 6, 9), {"table": [[5, 1, 2], [5, 0], [5, 1, 3]]}),
        ("one page, lengths 1, 2 and 3", (1, 2, 3), {"table": [[2]] * 3}),
        ("pages in order", (11, 5), {"table": [[0, 1, 2], [3, 4]]}),
    ):
        yield case(name, lengths=lengths, **{**usual, **more})


def unused_slots(case):
    """Yield numbers that are not finite in all slots that no sequence uses.

    If keys of such slots enter the product with q, the result may be right, because their scores
    are hidden, but the gradient of q is 0 * NaN.
    """
    sizes = {"lengths": (4, 11, 6), "H": 4, "Hkv": 2, "D": 5, "P": 9, "page": 6}
    usual = {"check": "masks", "equal": "", **sizes}
    yield case("unused slots hold NaN", fill=(NAN,), **usual)
    yield case("only the keys of unused slots hold NaN", fill=(NAN,), fills=("k_pages",), **usual)
    yield case("only the values of unused slots hold NaN", fill=(NAN,), fills=("v_pages",), **usual)
    yield case("unused slots hold inf", fill=(INF,), **usual)
    yield case("unused slots hold inf, -inf, NaN, 1e36", fill=(INF, -INF, NAN, 1e36), **usual)
    for dtype in ("float64", "bfloat16"):
        yield case(f"unused slots hold NaN, {dtype}", fill=(NAN,), dtype=dtype, **usual)
    # In the table, -1 reads the last page, and 0 the first.
    spare = usual | {"lengths": (7, 2, 13), "fill": (NAN,), "blocks": 4}
    table = [[3, 1], [4], [7, 2, 5]]
    yield case("first and last page hold NaN", table=table, **spare)
    table = [[0, 8], [3], [4, 6, 5]]
    yield case("first and last page hold tokens", table=table, **spare)
    full = usual | {"lengths": (12, 6), "equal": "B Hkv"}
    yield case("unused pages hold NaN, the others are full", fill=(NAN,), **full)
    short = usual | {"lengths": (1,)}
    yield case("one token, all other slots hold NaN", fill=(NAN,), **short)
    yield case("unused slots hold zeros", fill=(0.0,), check="masks", **sizes)


def number_cases(case):
    """Yield tiny values, other dtypes, keys of zeros, and many tokens and pages."""
    sizes = {"lengths": (7, 3, 10), "H": 6, "Hkv": 2, "D": 5, "P": 8, "page": 4}
    tiny = case.paged(sizes)
    yield case("tiny values", inputs=tiny | {"v_pages": 1e-7 * tiny["v_pages"]}, **sizes)
    for dtype in ("float64", "bfloat16"):
        yield case(dtype, dtype=dtype, **sizes)
        single = sizes | {"lengths": (6,), "Hkv": 3}
        yield case(f"{dtype}, one sequence", dtype=dtype, **single)
    # Tokens of zeros are tokens: the first, the last, and a whole page.
    zeros = case.paged(sizes, table=[[6, 2], [0], [1, 5, 3]])
    for name in PAGES:
        zeros[name][6, 0] = zeros[name][0, 2] = zeros[name][5] = 0
    zeros["q"][1, 2] = 0
    yield case("tokens of zeros", inputs=zeros, **sizes)
    # bfloat16 has only even numbers from 256 on, int8 ends at 127, and uint8 at 255. The newest
    # token and the unused slots score 8, so most of the weight depends on the last token counted.
    for dtype in ("float32", "bfloat16"):
        for name, lengths, pages in (
            ("300 tokens", (300, 257, 130), {"P": 90, "page": 8}),
            ("300 pages of one slot", (260, 43, 5), {"P": 310, "page": 1}),
        ):
            sizes = {"lengths": lengths, "H": 2, "Hkv": 1, "D": 4, **pages}
            steep = Steep(case, sizes)
            newest = steep.of_tokens(0.0, 0.0, 2.0, newest=2.0)
            yield steep(f"{name}, {dtype}", 4.0, newest, gradients=True, dtype=dtype)


def steep_cases(case):
    """Yield scores of ±200, of tokens and of unused slots."""
    sizes = {"lengths": (5, 11, 8), "H": 6, "Hkv": 2, "D": 4, "P": 9, "page": 5}
    steep = Steep(case, sizes)
    name = "unused slots score 120, tokens are ordinary"
    yield steep(name, 12.0, steep.of_tokens(0.0, 0.0, 10.0), gradients=True)
    # The unused slots have values of 1e36, and all others have values of about 1e-6.
    name = "unused slots score +200 with values of 1e36, tokens -200"
    yield steep(name, 200.0, steep.of_tokens(-1.0, -1.0, 1.0), is_huge=True)
    yield steep("all tokens near -200", 200.0, steep.of_tokens(-1.0, -1.0, 0.0), D=64)
    yield steep("scores falling from 200", 200.0, steep.of_tokens(1.0, -1.0, 0.0))
    heads = (-1.0) ** torch.arange(6)
    falling = steep.of_tokens(-1.0, 1.0, 0.0)
    yield steep("scores rising in one head, falling in the next", 200.0 * heads, falling)
    rows = (-1.0) ** torch.arange(3)[:, None] * heads
    together = steep.of_tokens(1.0, 1.0, 0.0)
    yield steep("neighbouring heads and sequences 400 apart", 200.0 * rows, together)


class Steep:
    """Make cases in which feature 0 gives the scores; the other features add about ±1."""

    def __init__(self, case, sizes):
        """Keep the maker, the sizes and a table."""
        self.case, self.sizes = case, sizes
        self.table = case.tables(sizes["lengths"], sizes["P"], sizes["page"])

    def __call__(self, name, of_queries, of_keys, *, is_huge=False, gradients=False, **more):
        """Return a case with the scores of_queries [B, H] * of_keys [P, page]."""
        sizes = self.sizes | {key: more.pop(key) for key in ("D",) if key in more}
        inputs = self.case.paged(sizes, self.table)
        inputs["q"][..., 0] = sizes["D"] ** 0.5 * torch.as_tensor(of_queries)
        inputs["k_pages"][..., 0] = of_keys[:, :, None]
        if is_huge:
            free = ~used_slots(inputs["block_table"], *(sizes[x] for x in ("lengths", "P", "page")))
            inputs["v_pages"] = filled(1e-6 * inputs["v_pages"], free, (1e36,))
        usual = {"check": "masks", **sizes}
        return self.case(name, inputs=inputs, gradients=gradients, **(usual | more))

    def of_tokens(self, first, last, unused, newest=None):
        """Return numbers [P, page]: from `first` to `last` in a sequence, `unused` elsewhere.

        The newest token of every sequence has the number `newest`, if it is given.
        """
        lengths, page = self.sizes["lengths"], self.sizes["page"]
        found = torch.full((self.sizes["P"], page), unused)
        for row, length in zip(self.table, lengths, strict=True):
            for token, number in enumerate(torch.linspace(first, last, length)):
                is_newest = newest is not None and token == length - 1
                found[row[token // page], token % page] = newest if is_newest else number
        return found


def realistic():
    """Return the call that is measured after a pass: a decode step of 8 sequences."""
    pages = (1024, 16, 8, 128)
    return realistic_call(
        "a decode step of 8 sequences of 2048 tokens, 32 heads of 128, 8 key/value heads",
        q=shaped(8, 32, 128),
        k_pages=shaped(*pages),
        v_pages=shaped(*pages),
        block_table=shaped(8, 128, dtype="int64"),
        lengths=shaped(8, dtype="int64"),
    )
