"""Tests of the anonymous ids of students."""

import re

from trainer.classroom.anonymous import anonymous_ids, new_salt


def test_an_id_depends_on_the_name_and_the_salt_only() -> None:
    """A new student changes the id of nobody."""
    before = anonymous_ids(["Ana", "Bo"], "salt")
    after = anonymous_ids(["Bo", "Zoe", "Ana"], "salt")
    assert before == {name: after[name] for name in ("Ana", "Bo")}
    assert all(re.fullmatch("S-[0-9a-f]{12}", found) for found in after.values())
    assert len(set(after.values())) == 3


def test_nobody_computes_the_id_of_a_name_without_the_salt() -> None:
    """Each class has its own salt."""
    assert anonymous_ids(["Ana"], new_salt()) != anonymous_ids(["Ana"], new_salt())


def test_every_name_has_an_id() -> None:
    """File names can hold half of a character."""
    assert len(anonymous_ids(["caf\udce9", "王", ""], "s")) == 3
