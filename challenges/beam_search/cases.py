"""Cases for beam search: a small model with a cache notes how it is called.

S is the number of states of the model, T the length of the result, P that of the longest text, and
K the number of beams. No case has a tie: all sums and scores that are compared differ clearly.
"""

import math
from dataclasses import dataclass, replace

import torch

from attn_drill.casekit import CaseMaker
from attn_drill.worker.returns import unpack

STATES = 199
MOST_LETTERS = 160  # of a note; only notes of wrong calls are longer
SIZES = {"L": 5, "V": 11, "K": 3}


@dataclass(frozen=True)
class Cache:
    """The cache of the model: the history of each row.

    Attributes:
        states: the sums of the codes of all tokens, [n].
        seen: all tokens, [n, t].
    """

    states: torch.Tensor
    seen: torch.Tensor

    def __bool__(self):
        """Return False: a cache is any object, so only None may mean that there is no cache."""
        return False


class Model:
    """A model whose logits depend on all tokens so far and on their order.

    Args:
        given: the inputs: `table` [S, V], the logits of every state, and `codes` [P, V], a code for
            each token at each position. If `coarse` is among them, the logits are bfloat16.
    """

    def __init__(self, given):
        self.table, self.codes = given.table, given.codes
        if "coarse" in given.inputs:
            self.table = self.table.bfloat16()
        self.most_calls = given.new + 40
        self.fed, self.histories, self.returned = [], [], []

    def step(self, tokens, cache, /):
        """Return the logits [n, t, V] of the tokens [n, t], and the cache with these tokens."""
        self.check(tokens, cache)
        start = 0 if cache is None else cache.seen.shape[1]
        seen = tokens.clone() if cache is None else torch.cat([cache.seen, tokens], dim=1)
        places = start + torch.arange(tokens.shape[1])
        sums = self.codes[places % len(self.codes), tokens].cumsum(1)
        if cache is not None:
            sums = sums + cache.states[:, None]
        self.fed.append(f"{tokens.shape[0]} x {tokens.shape[1]}")
        self.histories.append(seen)
        logits = self.table[sums % len(self.table)]
        self.returned.append((logits, logits.clone()))
        return logits, Cache(sums[:, -1], seen)

    def reorder(self, cache, rows, /):
        """Return a cache of these rows; a row may occur several times, or not at all."""
        if not isinstance(cache, Cache):
            kind = type(cache).__name__
            raise TypeError(f"reorder needs a cache that step or reorder has returned, not {kind}")
        if isinstance(rows, torch.Tensor) and rows.numel() == 0:
            rows = rows.long()  # torch.tensor([]) is float32; after the end, no row is left
        if not isinstance(rows, torch.Tensor) or rows.dtype != torch.int64 or rows.dim() != 1:
            raise TypeError(f"reorder needs rows as an int64 tensor [n], not {in_words(rows)}")
        if rows.numel() and not 0 <= int(rows.min()) <= int(rows.max()) < len(cache.seen):
            found = f"the cache has {len(cache.seen)} rows, but the rows are {rows.tolist()}"
            raise IndexError(f"reorder: {found}")
        return Cache(cache.states[rows], cache.seen[rows])

    def check(self, tokens, cache):
        """Raise an exception if a real model could not be called like this."""
        if not isinstance(tokens, torch.Tensor) or tokens.dtype != torch.int64:
            raise TypeError(f"step needs an int64 tensor of tokens, not {in_words(tokens)}")
        if tokens.dim() != 2 or 0 in tokens.shape:
            raise ValueError(f"step needs tokens [n, t], not {list(tokens.shape)}")
        if cache is not None and not isinstance(cache, Cache):
            kind = type(cache).__name__
            raise TypeError(f"step needs None or a cache, not {kind}")
        if cache is not None and len(cache.seen) != len(tokens):
            found = f"{len(tokens)} rows of tokens, but the cache has {len(cache.seen)}"
            raise ValueError(f"step gets {found}")
        if len(self.fed) >= self.most_calls:
            raise RuntimeError(f"step is called more than {self.most_calls} times")

    def notes(self, length, calls):
        """Return in words how the model was called; see `note_names`.

        The rows of a call may have any order. Only tokens after the prompt are shown.
        """
        notes = dict.fromkeys(note_names(calls), "no call")
        notes["rows x tokens of each call"] = ", ".join(self.fed) or "no call"
        for call, seen in enumerate(self.histories[1:calls], start=2):
            rows = sorted(seen[:, length:].tolist())
            words = " | ".join(" ".join(map(str, row)) for row in rows)
            notes[f"hypotheses in call {call}"] = words
        return {name: note[:MOST_LETTERS] for name, note in notes.items()}

    def kept(self):
        """Return in words whether all logits that step has returned are still the same."""
        same = all(torch.equal(logits, first) for logits, first in self.returned)
        return "as they were" if same else "changed in place"


def note_names(calls):
    """Return the names of the notes of a search with this number of calls."""
    each = [f"hypotheses in call {call}" for call in range(2, calls + 1)]
    return ["rows x tokens of each call", *each]


def in_words(value):
    """Return the dtype and shape of a tensor, or the type of another value."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}"
    return type(value).__name__


def drive(beam_search, given):
    """Search with a new model, and note its calls."""
    model = Model(given)
    torch.manual_seed(0)  # tokens that are wrongly drawn at random are the same in each run
    names = ("eos", "length_penalty")
    named = {name: given.inputs[name] for name in names if name in given.inputs}
    length = given.tokens.shape[1]
    arguments = given.tokens, given.num_beams, given.new
    found = beam_search(model.step, model.reorder, *arguments, **named)
    tokens, score = unpack(found, "tokens", "score")
    is_float = isinstance(score, float)
    kind = "float" if is_float else type(score).__name__
    outputs = {"tokens": tokens, "type of the score": kind, **model.notes(length, given.calls)}
    if "keeps_logits" in given.inputs:
        outputs["logits of the model"] = model.kept()
    if given.scored:
        outputs["score"] = torch.tensor(score, dtype=given.table.dtype) if is_float else score
    return outputs


class SearchMaker(CaseMaker):
    """Make cases with drawn models and prompts."""

    def __call__(
        self,
        name,
        *,
        new,
        tokens=None,
        eos="left out",
        ends=None,
        wins=0,
        penalty=None,
        others=(),
        outdone=False,
        scale=1.5,
        offset=0.0,
        always=None,
        lead=None,
        coarse=False,
        keeps_logits=False,
        scored=True,
        layout=None,
        **more,
    ):
        """Return one case.

        Args:
            name: the name of the case.
            new: the argument max_new_tokens.
            tokens: the prompt, if it is not drawn.
            eos: the token, or None.
            ends: for each step that is made, the number of hypotheses that end there; None if no
                hypothesis ends.
            wins: the number of new tokens of the result if it has ended; 0 if it is live.
            penalty: the argument length_penalty; None to leave it out.
            others: length penalties that must give another result.
            outdone: True if a hypothesis must end whose sum is smaller than that of num_beams
                continuations in a later step.
            scale: the standard deviation of the logits.
            offset: a number that is added to all logits.
            always: a token that is likely after all histories.
            lead: the distance of its logit from the others; half of `scale` if it is left out.
            coarse: True if the logits are bfloat16 although the score is compared like float32.
            keeps_logits: True if the logits that step has returned must stay the same.
            scored: False if the score is not compared.
            layout: the memory layout of the prompt.
            more: sizes, and further arguments of a case.
        """
        length, vocabulary, beams = (more[letter] for letter in "LVK")
        plan = [0] * new if ends is None else ends
        if tokens is None:
            tokens = self.prompt(length, vocabulary, eos)
        usual = 1.0 if penalty is None else float(penalty)
        wanted = Wanted(plan, wins, usual, others, scored, outdone)
        low, high = (-2.0, 0.0) if outdone else (-0.5, 3.0)
        while True:
            table, codes = self.model(length + new + 1, vocabulary, scale, eos)
            if always is not None:
                above = scale / 2 if lead is None else lead
                table[:, always] = (table.amax(dim=1) + above).bfloat16().double()
            random = {
                "orders": self.draw.normal(new, beams).argsort(-1).tolist(),
                "bonuses": self.draw.uniform(new, beams, low=low, high=high).tolist(),
            }
            search = PlainSearch(table, codes, tokens, beams, eos)
            if search.fits(wanted, scale, **random):
                break
        given = {"tokens": tokens, "num_beams": beams, "new": new, "calls": len(plan)}
        given |= {"table": search.table() + offset, "codes": codes, "scored": int(scored)}
        given |= {"coarse": 1} if coarse else {}
        given |= {"keeps_logits": 1} if keeps_logits else {}
        given |= {} if eos == "left out" else {"eos": eos}
        given |= {} if penalty is None else {"length_penalty": penalty}
        made = super().__call__(
            name,
            inputs=given,
            outputs={"tokens": "T"} | ({"score": ""} if scored else {}),
            layout=None if layout is None else {"tokens": layout},
            more_sizes={"T": length + (wins or len(plan))},
            gradients=False,
            **more,
        )
        noted = ["type of the score", *note_names(len(plan))]
        noted += ["logits of the model"] if keeps_logits else []
        return replace(made, plain=dict.fromkeys(noted, "str"))

    def prompt(self, length, vocabulary, eos):
        """Return a prompt [1, L] without eos."""
        if not isinstance(eos, int):
            return self.draw.integers(1, length, high=vocabulary)
        others = self.draw.integers(1, length, high=vocabulary - 1)
        return others + (others >= eos)

    def model(self, length, vocabulary, scale, eos):
        """Return the tensors of a model. bfloat16 holds all logits exactly. Eos is unlikely."""
        table = self.draw.normal(STATES, vocabulary, scale=scale)
        if isinstance(eos, int):
            table[:, eos] = -6 * scale
        codes = self.draw.integers(length, vocabulary, high=STATES)
        return table.bfloat16().double(), codes


@dataclass(frozen=True)
class Wanted:
    """The course of a search that a case asks for; see `SearchMaker`."""

    ends: list
    wins: int
    penalty: float
    others: tuple
    scored: bool
    outdone: bool


class PlainSearch:
    """A beam search in plain Python, which makes hypotheses end as a case plans it."""

    def __init__(self, table, codes, tokens, beams, eos):
        self.logits, self.codes, self.eos, self.beams = table.tolist(), codes.tolist(), eos, beams
        self.length = tokens.shape[1]
        self.start = sum(int(codes[place, token]) for place, token in enumerate(tokens[0]))

    def table(self):
        """Return the logits of every state, [S, V]."""
        return torch.tensor(self.logits, dtype=torch.float64)

    def fits(self, wanted, scale, orders, bonuses):
        """Make hypotheses end, and return whether the course is as wanted, without near ties."""
        self.search(wanted, scale, list(zip(orders, bonuses, strict=True)))
        ends, candidates, gap, outdone = self.search(wanted, scale, None)
        if outdone < wanted.outdone or ends != wanted.ends or gap < 0.01 * min(1.0, scale):
            return False
        score, made, has_ended, best = winner(candidates, wanted.penalty)
        scores = sorted(total / count**wanted.penalty for total, count, _, _ in candidates)
        is_clear = len(scores) == 1 or scores[-1] - scores[-2] > 0.002 * min(1.0, scale)
        is_planned = (made if has_ended else 0) == wanted.wins
        differ = all(winner(candidates, other)[3] != best for other in wanted.others)
        is_measured = score < -0.1 or not wanted.scored
        return is_clear and is_planned and differ and is_measured

    def search(self, wanted, scale, random):
        """Search, and return the ends of each step, all candidates, and the smallest gap.

        The fourth result is True if an ended hypothesis is outdone; see `SearchMaker`. A candidate
        is (sum, number of new tokens, whether it has ended, new tokens). With `random`, logits of
        eos are raised first where hypotheses are to end.
        """
        live, finished, ends = [(0.0, self.start % STATES, ())], [], []
        gap, outdone = math.inf, False
        for made, planned in enumerate(wanted.ends, start=1):
            if random is not None and planned:
                order, bonuses = random[made - 1]
                chosen = [index for index in order if index < len(live)][:planned]
                for index in chosen:
                    row = self.logits[live[index][1]]
                    row[self.eos] = rounded(max(row) + scale * bonuses[index])
            options = []
            for total, state, tokens in live:
                row = self.logits[state]
                largest = max(row)
                norm = largest + math.log(sum(math.exp(logit - largest) for logit in row))
                for token, logit in enumerate(row):
                    options.append((total + logit - norm, state, (*tokens, token)))
            options.sort(reverse=True)
            last, next_best = options[self.beams - 1][0], options[self.beams][0]
            gap = min(gap, last - next_best)
            outdone = outdone or any(last > total for total, _, _, _ in finished)
            live = []
            ends.append(0)
            for total, state, tokens in options[: self.beams]:
                if tokens[-1] == self.eos:
                    finished.append((total, made, True, tokens))
                    ends[-1] += 1
                else:
                    code = self.codes[self.length + made - 1][tokens[-1]]
                    live.append((total, (state + code) % STATES, tokens))
            if len(finished) >= self.beams:
                break
        candidates = finished + [(total, made, False, tokens) for total, _, tokens in live]
        return ends, candidates, gap, outdone


def rounded(number):
    """Return a number that bfloat16 holds exactly."""
    return float(torch.tensor(number).bfloat16())


def winner(candidates, penalty):
    """Return (score, number of new tokens, whether it has ended, new tokens) of the best."""
    return max(
        (total / made**penalty, made, ended, best) for total, made, ended, best in candidates
    )


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = SearchMaker(draw, inputs={}, outputs={})
    yield case("three beams, four tokens", new=4, **SIZES)
    yield case("one token", new=1, **SIZES)
    yield case("two tokens", new=2, **SIZES)
    yield case("two beams", new=4, **{**SIZES, "K": 2})
    yield case("one beam: greedy", new=4, **{**SIZES, "K": 1})
    yield case("five beams, ten tokens in the vocabulary", new=4, L=4, V=10, K=5)
    yield case("two beams, four tokens in the vocabulary", new=5, L=3, V=4, K=2)
    yield case("one beam, two tokens in the vocabulary", new=3, L=4, V=2, K=1)
    yield case("a prompt of one token", new=4, L=1, V=8, K=3)
    yield case("one token after a prompt of one token, one beam", new=1, L=1, V=6, K=1)
    yield case("more new tokens than the prompt has", new=8, L=3, V=10, K=4)
    yield case("as many beams as tokens in the prompt", new=4, L=4, V=9, K=4, equal="L K")
    yield case("a vocabulary of 60 tokens", new=3, L=4, V=60, K=5)
    sizes = draw.sizes(L=(5, 8), V=(9, 15), K=(2, 4))
    yield case("random sizes", new=4, **sizes)
    yield case("eos=None", new=3, eos=None, **SIZES)
    yield case("token 0 is likely, no eos", new=4, always=0, **SIZES)
    yield from ends_of_hypotheses(case)
    yield from length_penalties(case)
    yield from eos_in_the_prompt(case)
    ends = {"ends": [0, 1, 0], "eos": 3, "wins": 2}
    for dtype in ("float64", "bfloat16"):
        yield case(f"{dtype}, no eos", new=3, dtype=dtype, **SIZES)
        yield case(f"{dtype}, with eos", new=3, dtype=dtype, **ends, **SIZES)
    # The score is a Python float, so all its digits are compared.
    yield case("bfloat16 logits, a score with all digits", new=3, coarse=True, **ends, **SIZES)
    # bfloat16 holds these logits, but not their log probabilities.
    close = {"scale": 1 / 64}
    yield case("bfloat16, nearly equal logits", new=4, coarse=True, **close, **SIZES)
    yield case("nearly equal logits", new=4, **close, **SIZES)
    # exp overflows for all of them, and half precision makes most of them equal. A right score
    # loses some digits.
    high = {"L": 4, "V": 20, "K": 6, "scale": 0.5, "offset": 1000}
    yield case("logits near 1000", new=4, scored=False, **high)
    # One probability is 1. The others are 0 in float32, and in the second case in float64, too, so
    # that their logarithms are -inf.
    far = {"L": 4, "V": 11, "K": 5, "always": 4}
    yield case("logits that are far apart", new=4, lead=300, scored=False, **far)
    yield case("logits that are almost 1000 apart", new=4, lead=950, scored=False, **far)
    more = {"new": 4, "ends": [0, 1, 0, 0], "eos": 3, "wins": 2, "check": "properties"}
    yield case("a prompt in a larger tensor", layout="strided", **more, **SIZES)
    yield case("a model that keeps its logits", keeps_logits=True, **more, **SIZES)


def ends_of_hypotheses(case):
    """Yield hypotheses that end at different steps."""
    for name, new, ends, wins in (
        ("no hypothesis ends", 4, [0, 0, 0, 0], 0),
        ("one ends and wins", 4, [0, 1, 0, 0], 2),
        ("one ends, a live one wins", 4, [0, 1, 0, 0], 0),
        ("one ends at the first token and wins", 4, [1, 0, 0, 0], 1),
        ("one ends at the first token, a live one wins", 3, [1, 0, 0], 0),
        ("one ends at the last token and wins", 4, [0, 0, 0, 1], 4),
        ("one ends at the last token, a live one wins", 3, [0, 0, 1], 0),
        ("two end at the last token, a live one wins", 3, [0, 0, 2], 0),
        ("two end at different steps, the first wins", 5, [0, 1, 1, 0, 0], 2),
        ("two end at different steps, the second wins", 5, [0, 1, 1, 0, 0], 3),
        ("two end at different steps, a live one wins", 4, [1, 0, 1, 0], 0),
        ("three of three have ended, the last of them wins", 7, [0, 1, 1, 1], 4),
        ("three of three have ended, the first of them wins", 7, [0, 1, 1, 1], 2),
        ("three of three have ended, a live one wins", 7, [0, 1, 1, 1], 0),
        ("three end at the same step", 6, [0, 0, 3], 3),
        ("four of three have ended", 6, [0, 2, 0, 2], 4),
        ("the last token makes three of three", 4, [1, 0, 1, 1], 4),
        ("one has ended, then three", 7, [0, 1, 0, 3], 4),
    ):
        yield case(f"{name}, eos=3", new=new, ends=ends, wins=wins, eos=3, **SIZES)
    yield case("one ends and wins, eos=0", new=4, ends=[0, 1, 0, 0], wins=2, eos=0, **SIZES)
    yield case("three of three have ended, eos=0", new=6, ends=[1, 1, 1], wins=3, eos=0, **SIZES)
    yield case("three have ended, eos=10 of 11", new=6, ends=[0, 2, 1], wins=3, eos=10, **SIZES)
    greedy = {"L": 4, "V": 9, "K": 1}
    yield case("one beam ends, eos=2", new=6, ends=[0, 0, 1], wins=3, eos=2, **greedy)
    yield case("one beam ends at once, eos=2", new=4, ends=[1], wins=1, eos=2, **greedy)
    yield case("one token, which is eos for the best", new=1, ends=[1], wins=1, eos=3, **SIZES)
    several = {"new": 7, "ends": [1, 0, 2, 0, 1, 0, 0], "eos": 4}
    ends = {"new": 4, "ends": [1, 0, 0, 0], "eos": 3}
    yield case("one ends with a small sum, eos=3", outdone=True, **ends, **SIZES)
    yield case("four of five beams have ended", wins=3, L=3, V=12, K=5, **several)


def length_penalties(case):
    """Yield length penalties that decide which hypothesis wins."""
    ends = {"new": 5, "ends": [0, 1, 1, 0, 0], "eos": 3}
    for penalty, wins, others in (
        (0, 2, (1.0,)),
        (0.5, 2, (1.0,)),
        (0.6, 3, (0.0, 1.0)),
        (2.0, 0, (0.0, 1.0)),
        (1.0, 0, (0.0,)),
    ):
        name = f"length_penalty={penalty}, {ends_in_words(wins)}"
        yield case(name, penalty=penalty, wins=wins, others=others, **ends, **SIZES)
    yield case("length_penalty=0.0, no eos", new=4, penalty=0.0, **SIZES)
    yield case("length_penalty=2.0, no eos", new=3, penalty=2.0, **SIZES)


def ends_in_words(wins):
    """Return in words which hypothesis wins."""
    return f"one of {wins} tokens wins" if wins else "a live one wins"


def eos_in_the_prompt(case):
    """Yield prompts that contain eos, which does not end a hypothesis."""
    inside = case.prompt(5, 11, 3)
    inside[0, 2] = 3
    yield case("eos inside the prompt", new=3, tokens=inside, eos=3, **SIZES)
    last = case.prompt(5, 11, 3)
    last[0, -1] = 3
    more = {"new": 4, "tokens": last, "eos": 3}
    yield case("eos at the end of the prompt", ends=[0, 1, 0, 0], wins=2, **more, **SIZES)
