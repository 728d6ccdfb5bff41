"""A diagnosis as terminal text."""

from dataclasses import replace

from rich.console import Console

from tests.support.display import as_text, report_with
from trainer.model.challenge import Mistake
from trainer.model.report import Diagnosis, EffectiveMask, Frame, Outcome
from trainer.report.diagnosis_text import render_diagnosis


def test_mask_of_many_keys_shows_the_first_difference() -> None:
    """24 of 60 keys are shown, and the text says which."""
    expected = "#" * 50 + "." * 10
    mask = EffectiveMask("other keys", 0, (expected.replace(".", "#", 1),), (expected,))
    outcome = Outcome("masks", "failed", "m", "a [case]", 1)
    text = as_text(report_with(outcome, diagnosis=Diagnosis(effective_mask=mask)), 120)
    assert "keys 36-59 of 60" in text
    assert "#" * 15 + "." * 9 in text
    assert "#" * 14 + "." * 10 in text


def shown(diagnosis: Diagnosis) -> str:
    """Return the text of a report with this diagnosis, without line breaks."""
    outcome = Outcome("values", "failed", "m", "a [case]", 1)
    return " ".join(as_text(report_with(outcome, diagnosis=diagnosis)).split())


def test_line_comes_with_the_last_right_and_the_first_wrong_result() -> None:
    """The case is named only if the report explains another case."""
    diagnosis = Diagnosis(
        first_line=Frame(7, "forward", "scores = q @ k"),
        case=1,
        last_reached="q",
        first_missed="scores",
        made="[B=2, H=3]",
    )
    text = "line 7 scores = q @ k q is right, scores is not (it makes [B=2, H=3])"
    assert text in shown(diagnosis)
    assert "(in case 4 it makes [B=2, H=3])" in shown(replace(diagnosis, case=4))
    assert "no line makes scores" in shown(replace(diagnosis, last_reached=None))
    assert "everything before it agrees" in shown(replace(diagnosis, last_reached="scores"))


def test_mistake_is_named_only_with_why() -> None:
    """Without `why` the report says that the mistake is known."""
    mistake = Mistake("no-scale", "a", "b", "The scores are not scaled.", "Why sqrt?")
    diagnosis = Diagnosis(mistakes=(mistake,))
    console = Console(width=80)
    with console.capture() as capture:
        console.print(*render_diagnosis(diagnosis, 1, why=False))
    assert "LIKELY The scores are not scaled." in shown(diagnosis)
    assert "not scaled" not in capture.get()
    assert "check again with --why" in capture.get()


def test_empty_diagnosis_shows_nothing() -> None:
    """There is no empty table either."""
    assert list(render_diagnosis(Diagnosis(), 1, why=True)) == []
