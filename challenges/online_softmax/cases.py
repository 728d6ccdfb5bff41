"""Cases for online softmax: blocks of several widths, maxima that rise and fall, blocks of -inf."""

from dataclasses import dataclass

import torch

from attn_drill.casekit import CaseMaker, SecondCall, realistic_call, shaped

INFINITE = float("-inf")


def drive(online_softmax, given):
    """Call once or twice. A generator hands out the blocks, unless the case says `container`.

    With `cut` in the inputs, the blocks are cut into blocks of this width.
    """
    container = given.container if "container" in given.inputs else "generator"
    blocks = given.blocks
    if "cut" in given.inputs:
        blocks = [part for block in blocks for part in block.split(given.cut, dim=-1)]
    outputs = {"out": online_softmax(handed_out(blocks, container))}
    if "later_blocks" in given.inputs:
        outputs["later_out"] = online_softmax(handed_out(given.later_blocks, "generator"))
    return outputs


def handed_out(blocks, container):
    """Return a list, the values of a dict, or a generator, which can be read once only."""
    if container == "list":
        return list(blocks)
    if container == "dict":  # its values have no index and are no iterator
        return dict(enumerate(blocks)).values()
    return (block for block in blocks)


@dataclass(frozen=True)
class BlockMaker(CaseMaker):
    """Make cases with blocks of given widths. N is the sum of the widths."""

    rows: str = ""  # the dimensions before the last

    def __call__(self, name, *, widths=(3, 4, 2), blocks=None, offsets=None, later=None, **more):
        """Return one case.

        Args:
            name: the name of the case.
            widths: the number of entries of each block in a row.
            blocks: the blocks, if they are not drawn.
            offsets: a number for each block, or a tensor that broadcasts, that is added to it.
            later: the widths of a second call; None for a single call.
            more: sizes, and further arguments of a case.
        """
        if blocks is None:
            blocks = self.blocks(widths, more, offsets or (0.0,) * len(widths))
        inputs = {"blocks": tuple(blocks), **more.pop("inputs", {})}
        if later is not None:
            again = tuple(self.blocks(later, more, (0.0,) * len(later)))
            more["later"] = SecondCall(sizes={"N": sum(later)}, inputs={"blocks": again})
        size = sum(block.shape[-1] for block in blocks)
        return super().__call__(name, inputs=inputs, N=size, **more)

    def blocks(self, widths, sizes, offsets):
        """Return one block from N(0, 1) for each width, with an offset added."""
        rows = tuple(sizes[letter] for letter in self.rows.split())
        return [
            self.draw.normal(*rows, width) + offset
            for width, offset in zip(widths, offsets, strict=True)
        ]


def maker(draw, rows):
    """Return a maker of cases for blocks with these dimensions before the last."""
    return BlockMaker(draw, inputs={}, outputs={"out": f"{rows} N"}, rows=rows)


def cases(draw):
    """Yield the cases on which a submission runs."""
    row, table, case, four = (maker(draw, rows) for rows in ("", "B", "B L", "B H L"))
    sizes = {"B": 2, "L": 5}
    yield case("blocks of 3, 4 and 2", **sizes)
    yield row("one row without further dims", widths=(2, 4, 1))
    yield row("one row, blocks of 1", widths=(1, 1, 1, 1))
    yield row("one entry in all", widths=(1,))
    high = {"offsets": (110, 0, -110), "gradients": False}
    yield row("one row, blocks near 110, 0 and -110", widths=(1, 2, 1), **high)
    yield table("two dims", B=4, widths=(2, 3, 1))
    yield four("four dims", B=2, H=3, L=4, widths=(5, 2))
    yield case("one block", widths=(6,), **sizes)
    yield case("blocks of 1", widths=(1,) * 7, **sizes)
    yield case("a wide block after a narrow block", widths=(1, 9), B=3, L=4)
    yield case("a narrow block after a wide block", widths=(9, 1), B=3, L=4)
    # Blocks are as wide as the other axes, and there are as many blocks.
    yield case("three blocks [3, 3, 3]", widths=(3, 3, 3), B=3, L=3, equal="B L")
    yield table("four blocks [4, 4]", widths=(4, 4, 4, 4), B=4)
    yield table("as many entries as rows", widths=(2, 3), B=5, equal="B N")
    yield case("leading dims [3, 1]", B=3, L=1)
    yield case("leading dims [1, 4]", B=1, L=4)
    drawn = draw.sizes(B=(2, 3), L=(2, 6), n=(1, 6), m=(1, 6), k=(1, 6), sums={"N": "nmk"})
    widths = tuple(drawn.pop(letter) for letter in "nmk")
    drawn.pop("N")
    yield case("random sizes", widths=widths, **drawn)
    yield case("40 blocks", widths=(3, 1, 2, 5) * 10, **sizes)
    yield case("600 entries in blocks of 150", widths=(150,) * 4, **sizes)
    yield case("a list of blocks", inputs={"container": "list"}, **sizes)
    yield case("the values of a dict of blocks", inputs={"container": "dict"}, **sizes)
    yield from orders(case, sizes)
    yield case("float64", dtype="float64", **sizes)
    yield case("bfloat16", dtype="bfloat16", **sizes)
    yield case("bfloat16, rising", dtype="bfloat16", offsets=(-3, 0, 3), **sizes)
    yield case("bfloat16, falling", dtype="bfloat16", offsets=(3, 0, -3), **sizes)
    # A sum of these exponentials in bfloat16 stops at 256; it must be about 800.
    entries = [0.3 * draw.normal(2, 1024)]
    long = {"inputs": {"cut": 1}, "dtype": "bfloat16", "gradients": False}
    yield table("bfloat16, 1024 blocks of 1", blocks=entries, B=2, **long)
    yield from large_entries(case, sizes)
    yield from blocks_of_minus_infinity(case, sizes)
    yield row("one row, -inf first", widths=(1, 2, 1), offsets=(INFINITE, 0, 1), check="masks")
    nothing = [torch.full((width,), INFINITE) for width in (2, 1)]
    yield row("one row of -inf only", blocks=nothing, gradients=False, check="masks")
    properties = {"check": "properties", **sizes}
    yield case("non-contiguous blocks", layout={"blocks": "transposed"}, **properties)
    yield case("parts of larger tensors", layout={"blocks": "strided"}, **properties)
    same = [draw.normal(1, 5, width).expand(2, 5, width) for width in (3, 4, 2)]
    yield case("expanded blocks", blocks=same, layout={"blocks": "expanded"}, **properties)
    repeated = draw.normal(2, 5, 3)
    yield case("equal blocks", blocks=[repeated, repeated, repeated], **sizes)
    yield case("more blocks afterwards", later=(2, 5, 1, 3), **properties)


def orders(case, sizes):
    """Yield rows whose largest entry is in the first, the last or another block."""
    four = (3, 2, 4, 2)
    for name, offsets in (
        ("rising", (-4, -1, 2, 5)),
        ("falling", (5, 2, -1, -4)),
        ("largest in the middle", (-2, 4, 0, 1)),
        ("below 0 and rising", (-12, -10, -9, -7)),
    ):
        yield case(f"blocks {name}", widths=four, offsets=offsets, **sizes)
    # Rows of one call rise and fall at different places, so each row has its own maximum.
    turned = torch.where(torch.arange(5) % 2 == 0, 1.0, -1.0)[:, None]
    items = torch.tensor([1.0, -1.0])[:, None, None]
    steps = [step * turned * items for step in (-4, -1, 2, 5)]
    yield case("rows rising and falling", widths=four, offsets=steps, **sizes)
    # Blocks of little weight still count: here about 0.1 %.
    yield case("a first block at 0, the others at -8", offsets=(0, -8, -8), **sizes)
    yield case("a last block at 0, the others at -8", offsets=(-8, -8, 0), **sizes)
    zeros = [torch.zeros(2, 5, width) for width in (3, 1, 2)]
    yield case("all entries are 0", blocks=zeros, **sizes)


def large_entries(case, sizes):
    """Yield entries up to the largest number of float32.

    The logarithm of a sum near 110 loses digits, but right answers may use it. So rows with such
    entries have one entry far above the others. Their gradients are rounding errors.
    """
    rows = torch.tensor([1.0, -1.0, 0.0, 1.0, -1.0])[:, None]
    items = torch.tensor([1.0, -1.0])[:, None, None]
    alone = {"gradients": False, **sizes}
    yield case("two entries near 110", widths=(1, 1), offsets=(110, 110), equal="B N", **alone)
    yield case("entries near 800, float64", offsets=(800,) * 3, dtype="float64", **sizes)
    for name, offset in (
        ("entries near 110", 110),
        ("entries near -110", -110),
        ("entries near -40", -40),
        ("rows near 110, -110 and 0", 110 * rows),
        ("items near 110 and -110", 110 * items),
        ("rows near 1e4, -1e4 and 0", 1e4 * rows),
    ):
        blocks = [block + offset for block in far_apart(case.draw)]
        yield case(name, blocks=blocks, **alone)
    # exp overflows between neighbouring blocks.
    for name, offsets in (
        ("blocks near -110, 0 and 110", (-110, 0, 110)),
        ("blocks near 110, 0 and -110", (110, 0, -110)),
        ("blocks near 0, 110 and 0", (0, 110, 0)),
        ("rows rising to 110 or falling from 110", (-110 * rows, 0, 110 * rows)),
    ):
        blocks = [
            one_far_above(case.draw, width) + offset
            for width, offset in zip((3, 4, 2), offsets, strict=True)
        ]
        yield case(name, blocks=blocks, **alone)
    # Every block raises the largest entry so far, also a late block and a block of 1.
    for name, widths in (("7 blocks of 1", (1,) * 7), ("40 blocks", (3, 1, 2, 5) * 10)):
        blocks = [one_far_above(case.draw, width) + 110 * step for step, width in enumerate(widths)]
        yield case(f"{name}, each 110 above the one before", blocks=blocks, **alone)
    blocks = [block + 1e4 * rows for block in far_apart(case.draw)]
    yield case("rows near ±1e4 and 0, float64", blocks=blocks, dtype="float64", **alone)
    for size, dtype in ((1e4, "float32"), (300, "bfloat16"), (1e4, "float64")):
        for height in (size, -size):
            blocks = [block + height for block in far_apart(case.draw)]
            yield case(f"entries near {height:g}, {dtype}", blocks=blocks, dtype=dtype, **alone)
    for high, name in ((3e38, "an entry of 3e38"), (-2e38, "an entry of -2e38")):
        blocks = [torch.where(block == 0, high, -3e38) for block in far_apart(case.draw)]
        yield case(f"{name} in each row, the others -3e38", blocks=blocks, **alone)


def blocks_of_minus_infinity(case, sizes):
    """Yield blocks that are -inf as a whole, or in some rows, and rows of -inf only.

    A block that a mask hides is -inf. Gradients of rows with a finite entry are compared.
    """
    draw, masks = case.draw, {"check": "masks", **sizes}
    hidden = INFINITE
    for name, offsets in (
        ("the first block", (hidden, 0, 0)),
        ("a block in the middle", (0, hidden, 1)),
        ("the last block", (0, 1, hidden)),
        ("all blocks but the last", (hidden, hidden, -3)),
    ):
        yield case(f"{name} of -inf", offsets=offsets, **masks)
    for dtype in ("bfloat16", "float64"):
        name = f"the first block of -inf, {dtype}"
        yield case(name, offsets=(hidden, 0, 2), dtype=dtype, **masks)
    rows = torch.tensor([hidden, 0.0, 0.0, hidden, 0.0])[:, None]
    others = torch.tensor([0.0, hidden, 0.0, 0.0, hidden])[:, None]
    yield case("first blocks of -inf in some rows", offsets=(rows, 0, others), **masks)
    widths = (1,) * 6
    offsets = (hidden, 0, hidden, 2, hidden, hidden)
    yield case("blocks of 1, every second is -inf", widths=widths, offsets=offsets, **masks)
    single = [draw.normal(2, 5, width) for width in (3, 4, 2)]
    single = [block.masked_fill(~draw.keep(2, 5, block.shape[-1]), hidden) for block in single]
    yield case("some entries of every block are -inf", blocks=single, **masks)
    # A stand-in of 0 for the largest entry must not be kept: exp(-110) is 0 in float32.
    alone = {"gradients": False, **masks}
    first = torch.full((2, 5, 3), hidden)
    for height, dtype in (
        (-110, "float32"),
        (-1e4, "float32"),
        (110, "float32"),
        (-300, "bfloat16"),
        (-1e4, "float64"),
    ):
        blocks = [first, *(block + height for block in far_apart(draw))]
        yield case(
            f"-inf before entries near {height:g}, {dtype}", blocks=blocks, dtype=dtype, **alone
        )
    blocks = [block - 110 for block in far_apart(draw)]
    yield case("-inf between blocks near -110", blocks=[blocks[0], first, *blocks[1:]], **alone)
    # Rows of -inf only give zeros.
    blocks = [draw.normal(2, 5, width) + rows for width in (3, 4, 2)]
    yield case("some rows of -inf only", blocks=blocks, **alone)
    yield case("some rows of -inf only, bfloat16", blocks=blocks, dtype="bfloat16", **alone)
    nothing = [torch.full((2, 5, width), hidden) for width in (3, 1)]
    yield case("-inf everywhere", blocks=nothing, **alone)
    yield case("one block of -inf", blocks=nothing[:1], **alone)


def one_far_above(draw, width):
    """Return rows with a 0 at a random place and entries near -60 elsewhere."""
    place = draw.integers(2, 5, 1, high=width)
    return (draw.normal(2, 5, width) - 60).scatter(-1, place, 0.0)


def far_apart(draw):
    """Return three blocks that together have one entry far above the others in each row."""
    return one_far_above(draw, 9).split((3, 4, 2), dim=-1)


def realistic():
    """Return the call that is measured after a pass: logits whose vocabulary is split."""
    block = shaped(512, 32064)
    return realistic_call(
        "logits of 128,256 tokens in 4 blocks, 512 positions", blocks=(block, block, block, block)
    )
