"""Tests of the text about a failed test."""

from pathlib import Path

import pytest

from tests.support.pytest_plugin import SHOWN, run


@pytest.mark.thorough
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_report_fits_the_encoding_of_the_terminal(folder: Path, encoding: str) -> None:
    """The report has no colour if pytest uses none. JUnit's file has all characters."""
    plain = {"PYTHONIOENCODING": encoding, "FORCE_COLOR": "", "NO_COLOR": "1"}
    ran = run(folder, "--drill=prefix-sum=values.py", **plain)
    assert ("✗ values" in ran.out) == (encoding == "utf-8")
    assert ("x values" in ran.out) == (encoding == "ascii")
    assert "\x1b" not in ran.out
    assert ran.out.isascii() == (encoding == "ascii")
    assert "✗ values" in ran.texts["values.values::first"]


@pytest.mark.thorough
def test_tb_line_shows_one_line(folder: Path) -> None:
    """The line has the file, the line number and the message."""
    ran = run(folder, "--drill=prefix-sum=loads.py", "--drill=prefix-sum=values.py", "--tb=line")
    assert "\nloads.py:7: SyntaxError: `--drill-time-limit` at line 7\n" in ran.out
    assert f"values.py:1: {SHOWN}" in ran.out
    assert "this test again" not in ran.out
