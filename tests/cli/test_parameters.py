"""Which packs are known and in what order; what is broken in one of them is told, and stops no command."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import drill
from tests.support.known_packs import BANK, BUILT_IN, make
from trainer.packs import pack_reader


def test_completion(tmp_path: Path) -> None:
    """The shell completes ids."""
    done = drill(
        cwd=tmp_path,
        code=None,
        _TRAINER_COMPLETE="complete_bash",
        COMP_WORDS="attn-drill start g",
        COMP_CWORD="2",
        _ATTN_DRILL_COMPLETE="complete_bash",
    )
    assert "gqa" in done.stdout


TAKE_IT = "list start check hint solution trace repro reset review stats hunt quiz interview doctor".split()


@pytest.mark.thorough
@pytest.mark.parametrize("command", [[one] for one in TAKE_IT] + [["pack", "check"]], ids=" ".join)
def test_help_names_the_option(
    command: list[str], run: Callable[..., tuple[int, str, str]]
) -> None:
    """Every command that looks for challenges says that it takes --pack."""
    assert "--pack DIR" in run(*command, "--help")[1]


def test_the_option_stands_before_the_command_too(run: Callable[..., tuple[int, str, str]]) -> None:
    """The program's own help says so; what looks for no challenges does not take it."""
    assert "--pack DIR" in run("--help")[1]
    assert "--pack" not in run("compare", "--help")[1]
    assert run("export", "--pack", ".")[0] == 2


@pytest.mark.thorough
@pytest.mark.parametrize("before", [True, False], ids=["before the command", "after it"])
def test_every_light_command_finds_it(
    before: bool, tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    """list, start, hint, reset, solution, hunt, review, stats and quiz, with the option on either side; nothing is left of it for the next call."""
    pack = make(tmp_path / "mine", "extra")
    (pack / "challenges" / "_questions").mkdir()
    (pack / "challenges" / "_questions" / "own.toml").write_text(BANK.format("Own", "own"))

    def with_it(*arguments: str) -> str:
        option = ["--pack", str(pack)]
        code, out, err = run(*([*option, *arguments] if before else [*arguments, *option]))
        assert code == 0, err
        return out

    assert "mine" in next(
        line for line in with_it("list").splitlines() if line.startswith("extra ")
    )
    assert {
        one["id"]: one["pack"]
        for one in json.loads(with_it("list", "--json"))
        if one["id"] in ("extra", "gqa")
    } == {"extra": "mine", "gqa": None}
    assert f"attn-drill check extra --pack {pack}" in with_it("start", "extra")
    assert Path("extra.py").read_text() == pack_reader.stub(
        pack_reader.find_challenge(pack, "extra")
    )
    assert "Hint 1 of 3: Add." in with_it("hint", "extra")
    assert "extra.old-1.py" in with_it("reset", "extra")
    assert "torch.cumsum" in with_it("solution", "extra", "--give-up")
    assert f"attn-drill hunt extra --check --pack {pack}" in with_it("hunt", "extra")
    assert "extra" in with_it("review", "--list")
    assert (
        json.loads(with_it("stats", "--json"))["challenges"]
        == len(pack_reader.read_pack(BUILT_IN)) + 1
    )
    listed = with_it("quiz", "--list")
    assert "own  " in listed
    assert "extra  " in listed
    assert run("hint", "extra")[0] == 2
    assert "extra" not in run("list")[1]


def test_several_packs_and_the_variable(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option several times, on both sides, and the variable: all are known, the first that was typed first."""
    one, two, three, four = (
        make(tmp_path / name, "shared", name) for name in ("one", "two", "three", "four")
    )
    monkeypatch.setenv("ATTN_DRILL_PACK", str(four))
    code, out, err = run(
        "--pack", str(one), "--pack", str(two), "list", f"--pack={three}", "--json"
    )
    assert code == 0
    assert {item["pack"] for item in json.loads(out)} == {None, "one", "two", "three", "four"}
    assert [item["pack"] for item in json.loads(out) if item["id"] == "shared"] == ["one"]
    assert err.count(f"is hidden: {one / 'challenges/shared'}") == 3
    assert run("hint", "four")[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["hint", "gqa"],
        ["quiz", "--list"],
        ["stats"],
        ["doctor"],
        ["review", "--list"],
        ["check", "gqa"],
        ["pack", "check"],
        ["interview", "--fresh"],
    ],
    ids=" ".join,
)
def test_a_bad_option_is_a_usage_error(
    arguments: list[str], run: Callable[..., tuple[int, str, str]]
) -> None:
    """One sentence on stderr and exit code 2, also where the challenge is in another pack."""
    code, _, err = run(*arguments, "--pack", "nowhere")
    assert code == 2
    assert "nowhere" in err
    assert len(err.splitlines()) == 1


def test_completion_knows_packs(tmp_path: Path) -> None:
    """Ids of the pack that stands in the line already; of a bad one nothing is said while somebody types."""
    pack = make(tmp_path / "mine", "extra")
    script = "import sys; sys.argv = ['attn-drill']; from trainer.cli.commands import main; main()"

    def completed(line: str) -> subprocess.CompletedProcess[str]:
        words = {
            "_ATTN_DRILL_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(line.split()) - 1),
        }
        environment = {**os.environ, "PYTHONPATH": str(pack_reader.TRAINER.parent), **words}
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
