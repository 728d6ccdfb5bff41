"""Each check refuses what it alone is for, and says so; tables of refused and accepted submissions of gqa."""

import pytest

from tests.support.checks import GQA, grade
from tests.support.grading import report_of
from trainer.grading.grader import Grader
from trainer.packs import pack_reader


def test_the_assignment_that_was_taken_is_said(grader: Grader) -> None:
    """Names that say nothing: the report tells which layer was taken for which."""
    path = GQA.solutions / "also_right/unnamed_layers.py"
    report = report_of(grader, GQA, path.read_text(), "gqa.py", 3)
    assert report.verdict == "passed"
    assert any("layers.3 as q" in note and "layers.0 as o" in note for note in report.notes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param(
            [("self.q_proj = nn.Linear(d_model, d_model, bias=bias)", "self.q_proj = nn.LazyLinear(d_model, bias=bias)")],
            "q_proj is a lazy layer (nn.LazyLinear): its shape is not known before the first call; "
            "use nn.Linear(42, 42).",
            id="one lazy layer",
        ),
        pytest.param(
            [("nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)", "nn.LazyLinear(num_kv_heads * self.head_dim, bias=bias)")],
            "k_proj is a lazy layer (nn.LazyLinear): its shape is not known before the first call; "
            "use nn.Linear(42, 21); v_proj is a lazy layer",
            id="two lazy layers",
        ),
        pytest.param(
            [("self.dropout = nn", "self.norm = nn.LayerNorm(d_model)\n        self.dropout = nn"), ("self.v_proj", "self.mine")],
            "your module has norm.weight [42], norm.bias [42], which the contract does not.",
            id="a foreign layer beside an unknown name",
        ),
        pytest.param(
            [("self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)", "self.v_proj = nn.Parameter(torch.zeros(num_kv_heads * self.head_dim, d_model))")],
            "v_proj is a bare nn.Parameter [21, 42] where the contract asks for v_proj.weight [21, 42]; "
            "use nn.Linear(42, 21).",
            id="a bare parameter",
        ),
    ],
)  # fmt: skip
def test_the_layer_that_differs_is_named(
    grader: Grader, changes: list[tuple[str, str]], says: str
) -> None:
    """One layer differs, and the report speaks of no other."""
    report = grade(grader, *changes)
    failure = report.first_failure()
    assert failure is not None
    assert failure.check == "parameters"
    assert says in failure.message
    assert "o_proj" not in failure.message


def test_other_names_are_said(grader: Grader) -> None:
    """The report tells which argument was taken for which."""
    report = grade(
        grader,
        ("x, mask=None", "x, attn_mask=None"),
        ("batch, length, d_model = x", "mask = attn_mask\n        batch, length, d_model = x"),
    )
    assert report.verdict == "passed"
    said = (
        "Arguments of GroupedQueryAttention.forward are taken by their places: attn_mask as mask."
    )
    assert said in report.notes


@pytest.mark.parametrize(
    ("challenge", "changes"),
    [
        pytest.param(
            "mha",
            {
                "query, key, value, mask=None, return_weights=False": "q_in, k_in, v_in, attn_mask=None, need_weights=False",
                "HEAD": "query, key, value, mask, return_weights = q_in, k_in, v_in, attn_mask, need_weights",
            },
            id="a method",
        ),
        pytest.param(
            "sdpa",
            {
                "(q, k, v, mask=None)": "(query, key, value, attn_mask=None)",
                "HEAD": "q, k, v, mask = query, key, value, attn_mask",
            },
            id="a function",
        ),
        pytest.param(
            "rope",
            {
                "(q, k, cos, sin, position_ids=None)": "(xq, xk, cosines, sines, positions=None)",
                "HEAD": "q, k, cos, sin, position_ids = xq, xk, cosines, sines, positions",
            },
            id="one of several functions",
        ),
    ],
)
def test_other_names_in_other_challenges(
    grader: Grader, challenge: str, changes: dict[str, str]
) -> None:
    """Whatever is called, and however `drive` calls it."""
    found = pack_reader.find_challenge(pack_reader.built_in_pack(), challenge)
    old, new = next(iter(changes.items()))
    head, _, tail = pack_reader.solution(found).partition(old)
    line, _, rest = tail.partition("\n")
    indent = "    " * (2 if found.kind == "module" else 1)
    source = f"{head}{new}{line}\n{indent}{changes['HEAD']}\n{rest}"
    report = report_of(grader, found, source, found.file_name, 5)
    assert report.verdict == "passed", report.first_failure()
