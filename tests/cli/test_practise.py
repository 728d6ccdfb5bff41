"""Practice in sessions and without a screen; `start`, `reset`, `hint` and `solution`."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from attn_drill.cli._command_line import Desk
from attn_drill.cli._practise import can_draw_screen, practise, review_challenge, start_challenge
from attn_drill.packs import pack_reader
from attn_drill.packs.pack_reader import other_answers
from attn_drill.practice.facts import Started
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import rated_reviews, since_start
from attn_drill.session import SessionRequest, SessionResult
from tests.support.cli import BUILT_IN, GQA, drill, record_pass
from tests.support.session import RIGHT, WRONG, read_until, terminal

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


def test_each_call_shows_the_next_hint(tmp_path: Path) -> None:
    """--level shows a certain hint. An unknown level is refused."""
    texts = [drill("hint", "gqa", cwd=tmp_path).stdout for _ in range(4)]
    assert [text[:6] for text in texts] == ["Hint 1", "Hint 2", "Hint 3", "Hint 3"]
    assert GQA.hints[0] in drill("hint", "gqa", "--level", "1", cwd=tmp_path).stdout
    assert "hints 1 to 3" in drill("hint", "gqa", "--level", "4", cwd=tmp_path, code=2).stderr


def test_solution_needs_a_pass_or_give_up(solved: Path) -> None:
    """The refusal names the next step."""
    refused = drill("solution", "gqa", cwd=solved, code=2)
    assert refused.stdout == ""
    assert "--give-up" in refused.stderr
    assert (
        drill("solution", "gqa", "--give-up", cwd=solved).stdout.strip()
        == pack_reader.solution(GQA).strip()
    )
    drill("check", "gqa", cwd=solved)
    assert drill("solution", "gqa", cwd=solved).stdout.strip() == pack_reader.solution(GQA).strip()


@pytest.mark.thorough
def test_giving_up_grades_the_challenge_as_again(tmp_path: Path, home: Path) -> None:
    """It does so once, and in a later review again. After a pass it gives no grade."""
    for _ in range(2):
        drill("solution", "gqa", "--give-up", cwd=tmp_path)
    (review,) = rated_reviews(Journal(home).facts())
    assert (review.rating, review.reason) == (1, "given up")
    record_pass(home, "mha", 1_100_000_000.0)
    drill("solution", "mha", cwd=tmp_path)
    assert len(rated_reviews(Journal(home).facts())) == 2
    drill("review", "mha", cwd=tmp_path)
    drill("solution", "mha", cwd=tmp_path)
    reasons = [review.reason for review in rated_reviews(Journal(home).facts(), "challenge:mha")]
    assert reasons[1:] == ["given up"]


def test_style_shows_another_right_answer_after_a_pass(tmp_path: Path, home: Path) -> None:
    """Before the pass, the refusal names no other answer."""
    refused = drill("solution", "gqa", "--style", "grouped_einsum", cwd=tmp_path, code=2)
    assert refused.stdout == ""
    assert "unnamed_layers" not in refused.stderr
    record_pass(home, "gqa", 1_100_000_000.0)
    (answer,) = [answer for answer in other_answers(GQA) if answer.name == "grouped_einsum"]
    shown = drill("solution", "gqa", "--style", "grouped_einsum", cwd=tmp_path).stdout
    assert shown.strip() == answer.source.strip()
    reference = drill("solution", "gqa", "--style", "reference", cwd=tmp_path).stdout
    assert reference.strip() == pack_reader.solution(GQA).strip()


def test_unknown_style_is_refused_with_the_names_and_gives_nothing_up(
    tmp_path: Path, home: Path
) -> None:
    """A mistyped name must not cost a grade."""
    refused = drill("solution", "gqa", "--give-up", "--style", "einsum", cwd=tmp_path, code=2)
    assert refused.stdout == ""
    words = " ".join(refused.stderr.split())
    assert "gqa has no answer called einsum; it has reference, batched_by_hand" in words
    assert rated_reviews(Journal(home).facts()) == []
    assert not since_start(Journal(home).facts(subject="gqa")).solution


def test_start_never_overwrites_a_file(tmp_path: Path) -> None:
    """The second `start` names `reset`."""
    first = drill("start", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(GQA)
    assert "Grouped-query attention" in first.stdout
    assert "gqa.py is the stub: write your answer there." in first.stdout
    assert "  attn-drill check gqa    grades it    par time 20 min" in first.stdout
    (tmp_path / "gqa.py").write_text("my work\n")
    second = drill("start", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == "my work\n"
    assert "`attn-drill reset gqa` gives a fresh stub" in second.stdout


def test_start_makes_the_folder_and_takes_the_language(tmp_path: Path) -> None:
    """`check` finds the stub in that folder."""
    done = drill("start", "gqa", "--dir", "deep/er", cwd=tmp_path, ATTN_DRILL_LANG="zh")
    assert "分组" in done.stdout
    assert (tmp_path / "deep/er/gqa.py").exists()
    report = json.loads(drill("check", "gqa", "--json", cwd=tmp_path, code=1).stdout)
    assert report["file"].endswith("deep/er/gqa.py")


@pytest.mark.parametrize("level", ["arrange", "guided", "blank"])
def test_start_and_reset_take_a_level(tmp_path: Path, home: Path, level: str) -> None:
    """The journal has the level."""
    drill("start", "gqa", "--level", level, cwd=tmp_path)
    gqa = pack_reader.find_challenge(BUILT_IN, "gqa")
    text = (tmp_path / "gqa.py").read_text()
    assert text == pack_reader.stub(gqa, level)  # type: ignore[arg-type]
    assert ("-> [B, H, L, D]" in text) == (level == "guided")
    start = Journal(home).last(Started, subject="gqa")
    assert start.level == level
    drill("reset", "gqa", "--level", "guided", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(gqa, "guided")
    assert "guided" in drill("start", "gqa", "--level", "steep", cwd=tmp_path, code=2).stderr


def test_settings_have_the_level_of_a_new_stub(tmp_path: Path, home: Path) -> None:
    """A file that is there keeps its level, and `--level` wins."""
    home.mkdir()
    (home / "config.toml").write_text('level = "blank"\n')
    drill("start", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(GQA, "blank")
    drill("reset", "gqa", "--level", "guided", cwd=tmp_path)
    drill("start", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(GQA, "guided")


def test_start_says_that_a_file_keeps_its_level(tmp_path: Path) -> None:
    """The command that gives the level is named. An untouched stub is replaced at once."""
    drill("start", "gqa", "--level", "blank", cwd=tmp_path)
    says = "gqa.py has your work and was handed out at the level standard; "
    assert says not in drill("start", "gqa", "--level", "standard", cwd=tmp_path).stdout
    (tmp_path / "gqa.py").write_text("my work")
    shown = drill("start", "gqa", "--level", "arrange", cwd=tmp_path).stdout
    assert f"{says}`attn-drill reset gqa --level arrange` gives a fresh stub" in shown
    assert says not in drill("start", "gqa", "--level", "standard", cwd=tmp_path).stdout
    assert says not in drill("start", "gqa", cwd=tmp_path).stdout


@pytest.mark.thorough  # tests/benchmarks/session.py starts one in CI
def test_start_on_a_terminal_opens_a_session(tmp_path: Path) -> None:
    """The line after the session has its result.

    With --no-watch the output is plain.
    """
    with terminal(["-m", "attn_drill", "start", "gqa"], tmp_path) as (pid, end):
        read_until(end, lambda seen: "Every save of" in seen)
        (tmp_path / "gqa.py").write_text(WRONG)
        read_until(end, lambda seen: "LIKELY" in seen)
        (tmp_path / "gqa.py").write_text(RIGHT)
        read_until(end, lambda seen: "PASSED" in seen)
        os.write(end, b"q")
        drawn = read_until(end, lambda seen: "as you left it" in seen)
        assert "gqa: passed, 1 attempt," in drawn, "the wrong answer was replaced at once"
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with terminal(["-m", "attn_drill", "start", "gqa", "--no-watch"], tmp_path) as (pid, end):
        drawn = read_until(end, lambda seen: "shows a hint, one of three" in seen)
        assert "\x1b[?1049h" not in drawn


def test_every_reset_keeps_the_old_file(tmp_path: Path) -> None:
    """Each old file gets another name."""
    drill("start", "gqa", cwd=tmp_path)
    for text in ("one\n", "two\n"):
        (tmp_path / "gqa.py").write_text(text)
        drill("reset", "gqa", cwd=tmp_path)
    assert (tmp_path / "gqa.old-1.py").read_text() == "one\n"
    assert (tmp_path / "gqa.old-2.py").read_text() == "two\n"
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(GQA)


def test_reset_keeps_the_level_of_the_file(tmp_path: Path) -> None:
    """Without `--level` the fresh stub has the level of the last stub, else the level standard."""
    first = drill("reset", "gqa", cwd=tmp_path).stdout
    assert first == "gqa.py is a fresh stub of the level standard.\n"
    drill("reset", "gqa", "--level", "arrange", cwd=tmp_path)
    (tmp_path / "gqa.py").write_text("mine\n")
    assert "of the level arrange." in drill("reset", "gqa", cwd=tmp_path).stdout
    assert (tmp_path / "gqa.py").read_text() == pack_reader.stub(GQA, "arrange")
