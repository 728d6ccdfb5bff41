"""Cases for the table of sines and cosines: sizes, bases, long tables, second calls, odd dims."""

import torch

from attn_drill.casekit import CaseMaker, Refusal, SecondCall, suites
from attn_drill.worker.returns import UnexpectedReturnError


def drive(sinusoidal_positions, given):
    """Call once, or twice. Leave out a base that is not given."""
    later = {name[6:]: value for name, value in given.inputs.items() if name.startswith("later_")}
    outputs = {"table": call(sinusoidal_positions, given.inputs)}
    if later:
        outputs["later_table"] = call(sinusoidal_positions, later)
    return outputs


def call(sinusoidal_positions, inputs):
    """Return the table of one call. It must be a tensor that no optimizer would train."""
    more = {"base": inputs["base"]} if "base" in inputs else {}
    table = sinusoidal_positions(inputs["length"], inputs["dim"], **more)
    if isinstance(table, torch.nn.Parameter):
        raise UnexpectedReturnError("the table must be a plain tensor, but it is an nn.Parameter")
    if isinstance(table, torch.Tensor) and table.requires_grad:
        raise UnexpectedReturnError(
            "the table must not require a gradient, but it has requires_grad = True"
        )
    return table


class TableMaker(CaseMaker):
    """Make cases without tensors: the sizes L and D are the arguments."""

    def drawn(self, sizes):
        """Return the arguments of these sizes."""
        return {"length": sizes["L"], "dim": sizes["D"]}

    def __call__(self, name, *, base=None, inputs=None, **more):
        """Return one case; None leaves the base out."""
        given = dict(inputs or {}) | ({} if base is None else {"base": base})
        return super().__call__(name, inputs=given, gradients=False, **more)


def cases(draw):
    """Yield the cases on which a submission runs."""
    case = TableMaker(draw, inputs={}, outputs={"table": "L D"})
    yield case("5 positions, 8 features", L=5, D=8)
    yield case("7 positions, 6 features", L=7, D=6)
    yield case("6 positions, base 100", L=6, D=4, base=100.0)
    yield case("two features", L=5, D=2)
    yield case("four features", L=9, D=4)
    yield case("one position", L=1, D=6)
    yield case("one position, two features", L=1, D=2)
    yield case("two positions", L=2, D=10)
    yield case("as many positions as features", L=6, D=6, equal="L D")
    yield case("more features than positions", L=3, D=32)
    yield case("an odd number of pairs, base 1000", L=12, D=14, base=1000.0)
    yield case("base 500000", L=20, D=12, base=500000.0)
    yield case("base 2.5", L=10, D=16, base=2.5)
    yield case("base 10000, given", L=11, D=20, base=10000.0)
    yield case("40 positions, 24 features", L=40, D=24)
    L, half, base = draw.distinct((4, 30), (3, 20), (40, 50000))
    sizes = {"L": L, "D": 2 * half, "equal": "L D" if 2 * half == L else ""}
    yield case("random sizes", base=float(base), **sizes)
    yield from second_calls(case)
    yield from suites.growth(case, "length", {"L": 4, "D": 6}, {"L": 300})
    yield from long_tables(case)


def long_tables(case):
    """Yield late positions, at which angles in float32 are wrong by more than 1e-5.

    The numbers of features are no powers of two, so the exponents 2i/dim are rounded too. The names
    of the cases say what no known mistake says: float32 has many ways to round an angle.
    """
    # The last two are for float32 in short tables only, or in wide tables only.
    for L, D, base in (
        (4096, 12, None),
        (4096, 48, None),
        (2100, 6, None),
        (1500, 22, 500000.0),
        (700, 14, None),
        (1024, 514, None),
    ):
        words = f"{L} positions, {D} features" + (f", base {base:g}" if base else "")
        yield case(f"{words} (float32 angles are too coarse here)", L=L, D=D, base=base)
    # The second frequency is 0.997, so its angles are almost as large as the positions.
    name = "1200 positions, 18 features, base 1.03 (float32 angles are too coarse here)"
    yield case(name, L=1200, D=18, base=1.03)
    # The second frequency is a float32 number near 0.9, so float32 rounds only the angles.
    name = "4096 positions, 4 features (float32 angles are too coarse here)"
    yield case(name, L=4096, D=4, base=(15099494 / 2**24) ** -2)


def second_calls(case):
    """Yield two calls. A table that is kept from the first call is wrong in the second."""
    sizes = {"L": 6, "D": 10, "check": "properties"}
    for name, later in (
        ("the same sizes again, another base", SecondCall(inputs={"base": 300.0})),
        ("more positions afterwards", SecondCall(sizes={"L": 9})),
        ("fewer positions afterwards", SecondCall(sizes={"L": 3})),
        ("other features afterwards", SecondCall(sizes={"D": 14})),
    ):
        yield case(name, base=20000.0, later=later, **sizes)
    # A table may be kept by the whole part of its base only. Other sizes keep the case apart from
    # tables of the cases above.
    sizes, near = {**sizes, "L": 7, "D": 12}, SecondCall(inputs={"base": 2.5})
    yield case("the same sizes again, the base 2.5 after 2.75", base=2.75, later=near, **sizes)


def refusals():
    """Yield odd dims. Only a ValueError counts."""
    for length, dim in ((5, 7), (4, 1), (6, 3), (1, 5), (8, 15), (7, 513)):
        arguments = {"length": length, "dim": dim}
        yield Refusal(f"dim = {dim} is odd", arguments, only_value_error=True)
