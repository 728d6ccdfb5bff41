"""Tests of `attn-drill heads`."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from attn_drill.report.tools_text import heads_as_object
from tests.support.cli import drill
from tests.support.heads import facts, random_weights


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """Save weights of 2 layers of 7 heads in bfloat16, and return their folder."""
    save_file({"attn": random_weights(2, 7).to(torch.bfloat16)}, tmp_path / "w.safetensors")
    return tmp_path


def test_heads_are_shown_at_every_width(saved: Path) -> None:
    """A pipe gets no colour. `--head` shows a single head."""
    for columns in (80, 50):
        lines = drill("heads", "w.safetensors", cwd=saved, COLUMNS=str(columns)).stdout.splitlines()
        assert lines[0].startswith("w.safetensors  14 heads  L=7")
        assert max(map(len, lines)) <= columns
        assert "2 more heads" in " ".join(lines)
        assert "\x1b" not in "".join(lines)
    alone = drill("heads", "w.safetensors", "--head", "13", cwd=saved).stdout
    assert "head 13 [1, 6]" in alone
    assert alone.count("┌") == 1


def test_heads_are_shown_in_ascii(saved: Path) -> None:
    """No character is lost and replaced by `?`."""
    text = drill("heads", "w.safetensors", cwd=saved, PYTHONIOENCODING="ascii").stdout
    assert text.isascii()
    assert "?" not in text
    assert "#" in text


def test_json_has_all_heads(saved: Path) -> None:
    """The values are those of the facts."""
    printed = json.loads(
        drill("heads", "w.safetensors", "--name", "attn", "--json", cwd=saved).stdout
    )
    heads = facts(random_weights(2, 7).to(torch.bfloat16), "attn")
    assert (printed["schema"], printed["file"]) == ("attn-drill.heads/1", "w.safetensors")
    assert printed["heads"] == heads_as_object(heads, "")["heads"]
    assert len(printed["heads"]) == 14
    assert printed["heads"][13] | {"entropy": 0, "entropy_share": 0, "distance": 0} == {
        "number": 13,
        "tensor": "attn",
        "index": [1, 6],
        "length": 7,
        "entropy": 0,
        "entropy_share": 0,
        "distance": 0,
        "class": heads[13].kind,
        "notes": [],
    }


def test_html_page_has_all_heads(saved: Path) -> None:
    """The file is named on stdout. With `--json`, stdout has only the object."""
    done = drill("heads", "w.safetensors", "--html", "out.html", cwd=saved)
    assert done.stdout == "out.html is written, with pictures of 14 of 14 heads.\n"
    assert (saved / "out.html").read_text().count("<figure ") == 14
    again = drill(
        "heads", "w.safetensors", "--html", "one.html", "--head", "3", "--json", cwd=saved
    )
    assert [head["number"] for head in json.loads(again.stdout)["heads"]] == [3]
    assert (saved / "one.html").read_text().count("<figure ") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.npy"], "nowhere.npy cannot be read as"),
        (["w.safetensors", "--head", "14"], "--head is 14; w.safetensors has heads 0 to 13"),
        (["w.safetensors", "--head", "-1"], "--head is -1"),
        (["w.safetensors", "--name", "attm"], "no tensor 'attm'; it has attn"),
        (["w.safetensors", "--html", "w.safetensors"], "must end in .html"),
        (["w.safetensors", "--html", "nowhere/out.html"], "nowhere/out.html cannot be written"),
    ],
)
def test_usage_errors_exit_with_2(saved: Path, arguments: list[str], says: str) -> None:
    """The message is one line on stderr, and stdout is empty."""
    done = drill("heads", *arguments, cwd=saved, code=2)
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""
