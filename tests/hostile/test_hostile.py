"""Every file of `submissions/` is run; its first lines say which verdict is honest and what the report must say."""

import re
import sys
from pathlib import Path

import pytest

from trainer.content import packs
from trainer.display.terminal import render
from trainer.grading.grader import Grader
from trainer.running.zygote import Limits

FILES = sorted((Path(__file__).parent / "submissions").glob("*.py"))
GQA = packs.find_challenge(packs.built_in_pack(), "gqa")


def header(source: str, key: str) -> str:
    """The value of `# key: value` among the first lines."""
    found = re.search(rf"^# {key}: (.*)$", source, re.MULTILINE)
    return found[1].strip() if found else ""


@pytest.fixture
def hasty(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> Grader:
    """A grader with little patience and memory to give."""
    monkeypatch.setattr(grader, "limits", Limits(seconds=2.5, memory_bytes=768 << 20))
    return grader


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_honest_verdict(hasty: Grader, path: Path) -> None:
    """The verdict is the honest one, the report can be shown, the grader lives on, no process and no folder is left."""
    source = path.read_text()
    report = hasty.grade(GQA, source, path.name, 21)
    assert report.verdict in header(source, "verdict").split(), report.first_failure()
    failure = report.first_failure()
    if report.verdict != "passed":
        assert failure is not None
    if (says := header(source, "says")) and failure is not None:
        assert any(re.search(says, one.message) for one in report.outcomes if one.status == "failed"), failure.message
    assert shown(report)
    assert workers(hasty) == ""
    assert hasty.grade(GQA, packs.solution(GQA), "gqa.py", 21).verdict == "passed"


def shown(report: object) -> str:
    """The report as text, with no escape sequence of the submission in it."""
    from rich.console import Console

    console = Console(width=80, no_color=True, highlight=False)
    with console.capture() as capture:
        console.print(render(report, 80))  # type: ignore[arg-type]
    text = capture.get()
    assert "\x1b[2J" not in text
    assert "\x07" not in text
    return text


def workers(grader: Grader) -> str:
    """The processes that the zygote has now: workers, and orphans of theirs."""
    pid = grader._zygote._pid
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().strip() if sys.platform == "linux" else ""
