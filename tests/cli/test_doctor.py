"""The command `doctor`: versions, packs, settings and the isolation on this machine."""

import json
import re
from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from tests.support.cli import drill
from tests.support.packs import BUILT_IN, install_pack, make_pack


def test_doctor_shows_versions_and_isolation(tmp_path: Path) -> None:
    """The output has a line for each attempt to break out of the sandbox."""
    text = drill("doctor", cwd=tmp_path).stdout
    assert re.search(r"torch +2\.13\.0\S* \(tested with 2\.13\.0;", text)
    assert re.search(r"(held|OPEN) +open a network socket", text)
    report = json.loads(drill("doctor", "--json", cwd=tmp_path).stdout)
    assert report["packages"]["torch"].startswith("2.13.0")
    assert report["settings"]["level"] == {"value": "standard", "from": "default"}
    assert report["isolation"]["open a network socket"] in ("held", "OPEN")


def test_doctor_shows_the_settings_and_where_they_come_from(tmp_path: Path, home: Path) -> None:
    """A mistake in the file is one sentence in their place."""
    home.mkdir()
    (home / "config.toml").write_text('level = "blank"\nlanguage = "en"\nhints_first = false\n')
    text = drill("doctor", cwd=tmp_path, ATTN_DRILL_LANG="zh").stdout
    assert f"config.toml {home / 'config.toml'}\n" in text
    for row in (
        ("language", "zh", "(ATTN_DRILL_LANG)"),
        ("theme", "-", "(default)"),
        ("level", "blank", "(config.toml)"),
        ("hints_first", "False", "(config.toml)"),
    ):
        assert row in [tuple(line.split()) for line in text.splitlines()]
    (home / "config.toml").write_text("levle = 1\n")
    says = "config.toml, line 1: `levle` is not a key here. Did you mean `level`?"
    shown = drill("doctor", cwd=tmp_path).stdout
    assert f"settings    {home}/{says}" in shown
    assert "isolation   " in shown
    (home / "config.toml").write_text('packs = ["nowhere"]\n')
    report = json.loads(drill("doctor", "--json", cwd=tmp_path).stdout)
    assert "config.toml names nowhere" in report["settings"]
    assert list(report["packs"]) == [str(BUILT_IN)]


def test_doctor_counts_the_challenges_of_every_pack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pack has a line with its number of challenges; a hidden challenge is reported."""
    site = tmp_path / "site"
    site.mkdir()
    make_pack(site / "counted_pack", "gqa", "extra", "more")
    install_pack(site, "counted", "[attn_drill.packs]\ncounted = counted_pack\n")
    monkeypatch.syspath_prepend(site)
    done = drill("doctor", cwd=tmp_path)
    count = len(pack_reader.read_pack(BUILT_IN))
    shown = " ".join(done.stdout.split())
    assert f"{BUILT_IN} {count} challenges (attn-drill, built in)" in shown
    assert f"{site / 'counted_pack'} 2 challenges (counted, installed)" in shown
    assert f"{site / 'counted_pack/challenges/gqa'} is hidden" in done.stderr
