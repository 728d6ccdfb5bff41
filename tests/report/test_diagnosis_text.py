"""What the learner sees: verdict first, both values, at 80 and 50 columns, without colour and in ASCII."""

from tests.support.display import as_text, made
from trainer.model.report import (
    Diagnosis,
    EffectiveMask,
    Outcome,
)


def test_a_picture_of_many_keys_shows_where_they_differ() -> None:
    """Of 60 keys there is room for some: those from the first difference on, and the text says so."""
    right = "#" * 50 + "." * 10
    mask = EffectiveMask("other keys", 0, (right.replace(".", "#", 1),), (right,))
    outcome = Outcome("masks", "failed", "m", "a [case]", 1)
    text = as_text(made(outcome, diagnosis=Diagnosis(effective_mask=mask)), 120)
    assert "keys 36-59 of 60" in text
    assert "#" * 15 + "." * 9 in text
    assert "#" * 14 + "." * 10 in text
