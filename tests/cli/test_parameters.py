"""The parameters that commands share: `--pack DIR` and the completion of ids."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from attn_drill.cli._commands import app
from attn_drill.packs import pack_reader
from tests.support.cli import drill
from tests.support.known_packs import BANK, BUILT_IN, make_pack
from tests.support.paths import SOURCE


def test_shell_completes_ids(tmp_path: Path) -> None:
    """The shell gets the ids that begin with the typed letters."""
    done = drill(
        cwd=tmp_path,
        code=None,
        COMP_WORDS="attn-drill start g",
        COMP_CWORD="2",
        _ATTN_DRILL_COMPLETE="complete_bash",
    )
    assert "gqa" in done.stdout


def test_commands_that_use_challenges_take_the_pack_option(
    run: Callable[..., tuple[int, str, str]],
) -> None:
    """The program takes it before the command's name too."""
    program = get_command(app)
    assert isinstance(program, TyperGroup)
    assert "--pack DIR" in run("--help")[1]
    for name, command in program.commands.items():
        if not isinstance(command, TyperGroup):
            assert "--pack DIR" in run(name, "--help")[1], name
    assert "--pack DIR" in run("pack", "check", "--help")[1]
    assert run("export", "--pack", ".")[0] == 2


@pytest.mark.thorough
@pytest.mark.parametrize("before", [True, False], ids=["before the command", "after it"])
def test_every_command_without_torch_finds_the_pack(
    before: bool, tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    """The option works before and after the command's name, and only for this call."""
    pack = make_pack(tmp_path / "mine", "extra")
    (pack / "challenges" / "_questions").mkdir()
    (pack / "challenges" / "_questions" / "own.toml").write_text(BANK.format("Own", "own"))

    def output(*arguments: str) -> str:
        option = ["--pack", str(pack)]
        code, out, err = run(*([*option, *arguments] if before else [*arguments, *option]))
        assert code == 0, err
        return out

    (line,) = (line for line in output("list").splitlines() if line.startswith("extra "))
    assert "mine" in line
    packs = {item["id"]: item["pack"] for item in json.loads(output("list", "--json"))}
    assert (packs["extra"], packs["gqa"]) == ("mine", None)
    assert f"attn-drill check extra --pack {pack}" in output("start", "extra")
    assert Path("extra.py").read_text() == pack_reader.stub(
        pack_reader.find_challenge(pack, "extra")
    )
    assert "Hint 1 of 3: Add." in output("hint", "extra")
    assert "extra.old-1.py" in output("reset", "extra")
    assert "torch.cumsum" in output("solution", "extra", "--give-up")
    assert f"attn-drill check extra extra_hunt.py --pack {pack}" in output("hunt", "extra")
    assert "extra" in output("review", "--list")
    count = json.loads(output("stats", "--json"))["challenges"]
    assert count == len(pack_reader.read_pack(BUILT_IN)) + 1
    listed = output("quiz", "--list")
    assert "own  " in listed
    assert "extra  " in listed
    assert run("hint", "extra")[0] == 2
    assert "extra" not in run("list")[1]


def test_option_and_variable_may_name_several_packs(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All named packs are known, and a pack that was typed earlier wins."""
    first, second, third, fourth = (
        make_pack(tmp_path / name, "shared", name) for name in ("one", "two", "three", "four")
    )
    monkeypatch.setenv("ATTN_DRILL_PACK", str(fourth))
    code, out, err = run(
        "--pack", str(first), "--pack", str(second), "list", f"--pack={third}", "--json"
    )
    assert code == 0
    assert {item["pack"] for item in json.loads(out)} == {None, "one", "two", "three", "four"}
    assert [item["pack"] for item in json.loads(out) if item["id"] == "shared"] == ["one"]
    assert err.count(f"is hidden: {first / 'challenges/shared'}") == 3
    assert run("hint", "four")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["hint", "gqa"],
        ["doctor"],
        ["pack", "check"],
        ["interview", "--fresh"],
    ],
    ids=" ".join,
)
def test_folder_that_is_not_a_pack_is_a_usage_error(
    arguments: list[str], run: Callable[..., tuple[int, str, str]]
) -> None:
    """The command exits with 2 and one sentence, even if another pack has the challenge."""
    code, _, err = run(*arguments, "--pack", "nowhere")
    assert code == 2
    assert "nowhere" in err
    assert len(err.splitlines()) == 1


def test_completion_knows_the_packs_of_the_line(tmp_path: Path) -> None:
    """The shell completes ids of a pack that the line names. A bad `--pack` prints nothing."""
    pack = make_pack(tmp_path / "mine", "extra")
    script = "import sys; sys.argv = ['attn-drill']; from attn_drill.cli.entry import main; main()"

    def completed(line: str) -> subprocess.CompletedProcess[str]:
        words = {
            "_ATTN_DRILL_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split()) - 1),
        }
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), **words}
        return subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )

    for line in (f"attn-drill --pack {pack} start ex", f"attn-drill start --pack {pack} ex"):
        assert completed(line).stdout.split() == ["extra"]
    bad = completed("attn-drill --pack nowhere start ex")
    assert (bad.stdout.strip(), bad.stderr) == ("", "")
