"""Tests of the reason why a file does not load: it helps, and it cannot reveal a case."""

from typing import Any

import pytest

from trainer.export.load_words import load_words
from trainer.model.report import Frame, Outcome, Report


def words(source: str, message: str, line: int | None = 3, **more: Any) -> str:
    """Return the words about a file whose check `loads` failed with this message."""
    frames = () if line is None else (Frame(line, "<module>", ""),)
    failed = Outcome("loads", "failed", message, frames=frames)
    about: dict[str, Any] = {"seed": 5, "verdict": "error"} | more
    return load_words(Report("gqa", "gqa.py", outcomes=(failed,), **about), source)


@pytest.mark.parametrize(
    "sentence",
    [
        "ModuleNotFoundError: No module named 'einops'",
        "NameError: name 'nm' is not defined",
        "AttributeError: module 'torch' has no attribute 'sofmax'",
        "ImportError: cannot import name 'rearrange' from 'einops'",
        "AttributeError: type object 'Q' has no attribute 'sofmax'",
    ],
)
def test_sentence_of_python_about_names_of_the_file_is_kept(sentence: str) -> None:
    """The student sees the sentence and the line."""
    source = "import torch, einops\nfrom einops import rearrange\nclass Q: nm.x = torch.sofmax\n"
    assert words(source, f"{sentence} at line 3") == f"{sentence} at line 3"


def test_syntax_error_is_found_again() -> None:
    """The words do not come from the worker, whose exception could hold anything."""
    source = "x = 1\ndef f(:\n    pass\n"
    assert words(source, "SyntaxError: the inputs are 0.123") == (
        "SyntaxError: invalid syntax at line 2"
    )
    assert words("x = 1\0", "SyntaxError: x").startswith(("Syntax", "Python cannot read"))


@pytest.mark.thorough
def test_a_text_that_ends_the_process_that_compiles_it_is_only_parsed() -> None:
    """The compiler of Python overflows its stack, and the grades of the class would be lost."""
    nested = f"x = [a {'for a in b ' * 90_000}]\n"
    assert (
        words(nested, "RecursionError: x")
        == "the import of the file raised RecursionError at line 3"
    )


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("ValueError: 0.123 SECRET", "the import of the file raised ValueError at line 3"),
        ("SyntaxError: 0.123 SECRET", "the import of the file raised SyntaxError at line 3"),
        ("NameError: name 'SECRET' is not defined", "the import of the file raised NameError"),
        ("ModuleNotFoundError: No module named 'SECRET'", "raised ModuleNotFoundError at line 3"),
        ("SECRET: x", "the import of the file failed at line 3"),
        ("while the file was imported: SECRET", "the import of the file failed at line 3"),
        ("print: x", "the import of the file failed at line 3"),
        ("it called sys.exit(SECRET)", "it called sys.exit at line 3"),
    ],
)
def test_words_that_the_file_chose_are_left_out(message: str, shown: str) -> None:
    """Only the type of the exception and its line stay."""
    found = words("x = 1\ny = 2\nz = 3\n", message)
    assert shown in found
    assert "SECRET" not in found


def test_limits_are_named() -> None:
    """The words about a limit name no option of the command line."""
    assert words("while True: pass\n", "SECRET", 1, verdict="timeout") == (
        "the import of the file was still running at the time limit at line 1"
    )
    assert words("x = 1\n", "SECRET", None, verdict="memory") == (
        "the import of the file used more memory than the limit allows"
    )


def test_file_that_loads_or_was_never_run_has_no_words() -> None:
    """The reason of a file that was never run is in its message."""
    assert words("x = (", "gqa.py is empty.", seed=None) == ""
    passed = Report("gqa", "gqa.py", 5, "passed", (Outcome("loads", "passed"),))
    assert load_words(passed, "x = 1\n") == ""
