"""The command `list`: columns, states and widths."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from tests.support.cli import drill
from tests.support.packs import make_pack


@pytest.mark.parametrize("columns", [44, 70, 80, 100, 120])
def test_every_challenge_has_its_title_and_its_state(
    columns: int,
    solved: Path,
    run: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The title is beside the id, or on a narrow terminal on the next line."""
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = run("list")[1].splitlines()
    assert max(map(len, lines)) <= columns
    for challenge in pack_reader.read_pack(pack_reader.built_in_pack()):
        (start,) = (
            index for index, line in enumerate(lines) if line.startswith(f"{challenge.id} ")
        )
        assert re.search(rf"{challenge.level} +{challenge.minutes} +new", lines[start])
        assert (challenge.asked in lines[start]) == (columns >= 100)
        first_word = challenge.title.split()[0]
        assert first_word in lines[start if columns >= 70 else start + 1]
        text = " ".join(lines[start : start + 3])
        assert all(word in text for word in challenge.title.split())
        assert columns < 100 or all(base in text for base in challenge.builds_on)


def test_state_follows_the_journal(solved: Path) -> None:
    """The list for people and the list for programs have the same state."""
    drill("check", "gqa", cwd=solved)
    listed = json.loads(drill("list", "--json", cwd=solved).stdout)
    assert {item["id"]: item["state"] for item in listed}["gqa"] == "passed"
    assert re.search(r"^gqa .* passed  Grouped", drill("list", cwd=solved).stdout, re.MULTILINE)


@pytest.mark.parametrize("columns", [44, 60, 80, 120])
def test_list_with_a_pack_fits_the_terminal(
    columns: int,
    tmp_path: Path,
    run: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The name of the pack follows the title."""
    monkeypatch.setenv("COLUMNS", str(columns))
    pack = make_pack(tmp_path / "a-pack-of-a-course", "extra")
    _, out, _ = run("list", "--pack", str(pack))
    assert max(map(len, out.splitlines())) <= columns
    lines = out.splitlines()
    (start,) = (index for index, line in enumerate(lines) if line.startswith("extra "))
    assert "(a-pack-of-a-course)" in " ".join(lines[start : start + 3])


def test_title_of_a_pack_is_shown_as_it_is(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    """Its control characters cannot act."""
    title, shown = r"a \u001b[31mb", r"a \x1b[31mb"
    pack = make_pack(tmp_path / "p", "extra")
    file = pack / "challenges" / "extra" / "challenge.toml"
    file.write_text(re.sub(r"(?m)^title = .*", lambda _: f'title = "{title}"', file.read_text()))
    _, out, _ = run("list", "--pack", str(pack))
    (line,) = [line for line in out.splitlines() if line.startswith("extra ")]
    assert line.endswith(f"  {shown} (p)" if shown else "  (p)")
