"""Tests of the standalone script of a case."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load

from tests.support.diagnosis import CHALLENGES, SEED
from tests.support.judged import with_mistakes
from trainer.diagnosis.repro_script import MARK, repro
from trainer.grading.grader import Grader
from trainer.model.errors import DrillError
from trainer.model.submission import Submission

GQA = CHALLENGES["gqa"]


def test_script_has_the_inputs_and_weights_of_the_failing_case(grader: Grader) -> None:
    """The script is valid Python, starts with the mark, and names the case."""
    source = with_mistakes(GQA, "no-scale")
    found = repro(grader, GQA, Submission("gqa.py", source), SEED)
    assert found is not None
    text = found.script(Path("gqa.py"), Path("gqa.safetensors"))
    compile(text, "script.py", "exec")
    assert text.startswith(MARK)
    assert f"Case {found.case_number} of gqa" in text
    prepared = found.case_set.prepared[found.case_number - 1]
    tensors = load(found.tensors())
    assert torch.equal(tensors["input x"], prepared.inputs["x"])
    assert {f"weight {name}" for name in prepared.parameters} <= tensors.keys()


def test_chosen_case_is_used_even_if_it_passes(grader: Grader) -> None:
    """Without a chosen case, a right answer has no script."""
    submission = Submission("gqa.py", with_mistakes(GQA))
    assert repro(grader, GQA, submission, SEED) is None
    found = repro(grader, GQA, submission, SEED, 2)
    assert found is not None
    assert found.case_number == 2


def test_failure_without_a_case_has_no_script(grader: Grader) -> None:
    """A file that does not load fails before any case."""
    with pytest.raises(DrillError, match="does not fail in a particular case"):
        repro(grader, GQA, Submission("gqa.py", "raise ValueError"), SEED)
