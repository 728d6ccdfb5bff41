"""Cases for the distribution of the next token: every option alone, and all of them together.

No case has a tie at a border: in a row, all logits are at least 1/8 apart, and no sum of
probabilities is near top_p. Only nearly equal logits are closer, in cases without top_k.
"""

import torch

from attn_drill.casekit import CaseMaker, Refusal, SecondCall, realistic_call, shaped, suites

STEP = 0.125  # all logits are multiples; bfloat16 holds them exactly up to 32
# The smallest and the largest distance of neighbours in steps, for each row in turn: nearly equal
# probabilities, a steep row, and a row between them.
DISTANCES = ((1, 3), (5, 10), (2, 6))
OPTIONS = ("temperature", "top_k", "top_p")


def drive(next_token_probabilities, given):
    """Call once or twice, with the options that the case names."""
    options = {name: given.inputs[name] for name in OPTIONS if name in given.inputs}
    found = next_token_probabilities(given.logits, **options)
    outputs = {"probabilities": found}
    if given.zeros:
        outputs["probabilities != 0"] = found != 0 if isinstance(found, torch.Tensor) else found
    if "later_logits" in given.inputs:
        outputs["later_probabilities"] = next_token_probabilities(given.later_logits, **options)
    return outputs


class OptionMaker(CaseMaker):
    """Make cases with options; None leaves an option out."""

    def __call__(self, name, *, logits=None, zeros=True, offset=0.0, later=None, **more):
        """Return one case with drawn logits, or with these logits.

        Args:
            name: the name of the case.
            logits: the logits, if they are not drawn.
            zeros: whether exactly the tokens that are not kept must have the probability 0. Turn
                this off if right probabilities are too small for their dtype.
            offset: a number, or a tensor that broadcasts, that is added to drawn logits.
            later: the batch size of a second call; None for a single call.
            more: options of the function, and further arguments of a case.
        """
        options = {key: more.pop(key) for key in OPTIONS if more.get(key) is not None}
        outputs = {"probabilities": "B V"} | ({"probabilities != 0": "B V"} if zeros else {})
        if logits is None:
            logits = clear_logits(self.draw, more["B"], more["V"], **options) + offset
        if later is not None:
            again = clear_logits(self.draw, later, more["V"], **options)
            more["later"] = SecondCall(sizes={"B": later}, inputs={"logits": again, **options})
        given = {"logits": logits, "zeros": int(zeros), **options}
        return super().__call__(name, inputs=given, outputs=outputs, gradients=False, **more)


def ladder(draw, batch, vocabulary):
    """Return rows of logits in random order; neighbours in size differ by one step or more."""
    rows = []
    for row in range(batch):
        low, high = DISTANCES[row % len(DISTANCES)]
        rungs = draw.integers(vocabulary, low=low, high=high + 1).cumsum(0)
        rungs -= rungs[vocabulary // 2] + draw.integers(1, low=-8, high=9)
        rows.append(rungs[draw.normal(vocabulary).argsort()])
    return STEP * torch.stack(rows).double()


def equal_steps(draw, batch, vocabulary, step):
    """Return rows of logits from 0 in random order; neighbours in size differ by one step."""
    return step * draw.normal(batch, vocabulary).argsort(-1).double()


def rare_last(logits, number):
    """Lower the logits from the token of this number on: it is the last kept, at about 1e-6."""
    ordered, order = logits.sort(dim=-1, descending=True)
    far = ordered[:, : number - 1].logsumexp(-1, keepdim=True) - 13.5
    ordered[:, number - 1 :] += far - ordered[:, number - 1 : number]
    return torch.empty_like(logits).scatter(-1, order, ordered)


def number_kept(logits, temperature=1.0, top_k=None, top_p=None):
    """Return for each row how many tokens are kept, and how near a border is to top_p."""
    ordered = (logits / temperature).sort(dim=-1, descending=True).values
    reached = ordered[:, :top_k].softmax(-1).cumsum(-1)
    return (reached < top_p).sum(-1) + 1, float((reached - top_p).abs().min())


def clear_logits(draw, batch, vocabulary, **options):
    """Return logits for which a wrong order of the steps keeps other tokens than the right order.

    Rows keep different numbers of tokens, and no sum of probabilities is near top_p.
    """
    top_k, top_p = options.get("top_k"), options.get("top_p")
    temperature = options.get("temperature", 1.0)
    while True:
        logits = ladder(draw, batch, vocabulary)
        if top_p is None or temperature == 0:
            return logits
        kept, distance = number_kept(logits, temperature, top_k, top_p)
        wrong = []  # the numbers of tokens with a wrong order of the steps
        if temperature != 1:
            wrong.append(number_kept(logits, 1.0, top_k, top_p)[0])
        if top_k is not None and top_k < vocabulary:
            wrong.append(number_kept(logits, temperature, None, top_p)[0].clamp(max=top_k))
        is_plain = batch == 1 or top_p < 0.1  # all rows may keep the same number
        if (
            distance > 0.2 / vocabulary
            and (is_plain or len(set(kept.tolist())) > 1)
            and not any(torch.equal(kept, other) for other in wrong)
        ):
            return logits


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = OptionMaker(draw, inputs={"logits": "B V"}, outputs={"probabilities": "B V"})
    sizes = {"B": 3, "V": 8}
    yield case("no options", **sizes)
    yield case("no options, one row", B=1, V=6)
    yield case("no options, a vocabulary of one", B=3, V=1)
    yield case("no options, as many rows as tokens", B=5, V=5, equal="B V")
    yield case("no options, random sizes", **draw.sizes(B=(2, 6), V=(7, 15)))
    yield from temperatures(case, sizes)
    yield from top_k_cases(case, sizes)
    yield from top_p_cases(case, sizes)
    yield from together(case)
    yield from large_logits(case)
    yield from other_dtypes(case)
    both = {"top_k": 5, "top_p": 0.7}
    for words, options in (
        ("no options", {}),
        ("top_k=5, top_p=0.7", both),
        ("temperature=0", {"temperature": 0.0}),
    ):
        parts = {"layout": "strided", "check": "properties", **options}
        yield case(f"parts of larger inputs, {words}", **parts, **sizes)
    same = {"logits": ladder(draw, 1, 8).expand(3, 8), "layout": {"logits": "expanded"}}
    yield case("expanded inputs, top_k=3", top_k=3, check="properties", **same, **sizes)
    yield case("a larger batch afterwards", later=5, check="properties", **both, **sizes)
    for words, options in (
        ("all options", {"temperature": 0.8, **both}),
        ("temperature 0", {"temperature": 0.0}),
    ):
        small, large = {"B": 2, "V": 9}, {"B": 7}
        yield from suites.growth(case, f"batch, {words}", small, large, **options)


def temperatures(case, sizes):
    """Yield temperatures; 0 is greedy."""
    for temperature in (0.5, 2.0, 3, 100.0):
        yield case(f"temperature={temperature}", temperature=temperature, **sizes)
    # Most probabilities are too small for float32.
    for temperature in (0.1, 0.01):
        name = f"temperature={temperature}"
        yield case(name, temperature=temperature, zeros=False, **sizes)
    yield case("temperature=0.0", temperature=0.0, **sizes)
    yield case("temperature=0", temperature=0, **sizes)
    yield case("temperature=0, one row", temperature=0, B=1, V=5)
    yield case("temperature=0, all logits near -50", temperature=0, offset=-50, **sizes)
    yield case("temperature=0, top_k=3", temperature=0, top_k=3, **sizes)
    yield case("temperature=0, top_p=0.9", temperature=0.0, top_p=0.9, **sizes)
    yield case("temperature=0, as many rows as tokens", temperature=0, B=5, V=5, equal="B V")
    close = {"logits": equal_steps(case.draw, 3, 8, 1 / 2048)}
    yield case("temperature=0, nearly equal logits", temperature=0, **close, **sizes)
    name = "float64, temperature=0, nearly equal logits"
    yield case(name, temperature=0, dtype="float64", **close, **sizes)
    close = {"logits": equal_steps(case.draw, 3, 8, 1 / 8192)}
    yield case("temperature=0.0005, nearly equal logits", temperature=0.0005, **close, **sizes)


def top_k_cases(case, sizes):
    """Yield several numbers of kept tokens, up to more than there are."""
    for top_k in (5, 2, 1, 7, 8, 13):
        yield case(f"top_k={top_k} of 8", top_k=top_k, **sizes)
    yield case("top_k=2, one row", top_k=2, B=1, V=5)
    yield case("top_k=3, as many rows as tokens", top_k=3, B=5, V=5, equal="B V")
    yield case("top_k=1 of 1", top_k=1, B=3, V=1)
    yield case("top_k=3, logits near -200", top_k=3, offset=-200, **sizes)
    yield case("top_k=3, logits near 60", top_k=3, offset=60, **sizes)
    rows = torch.tensor([[40.0], [0.0], [-40.0]])
    yield case("top_k=3, rows near 40, 0 and -40", top_k=3, offset=rows, **sizes)
    yield case("top_k=3, temperature=0.5", top_k=3, temperature=0.5, **sizes)
    yield case("top_k=3, temperature=0.25", top_k=3, temperature=0.25, **sizes)


def top_p_cases(case, sizes):
    """Yield several values of top_p."""
    for top_p in (0.9, 0.5, 0.3, 0.75):
        yield case(f"top_p={top_p}", top_p=top_p, **sizes)
    yield case("top_p=0.05: one token", top_p=0.05, **sizes)
    # In float32, 1 - 1e-8 is 1, and a cumulative sum from the other end has rounding errors.
    yield case("top_p=1e-8: one token", top_p=1e-8, **sizes)
    yield case("top_p=1e-8 of 60 tokens", top_p=1e-8, B=3, V=60)
    steep = {"logits": equal_steps(case.draw, 3, 8, 2)}  # the largest probability is 0.86
    yield case("top_p=0.5, the largest probability is 0.86", top_p=0.5, **steep, **sizes)
    yield case("top_p=0.8, one row", top_p=0.8, B=1, V=12)
    yield case("top_p=0.6, as many rows as tokens", top_p=0.6, B=6, V=6, equal="B V")
    yield case("top_p=0.5 of 1 token", top_p=0.5, B=2, V=1, logits=case.draw.normal(2, 1))
    # A sum of probabilities may be rounded to 1 at the last token, which then may get 0.
    rare = {"zeros": False, "logits": rare_last(ladder(case.draw, 3, 8), 8)}
    yield case("top_p=1.0 keeps all", top_p=1.0, **rare, **sizes)
    yield case("top_p=1 keeps all", top_p=1, **rare, **sizes)
    yield case("top_p=0.9 of 60 tokens", top_p=0.9, B=3, V=60)
    # 374 tokens are kept: more than a search among the first 50 or 256 tokens finds.
    many = {"logits": equal_steps(case.draw, 3, 700, 1 / 128)}
    yield case("top_p=0.95 of 700 nearly equal tokens", top_p=0.95, B=3, V=700, **many)
    yield case("top_p=0.8, logits near -200", top_p=0.8, offset=-200, **sizes)
    rows = torch.tensor([[40.0], [0.0], [-40.0]])
    yield case("top_p=0.8, rows near 40, 0 and -40", top_p=0.8, offset=rows, **sizes)
    yield case("top_p=0.8, temperature=0.5", top_p=0.8, temperature=0.5, **sizes)
    yield case("top_p=0.7, temperature=2.0", top_p=0.7, temperature=2.0, **sizes)
    yield case("top_p=0.8, temperature=0.25", top_p=0.8, temperature=0.25, **sizes)


def together(case):
    """Yield cases with top_k and top_p, in which the order of the steps matters."""
    sizes = {"B": 3, "V": 10}
    yield case("top_k=5, top_p=0.7", top_k=5, top_p=0.7, **sizes)
    yield case("top_k=4, top_p=0.7", top_k=4, top_p=0.7, **sizes)
    yield case("top_k=30, top_p=0.6", top_k=30, top_p=0.6, **sizes)
    yield case("top_k=1, top_p=0.6", top_k=1, top_p=0.6, logits=ladder(case.draw, 3, 10), **sizes)
    rare = {"zeros": False, "logits": rare_last(ladder(case.draw, 3, 10), 6)}
    yield case("top_k=6, top_p=1.0", top_k=6, top_p=1.0, **rare, **sizes)
    for temperature, top_k, top_p in ((0.6, 5, 0.75), (1.7, 6, 0.6)):
        name = f"temperature={temperature}, top_k={top_k}, top_p={top_p}"
        yield case(name, temperature=temperature, top_k=top_k, top_p=top_p, **sizes)
    name = "all options, as many rows as tokens"
    yield case(name, temperature=0.8, top_k=5, top_p=0.7, B=8, V=8, equal="B V")


def large_logits(case):
    """Yield logits for which exp overflows, or gives 0 for a whole row."""
    sizes = {"B": 3, "V": 9}
    rows = torch.tensor([[110.0], [-110.0], [0.0]])
    yield case("logits near 110", offset=110, **sizes)
    yield case("logits near -110", offset=-110, **sizes)
    yield case("rows near 110, -110 and 0", offset=rows, **sizes)
    yield case("top_k=4, rows near 110, -110 and 0", top_k=4, offset=rows, **sizes)
    yield case("top_p=0.7, rows near 110, -110 and 0", top_p=0.7, offset=rows, **sizes)
    name = "top_k=5, top_p=0.7, rows near 110, -110 and 0"
    yield case(name, top_k=5, top_p=0.7, offset=rows, **sizes)
    yield case("temperature=0, rows near 110, -110 and 0", temperature=0, offset=rows, **sizes)
    # Divided by 0.1, they overflow in float64 too. The largest probability is nearly 1: a right
    # answer in the form of logarithms would have larger rounding errors than the reference.
    steep = equal_steps(case.draw, 3, 9, 2) + torch.tensor([[100.0], [-100.0], [0.0]])
    options = {"temperature": 0.1, "logits": steep, "zeros": False}
    for dtype in ("float32", "float64"):
        name = f"{dtype}, temperature=0.1, rows near 100, -100 and 0"
        yield case(name, dtype=dtype, **options, **sizes)


def other_dtypes(case):
    """Yield every option in float64 and bfloat16."""
    sizes = {"B": 3, "V": 7}
    for dtype in ("float64", "bfloat16"):
        for name, options in (
            ("no options", {}),
            ("temperature=0.5", {"temperature": 0.5}),
            ("temperature=0", {"temperature": 0.0}),
            ("top_k=3", {"top_k": 3}),
            ("top_p=0.7", {"top_p": 0.7}),
            ("all options", {"temperature": 2.0, "top_k": 5, "top_p": 0.6}),
        ):
            yield case(f"{dtype}, {name}", dtype=dtype, **options, **sizes)


def refusals():
    """Yield arguments that must be refused, at temperature 0 too."""
    logits = torch.arange(10.0).reshape(2, 5)
    for why, options in (
        ("temperature is -1", {"temperature": -1.0}),
        ("temperature is -0.001", {"temperature": -0.001}),
        ("temperature is -1, top_k is 1", {"temperature": -1.0, "top_k": 1}),
        ("top_k is 0", {"top_k": 0}),
        ("top_k is -1", {"top_k": -1}),
        ("top_p is 0", {"top_p": 0.0}),
        ("top_p is -0.5", {"top_p": -0.5}),
        ("top_p is 1.001", {"top_p": 1.001}),
        ("top_p is 90", {"top_p": 90}),
        ("top_k is 0, top_p is 0.9", {"top_k": 0, "top_p": 0.9}),
        ("top_k is 3, top_p is 0", {"top_k": 3, "top_p": 0.0}),
        ("temperature is 0, top_k is 0", {"temperature": 0.0, "top_k": 0}),
        ("temperature is 0, top_p is 0", {"temperature": 0.0, "top_p": 0.0}),
        ("temperature is 0, top_p is 1.5", {"temperature": 0.0, "top_p": 1.5}),
    ):
        yield Refusal(why, {"logits": logits, **options}, only_value_error=True)


def realistic():
    """Return the call that is measured after a pass: a batch of requests of a server."""
    return realistic_call(
        "64 rows of 128,256 logits, all options",
        logits=shaped(64, 128256),
        zeros=0,
        temperature=0.7,
        top_k=50,
        top_p=0.9,
    )
