"""Practice in sessions, one challenge after the other, and without a screen."""

from dataclasses import replace
from pathlib import Path

import pytest

from attn_drill.cli._command_line import Desk
from attn_drill.cli._practise import can_draw_screen, practise, review_challenge, start_challenge
from attn_drill.packs import pack_reader
from attn_drill.practice.journal import Journal
from attn_drill.session import SessionRequest, SessionResult

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
RESULT = SessionResult("quit", False, 90.0, 1)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """Return a desk with an empty journal, in an empty current folder."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return Desk()


def run_sessions(monkeypatch: pytest.MonkeyPatch, *results: SessionResult) -> list[SessionRequest]:
    """Let sessions end with these results. Return the list of their requests."""
    requests: list[SessionRequest] = []
    coming = iter(results)

    def run_session(request: SessionRequest, journal: Journal) -> SessionResult:
        requests.append(request)
        return next(coming)

    monkeypatch.setattr("attn_drill.session.run_session", run_session)
    return requests


def test_next_challenge_is_handed_out_in_the_same_folder(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each session leaves a line on the terminal."""
    passed = replace(RESULT, ending="next", passed=True, attempts=2)
    requests = run_sessions(monkeypatch, passed, RESULT)
    practise(GQA, Path("gqa.py"), desk, "review")
    assert [request.purpose for request in requests] == ["review", "practice"]
    following = requests[1].challenge
    assert following != GQA
    assert requests[1].path == Path.cwd() / following.file_name
    assert requests[1].path.read_text() == pack_reader.stub(following, "standard")
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("gqa: passed, 2 attempts, 2 min. gqa.py is as you left it; ")
    assert "`attn-drill solution gqa` shows the reference" in first
    assert second.startswith(f"{following.id}: not passed yet, 1 attempt, 2 min. ")
    assert f"`attn-drill start {following.id}` goes on" in second


def test_interrupted_session_raises(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exit code after Ctrl-C is that of every command."""
    run_sessions(monkeypatch, replace(RESULT, ending="interrupted"))
    with pytest.raises(KeyboardInterrupt):
        practise(GQA, Path("gqa.py"), desk)


def test_level_of_other_work_is_asked_in_the_session(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An untouched stub is replaced without a question. Later challenges ask nothing."""
    monkeypatch.setattr("attn_drill.cli._practise.can_draw_screen", lambda: True)
    passed = replace(RESULT, ending="next", passed=True)
    requests = run_sessions(monkeypatch, RESULT, RESULT, passed, RESULT)
    start_challenge(GQA, Path("gqa.py"), desk)
    start_challenge(GQA, Path("gqa.py"), desk, "blank")
    assert Path("gqa.py").read_text() == pack_reader.stub(GQA, "blank")
    Path("gqa.py").write_text("my work\n")
    start_challenge(GQA, Path("gqa.py"), desk, "arrange")
    assert [request.level for request in requests] == [None, None, "arrange", None]
    assert Path("gqa.py").read_text() == "my work\n"


@pytest.mark.parametrize(
    ("text", "option", "stage"),
    [
        ("", None, "cause"),
        ("hints_first = true", None, "where"),
        ("hints_first = true", False, "cause"),
        ("hints_first = false", True, "where"),
    ],
)
def test_settings_may_show_hints_first(
    text: str,
    option: bool | None,
    stage: str,
    home: Path,
    desk: Desk,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The option wins."""
    home.mkdir()
    (home / "config.toml").write_text(text)
    requests = run_sessions(monkeypatch, RESULT)
    practise(GQA, Path("gqa.py"), desk, hints_first=option)
    assert [request.stage for request in requests] == [stage]


def test_review_keeps_the_old_file_and_a_review_under_way(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second call continues with the file of the review."""
    Path("gqa.py").write_text("old work\n")
    review_challenge(GQA, Path("gqa.py"), desk, watch=False)
    assert "Your old gqa.py is kept as gqa.old-1.py." in capsys.readouterr().out
    assert Path("gqa.py").read_text() == pack_reader.stub(GQA, "blank")
    Path("gqa.py").write_text("new work\n")
    review_challenge(GQA, Path("gqa.py"), desk, watch=False)
    assert Path("gqa.py").read_text() == "new work\n"
    assert Path("gqa.old-1.py").read_text() == "old work\n"


def test_no_screen_is_drawn_into_a_pipe() -> None:
    """stdout of a test is a file or a pipe."""
    assert not can_draw_screen()
