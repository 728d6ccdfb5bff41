"""CaseMaker: sizes must differ unless the author allows equal sizes, and masks have words."""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from attn_drill.casekit import (
    CaseMaker,
    Direct,
    Draw,
    Projected,
    Scores,
    SecondCall,
    TokenMaker,
    _maker,
    own_scores_far_below_zero,
    realistic_call,
    shaped,
    small_hidden,
    suites,
)
from attn_drill.grading.content import load_content
from attn_drill.model.case import Refusal
from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from tests.support.paths import TINY_PACK
from tests.support.rows import each_row


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
    assert bool((x > 0).all())
    assert torch.equal(x[0], x[2])
    assert expanded.layout == {"x": "expanded"}


def test_growth_makes_one_case_with_two_sizes() -> None:
    """Sizes that do not change are given only once."""
    small, large = {"B": 2, "L": 3, "H": 4, "D": 5}, {"B": 7, "L": 9}
    (few,) = suites.growth(maker(), "everything", small, large, mask="L L")
    many = few.larger
    assert few.sizes == {"B": 2, "L": 3, "H": 4, "D": 5, "M": 20}
    assert many.sizes == {"B": 7, "L": 9, "H": 4, "D": 5, "M": 20}
    assert few.probe == many.probe == "vectorised"


SIZES = {"B": 2, "L": 5, "H": 4, "Hkv": 2, "D": 6, "M": 24}
FUNCTION = CaseMaker(
    Draw(1), inputs=dict.fromkeys("qkv", "B H L D"), outputs={"out": "B H L D"}, roles=Direct()
)


def module_maker(roles: Projected) -> CaseMaker:
    """Return a maker for a module with one input."""
    return CaseMaker(
        Draw(1), inputs={"x": "B L M"}, outputs={"out": "B L M"}, mask="B H L L", roles=roles
    )


def designed_scores(scores: Scores) -> torch.Tensor:
    """Return the scores [B, H, L, L] that `Scores` describes."""
    keys = scores.keys.expand(SIZES["B"], SIZES["L"])
    queries = torch.ones(SIZES["L"]) if scores.queries is None else scores.queries
    heads = scores.of_heads(SIZES["H"])
    return heads[:, None, None] * queries[:, None] * keys[:, None, None, :]


SCORES = [
    pytest.param(Scores(torch.linspace(200, -200, 5)), id="falling"),
    pytest.param(
        Scores(torch.linspace(200, -200, 5), (-1.0) ** torch.arange(5), alternating=True),
        id="alternating heads and queries",
    ),
]


@pytest.mark.parametrize("scores", SCORES)
def test_inputs_of_a_function_give_the_scores(scores: Scores) -> None:
    """The other features add about ±1."""
    inputs = Direct().scored(FUNCTION, SIZES, scores)["inputs"]
    actual = inputs["q"] @ inputs["k"].transpose(-2, -1) / SIZES["D"] ** 0.5
    assert float((actual - designed_scores(scores)).abs().max()) < 6


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("fused", ["", "qkv_proj"])
def test_weights_of_a_module_give_the_scores(scores: Scores, fused: str) -> None:
    """Separate and fused projections, the first with fewer key/value heads."""
    roles = Projected(fused=fused, kv_heads="H" if fused else "Hkv")
    case = module_maker(roles)
    parts = roles.scored(case, SIZES, scores)
    x, parameters = parts["inputs"]["x"], parts["parameters"]
    if fused:
        q_weight, k_weight, _ = parameters["qkv_proj.weight"].chunk(3)
        assert not parameters["qkv_proj.bias"][: 2 * SIZES["M"]].any()
    else:
        q_weight, k_weight = parameters["q_proj.weight"], parameters["k_proj.weight"]
        assert not parameters["q_proj.bias"].any()
    q, k = (
        (x @ weight.double().T).unflatten(-1, (-1, SIZES["D"])).transpose(1, 2)
        for weight in (q_weight, k_weight)
    )
    k = k.repeat_interleave(SIZES["H"] // k.shape[1], dim=1)
    actual = q @ k.transpose(-2, -1) / SIZES["D"] ** 0.5
    assert float((actual - designed_scores(scores)).abs().max()) < 6


def test_huge_keys_have_values_of_1e36() -> None:
    """All other keys have small values, so a leak of any weight shows."""
    huge = torch.tensor([False, True, False, False, False])
    scores = Scores(torch.linspace(200, -200, 5), huge=huge)
    values = Direct().scored(FUNCTION, SIZES, scores)["inputs"]["v"]
    assert bool((values[..., 1, :] == 1e36).all())
    assert float(values[..., ~huge, :].abs().max()) < 1e-4


def test_module_without_bias_argument_has_no_switch() -> None:
    """The constructor gets `bias=False` only if it has the argument."""
    assert Projected(bias=True).without_biases() == {"init": {"bias": False}}
    assert Projected(bias=None).without_biases() == {}
    assert Direct().without_biases() == {}


def cannot_work(refusal: Refusal) -> bool:
    """Return whether the contract refuses these sizes."""
    size = {name: int(str(value)) for name, value in refusal.arguments.items()}
    wrong = size["d_model"] % size["num_heads"] != 0
    return wrong or size["num_heads"] % size.get("num_kv_heads", 1) != 0


def test_every_row_is_bad_and_different() -> None:
    """The head dim is even, so a table of RoPE does not raise before the check."""
    for rows in (list(_maker.bad_heads()), list(_maker.bad_groups())):
        assert all(cannot_work(refusal) for refusal in rows)
        assert len({str(refusal.arguments) for refusal in rows}) == len(rows)
        for refusal in rows:
            assert (refusal.arguments["d_model"] // refusal.arguments["num_heads"]) % 2 == 0  # type: ignore[operator]


@each_row(
    "refuses",
    {
        "d_model % num_kv_heads": lambda m, h, g: m % g or h % g,
        "d_model % num_kv_heads for the groups": lambda m, h, g: m % h or m % g,
        "a remainder of 1, heads": lambda m, h, g: m % h > 1 or h % g,
        "a remainder of 1, groups": lambda m, h, g: m % h or h % g > 1,
        "only too many groups": lambda m, h, g: m % h or g > h,
        "only too small": lambda m, h, g: m < h or h % g,
        "only both": lambda m, h, g: m % h and h % g,
        "heads alone": lambda m, h, g: m % h,
        "groups alone": lambda m, h, g: h % g,
        "d_model by groups alone": lambda m, h, g: m % g,
        "d_model by either": lambda m, h, g: (m % h and m % g) or h % g,
        "groups by either": lambda m, h, g: m % h or (h % g and m % g),
        "d_model odd": lambda m, h, g: m % 2 or h % g,
        "parity of groups": lambda m, h, g: m % h or h % 2 != g % 2,
        "too many groups pass": lambda m, h, g: m % h or (h % g and g < h),
    },
)
def test_wrong_check_accepts_a_row(refuses: Callable[[int, int, int], int]) -> None:
    """Each lambda is a check that differs from the contract."""
    rows = [tuple(refusal.arguments.values()) for refusal in _maker.bad_groups()]
    assert not all(refuses(*row) for row in rows)  # type: ignore[arg-type]


def test_more_arguments_are_in_every_call() -> None:
    """A constructor may need other arguments, for example the width of a memory."""
    assert all(refusal.arguments["memory_dim"] == 24 for refusal in _maker.bad_heads(memory_dim=24))


def test_both_forms_of_gelu_agree_on_small_hidden_values() -> None:
    """The exact GELU and its approximation with tanh differ by less than float32 shows."""
    weights = small_hidden(Draw(1), "mlp", 12)
    x = Draw(2).normal(50, 12)
    hidden = x @ weights["mlp.fc.weight"].T + weights["mlp.fc.bias"]
    difference = F.gelu(hidden) - F.gelu(hidden, approximate="tanh")
    assert float(difference.abs().max()) < 1e-6
    assert float((F.gelu(hidden) - F.relu(hidden)).abs().max()) > 1e-3


def test_tokens_are_indices_of_the_vocabulary() -> None:
    """Inputs called tokens are whole numbers from 0 to V - 1; other inputs are drawn as usual."""
    maker = TokenMaker(Draw(1), inputs={"tokens": "B L", "x": "B L"}, outputs={"out": "B L"})
    case = maker("a case", B=20, L=30, V=7)
    tokens = case.inputs["tokens"]
    assert tokens.dtype == torch.int64
    assert (int(tokens.min()), int(tokens.max())) == (0, 6)
    x = case.inputs["x"]
    assert x.is_floating_point()


def test_own_scores_are_far_below_zero() -> None:
    """After a LayerNorm, queries score about -100 with their own keys, and many far below."""
    weights = own_scores_far_below_zero(Draw(1), 12)
    x = F.layer_norm(Draw(2).normal(50, 12), (12,))
    merged = F.linear(
        x, weights["blocks.0.attn.qkv_proj.weight"], weights["blocks.0.attn.qkv_proj.bias"]
    )
    q, k, _ = merged.view(50, 3, 3, 4).unbind(1)
    scores = (q * k).sum(-1) / 2
    assert -150 < float(scores.mean()) < -75
    assert float((scores < -100).double().mean()) > 0.3


def test_shaped_tensor_has_no_values() -> None:
    """A tensor of 4 TiB takes no memory."""
    tensor = shaped(1 << 20, 1 << 20, dtype="bool")
    assert (tensor.shape, tensor.dtype, tensor.is_meta) == ((1 << 20, 1 << 20), torch.bool, True)
    assert shaped(2).dtype is torch.float32


def test_realistic_call_is_a_case_without_gradients() -> None:
    """Its name is the size in words."""
    case = realistic_call("a layer", init={"d_model": 8}, sizes={"L": 3}, x=shaped(1, 3, 8))
    assert (case.name, case.init, case.sizes) == ("a layer", {"d_model": 8}, {"L": 3})
    assert not case.gradients
    assert list(case.inputs) == ["x"]


@pytest.fixture
def with_realistic(tmp_path: Path) -> Callable[[str], object]:
    """Return a function that returns the realistic call of a pack whose cases.py ends so."""

    def realistic(text: str) -> object:
        pack = Path(shutil.copytree(TINY_PACK, tmp_path / "pack"))
        challenge = pack_reader.find_challenge(pack, "prefix-sum")
        with (challenge.folder / "cases.py").open("a") as file:
            file.write(text)
        return load_content(challenge).realistic()

    return realistic


def test_challenge_may_describe_no_realistic_call(with_realistic: Callable[[str], object]) -> None:
    """Then the cases alone are measured."""
    assert with_realistic("") is None


@pytest.mark.parametrize(
    ("body", "says"),
    [("1 / 0", "raises ZeroDivisionError"), ("return 3", "returns an object of the type int")],
)
def test_wrong_description_is_a_fault_of_the_pack(
    with_realistic: Callable[[str], object], body: str, says: str
) -> None:
    """The sentence has the path. The grading process goes on."""
    with pytest.raises(PackError, match=rf"cases\.py.*: realistic\(\) {says}"):
        with_realistic(f"\n\ndef realistic():\n    {body}\n")
