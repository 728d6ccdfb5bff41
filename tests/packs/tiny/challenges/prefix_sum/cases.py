"""Cases of a challenge that exists for the tests: small, with a bound on memory."""

from trainer.core.words import Case


def drive(prefix_sum, given):
    """One call."""
    return {"out": prefix_sum(given.x, reverse=True) if given.reverse else prefix_sum(given.x)}


def case(draw, name, B, L, reverse=False, **more):
    """One case of these sizes."""
    return Case(
        name=name,
        inputs={"x": draw.normal(B, L), "reverse": reverse},
        dims={"out": "B L"},
        sizes={"B": B, "L": L},
        **more,
    )


def cases(draw):
    """What a submission is run on."""
    yield case(draw, "forwards", 3, 5)
    yield case(draw, "backwards", 2, 7, reverse=True)
    yield case(draw, "float64, as long as the few of the count", 2, 3, dtype="float64")
    yield case(draw, "bfloat16", 3, 4, dtype="bfloat16")
    yield case(draw, "few", 2, 3, probe="vectorised")
    yield case(draw, "many", 9, 11, probe="vectorised")
    yield case(draw, "long", 1, 64, probe="memory", limit=64 * 64)
