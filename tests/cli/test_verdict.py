"""How a report is shown. tests/cli/test_check.py has the report itself."""

import pytest

from trainer.cli.verdict import Output, wait_for_key


@pytest.mark.parametrize(
    ("why", "is_hunt", "stage"),
    [
        (None, False, "cause"),
        (False, False, "line"),
        (None, True, "where"),
        (False, True, "where"),
        (True, True, "cause"),
    ],
)
def test_hunt_hides_the_line_and_the_mistake(why: bool | None, is_hunt: bool, stage: str) -> None:
    """To find them is its task."""
    assert Output(why).stage(is_hunt=is_hunt) == stage


@pytest.mark.parametrize(
    ("keys", "parts"),
    [
        pytest.param("q", 0, id="q"),
        pytest.param("\x1b", 0, id="escape"),
        pytest.param(" Q", 1, id="a key, then Q"),
        pytest.param("\r w", 3, id="all parts"),
    ],
)
def test_key_shows_the_next_part_in_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keys: str, parts: int
) -> None:
    """The prompt has the next part in words. q and Escape stop."""
    typed = iter(keys)
    monkeypatch.setattr("typer.getchar", lambda: next(typed))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    shown = [wait_for_key(words) for words in ("the line", "a question", "why")[: len(keys)]]
    assert shown == [True] * parts + [False] * (len(keys) - parts)
    text = capsys.readouterr().out
    assert text.count("Any key shows ") == len(keys)
    assert "\nAny key shows the line; q stops. \n" in text
