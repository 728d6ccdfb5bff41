"""Cases for greedy generation: a small model with a cache notes how it is called.

S is the number of states of the model, T the length of the result and P that of the longest.
"""

from dataclasses import dataclass, replace

import torch

from attn_drill.casekit import CaseMaker, realistic_call, shaped, suites

STATES = 97
WORDS = ("tokens per call", "tokens fed", "cache of each call")
SIZES = {"B": 4, "L": 5, "V": 11}


@dataclass(frozen=True)
class Cache:
    """The cache of the model: a number for the history of each sequence.

    Attributes:
        call: the number of the call that returned the cache, from 1.
        length: the number of tokens in the cache.
        states: the sums of the codes of all tokens, [B].
    """

    call: int
    length: int
    states: torch.Tensor

    def __bool__(self):
        """Return False: a cache is any object, so only None may mean that there is no cache."""
        return False


class Model:
    """A model whose logits depend on all tokens so far and on their order.

    Args:
        given: the inputs: `table` [S, V], the logits of every state; `codes` [P, V], a code for
            each token at each position; `ends` [B], the calls that predict eos, from 1. The number
            of the call decides, so that a wrong cache does not change the shape of the result.
    """

    def __init__(self, given):
        self.table, self.codes, self.ends = given.table, given.codes, given.ends
        self.eos = given.inputs.get("eos")
        self.most_calls = given.new + 40
        self.fed, self.given_caches = [], []

    def step(self, tokens, cache, /):
        """Return the logits [B, n, V] of the tokens [B, n], and the cache with these tokens."""
        self.check(tokens, cache)
        self.fed.append(tokens.detach().clone())
        self.given_caches.append("none" if cache is None else str(cache.call))
        start = 0 if cache is None else cache.length
        places = start + torch.arange(tokens.shape[1], device=tokens.device)
        sums = self.codes[places % len(self.codes), tokens].cumsum(1)
        if cache is not None:
            sums = sums + cache.states[:, None]
        logits = self.table[sums % len(self.table)]
        if self.eos is not None:
            ends_now = (self.ends == len(self.fed)).to(logits.dtype)
            logits[..., self.eos] = 200 * ends_now[:, None] - 100
        return logits, Cache(len(self.fed), start + tokens.shape[1], sums[:, -1])

    def check(self, tokens, cache):
        """Raise an exception if a real model could not be called like this."""
        if not isinstance(tokens, torch.Tensor) or tokens.dtype != torch.int64:
            raise TypeError("step needs a tensor of int64 tokens")
        if tokens.dim() != 2 or 0 in tokens.shape:
            raise ValueError(f"step needs tokens [B, n], not {list(tokens.shape)}")
        if cache is not None and not isinstance(cache, Cache):
            kind = type(cache).__name__
            raise TypeError(f"step needs None or a cache that it has returned, not a {kind}")
        if cache is not None and len(cache.states) != len(tokens):
            found = f"{len(tokens)} sequences, but the cache has {len(cache.states)}"
            raise ValueError(f"step gets {found}")
        if len(self.fed) >= self.most_calls:
            raise RuntimeError(f"step is called more than {self.most_calls} times")

    def notes(self, prompt, result):
        """Return in words how the model was called, by the names of `WORDS`."""
        counts = " ".join(str(tokens.shape[1]) for tokens in self.fed)
        return {
            "tokens per call": counts or "no call",
            "tokens fed": self.fed_in_words(prompt, result),
            "cache of each call": " ".join(self.given_caches) or "no call",
        }

    def fed_in_words(self, prompt, result):
        """Return "as asked", or the first call that gets other tokens."""
        if self.fed and not torch.equal(self.fed[0], prompt):
            return "call 1 does not get the prompt"
        for call, tokens in enumerate(self.fed[1:], start=2):
            end = prompt.shape[1] + call - 1
            if not torch.equal(tokens, result[:, end - 1 : end]):
                return f"call {call} does not get the newest tokens"
        return "as asked"


def drive(generate, given):
    """Generate with a new model, and note its calls."""
    model = Model(given)
    prompt = given.tokens.clone()
    torch.manual_seed(0)  # tokens that are wrongly drawn at random are the same in each run
    named = {"eos": given.eos} if "eos" in given.inputs else {}
    result = generate(model.step, given.tokens, given.new, **named)
    if not given.noted:
        return {"tokens": result}
    is_table = isinstance(result, torch.Tensor) and result.dim() == 2
    return {"tokens": result, **model.notes(prompt, result if is_table else prompt)}


class GenerationMaker(CaseMaker):
    """Make cases with drawn models and prompts."""

    def __call__(
        self,
        name,
        *,
        new,
        tokens=None,
        ends=None,
        eos="left out",
        always=None,
        scale=1.0,
        offset=0.0,
        layout=None,
        **more,
    ):
        """Return one case.

        Args:
            name: the name of the case.
            new: the argument max_new_tokens.
            tokens: the prompts, if they are not drawn.
            ends: for each sequence the number of its new token that is eos, from 1; 0 for a
                sequence that does not end. None if no sequence ends.
            eos: the token, or None.
            always: a token that is the most likely one after all tokens.
            scale: a factor for all logits that are drawn; the logits of eos do not change.
            offset: a number that is added to all these logits.
            layout: the memory layout of the prompts.
            more: sizes, and further arguments of a case.
        """
        batch, length, vocabulary = (more[letter] for letter in "BLV")
        ends = [0] * batch if ends is None else ends
        last = new if min(ends) == 0 else min(new, max(ends))
        given = {"tokens": self.prompts(more, eos) if tokens is None else tokens}
        given |= self.model(length + new + 1, vocabulary)
        if always is not None:
            given["table"][:, always] = given["table"].amax(dim=1) + 0.5
        given["table"] = scale * given["table"] + offset
        given |= {"ends": torch.tensor(ends), "new": new, "noted": 1}
        given |= {} if eos == "left out" else {"eos": eos}
        made = super().__call__(
            name,
            inputs=given,
            layout=None if layout is None else {"tokens": layout},
            more_sizes={"T": length + last, **more.pop("more_sizes", {})},
            gradients=False,
            **more,
        )
        return replace(made, plain=dict.fromkeys(WORDS, "str"))

    def prompts(self, sizes, eos):
        """Return prompts [B, L] without eos."""
        batch, length, vocabulary = (sizes[letter] for letter in "BLV")
        if not isinstance(eos, int):
            return self.draw.integers(batch, length, high=vocabulary)
        others = self.draw.integers(batch, length, high=vocabulary - 1)
        return others + (others >= eos)

    def model(self, length, vocabulary):
        """Return the tensors of a model. All logits of a state are at least 1/2 apart."""
        ranks = self.draw.normal(STATES, vocabulary).argsort(-1).argsort(-1)
        shifts = self.draw.integers(STATES, 1, low=-2 * vocabulary, high=3)
        codes = self.draw.integers(length, vocabulary, high=STATES)
        return {"table": ((ranks + shifts) / 2).double(), "codes": codes}


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = GenerationMaker(draw, inputs={}, outputs={"tokens": "B T"})
    yield case("four tokens", new=4, **SIZES)
    yield case("one token", new=1, **SIZES)
    yield case("two tokens", new=2, **SIZES)
    yield case("no token", new=0, **SIZES)
    yield case("one sequence", new=5, B=1, L=4, V=9)
    yield case("a prompt of one token", new=4, B=3, L=1, V=8)
    yield case("one sequence, a prompt of one token, one new token", new=1, B=1, L=1, V=6)
    yield case("more new tokens than the prompt has", new=12, B=3, L=2, V=10)
    yield case("as many sequences as tokens in a prompt", new=3, B=4, L=4, V=9, equal="B L")
    yield case("all sizes equal", new=5, B=5, L=5, V=5, equal="B L V")
    yield case("many sequences", new=3, B=19, L=6, V=13)
    sizes = draw.sizes(B=(2, 6), L=(3, 8), V=(9, 15))
    yield case("random sizes", new=4, **sizes)
    yield case("eos=None", new=3, eos=None, **SIZES)
    yield case("every new token is 0, no eos", new=4, always=0, **SIZES)
    yield case("every new token is 0, eos=None", new=4, always=0, eos=None, **SIZES)
    yield from ends_of_sequences(case)
    yield from eos_in_the_prompt(case)
    for dtype in ("float64", "bfloat16"):
        yield case(f"{dtype}, no eos", new=3, dtype=dtype, **SIZES)
        yield case(f"{dtype}, with eos", new=4, dtype=dtype, eos=3, ends=[2, 3, 1, 3], **SIZES)
    # exp overflows for all of them, so that all tokens would be equally likely.
    yield case("logits near 110, no eos", new=4, offset=110, **SIZES)
    # float16 and bfloat16 do not hold these logits.
    close = {"scale": 1 / 256, "offset": 10}
    yield case("nearly equal logits, no eos", new=4, **close, **SIZES)
    yield from layouts(case)
    # B and L grow, the number of steps does not.
    small, large = {"B": 2, "L": 4, "V": 7}, {"B": 9, "L": 23}
    yield from suites.growth(case, "batch and prompt", small, large, new=3)
    # A loop that asks whether all sequences have ended may stop at the first that has not.
    small, large = small | {"ends": [1, 0]}, large | {"ends": [1] * 8 + [0]}
    yield from suites.growth(case, "batch and prompt, with eos", small, large, new=3, eos=2)


def ends_of_sequences(case):
    """Yield sequences that produce eos at different steps."""
    for name, new, ends in (
        ("no sequence ends", 4, [0, 0, 0, 0]),
        ("the first sequence ends", 5, [2, 0, 0, 0]),
        ("the last sequence ends", 5, [0, 0, 0, 2]),
        ("all but one sequence end", 6, [2, 1, 0, 3]),
        ("all sequences end, the first of them last", 8, [4, 1, 2, 3]),
        ("all sequences end, the last of them last", 8, [1, 3, 2, 5]),
        ("all sequences end at the third token", 7, [3, 3, 3, 3]),
        ("all sequences end at the first token", 5, [1, 1, 1, 1]),
        ("all sequences end, the last of them at the last token", 4, [2, 1, 4, 3]),
        ("some sequences would end after the last token", 3, [2, 5, 1, 4]),
    ):
        yield case(f"{name}, eos=3", new=new, ends=ends, eos=3, **SIZES)
    ends = {"new": 6, "ends": [3, 1, 0, 2]}
    yield case("some sequences end, eos=0", eos=0, **ends, **SIZES)
    yield case("some sequences end, eos=10 of 11", eos=10, **ends, **SIZES)
    ends = {"new": 6, "ends": [3, 1, 4, 2]}
    yield case("all sequences end, eos=0", eos=0, **ends, **SIZES)
    yield case("all sequences end, eos=10 of 11", eos=10, **ends, **SIZES)
    yield case("one sequence ends", new=6, ends=[3], eos=2, B=1, L=4, V=9)
    yield case("one new token, which is eos", new=1, ends=[1, 1, 1, 1], eos=3, **SIZES)
    yield case("one new token, eos for some", new=1, ends=[0, 1, 0, 1], eos=3, **SIZES)
    several = [2, 5, 1, 7, 3, 6, 4, 1, 2, 9]
    yield case("ten sequences end", new=12, ends=several, eos=4, B=10, L=3, V=12)
    yield case("no token, eos=3", new=0, eos=3, **SIZES)


def eos_in_the_prompt(case):
    """Yield prompts that contain eos, which does not end a sequence."""
    draw = case.draw
    inside = draw.integers(4, 5, high=11)
    inside[:2, 1:3] = 3
    yield case("eos inside some prompts", new=4, tokens=inside, eos=3, **SIZES)
    last = draw.integers(4, 5, high=11)
    last[:, -1] = 3
    yield case("eos at the end of all prompts", new=4, tokens=last, eos=3, **SIZES)
    some = draw.integers(4, 5, high=11)
    some[1:3, -1] = 3
    name = "eos at the end of some prompts, the others end"
    yield case(name, new=5, tokens=some, ends=[1, 0, 4, 2], eos=3, **SIZES)
    only = torch.full((4, 5), 3)
    yield case("prompts of eos only", new=5, tokens=only, ends=[2, 4, 3, 1], eos=3, **SIZES)
    yield case("no token, eos in all prompts", new=0, tokens=last, eos=3, **SIZES)


def layouts(case):
    """Yield prompts whose memory is not contiguous."""
    ends = {"new": 4, "ends": [2, 0, 1, 3], "eos": 3, "check": "properties"}
    yield case("prompts in a larger tensor", layout="strided", **ends, **SIZES)
    same = case.prompts({**SIZES, "B": 1}, 3).expand(4, 5)
    yield case("one prompt for all (expanded)", layout="expanded", tokens=same, **ends, **SIZES)
    parts = {"new": 3, "layout": "strided", "check": "properties"}
    yield case("prompts in a larger tensor, no eos", **parts, **SIZES)
    yield case("prompts in a larger tensor, no token", **{**parts, "new": 0}, **SIZES)


def realistic():
    """Return the call that is measured after a pass: 64 new tokens for 8 prompts."""
    return realistic_call(
        "8 prompts of 512 tokens, 64 new tokens, V = 32,000",
        tokens=shaped(8, 512, dtype="int64"),
        table=shaped(STATES, 32000),
        codes=shaped(577, 32000, dtype="int64"),
        ends=shaped(8, dtype="int64"),
        new=64,
        noted=0,
    )
