"""CaseMaker: sizes must differ unless the author allows equal sizes, and masks have words."""

from collections.abc import Mapping

import pytest
import torch

from attn_drill.casekit import CaseMaker, Draw, SecondCall, suites
from attn_drill.model.errors import PackError


def maker() -> CaseMaker:
    """Return a maker for attention with one input."""
    return CaseMaker(
        Draw(1),
        init={"d_model": "M"},
        inputs={"x": "B L M"},
        outputs={"out": "B L M"},
        products={"M": "H D"},
        mask="B H L L",
    )


def test_sizes_products_and_arguments() -> None:
    """M is the product of H and D and an argument of the constructor."""
    case = maker()("no mask", B=2, L=5, H=3, D=4)
    assert case.sizes == {"B": 2, "L": 5, "H": 3, "D": 4, "M": 12}
    assert case.init == {"d_model": 12}
    assert case.inputs["x"].shape == (2, 5, 12)  # type: ignore[attr-defined]
    assert case.inputs["mask"] is None
    assert (case.check, case.output_shape("out")) == ("values", (2, 5, 12))


def test_equal_sizes_are_refused() -> None:
    """The message names both letters and the solution."""
    with pytest.raises(PackError, match=r'B and L are both 5.*say equal="B L"'):
        maker()("no mask", B=5, L=5, H=3, D=4)


@pytest.mark.parametrize(
    ("equal", "sizes"),
    [
        ("B L", {"B": 5, "L": 5, "H": 3, "D": 4}),
        ("B L, H D", {"B": 5, "L": 5, "H": 3, "D": 3}),
        ("", {"B": 1, "L": 1, "H": 1, "D": 4}),
    ],
)
def test_sizes_may_be_equal_on_purpose(equal: str, sizes: dict[str, int]) -> None:
    """`equal` names groups of letters. Sizes of 1 may always be equal."""
    assert maker()("square", equal=equal, **sizes).sizes["B"] == sizes["B"]


def test_groups_of_equal_letters_differ() -> None:
    """Letters of two different groups must have different sizes."""
    with pytest.raises(PackError, match="B and H are both 5"):
        maker()("square", equal="B L, H D", B=5, L=5, H=5, D=5)


def test_letters_of_a_group_must_be_equal() -> None:
    """The message has both sizes."""
    with pytest.raises(PackError, match="says equal='B L', but B = 5, L = 6"):
        maker()("square", equal="B L", B=5, L=6, H=3, D=4)


def test_second_call_can_have_other_sizes() -> None:
    """The inputs and outputs of the second call have separate names and letters."""
    case = maker()("twice", later=SecondCall(mask="L L", sizes={"L": 7}), B=2, L=5, H=3, D=4)
    assert case.inputs["later_x"].shape == (2, 7, 12)  # type: ignore[attr-defined]
    assert case.inputs["later_mask"].shape == (7, 7)  # type: ignore[attr-defined]
    assert case.dims == {"out": "B L M", "later_out": "B L2 M"}
    assert case.output_shape("later_out") == (2, 7, 12)


@pytest.mark.parametrize(
    ("mask", "shape"), [("causal", (5, 5)), ("padding", (2, 1, 1, 5)), ("1 H 1 L", (1, 3, 1, 5))]
)
def test_masks_in_words(mask: str, shape: tuple[int, ...]) -> None:
    """A case with a mask belongs to the check `masks`."""
    case = maker()("masked", mask=mask, B=2, L=5, H=3, D=4)
    made = case.inputs["mask"]
    assert isinstance(made, torch.Tensor)
    assert (made.shape, case.check) == (shape, "masks")


@pytest.mark.parametrize(
    ("dims", "mask", "shape"),
    [
        ("B Lk", "padding", (2, 7)),
        ("B Lq Lk", "padding", (2, 1, 7)),
        ("B Lq Lk", "causal", (2, 5, 7)),
        ("Lq Lk", "causal", (5, 7)),
    ],
)
def test_masks_without_an_axis_for_heads(dims: str, mask: str, shape: tuple[int, ...]) -> None:
    """Such masks have an axis for every letter, with length 1 if the mask does not depend on it."""
    case = CaseMaker(Draw(1), inputs={"q": "B Lq D"}, outputs={"out": "B Lq D"}, mask=dims)
    made = case("masked", mask=mask, B=2, Lq=5, Lk=7, D=3).inputs["mask"]
    assert isinstance(made, torch.Tensor)
    assert made.shape == shape


def test_causal_mask_needs_as_many_keys_as_queries() -> None:
    """With fewer keys, the first query would see no key."""
    case = CaseMaker(Draw(1), inputs={"q": "Lq D"}, outputs={"out": "Lq D"}, mask="Lq Lk")
    with pytest.raises(PackError, match="5 queries and 4 keys leaves a query without keys"):
        case("causal", mask="causal", Lq=5, Lk=4, D=3)


def test_suite_that_needs_roles_reports_missing_roles() -> None:
    """The message names the argument that the author must add."""
    with pytest.raises(PackError, match="Give the CaseMaker `roles`"):
        list(suites.steep_scores(maker(), B=2, L=5, H=3, D=4))


class PositiveMaker(CaseMaker):
    """A maker that draws positive inputs."""

    def drawn(self, sizes: Mapping[str, int]) -> dict[str, torch.Tensor]:
        """Return positive values for every input."""
        return {name: drawn.abs() for name, drawn in super().drawn(sizes).items()}


def test_expanded_inputs_are_drawn_by_the_maker_and_keep_the_last_axis() -> None:
    """A maker may draw other values than normal values. The last axis always has stride 1."""
    case = PositiveMaker(Draw(1), inputs={"x": "B L D", "query": "D"}, outputs={"out": "B D"})
    *_, expanded = suites.layouts(case, B=3, L=5, D=6)
    x = expanded.inputs["x"]
    assert isinstance(x, torch.Tensor)
    assert bool((x > 0).all())
    assert torch.equal(x[0], x[2])
    assert expanded.layout == {"x": "expanded"}


def test_growth_makes_one_case_with_two_sizes() -> None:
    """Sizes that do not change are given only once."""
    small, large = {"B": 2, "L": 3, "H": 4, "D": 5}, {"B": 7, "L": 9}
    (few,) = suites.growth(maker(), "everything", small, large, mask="L L")
    many = few.larger
    assert many is not None
    assert few.sizes == {"B": 2, "L": 3, "H": 4, "D": 5, "M": 20}
    assert many.sizes == {"B": 7, "L": 9, "H": 4, "D": 5, "M": 20}
    assert few.probe == many.probe == "vectorised"
