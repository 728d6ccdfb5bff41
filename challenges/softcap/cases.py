"""Cases for soft-capped attention: caps far below and above the scores, masks, steep scores."""

from dataclasses import dataclass

import torch

from attn_drill.casekit import CaseMaker, Direct, Scores, SecondCall, realistic_call, shaped, suites


def drive(attention, given):
    """Call once, or twice."""
    later = {name[6:]: value for name, value in given.inputs.items() if name.startswith("later_")}
    outputs = {"out": call(attention, given.inputs)}
    if later:
        outputs["later_out"] = call(attention, later)
    return outputs


def call(attention, inputs):
    """Leave the mask out if there is none."""
    arguments = (inputs["q"], inputs["k"], inputs["v"], inputs["cap"])
    mask = inputs["mask"]
    return attention(*arguments) if mask is None else attention(*arguments, mask=mask)


@dataclass(frozen=True)
class CapMaker(CaseMaker):
    """Make cases with the option `cap`."""

    cap: float = 2.0

    def __call__(self, name, *, cap=None, inputs=None, **more):
        """Return one case with this cap, or with the cap of the maker."""
        given = {"cap": self.cap if cap is None else cap, **(inputs or {})}
        return super().__call__(name, inputs=given, **more)


def maker(draw, cap):
    """Return a maker of cases with this cap."""
    keys = "B H Lk D"
    return CapMaker(
        draw,
        inputs={"q": "B H Lq D", "k": keys, "v": keys},
        outputs={"out": "B H Lq D"},
        mask="B H Lq Lk",
        roles=Direct(),
        cap=cap,
    )


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = maker(draw, 2.0)
    identity = {"inputs": {"v": torch.eye(7).expand(2, 3, 7, 7)}, "outputs": {"out": "B H Lq Lk"}}
    sizes = {"B": 2, "H": 3, "Lq": 5, "Lk": 7, "D": 7, "equal": "Lk D"}
    yield case("weights as output (v is the identity)", **identity, **sizes)
    yield case("one batch item, one head", B=1, H=1, Lq=4, Lk=6, D=5)
    yield case("one query, head dim 1", B=2, H=3, Lq=1, Lk=6, D=1)
    yield case("one key", B=3, H=2, Lq=5, Lk=1, D=4)
    yield case("as many queries as keys", B=2, H=3, Lq=5, Lk=5, D=6, equal="Lq Lk")
    same = {"B": 4, "H": 4, "Lq": 4, "Lk": 4, "D": 4, "equal": "B H Lq Lk D"}
    yield case("all sizes equal", **same)
    yield case("all sizes equal, masked", mask="Lq Lk", **same)
    yield case("random sizes", **draw.sizes(B=(2, 3), H=(2, 5), Lq=(3, 9), Lk=(3, 9), D=(4, 9)))
    yield from caps(case)
    sizes = {"B": 3, "H": 2, "Lq": 5, "Lk": 7, "D": 6}
    yield from suites.tiny_values(case, **sizes)
    yield from suites.masks(case, **sizes)
    yield from suites.dtypes(case, **sizes)
    yield from suites.zero_tokens(case, **sizes)
    # With a cap of 400, scores of ±200 become ±185. With head dim 64, the scale divides a fill
    # value by 8 if the fill comes first.
    for steep in suites.steep_scores(maker(draw, 400.0), B=3, H=5, Lq=4, Lk=7, D=64):
        if not steep.gradients:  # `caps` has a smaller cap for such a case
            yield steep
    yield from suites.layouts(case, B=3, H=4, Lq=5, Lk=7, D=6)
    # A cap that is kept from an earlier call shows in `caps`: several cases there have equal sizes.
    later = SecondCall(inputs={"cap": 2.0})
    sizes = {"B": 2, "H": 3, "Lq": 4, "Lk": 5, "D": 6, "check": "properties"}
    yield case("the same sizes again", later=later, **sizes)
    small = {"B": 2, "H": 3, "Lq": 4, "Lk": 5, "D": 12}
    large = {"B": 7, "H": 8, "Lq": 9, "Lk": 11}
    yield from suites.growth(case, "everything", small, large, mask="B 1 Lq Lk")
    small |= {"B": 1, "H": 2}
    yield from suites.growth(case, "length, no mask", small, {"Lq": 300, "Lk": 310})


def caps(case):
    """Yield caps from far below to far above the scores, as floats and as ints."""
    sizes = {"B": 2, "H": 3, "Lq": 4, "Lk": 6, "D": 5}
    for cap in (0.1, 0.5, 1.0, 1, 5, 10.0, 30, 50.0):
        word = "an int" if isinstance(cap, int) else "a float"
        yield case(f"a cap of {cap}, {word}", cap=cap, **sizes)
    masked = {"mask": "Lq Lk", "check": "masks", **sizes}
    yield case("a cap of 0.01, masked", cap=0.01, **masked)
    yield case("a cap of 50, masked", cap=50.0, **masked)
    yield case("a cap of 0.5, masked, bfloat16", cap=0.5, dtype="bfloat16", **masked)
    yield case("a cap of 2.5, bfloat16", cap=2.5, dtype="bfloat16", **sizes)
    yield case("a cap of 30, float64", cap=30, dtype="float64", **sizes)
    q = 6 * case.draw.normal(2, 3, 4, 5)
    yield case("scores up to several caps", inputs={"q": q}, **sizes)

    # All capped scores are ±cap here, and all slopes of tanh are 0.
    signs = torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
    steep = Scores(200 * signs, alternating=True)
    inputs = case.roles.scored(case, sizes, steep)["inputs"]
    yield case("scores of ±200 with a cap of 2", inputs=inputs, **sizes)
    yield case("scores of ±200 with a cap of 2, masked", inputs=inputs, **masked)
    # exp(995) overflows in float64. Right ways to write tanh lose digits if the cap is large, so no
    # case in float32 has ordinary scores and a cap above 50.
    q, k = case.draw.normal(2, 3, 4, 5), case.draw.normal(2, 3, 6, 5)
    q[..., 0] = 50 * 5**0.5
    k[..., 0] = 60.0 * (torch.arange(6) % 2)
    hidden = {"inputs": {"q": q, "k": k}, "mask": (torch.arange(6) % 2 == 0)[None, :]}
    name = "hidden scores of 3000 next to ordinary scores, a cap of 1000, float64"
    yield case(name, cap=1000.0, dtype="float64", check="masks", **hidden, **sizes)
    near = {"inputs": inputs, "gradients": False}
    yield case("scores of ±200 with a cap of 50", cap=50.0, **near, **sizes)
    yield case("scores of ±200 with a cap of 150", cap=150.0, **near, **sizes)


def realistic():
    """Return the call that is measured after a pass: 8 heads of 256, as in Gemma 2 2B."""
    return realistic_call(
        "8 heads of 256, B = 1, L = 2048",
        q=shaped(1, 8, 2048, 256),
        k=shaped(1, 8, 2048, 256),
        v=shaped(1, 8, 2048, 256),
        cap=50.0,
        mask=shaped(2048, 2048, dtype="bool"),
    )
