"""The command `doctor`: versions, packs and the isolation on this machine."""

import re
from pathlib import Path

import pytest

from tests.support.cli import drill
from tests.support.known_packs import BUILT_IN, install_pack, make_pack
from trainer.packs import pack_reader


def test_doctor_shows_versions_and_isolation(tmp_path: Path) -> None:
    """The output has a line for each attempt to break out of the sandbox."""
    text = drill("doctor", cwd=tmp_path).stdout
    assert "torch 2.13.0 (tested with 2.13.0;" in text.replace("+cpu", "")
    assert re.search(r"(held|OPEN)  open a network socket", text)


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
    assert (
        f"{len(pack_reader.read_pack(BUILT_IN))} in {BUILT_IN} (attn-drill, built in)"
        in done.stdout
    )
    assert f"2 in {site / 'counted_pack'} (counted, installed)" in done.stdout
    assert f"{site / 'counted_pack/challenges/gqa'} is hidden" in done.stderr
