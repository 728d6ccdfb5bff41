"""The documents say what is true: commands exist, files are there, the picture of a report is current."""

import os
import re

import pytest

from tests.support import forked
from tests.support.update_readme import PICTURE, current_picture
from trainer.packs import pack_reader

ROOT = pack_reader.TRAINER.parent


README = (ROOT / "README.md").read_text()


CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())


def commands(text: str) -> list[str]:
    """The indented shell lines of a document."""
    return re.findall(r"^    ((?:python|attn-drill) .*)$", text, re.MULTILINE)


def test_two_set_up_commands() -> None:
    """One installs and runs the main job, one installs and runs the tests; both languages and CONTRIBUTING agree."""
    first, second = (one for one in commands(README) if "pip install" in one)
    assert first.endswith("&& attn-drill start gqa")
    assert second.endswith("&& python -m pytest")
    assert set(commands((ROOT / "README.zh-CN.md").read_text())) == {
        first,
        second,
        "attn-drill check gqa",
    }
    assert second in commands((ROOT / "CONTRIBUTING.md").read_text())


def test_ci_runs_the_second_command() -> None:
    """CI takes the command from the README, so that the two cannot drift."""
    pattern = re.search(r'sed -n "s/\^    (.*?)\$/', (ROOT / ".ci/run").read_text())
    assert pattern is not None
    assert (
        len(re.findall(r"^    python -m pip install .* python -m pytest$", README, re.MULTILINE))
        == 1
    )


def test_every_command_of_the_table_exists() -> None:
    """What the README's table names, the program knows, with these options."""
    help_text = forked.run(["--help"], ROOT, os.environ).stdout
    for row in re.findall(r"^\| `attn-drill ([^`]*)`", README, re.MULTILINE):
        words = row.split()
        assert words[0].removeprefix("--") in help_text
        if not words[0].startswith("--"):
            command = words[:2] if words[0] == "pack" else words[:1]
            text = forked.run([*command, "--help"], ROOT, os.environ).stdout
            for option in re.findall(r"--[a-z-]+", row):
                assert option in text, f"{command}: {option}"


@pytest.mark.parametrize(
    "name", ["README.md", "README.zh-CN.md", "CONTRIBUTING.md", "CHANGELOG.md"]
)
def test_links_lead_somewhere(name: str) -> None:
    """Every relative link names a file."""
    text = (ROOT / name).read_text()
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
        assert (ROOT / target).exists(), target


def test_every_challenge_is_listed() -> None:
    """The README's table has every challenge, with its entries and what it builds on."""
    for one in CHALLENGES:
        row = f"| `{one.id}` | {', '.join(f'`{entry}`' for entry in one.entry)} | {', '.join(f'`{other}`' for other in one.builds_on)}".rstrip()
        assert row in README, row


def test_the_readme_shows_a_current_report() -> None:
    """The picture in the README is what the program shows today for that mistake and seed; `python tests/support/update_readme.py` draws it anew."""
    assert "(docs/report.svg)" in README
    assert PICTURE.read_text(encoding="utf-8") == current_picture()
