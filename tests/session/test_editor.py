"""The learner's editor: how it is found, started and reported."""

import os
import re
from pathlib import Path

import pytest

from attn_drill.model.errors import DrillError
from attn_drill.session._editor import find_editor, run_editor
from tests.support.session import read_until, terminal


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({"EDITOR": "code -w", "VISUAL": ""}, ["code", "-w"]),
        ({"EDITOR": "ed", "VISUAL": "gui --wait"}, ["gui", "--wait"]),
        ({"EDITOR": '"/my programs/ed" -x "a b"'}, ["/my programs/ed", "-x", "a b"]),
        ({"EDITOR": " \t"}, ["vi"]),
    ],
)
def test_visual_goes_before_editor(environment: dict[str, str], command: list[str]) -> None:
    """An empty variable counts as unset. Without both variables a usual editor is found."""
    installed = {"ed", "code", "gui", "vi", "/my programs/ed"}
    found = find_editor(environment, lambda name: name if name in installed else None)
    assert found == command


@pytest.mark.parametrize("value", ["no-such-editor -w", "{folder}", "{folder}/plain", "'broken"])
def test_editor_that_cannot_be_run_is_reported(tmp_path: Path, value: str) -> None:
    """The message has the value and the next step."""
    (tmp_path / "plain").write_text("#!/bin/sh\n")
    value = value.replace("{folder}", str(tmp_path))
    with pytest.raises(DrillError) as caught:
        find_editor({"EDITOR": value})
    assert str(caught.value).startswith(f"EDITOR is {value}, and no such program can be run. Set")


def test_system_without_an_editor_is_reported() -> None:
    """The message names the editors that were looked for."""
    with pytest.raises(DrillError, match=r"There is no nano, vim, vi here\. Set EDITOR"):
        find_editor({}, lambda name: None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("#!/bin/sh\nexit 3\n", "exit code 3"),
        ("#!/bin/sh\nkill -9 $$\n", "signal 9"),
        ("#!/no/such\n", "could not be"),
    ],
)
def test_editor_that_fails_is_reported(tmp_path: Path, text: str, says: str) -> None:
    """It may have an exit code or a signal, or the system may be unable to run it."""
    program = tmp_path / "ed"
    program.write_text(text)
    program.chmod(0o755)
    assert says in run_editor([str(program)], tmp_path / "x.py")


def without_escapes(drawn: str) -> str:
    """Return drawn text with a blank in place of each escape sequence and line end."""
    return " ".join(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", " ", drawn).split())


def quoted_editor(folder: Path, text: str) -> str:
    """Return the value of EDITOR for a program in a folder with a space in its name."""
    program = folder / "my editor"
    program.write_text(text)
    program.chmod(0o755)
    return f'"{program}"'


@pytest.mark.thorough
@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    ("editor", "says"),
    [
        ("#!/bin/sh\nexit 7\n", "ended with exit code 7"),
        ("no-such-editor", "no such program can be run"),
        ("#!/no/such/interpreter\n", "could not be started"),
        ("#!/bin/sh\nkill -INT 0\nsleep 0.2\n", "ended with"),
        ("#!/bin/sh\nexit 0\n", "is unchanged"),
        ('#!/bin/sh\necho "wrong $1" > "$2"\n', "FAILED"),
    ],
    ids=[
        "exit code",
        "missing",
        "bad interpreter",
        "interrupted",
        "nothing done",
        "edits",
    ],
)
def test_screen_comes_back_after_the_editor(
    file: Path, tmp_path: Path, editor: str, says: str
) -> None:
    """The status shows the result of the editor, and the next key works."""
    value = quoted_editor(tmp_path, editor) + " argument" if editor.startswith("#!") else editor
    arguments = ["-m", "tests.support.session", str(file)]
    with terminal(arguments, file.parent, EDITOR=value, VISUAL="") as (_, end):
        read_until(end, lambda seen: "Every save of" in seen)
        os.write(end, b"e")
        drawn = read_until(end, lambda seen: says in without_escapes(seen))
        assert "\x1b[?1049l" not in drawn or "\x1b[?1049h" in drawn.rpartition("\x1b[?1049l")[2]
        os.write(end, b"h")
        read_until(end, lambda seen: "Hint 1" in seen)
        os.write(end, b"q")
        assert "\x1b[?1049l" in read_until(end, lambda seen: False)
