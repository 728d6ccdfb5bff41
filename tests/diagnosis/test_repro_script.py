"""Tests of the standalone script of a case."""

import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load

from tests.support.diagnosis import CHALLENGES, SEED
from tests.support.judged import with_mistakes, with_tied_head
from trainer.diagnosis.repro_script import MARK, Repro, repro, repro_of_case
from trainer.grading.grader import Grader
from trainer.model.errors import DrillError
from trainer.model.submission import Submission

GQA = CHALLENGES["gqa"]


# `drive` gives the answer an object that only the grader can make.
WITH_OBJECTS = {"generate"}


def run(found: Repro, folder: Path, source: str, name: str) -> None:
    """Run the script of a case beside the learner's file.

    Raises:
        AssertionError: if a result is not as expected.
    """
    file, tensors = folder / f"{name}.py", folder / f"{name}_repro.safetensors"
    file.write_text(source)
    tensors.write_bytes(found.tensors())
    script = found.script(file, tensors)
    assert "trainer" not in script
    sys.path.insert(0, str(folder))
    try:
        exec(compile(script, "script.py", "exec"), {"__name__": "__main__"})
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop(name, None)


@pytest.mark.thorough
def test_script_fails_where_the_answer_is_wrong(grader: Grader, tmp_path: Path) -> None:
    """The script names the case and the failed check, and compares with the expected values."""
    source = with_mistakes(GQA, "no-scale")
    found = repro(grader, GQA, Submission("gqa.py", source), SEED)
    assert found is not None
    text = found.script(Path("gqa_answer.py"), Path("gqa.safetensors"))
    assert text.startswith(MARK)
    assert f"Case {found.case_number} of gqa" in text
    assert "It fails the check values" in text
    assert "from gqa_answer import GroupedQueryAttention" in text
    tensors = load(found.tensors())
    prepared = found.case_set.prepared[found.case_number - 1]
    assert torch.equal(tensors["x"], prepared.inputs["x"])
    assert {f"weight {name}" for name in prepared.parameters} <= tensors.keys()
    with pytest.raises(AssertionError, match="not close"):
        run(found, tmp_path, source, "gqa_answer")
    run(found, tmp_path, with_mistakes(GQA), "gqa_answer")


@pytest.mark.thorough
@pytest.mark.sampled(46)
@pytest.mark.parametrize("folder", sorted(CHALLENGES.keys() - WITH_OBJECTS))
def test_script_of_every_kind_of_case_accepts_a_right_answer(
    grader: Grader, tmp_path: Path, folder: str
) -> None:
    """The reference passes the script of every kind of case, counted cases left out."""
    challenge = CHALLENGES[folder]
    source = with_mistakes(challenge)
    judgement = grader.judge(grader.case_set(challenge, SEED), Submission("a.py", source))
    kinds: dict[object, int] = {}
    for number, case in enumerate(judgement.case_set.cases, start=1):
        if case.probe is None:
            kind = (
                case.dtype,
                case.mode,
                tuple(case.layout.values()),
                tuple(case.inputs),
                tuple(case.init),
                case.part,
            )
            kinds.setdefault(kind, number)
    assert kinds
    for number in kinds.values():
        run(repro_of_case(judgement, number, SEED), tmp_path, source, f"answer_{folder}")


@pytest.mark.thorough
def test_answer_with_tied_parameters_passes_its_script(grader: Grader, tmp_path: Path) -> None:
    """The expected values are those of a reference that ties them, too."""
    challenge = CHALLENGES["mini_gpt"]
    source = with_tied_head(challenge)
    judgement = grader.judge(grader.case_set(challenge, SEED), Submission("a.py", source))
    run(repro_of_case(judgement, 1, SEED), tmp_path, source, "answer_tied")


def test_layers_and_arguments_of_the_learner_are_used(grader: Grader, tmp_path: Path) -> None:
    """Fused layers with own names get their weights. Arguments with own names get their values."""
    source = with_mistakes(GQA)
    fused = [
        (
            "self.k_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)",
            "self.both = nn.Linear(d_model, 2 * num_kv_heads * self.head_dim, bias=bias)",
        ),
        ("        self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)\n", ""),
        ("self.k_proj(x)", "self.both(x).chunk(2, -1)[0]"),
        ("self.v_proj(x)", "self.both(x).chunk(2, -1)[1]"),
        ("x, mask=None):\n", "inputs, attn_mask=None):\n        x, mask = inputs, attn_mask\n"),
        ("num_kv_heads, dropout=0.0", "groups, p=0.0"),
        (
            "        super().__init__()\n",
            "        super().__init__()\n        num_kv_heads, dropout = groups, p\n",
        ),
    ]
    for was, now in fused:
        assert source.count(was) == 1, was
        source = source.replace(was, now)
    case_set = grader.case_set(GQA, SEED)
    for number, case in enumerate(case_set.cases, start=1):
        if case.check == "masks" or case.init.get("dropout"):
            found = repro(grader, GQA, Submission("a.py", source), SEED, number)
            assert found is not None
            run(found, tmp_path, source, "answer_fused")
            if case.check == "masks":
                break


def test_file_that_is_no_identifier_is_loaded_by_its_path(grader: Grader, tmp_path: Path) -> None:
    """A name with a hyphen cannot be imported with `import`."""
    source = with_mistakes(GQA)
    found = repro(grader, GQA, Submission("my-gqa.py", source), SEED, 1)
    assert found is not None
    run(found, tmp_path, source, "my-gqa")


@pytest.mark.thorough
def test_chosen_case_is_used_even_if_it_passes(grader: Grader) -> None:
    """Without a chosen case, a right answer has no script."""
    submission = Submission("gqa.py", with_mistakes(GQA))
    assert repro(grader, GQA, submission, SEED) is None
    found = repro(grader, GQA, submission, SEED, 2)
    assert found is not None
    assert found.case_number == 2


@pytest.mark.thorough
def test_case_with_an_object_of_the_grader_has_no_script(grader: Grader, tmp_path: Path) -> None:
    """The message names the argument and another command."""
    challenge = CHALLENGES["generate"]
    source = with_mistakes(challenge)
    judgement = grader.judge(grader.case_set(challenge, SEED), Submission("a.py", source))
    with pytest.raises(DrillError, match="with step, an object of the grader"):
        run(repro_of_case(judgement, 1, SEED), tmp_path, source, "answer")


def test_failure_without_a_case_has_no_script(grader: Grader) -> None:
    """A file that does not load fails before any case."""
    with pytest.raises(DrillError, match="does not fail in a particular case"):
        repro(grader, GQA, Submission("gqa.py", "raise ValueError"), SEED)
