"""Output shapes of a case."""

from attn_drill.model.case import Case, axes


def test_size_of_a_grouped_axis_is_the_product_of_its_letters() -> None:
    """The axis (H D) with H = 3 and D = 5 has size 15. A scalar has no axes."""
    case = Case("c", {}, {"out": "B (H D)", "loss": ""}, {"B": 2, "H": 3, "D": 5})
    assert case.output_shape("out") == (2, 15)
    assert case.output_shape("loss") == axes("") == ()
