"""Type lines as a learner who answers questions, in the process of the test."""

import io

import pytest


def type_lines(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Let standard input have these lines and then end."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
