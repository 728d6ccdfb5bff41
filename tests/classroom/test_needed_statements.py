"""Tests of the choice of the statements that an answer needs."""

import ast

import pytest

from trainer.classroom.needed_statements import needed, position, shorter_import, statement_of


def chosen(source: str, *entry: str) -> list[str]:
    """Return the statements that the entry needs."""
    lines = source.split("\n")
    statements = [statement_of(node, lines) for node in ast.parse(source).body]
    kept, _ = needed(statements, entry)
    return [ast.unparse(found.node) for found in statements if found in kept]


def test_names_of_a_statement_are_known() -> None:
    """A method reads its names later, and a default value at once."""
    source = "class A(B):\n    x = [c for _ in d]\n    def f(self, y=e):\n        return g, y, self"
    (node,) = ast.parse(source).body
    found = statement_of(node, source.split("\n"))
    assert (found.binds, found.changes) == ({"A"}, set())
    assert found.loads >= {"B", "c", "d", "e"}
    assert found.later == {"g"}


@pytest.mark.parametrize(
    ("source", "changes"),
    [
        ("a.b = c[0], d = 1, 2", {"a", "c"}),
        ("a[0].b += c", {"a"}),
        ("a.append(b)", {"a"}),
        ("setattr(a, 'x', b)", {"a"}),
        ("print(a)", set()),
        ("for i in x:\n    if i:\n        a[i] = 1", {"a"}),
        ("try:\n    pass\nexcept E:\n    a.b = 1", {"a"}),
        ("match x:\n    case 1:\n        a.b = 1", {"a"}),
        ("def f():\n    a.b = 1", set()),
        ("a = b.c", set()),
    ],
)
def test_changed_names_of_a_statement(source: str, changes: set[str]) -> None:
    """A function changes nothing before it is called."""
    (node,) = ast.parse(source).body
    assert statement_of(node, source.split("\n")).changes == changes


def test_nothing_is_needed_without_the_entry() -> None:
    """The caller tells the student which names are missing."""
    assert chosen("x = 1\ndef f():\n    return x", "g") == []


def test_needs_are_followed_to_their_end() -> None:
    """Only the statements of the answer stay, in their order."""
    source = "d = 1\nc = d\ndef b():\n    return c\ne = d\ndef a():\n    return b()"
    assert chosen(source, "a") == [
        "d = 1",
        "c = d",
        "def b():\n    return c",
        "def a():\n    return b()",
    ]


def test_statement_with_an_unknown_name_is_left_out() -> None:
    """It would raise NameError when the file is imported. A star import may define the name."""
    source = "x = 1\nx = unknown(x)\ndef a():\n    return x"
    assert "x = unknown(x)" not in chosen(source, "a")
    assert "x = unknown(x)" in chosen(f"from m import *\n{source}", "a")


def test_position_of_a_definition_begins_at_its_decorator() -> None:
    """Otherwise the decorator would stay without its function."""
    (node,) = ast.parse("@d\ndef f():\n    pass").body
    assert position(node)[0] == 1


@pytest.mark.parametrize(
    ("source", "shorter"),
    [
        ("import a, b.c, d as e", "import a, b.c"),
        ("from ..x import a, b as e, f as b", "from ..x import a, f as b"),
        ("import a, b", None),
        ("import x, y", None),
        ("from x import *", None),
        ("a = b", None),
    ],
)
def test_import_keeps_the_needed_names(source: str, shorter: str | None) -> None:
    """A package that only a plot needs may be missing."""
    (node,) = ast.parse(source).body
    assert shorter_import(node, {"a", "b"}) == shorter
