"""Errors of all commands: one sentence or one object, and the exit code."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from attn_drill.cli import _command_line
from attn_drill.model.errors import GraderError
from attn_drill.packs import pack_reader
from tests.support.cli import GQA, drill

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["check", "gqq"], "Did you mean gqa", id="unknown id"),
        pytest.param(["check", "gqa"], "attn-drill start gqa", id="no file yet"),
        pytest.param(
            ["check", "gqa", "gqa.py", "--time-limit", "0"],
            "Invalid value for '--time-limit'",
            id="no time",
        ),
        pytest.param(
            ["check", "gqa", "gqa.py", "--memory-limit", "1"],
            "Invalid value for '--memory-limit'",
            id="no memory",
        ),
        pytest.param(
            ["check", "gqa", "gqa.py", "--seed", "-1"], "--seed is -1", id="negative seed"
        ),
        pytest.param(
            ["check", "gqa", "gqa.py", "--case", "99"],
            "--case 99 does not exist",
            id="no such case",
        ),
        pytest.param(
            ["check", "gqa", "gqa.py", "--seed", "x"],
            "'x' is not a valid int",
            id="seed that is not a number",
        ),
        pytest.param(["hint"], "Missing argument", id="no id"),
        pytest.param(["chekc"], "No such command 'chekc'", id="no such command"),
        pytest.param(["start", "gqq"], "Did you mean gqa", id="start unknown"),
        pytest.param(["pack", "check", "/nowhere"], "challenges cannot be read", id="no pack"),
    ],
)
def test_usage_error_exits_with_2_and_one_sentence(
    tmp_path: Path, arguments: list[str], says: str
) -> None:
    """The sentence has the wrong value and the next step."""
    if "gqa.py" in arguments:
        (tmp_path / "gqa.py").write_text(pack_reader.solution(GQA))
    done = drill(*arguments, cwd=tmp_path, code=2)
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("check --json", {"schema", "verdict", "error"}),
        ("check gqa --json --seed x", {"schema", "verdict", "error"}),
        ("--pack nowhere check gqa --json", {"schema", "verdict", "error"}),
        ("check gqa --json --pack nowhere", {"schema", "verdict", "error"}),
        ("--pack . check --json --nope", {"schema", "verdict", "error"}),
        ("stats --json --nope", {"error"}),
        ("list --json --pack nowhere", {"error"}),
        ("tools compare --json --preset nobody", {"error"}),
    ],
)
def test_error_with_json_is_one_object(line: str, keys: set[str], run: Run) -> None:
    """An error of `check` is a report without a verdict."""
    code, out, err = run(*line.split())
    assert (code, err) == (2, "")
    error = json.loads(out)
    assert error.keys() == keys
    assert error.get("verdict") is None
    assert error["error"].endswith((".", "`"))


@pytest.mark.parametrize(
    ("raised", "code", "says"),
    [
        (GraderError("The grader is lost."), 3, "The grader is lost."),
        (KeyboardInterrupt(), 130, "Interrupted."),
        (ZeroDivisionError("oops"), 3, "this is a bug in attn-drill"),
    ],
    ids=["grader", "Ctrl-C", "bug"],
)
def test_other_errors(
    raised: BaseException, code: int, says: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --json they are objects too. Only a bug has a traceback."""

    def fail() -> None:
        raise raised

    monkeypatch.setattr(_command_line, "default_journal", fail)
    got, out, err = run("list", "--json")
    assert got == code
    assert says in json.loads(out)["error"]
    assert ("Traceback" in err) == isinstance(raised, ZeroDivisionError)
    assert run("list")[0] == code


def test_fault_of_the_settings_is_an_object_too(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The packs are looked for after the options of the command are known."""
    monkeypatch.setenv("ATTN_DRILL_HOME", str(tmp_path))
    (tmp_path / "config.toml").write_text('levl = "guided"\n')
    code, printed, _ = run("list", "--json")
    assert code == 2
    assert "`levl` is not a key" in json.loads(printed)["error"]
