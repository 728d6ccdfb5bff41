"""The commands `pack new` and `pack check`."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.support.cli import drill
from tests.support.paths import ROOT, TINY_PACK


@pytest.mark.thorough
def test_pack_check_prints_a_table_and_the_broken_rules(tmp_path: Path) -> None:
    """A right challenge exits 0 with the table of mistakes. A broken rule is named and exits 1."""
    arguments = ("pack", "check", "--challenge", "attention-cost", "--seeds", "1")
    done = drill(*arguments, cwd=tmp_path)
    assert re.search(r"\| attention-cost +\| float-head-dim +\|", done.stdout)
    assert ", 0 failed (1 challenge, 1 seed)" in done.stdout
    arguments = ("pack", "check", str(TINY_PACK), "--seeds", "1", "--json")
    report = json.loads(drill(*arguments, cwd=tmp_path, code=1).stdout)
    assert report["schema"] == "attn-drill.pack-check/1"
    assert any("has 2 mistakes. Write at least 12." in problem for problem in report["problems"])
    assert report["passed"] == sum(not item["problems"] for item in report["items"])
    stubs = [item for item in report["items"] if item["kind"] == "stub"]
    assert "prefix-sum" in [item["challenge"] for item in stubs]
    assert all(item["name"] == "stub.py" and item["refused_by"] for item in stubs)


DOCS = (ROOT / "docs" / "packs.md").read_text()
HEADING = "## Write a pack of your own"


def commands_of_the_docs() -> list[list[str]]:
    """Return the words of each command below the heading in docs/packs.md."""
    section = DOCS.partition(f"{HEADING}\n")[2].partition("\n## ")[0]
    return [
        shlex.split(line) for line in re.findall(r"^    (attn-drill .*)$", section, re.MULTILINE)
    ]


@pytest.mark.thorough
def test_commands_of_the_docs_make_a_working_pack(tmp_path: Path, new_servers: None) -> None:
    """In an empty folder, the commands write a pack, verify it, list it and grade two files.

    The stub does not pass, and the reference does.
    """
    commands = commands_of_the_docs()
    assert [" ".join(words[:3]) for words in commands[:2]] == [
        "attn-drill pack new",
        "attn-drill pack check",
    ]
    assert {"list", "start", "check"} <= {word for words in commands for word in words}
    outputs = {}
    for _, *words in commands:
        is_check = words[0] == "check"
        checks_stub = is_check and not any(word.endswith(".py") for word in words)
        outputs[" ".join(words)] = drill(*words, cwd=tmp_path, code=1 if checks_stub else 0).stdout
    by_command = {key.partition(" my-pack")[0]: text for key, text in outputs.items()}
    assert ", 0 failed (1 challenge, 1 seed)" in by_command["pack check"]
    assert re.search(
        r"(?m)^attention-pooling +easy +10 +new +Attention pooling \(my-pack\)$",
        by_command["--pack"],
    )
    assert [text.partition(" ")[0] for key, text in outputs.items() if key.startswith("check")] == [
        "ERROR",
        "PASSED",
    ]


@pytest.mark.parametrize("existing", ["folder", "file", "link"])
def test_pack_new_never_overwrites(existing: str, tmp_path: Path) -> None:
    """An empty folder, a file or a broken link with the pack's name is refused and kept."""
    place = tmp_path / "deep" / "my-pack"
    place.parent.mkdir()
    {
        "folder": lambda: place.mkdir(),
        "file": lambda: place.write_text("mine"),
        "link": lambda: place.symlink_to("nowhere"),
    }[existing]()
    done = drill("pack", "new", "my-pack", "--dir", "deep", cwd=tmp_path, code=2)
    assert done.stderr == (
        "attn-drill: deep/my-pack already exists and was not changed. "
        "Choose another name, or another folder with --dir.\n"
    )
    assert [path.name for path in place.parent.iterdir()] == ["my-pack"]
    assert (place.is_symlink(), place.is_file(), place.is_dir()) == (
        existing == "link",
        existing == "file",
        existing == "folder",
    )
    assert not place.is_dir() or list(place.iterdir()) == []


def test_pack_new_prints_commands_that_work(tmp_path: Path) -> None:
    """The printed commands can be pasted, even if a folder's name contains a space."""
    text = drill("pack", "new", "my-pack", "--dir", "a b/c", cwd=tmp_path).stdout
    assert text.startswith("a b/c/my-pack is a pack with one challenge, attention-pooling.")
    (line,) = (line for line in text.splitlines() if "attn-drill start" in line)
    _, *words = shlex.split(line.partition("    ")[0])
    assert "attention_pooling.py is the stub" in drill(*words, cwd=tmp_path).stdout


@pytest.mark.thorough
def test_one_broken_challenge_does_not_stop_the_others(pack: Path, tmp_path: Path) -> None:
    """Each fault is one line with its file, as the user wrote the folder."""
    for part in ("challenges", "solutions"):
        shutil.copytree(pack / part / "attention_pooling", pack / part / "gqa")
        shutil.copytree(pack / part / "attention_pooling", pack / part / "torn")
    shutil.rmtree(pack / "solutions/attention_pooling")
    shutil.rmtree(pack / "solutions/gqa/also_right")
    (pack / "solutions/gqa/mistakes.toml").write_text("mistake = []\n")
    (pack / "challenges/torn/challenge.toml").write_text("title = 1\n")
    (pack / "challenges/_questions").mkdir()
    (pack / "challenges/_questions/own.toml").write_text('titel = "Own"\nquestion = []\n')
    done = drill("pack", "check", "my-pack", "--seeds", "1", "--jobs", "1", cwd=tmp_path, code=1)
    bad = [line for line in done.stdout.splitlines() if line.startswith("BAD  ")]
    for line, (file, says) in zip(
        bad,
        (
            ("challenges/torn/challenge.toml", "line 1: `title` is 1. Write text in quotes."),
            ("solutions/attention_pooling/also_right", "has 0 files"),
            ("solutions/attention_pooling/solution.py", "is missing. Add it."),
            ("solutions/attention_pooling/mistakes.toml", "is missing. Add it."),
            ("solutions/attention_pooling/follow_up.toml", "is missing. Add it."),
            ("solutions/gqa/also_right", "has 0 files"),
            ("solutions/gqa/mistakes.toml", "has 0 mistakes"),
            ("challenges/_questions/own.toml", "line 1: `titel` is not a key here. Did you mean"),
        ),
        strict=True,
    ):
        assert line.startswith(f"BAD  my-pack/{file}")
        assert says in line
    assert re.search(r"\n3 passed, 8 failed \(2 challenges, 1 seed\)", done.stdout)
