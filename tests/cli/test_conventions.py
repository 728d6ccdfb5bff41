"""The command `conventions`."""

import json
import re
from collections.abc import Callable

import pytest

from attn_drill.packs import pack_reader

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_is_shown_without_link_targets(
    run: Run, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    """The page is in the learner's language."""
    monkeypatch.setenv("ATTN_DRILL_LANG", language)
    code, out, _ = run("conventions")
    page = pack_reader.conventions(language)
    assert code == 0
    assert out.startswith(page[:200])
    assert "../challenges/" in page
    assert "../challenges/" not in out
    assert [line for line in page.splitlines() if line.startswith("#")] == [
        line for line in out.splitlines() if line.startswith("#")
    ]


def test_only_what_matters_for_a_challenge_is_shown(run: Run) -> None:
    """Each section that is shown names the challenge, and the page has others."""
    _, out, _ = run("conventions", "gqa")
    sections = re.split(r"(?m)^### ", out)[1:]
    assert 2 <= len(sections) < pack_reader.conventions().count("\n### ")
    assert all("[gqa]" in section for section in sections)
    _, out, _ = run("conventions", "gqa", "--json")
    printed = json.loads(out)
    assert (printed["schema"], printed["challenge"]) == ("attn-drill.conventions/1", "gqa")
    assert [section.splitlines()[0] for section in printed["sections"]] == [
        f"### {section.splitlines()[0]}" for section in sections
    ]


def test_challenge_without_conventions(run: Run) -> None:
    """A challenge that the page does not name is no error, but an unknown challenge is."""
    code, out, _ = run("conventions", "swiglu")
    assert (code, out) == (0, "The page of conventions has nothing about swiglu.\n")
    assert json.loads(run("conventions", "swiglu", "--json")[1])["sections"] == []
    code, _, err = run("conventions", "nope")
    assert code == 2
    assert "nope" in err


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_link_leads_to_a_prompt(language: str) -> None:
    """Every challenge that the page names has an address, and the file exists."""
    page = pack_reader.conventions(language)
    targets = dict(re.findall(r"(?m)^\[([a-z-]+)\]: (\S+)$", page))
    named = set(re.findall(r"\[([a-z][a-z-]+)\](?![:(])", page))
    assert named == targets.keys()
    docs = pack_reader.built_in_pack() / "docs"
    assert all((docs / target).is_file() for target in targets.values())
