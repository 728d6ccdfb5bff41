"""`heads`: facts against hand-made values and the reference, formats, bad input, and what is shown at which width."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from tests.support.cli import drill
from tests.support.heads import facts, random_weights
from trainer.packs import pack_reader
from trainer.report.heads_text import as_object


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder with weights of 2 layers of 7 heads in bfloat16."""
    save_file({"attn": random_weights(2, 7).to(torch.bfloat16)}, tmp_path / "w.safetensors")
    return tmp_path


def test_the_command_shows_heads(saved: Path) -> None:
    """At 80 and at 50 columns, into a pipe without colour; --head shows one alone."""
    for columns in (80, 50):
        lines = drill("heads", "w.safetensors", cwd=saved, COLUMNS=str(columns)).stdout.splitlines()
        assert lines[0].startswith("w.safetensors  14 heads  L=7")
        assert max(map(len, lines)) <= columns
        assert "2 more heads" in " ".join(lines)
        assert "\x1b" not in "".join(lines)
    alone = drill("heads", "w.safetensors", "--head", "13", cwd=saved).stdout
    assert "head 13 [1, 6]" in alone
    assert alone.count("┌") == 1


def test_the_command_in_ascii(saved: Path) -> None:
    """Where stdout is not UTF every character is ASCII, and no `?` stands for one that got lost."""
    text = drill("heads", "w.safetensors", cwd=saved, PYTHONIOENCODING="ascii").stdout
    assert text.isascii()
    assert "?" not in text
    assert "#" in text


def test_the_command_writes_json(saved: Path) -> None:
    """One object with all heads and the same numbers."""
    told = json.loads(drill("heads", "w.safetensors", "--name", "attn", "--json", cwd=saved).stdout)
    found = facts(random_weights(2, 7).to(torch.bfloat16), "attn")
    assert (told["schema"], told["file"]) == ("attn-drill.heads/1", "w.safetensors")
    assert told["heads"] == as_object(found, "")["heads"]
    assert len(told["heads"]) == 14
    assert told["heads"][13] | {"entropy": 0, "entropy_share": 0, "distance": 0} == {
        "number": 13,
        "tensor": "attn",
        "index": [1, 6],
        "length": 7,
        "entropy": 0,
        "entropy_share": 0,
        "distance": 0,
        "class": found[13].kind,
        "notes": [],
    }


def test_the_command_writes_a_page(saved: Path) -> None:
    """Every head is in it; the file is named on stdout, and with --json stdout has the object."""
    done = drill("heads", "w.safetensors", "--html", "out.html", cwd=saved)
    assert done.stdout == "out.html is written, with 14 of 14 heads.\n"
    assert (saved / "out.html").read_text().count("<figure ") == 14
    again = drill(
        "heads", "w.safetensors", "--html", "one.html", "--head", "3", "--json", cwd=saved
    )
    assert [one["number"] for one in json.loads(again.stdout)["heads"]] == [3]
    assert (saved / "one.html").read_text().count("<figure ") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["nowhere.npy"], "There is no file nowhere.npy", id="no file"),
        pytest.param(
            ["w.safetensors", "--head", "14"],
            "--head is 14; w.safetensors has heads 0 to 13",
            id="no such head",
        ),
        pytest.param(["w.safetensors", "--head", "-1"], "--head is -1", id="negative head"),
        pytest.param(["w.safetensors", "--name", "attm"], "Did you mean attn", id="no such tensor"),
        pytest.param(
            ["w.safetensors", "--html", "w.safetensors"],
            "must end in .html",
            id="would write over the weights",
        ),
        pytest.param(
            ["w.safetensors", "--html", "nowhere/out.html"],
            "nowhere/out.html cannot be written",
            id="no such folder",
        ),
        pytest.param([], "Missing argument", id="no argument"),
    ],
)
def test_usage_errors(saved: Path, arguments: list[str], says: str) -> None:
    """Exit 2, one sentence on stderr, nothing on stdout."""
    done = drill("heads", *arguments, cwd=saved, code=2)
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_the_command_imports_torch_only_when_it_runs() -> None:
    """The module of the command, which every start of attn-drill imports, and what draws need no torch, numpy, rich or Jinja."""
    script = (
        "import sys; import trainer.cli.heads;"
        " print(sorted(set(sys.modules) & {'torch', 'numpy', 'rich', 'jinja2'}));"
        " import trainer.report.heads_page; print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=pack_reader.TRAINER.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == ["[]", "False"]
