"""The services that commands share, and how `--pack` reaches a command."""

import ast
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.support.paths import TINY_PACK
from trainer.app.find_file import find_file
from trainer.app.open_packs import KnownPacks, open_packs
from trainer.app.start_challenge import (
    hand_out,
    hand_out_afresh,
    is_review_under_way,
    next_challenge,
)
from trainer.cli.commands import app
from trainer.model.attempt import Attempt
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.practice.journal import Journal

CLI = pack_reader.TRAINER / "cli"


def imported_from_cli(path: Path) -> set[str]:
    """Return the modules of trainer/cli that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        if node.module == "trainer.cli":
            names |= {alias.name for alias in node.names}
        elif node.module.startswith("trainer.cli."):
            names.add(node.module.removeprefix("trainer.cli."))
    return names


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    """Return an empty journal."""
    return Journal(tmp_path / "journal")


def pass_challenge(journal: Journal, challenge_id: str) -> None:
    """Record an attempt that passes."""
    attempt = Attempt(challenge_id, time.time(), 1, "passed", 1, 1, "pass\n", {"load": "passed"})
    journal.record_attempt(attempt)


def test_no_command_is_imported_by_another_module() -> None:
    """Only the command line itself imports commands: what several need lies in a helper."""
    helpers = {"parameters", "practise"}
    commands = imported_from_cli(CLI / "commands.py") - helpers
    assert {"check", "list_", "menu"} <= commands
    for path in CLI.glob("*.py"):
        if path.stem not in ("commands", "entry"):
            assert not imported_from_cli(path) & commands, path


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_a_named_pack_is_known_to_its_own_run_only(before: bool) -> None:
    """Two runs in one process share no `--pack`."""
    option = ["--pack", str(TINY_PACK)]
    first = CliRunner().invoke(app, [*option, "list"] if before else ["list", *option])
    second = CliRunner().invoke(app, ["list"])
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "prefix-sum" in first.stdout
    assert "prefix-sum" not in second.stdout


def test_the_environment_names_packs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`open_packs` takes its own folders and those of ATTN_DRILL_PACK."""
    monkeypatch.setenv("ATTN_DRILL_PACK", str(TINY_PACK))
    assert open_packs().find("prefix-sum").folder.parent.parent == TINY_PACK
    assert open_packs(["one"]).naming(["two"]).named == (Path("one"), Path("two"))


def test_pack_option_is_shown_for_named_packs_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shown command needs `--pack` for a pack that it named, and for no other."""
    named = KnownPacks((TINY_PACK,))
    assert named.pack_option(named.find("prefix-sum")) == f" --pack {TINY_PACK}"
    assert named.pack_option(named.find("gqa")) == ""
    monkeypatch.setenv("ATTN_DRILL_PACK", str(TINY_PACK))
    assert open_packs().pack_option(open_packs().find("prefix-sum")) == ""


def test_learner_file_in_order(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The given file, else the stub's name in this folder, else the place of the stub."""
    monkeypatch.chdir(tmp_path)
    known_packs = KnownPacks()
    gqa = known_packs.find("gqa")
    with pytest.raises(DrillError, match="`attn-drill start gqa` writes it"):
        find_file(gqa, None, journal, known_packs)
    elsewhere = tmp_path / "elsewhere" / gqa.file_name
    hand_out(gqa, elsewhere, journal, "standard")
    assert find_file(gqa, None, journal, known_packs) == elsewhere
    Path(gqa.file_name).write_text("here\n")
    assert find_file(gqa, None, journal, known_packs) == Path(gqa.file_name)
    assert find_file(gqa, Path("x.py"), journal, known_packs) == Path("x.py")


def test_learner_file_that_is_gone(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence names the place where the stub was."""
    monkeypatch.chdir(tmp_path)
    gqa = KnownPacks().find("gqa")
    stub = tmp_path / "elsewhere" / gqa.file_name
    hand_out(gqa, stub, journal, "standard")
    stub.unlink()
    with pytest.raises(DrillError, match=f"{stub}, where `start` put the stub, is gone"):
        find_file(gqa, None, journal, KnownPacks())


def test_hand_out_keeps_a_file(tmp_path: Path, journal: Journal) -> None:
    """A second `hand_out` keeps the file and the start; `hand_out_afresh` changes both."""
    gqa = KnownPacks().find("gqa")
    path = tmp_path / gqa.file_name
    assert not hand_out(gqa, path, journal, "standard")
    path.write_text("mine\n")
    assert hand_out(gqa, path, journal, "blank")
    assert path.read_text() == "mine\n"
    assert journal.level_of("gqa") == "standard"
    old_file = hand_out_afresh(gqa, path, journal, "blank")
    assert old_file is not None
    assert old_file.read_text() == "mine\n"
    assert journal.level_of("gqa") == "blank"


def test_review_is_under_way_until_it_passes(tmp_path: Path, journal: Journal) -> None:
    """A blank stub that was handed out here, and did not pass since."""
    gqa = KnownPacks().find("gqa")
    path = tmp_path / gqa.file_name
    hand_out(gqa, path, journal, "standard")
    assert not is_review_under_way(gqa, path, journal)
    hand_out_afresh(gqa, path, journal, "blank")
    assert is_review_under_way(gqa, path, journal)
    assert not is_review_under_way(gqa, tmp_path / "other.py", journal)
    pass_challenge(journal, "gqa")
    assert not is_review_under_way(gqa, path, journal)


def test_next_challenge_builds_on_the_last(journal: Journal) -> None:
    """First a challenge that builds on the last, then a ready challenge, then any, then none."""
    challenges = KnownPacks().catalogue().challenges
    by_id = {challenge.id: challenge for challenge in challenges}
    mha, gqa, sdpa = by_id["mha"], by_id["gqa"], by_id["sdpa"]
    pass_challenge(journal, "mha")
    assert next_challenge(mha, [sdpa, gqa], journal) == gqa
    assert next_challenge(sdpa, [sdpa, gqa], journal) == sdpa
    pass_challenge(journal, "gqa")
    assert next_challenge(gqa, [mha, gqa, by_id["gqa-rope"]], journal) == by_id["gqa-rope"]
    assert next_challenge(gqa, [mha, gqa], journal) is None
