"""Give each student of a class an anonymous id."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable

_HEX_DIGITS = 12  # so that hardly ever two students have the same id


def new_salt() -> str:
    """Return random text for `anonymous_ids`."""
    return secrets.token_hex(16)


def anonymous_ids(names: Iterable[str], salt: str) -> dict[str, str]:
    """Return the anonymous id of each student, for example "S-3f9c01ab77d2", by name.

    The ids stay the same when students are added.

    Args:
        names: the names of the students.
        salt: the secret of the class. Without it, nobody can compute the id of a name.
    """
    return {name: f"S-{_digest(f'{salt} {name}')}" for name in names}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HEX_DIGITS]
