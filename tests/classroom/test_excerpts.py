"""Tests of anonymous excerpts: names are hidden, and code that is needed stays visible."""

import pytest

from trainer.classroom.excerpts import HIDDEN, anonymised, name_words
from trainer.classroom.records import Excerpt


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        pytest.param("x = q @ k  # Jane", "x = q @ k", id="comment"),
        pytest.param("x = f('by Jane', \"#\")", f'x = f("{HIDDEN}", "{HIDDEN}")', id="strings"),
        pytest.param("x = f'{q} by {jane}' + y", f'x = "{HIDDEN}" + y', id="formatted string"),
        pytest.param("jane_q = q.view(1)", f"{HIDDEN} = q.view(1)", id="identifier"),
        pytest.param("class JaneAttention: pass", f"class {HIDDEN}: pass", id="camel case"),
        pytest.param(
            "class LiHead: pass", f"class {HIDDEN}: pass", id="camel case of a short word"
        ),
        pytest.param("myjanes = q", f"{HIDDEN} = q", id="inside a word"),
        pytest.param(
            "li = q; like = li", f"{HIDDEN} = q; like = {HIDDEN}", id="short word of the own name"
        ),
        pytest.param("seed(20231187)", f"seed({HIDDEN})", id="a long number is an id"),
        pytest.param("x = q * 4711", f"x = q * {HIDDEN}", id="number of the name"),
        pytest.param(
            "x.masked_fill(m, -10000)", "x.masked_fill(m, -10000)", id="a short number is not an id"
        ),
        pytest.param(
            "x = m * -1000000000 + 1e-6",
            "x = m * -1000000000 + 1e-6",
            id="a round number is not an id",
        ),
        pytest.param(
            'x = einsum("bhqd,bhkd->bhqk", q, k)',
            'x = einsum("bhqd,bhkd->bhqk", q, k)',
            id="einsum",
        ),
        pytest.param(
            "x = rearrange(q, 'b (h d) l -> b h l d')",
            "x = rearrange(q, 'b (h d) l -> b h l d')",
            id="axes",
        ),
        pytest.param(
            'x = einsum("jane,doe->x", q)', f'x = einsum("{HIDDEN}", q)', id="a name as axes"
        ),
        pytest.param('x = float("-inf")', 'x = float("-inf")', id="infinity"),
        pytest.param("x = einsum(  # Jane", "x = einsum(", id="first line of a longer statement"),
        pytest.param("    q, k.mT)  # Jane", "q, k.mT)", id="last line of a longer statement"),
        pytest.param("    ], dim=1) + f(", "], dim=1) + f(", id="line inside a longer statement"),
        pytest.param("x = einsum(q, 'Jane", "x = einsum(q,", id="unfinished string"),
        pytest.param('    """By Jane', None, id="docstring"),
        pytest.param('    Somebody """', None, id="end of a docstring"),
        pytest.param("Jane Doe, class of 2024", None, id="not Python"),
        pytest.param("# Jane", None, id="nothing left"),
        pytest.param("'Jane'", None, id="a string alone"),
        pytest.param("x = " + "1 + " * 200 + "1", None, id="too long"),
    ],
)
def test_words_of_the_name_are_hidden(line: str, shown: str | None) -> None:
    """Words of the name are hidden everywhere in a line. Code for the computation stays."""
    found = anonymised(Excerpt(first=7, marked=7, lines=(line,)), name_words("Jane Li 4711", 2))
    assert (found.lines[0] if found else None) == shown


def test_end_of_a_docstring_is_not_shown_as_code() -> None:
    """If an excerpt begins inside a string, only lines that are certainly code are shown.

    Code and text could be confused otherwise.
    """
    lines = [
        "    Ann Other asked Bo,",
        '    """',
        "    x = 'a'",
        '    """',
        "    So said Cy Other",
        '    """',
        "    y = x @ w",
    ]
    found = anonymised(Excerpt(first=1, marked=7, lines=tuple(lines)), frozenset())
    assert found is not None
    assert found.lines[-1] == "y = x @ w"
    assert not any(word in " ".join(found.lines) for word in ("Ann", "asked", "So said", "Cy"))


def test_lines_keep_their_indentation_and_their_mark() -> None:
    """Comments between the lines are removed, and the marked line stays the same."""
    lines = [
        "        if a:",
        "            # Jane",
        "            b = c",
        "        text = '''",
        "          Jane",
        "        ''' + d",
    ]
    found = anonymised(Excerpt(first=10, marked=12, lines=tuple(lines)), frozenset({"jane"}))
    assert found == Excerpt(
        first=10, marked=12, lines=("if a:", "", "    b = c", f'text = "{HIDDEN}"', "", " + d")
    )
