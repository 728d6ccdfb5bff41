"""Tests of the forms in which names are compared."""

import pytest

from trainer.classroom.name_forms import folded, in_order, key_form, name_forms, without_accents


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("Ana Lee", "analee"),
        ("O'Neil-Smith, Jo.", "oneilsmithjo"),
        ("lee_ana", "leeana"),
        ("Ame\u0301lie", "amélie"),
        ("Ａｎａ", "ana"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("王 小明", "王小明"),
        ("--", ""),
    ],
)
def test_folded_name_has_only_letters(name: str, form: str) -> None:
    """Accents stay."""
    assert folded(name) == form


@pytest.mark.parametrize(
    ("name", "form"), [("Amélie", "amelie"), ("Øystein Łuk", "oysteinluk"), ("Ægir", "aegir")]
)
def test_accents_and_strokes_can_be_removed(name: str, form: str) -> None:
    """Some systems write names in ASCII."""
    assert without_accents(name) == form


def test_key_keeps_its_punctuation() -> None:
    """`ana.lee` and `analee` are two user names."""
    assert key_form(" Ana.Lee ") == "ana.lee"


@pytest.mark.parametrize(
    ("name", "ordered"),
    [
        ("Lee, Ana", "Ana Lee"),
        ("van der Berg,Zoë  Maria", "Zoë Maria van der Berg"),
        (" Ana   Lee ", "Ana Lee"),
        ("Sammy Davis, Jr.", "Sammy Davis, Jr."),
        ("Lee,", "Lee,"),
        ("a, b, c", "a, b, c"),
    ],
)
def test_last_name_before_a_comma_is_turned_around(name: str, ordered: str) -> None:
    """A suffix after the comma is not a first name."""
    assert in_order(name) == ordered


def test_forms_have_both_orders() -> None:
    """The last name can have several words."""
    assert name_forms("Lee, Ana") == {"analee", "leeana"}
    assert "vanderbergzoë" in name_forms("Zoë van der Berg")
    assert name_forms("") == name_forms("?") == frozenset()
