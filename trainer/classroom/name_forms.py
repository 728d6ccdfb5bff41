"""Compare the names of students, which systems and students write in several forms."""

from __future__ import annotations

import unicodedata

# Letters with a stroke or a ligature, which Unicode does not take apart.
_PLAIN = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
)
_SUFFIXES = frozenset(("jr", "sr", "ii", "iii", "iv"))  # "Sammy Davis, Jr." is not turned around


def key_form(text: str) -> str:
    """Return the form in which ids, user names and addresses are compared.

    Capitals, blanks at both ends and the Unicode form make no difference.
    """
    folded = unicodedata.normalize("NFKC", text.strip()).casefold()
    return unicodedata.normalize("NFKC", folded).strip()


def folded(name: str) -> str:
    """Return a name in small letters, without blanks and punctuation, but with its accents."""
    return "".join(character for character in key_form(name) if _is_spelt(character))


def without_accents(name: str) -> str:
    """Return the form of `folded`, also without accents."""
    apart = unicodedata.normalize("NFD", folded(name)).translate(_PLAIN)
    return "".join(character for character in apart if unicodedata.category(character) != "Mn")


def name_forms(name: str) -> frozenset[str]:
    """Return the `folded` forms of a name with first and last names in either order.

    Nobody can tell from "Ana Maria Lopez" where the last name begins. So each word may be the
    first word of the last name.
    """
    words = [word for word in (folded(word) for word in in_order(name).split()) if word]
    return frozenset(
        "".join(words[start:] + words[:start]) for start in range(len(words))
    ) - frozenset(("",))


def in_order(name: str) -> str:
    """Return "Ana Lee" for "Lee, Ana", and every other name without blanks at its ends."""
    last, comma, first = (part.strip() for part in name.partition(","))
    is_turned = comma and first and last and "," not in first
    if not is_turned or folded(first) in _SUFFIXES:
        return " ".join(name.split())
    return " ".join(f"{first} {last}".split())


def _is_spelt(character: str) -> bool:
    """Return whether a character belongs to the spelling: a letter, a digit or an accent."""
    return unicodedata.category(character)[0] in "LNM"
