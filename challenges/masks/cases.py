"""Cases for the usual masks, for one function at a time."""

from dataclasses import dataclass

import torch

from attn_drill.casekit import CaseMaker, realistic_call, shaped, suites


def drive(masks, given):
    """Call the function that the case names."""
    arguments = [value for name, value in given.inputs.items() if name != "function"]
    return {"mask": getattr(masks, given.function)(*arguments)}


@dataclass(frozen=True)
class MaskMaker(CaseMaker):
    """Make the cases of one function. `inputs` are its arguments in order: lengths and sizes."""

    function: str = ""

    def __call__(self, name, *, lengths=None, **more):
        """Return one case with these lengths, or with B random lengths."""
        inputs = {"function": self.function}
        if lengths is not None:
            more["B"] = len(lengths)
            inputs[next(iter(self.inputs))] = torch.as_tensor(lengths)
        ones = {letter: 1 for letter in ("B", "H", "Lq") if letter not in more}
        name = f"{self.function.split('_')[0]}: {name}"
        return super().__call__(name, inputs=inputs, gradients=False, **{**ones, **more})

    def drawn(self, sizes):
        """Return the arguments: lengths from 1 to Lk, with a 1 and an Lk among them, and sizes."""
        lengths = self.draw.integers(sizes["B"], low=1, high=sizes["Lk"] + 1)
        lengths[1:2] = 1
        lengths[-1] = sizes["Lk"]
        return {name: lengths if dims == "B" else sizes[dims] for name, dims in self.inputs.items()}


def cases(draw):
    """Yield the cases on which a submission runs."""

    def maker(function, inputs, **more):
        outputs = {"mask": "B H Lq Lk"}
        return MaskMaker(draw, inputs=inputs, outputs=outputs, function=function, **more)

    of_batch = {"lengths": "B", "max_len": "Lk"}
    padding = maker("padding_mask", of_batch)
    causal = maker("causal_mask", {"q_len": "Lq", "k_len": "Lk"})
    decoder = maker("decoder_mask", of_batch, products={"Lq": "Lk"})
    of_both = {"src_lengths": "B", "tgt_len": "Lq", "src_len": "Lk"}
    cross = maker("cross_attention_mask", of_both)
    drawn = draw.sizes(B=(2, 5), Lq=(2, 6), Lk=(7, 15))
    of_keys = {"B": drawn["B"], "Lk": drawn["Lk"]}
    yield padding("lengths 3, 1, 5 of 5", lengths=[3, 1, 5], Lk=5)
    yield padding("no item is as long as the maximum", lengths=[2, 4, 1, 4], Lk=7)
    yield padding("every item is full", lengths=[6, 6], Lk=6)
    yield padding("one item", lengths=[4], Lk=9)
    yield padding("a maximum of 1", lengths=[1, 1, 1], Lk=1)
    yield padding("as many items as positions", B=5, Lk=5, equal="B Lk")
    yield padding("random sizes", **of_keys)
    yield causal("5 queries, 5 keys", Lq=5, Lk=5, equal="Lq Lk")
    yield causal("3 queries, 7 keys", Lq=3, Lk=7)
    yield causal("one query, 6 keys (a decode step)", Lq=1, Lk=6)
    yield causal("one query, one key", Lq=1, Lk=1)
    yield causal("6 queries, 7 keys", Lq=6, Lk=7)
    yield causal("random sizes", Lq=drawn["Lq"], Lk=drawn["Lk"])
    yield decoder("lengths 3, 1, 6 of 6", lengths=[3, 1, 6], Lk=6)
    yield decoder("no item is as long as the maximum", lengths=[2, 4, 1, 3], Lk=7)
    yield decoder("every item is full", lengths=[5, 5], Lk=5)
    yield decoder("as many items as positions", B=4, Lk=4, equal="B Lk")
    yield decoder("one item", lengths=[2], Lk=5)
    yield decoder("one item of one position", lengths=[1], Lk=1)
    yield decoder("random sizes", **of_keys)
    yield cross("lengths 3, 1, 5 of 5, 4 targets", lengths=[3, 1, 5], Lq=4, Lk=5)
    yield cross("more targets than source positions", lengths=[2, 4, 3, 1], Lq=9, Lk=5)
    yield cross("one item", lengths=[2], Lq=3, Lk=5)
    yield cross("one target", lengths=[4, 2], Lq=1, Lk=6)
    yield cross("one source position", lengths=[1, 1], Lq=3, Lk=1)
    name = "as many items as targets and source positions"
    yield cross(name, B=4, Lq=4, Lk=4, equal="B Lq Lk")
    yield cross("as many targets as items", B=3, Lq=3, Lk=5, equal="B Lq")
    yield cross("random sizes", **drawn)
    # Small integers, half precision and tables of a fixed size fail at these lengths: from 2048 on
    # float16 has only even numbers, and 2049 + 4n becomes 2048 + 4n.
    lengths = 2049 + 4 * draw.integers(4, high=12)
    yield padding("a maximum of 2100", lengths=lengths, Lk=2100)
    yield causal("3 queries, 2099 keys", Lq=3, Lk=2099)
    yield causal("300 queries, 302 keys", Lq=300, Lk=302)
    yield cross("300 targets", lengths=draw.integers(2, low=1, high=6), Lq=300, Lk=5)
    name = "a maximum of 300"
    yield decoder(name, lengths=draw.integers(3, low=257, high=300), Lk=300)
    yield cross("2100 source positions", lengths=lengths, Lq=3, Lk=2100)
    strided = {"layout": {"lengths": "strided", "src_lengths": "strided"}, "check": "properties"}
    yield padding("part of a larger tensor", B=4, Lk=7, **strided)
    yield decoder("part of a larger tensor", B=3, Lk=6, **strided)
    same = {"lengths": torch.tensor([4]).expand(4), "layout": {"lengths": "expanded"}}
    yield decoder("one length for all items (expanded)", check="properties", Lk=5, **same)
    yield cross("part of a larger tensor", B=3, Lq=4, Lk=6, **strided)
    # No other case has these lengths, because a stored mask would need no operations.
    for case, small, large in (
        (padding, {"B": 2, "Lk": 17}, {"B": 9, "Lk": 27}),
        (causal, {"Lq": 3, "Lk": 18}, {"Lq": 10, "Lk": 28}),
        (decoder, {"B": 2, "Lk": 16}, {"B": 9, "Lk": 26}),
        (cross, {"B": 2, "Lq": 3, "Lk": 19}, {"B": 9, "Lq": 10, "Lk": 29}),
    ):
        yield from suites.growth(case, "everything", small, large)


def realistic():
    """Return the call that is measured after a pass: the mask of a decoder for one sequence."""
    return realistic_call(
        "decoder_mask, B = 1, L = 2048",
        function="decoder_mask",
        lengths=shaped(1, dtype="int64"),
        max_len=2048,
    )
