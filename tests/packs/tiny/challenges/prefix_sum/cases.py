"""Cases of a challenge that exists for the tests: small, with a bound on memory."""

from attn_drill.casekit import CaseMaker, suites


def drive(prefix_sum, given):
    """Call once."""
    return {"out": prefix_sum(given.x, reverse=True) if given.reverse else prefix_sum(given.x)}


def cases(draw):
    """Yield what a submission is run on."""
    case = CaseMaker(draw, inputs={"x": "B L"}, outputs={"out": "B L"})
    forwards, backwards = ({"inputs": {"reverse": reverse}} for reverse in (False, True))
    yield case("forwards", B=3, L=5, **forwards)
    yield case("backwards", B=2, L=7, **backwards)
    yield case(
        "float64, as long as the small one of the count", B=2, L=3, dtype="float64", **forwards
    )
    yield case("bfloat16", B=3, L=4, dtype="bfloat16", **forwards)
    yield from suites.growth(case, "both", {"B": 2, "L": 3}, {"B": 9, "L": 11}, **forwards)
    yield case("long", B=1, L=64, probe="memory", limit=64 * 64, **forwards)
