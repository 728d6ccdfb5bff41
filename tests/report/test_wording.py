"""Numbers, indices, ranges and prose as plain text."""

import io
from pathlib import Path

import pytest

from attn_drill.model.case import Case
from attn_drill.model.challenge import Parameter, Signature
from attn_drill.model.report import Affected, Summary
from attn_drill.report.wording import (
    affected,
    called_function,
    for_stream,
    near,
    plain_inputs,
    sizes_in_words,
    small_tensors,
    summary,
    wrapped,
)


def test_affected_dimension_has_its_wrong_and_right_indices() -> None:
    """A dimension whose indices are all wrong tells nothing and is left out."""
    heads, few = Affected("H", 4, (1, 3)), Affected("T", 5, (4,))
    every, single = Affected("L", 4, (0, 1, 2, 3)), Affected("B", 1, (0,))
    assert affected([single, heads, every]) == "heads (H) wrong 1, 3, right 0, 2"
    assert affected([heads, few]) == "heads (H) wrong 1, 3, right 0, 2; T wrong 4, right 0-3"
    assert affected([every, single]) == affected([]) == ""


def test_summary_names_entries_that_are_not_finite() -> None:
    """Other tensors have only mean, deviation and range."""
    text = "mean 0.5000  std 1.0000  from -1.0000 to 2.0000"
    assert summary(Summary(0.5, 1.0, -1.0, 2.0, 0)) == text
    assert summary(Summary(0.5, 1.0, -1.0, 2.0, 3)) == f"{text}  not finite 3"


def test_inputs_of_a_case_in_words() -> None:
    """Plain inputs are listed, and a small matrix is shown with its rows."""
    inputs = {"num_heads": 6, "sizes": [2, 3], "kind": [[0.25, 0.75]], "name": "x"}
    case = Case("a", inputs, {}, {"B": 2, "L": 7})
    assert plain_inputs(case) == "num_heads=6, sizes=(2, 3), name='x'"
    assert small_tensors(case) == [("kind", "  0.2500   0.7500")]
    assert sizes_in_words(case) == "B=2 L=7"


def test_only_arguments_of_the_contract_are_shown() -> None:
    """Other inputs are instructions for the grader. A tensor that is given twice has its name."""
    inputs = {"query": [[1.0]], "key": "query", "causal": True, "function": "attend", "chunk": 3}
    case = Case("a", inputs, {}, {})
    signatures = (signature("attend", "query", "key", "causal"), signature("split", "chunk"))
    assert plain_inputs(case, signatures) == "key=query, causal=True"
    assert called_function(case, signatures) == "attend"
    assert plain_inputs(case, signatures[1:]) == "chunk=3", "no callable has the case's name"
    assert called_function(case, signatures[1:]) == called_function(case, ()) == ""


def test_case_without_a_function_may_have_the_arguments_of_all_callables() -> None:
    """A case of a module has arguments of the constructor and of `forward`."""
    signatures = (signature("A.__init__", "num_heads"), signature("A.forward", "scale"))
    case = Case("a", {"num_heads": 6, "scale": 0.5, "reset": True}, {}, {})
    assert plain_inputs(case, signatures) == "num_heads=6, scale=0.5"
    assert called_function(case, signatures) == ""


@pytest.mark.parametrize("value", [3, None, ["attend"]])
def test_function_that_is_no_word_is_not_called(value: object) -> None:
    """An input `function` may be something else than a name."""
    case = Case("a", {"function": value}, {}, {})
    assert called_function(case, (signature("3"), signature("None"))) == ""


def signature(name: str, *parameters: str) -> Signature:
    """Return a callable with these required parameters."""
    return Signature(name, tuple(Parameter(word, True, None) for word in parameters))


PATH = "/a/folder/with-a-long-name/and-another/that-is-longer-than-the-terminal/gqa.py"


def test_prose_is_wrapped_by_words() -> None:
    """A path is never broken, and no line is longer than 100 columns."""
    text = f"The file is {PATH}.\n\n  one: {'word ' * 30}"
    lines = wrapped(text, 40, hanging="    ").splitlines()
    assert lines[:3] == ["The file is", f"    {PATH}.", ""]
    assert lines[3].startswith("  one: word")
    assert lines[4].startswith("    word")
    assert " ".join(lines).split() == text.split()
    assert max(map(len, wrapped("word " * 90, 300, "  ").splitlines())) <= 100


def test_only_a_terminal_gets_wrapped_prose(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program reads a sentence as one line."""
    monkeypatch.setenv("COLUMNS", "40")
    stream = io.StringIO()
    assert for_stream("word " * 30, stream) == "word " * 30
    monkeypatch.setattr(stream, "isatty", lambda: True)
    assert max(map(len, for_stream("word " * 30, stream).splitlines())) <= 40


def test_path_is_shown_as_the_user_would_type_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path outside the current folder stays absolute."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    here = Path.cwd()
    assert near(here / "gqa.py") == Path("gqa.py")
    assert near(here.parent / "gqa.py") == here.parent / "gqa.py"
