"""What a class's results are written as: nothing of a student acts, nothing that is to stay hidden is told, and the sums are right."""

import base64
import json

from tests.support.class_results import (
    HOSTILE_NAMES,
    assignment,
    result,
)
from trainer.export import github_classroom
from trainer.export.github_classroom import github_classroom_object, result_line


def test_github_gets_it_in_base64() -> None:
    """The line for $GITHUB_OUTPUT is one line of ASCII, and gives the object back; every key of the format is there."""
    made = github_classroom_object(
        [result(HOSTILE_NAMES[9], verdict="failed", failed=("values",))], assignment()
    )
    line = result_line(made)
    assert line.isascii()
    assert line.startswith("result=")
    assert line.count("\n") == 1
    assert json.loads(base64.b64decode(line.removeprefix("result="), validate=False)) == made
    assert made["version"] == 1
    for test in made["tests"]:
        assert list(test) == [
            "name",
            "status",
            "message",
            "test_code",
            "filename",
            "line_no",
            "execution_time",
            "score",
        ]
    told = {test["name"]: test for test in made["tests"]}
    assert (
        told["runs"]["line_no"],
        told["runs"]["filename"],
        told["runs"]["status"],
        told["runs"]["message"],
    ) == (0, "", "pass", "")
    assert (told["values"]["line_no"], told["values"]["filename"], told["values"]["status"]) == (
        34,
        r"\x1b[31mred\x1b[0m\x07.py",
        "fail",
    )


def test_no_log_line_is_an_order() -> None:
    """What a submission printed cannot speak to the machine that runs the workflow."""
    text = "FAILED\n::set-env name=PATH::x\n   ::warning::x\n##[group]x\nx ##[error]x\nfine :: here\n\t::add-mask::x"
    one = result("Ann", verdict="failed", failed=("values",), text=text)
    message = next(
        test["message"]
        for test in github_classroom_object([one], assignment())["tests"]
        if test["name"] == "values"
    )
    assert "##[" not in message
    assert not any(line.strip().startswith("::") for line in message.splitlines())
    assert "fine :: here" in message
    assert github_classroom._MOST == 100
