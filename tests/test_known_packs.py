"""Which packs are known and in what order; what is broken in one of them is told, and stops no command."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.paths import TINY_PACK
from tests.test_server import Process
from trainer.app.grade_file import open_grader
from trainer.app.open_packs import open_packs
from trainer.cli import commands
from trainer.model.errors import DrillError
from trainer.model.submission import Submission
from trainer.packs import known_packs, pack_reader
from trainer.packs.installed_packs import installed_packs
from trainer.packs.known_packs import Places, catalogue, find
from trainer.packs.mistakes import readable_mistakes
from trainer.packs.question_bank import read_bank
from trainer.server.messages import Grade, Prepare, Ready, Verdict
from trainer.session.model import SessionRequest

ROOT = pack_reader.built_in_pack()
BANK = 'title = "{}"\n[[question]]\nid = "{}"\nkind = "number"\nasks = "2?"\nexplains = "{{answer}}"\nanswer = "2"\n'


def make(root: Path, *folders: str, minutes: int = 5) -> Path:
    """A pack with challenges in these folders, all like `prefix_sum` of the small pack."""
    for folder in folders:
        for part in ("challenges", "solutions"):
            shutil.copytree(TINY_PACK / part / "prefix_sum", root / part / folder)
        file = root / "challenges" / folder / "challenge.toml"
        file.write_text(file.read_text().replace("minutes = 5", f"minutes = {minutes}"))
    return root


def install(site: Path, package: str, entry_points: str) -> None:
    """What an installer leaves of a package beside the package itself."""
    folder = site / f"{package}-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on sys.path, as if it were one for packages."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run a command that needs no torch, in this process: its exit code, and what it wrote to stdout and to stderr."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def command(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["attn-drill", *arguments])
        code = commands._run()
        return code, *capsys.readouterr()

    return command


def pack_of(places: Places, challenge: str) -> Path:
    """The pack in which a challenge is found; the catalogue has to agree."""
    found = find(places, challenge)
    (listed,) = (one for one in catalogue(places).challenges if one.id == challenge)
    assert listed == found
    assert catalogue(places).pack_of(listed).root == found.folder.parent.parent
    return found.folder.parent.parent


def test_the_earlier_pack_wins(tmp_path: Path, site: Path) -> None:
    """Named by --pack, in the order of naming, then by the variable, then the built-in pack, then what is installed."""
    one, two, three, four = (
        make(tmp_path / name, "gqa", "extra") for name in ("one", "two", "three", "four")
    )
    make(site / "precedence_pack", "gqa", "extra", "installed_only")
    install(site, "precedence", "[attn_drill.packs]\nprecedence = precedence_pack\n")
    variable = os.pathsep.join(["", str(three), str(four), ""])
    assert pack_of(Places((one, two), variable), "gqa") == one
    assert pack_of(Places((two, one), variable), "gqa") == two
    assert pack_of(Places((), variable), "gqa") == three
    assert pack_of(Places(), "gqa") == ROOT
    assert pack_of(Places(), "extra") == site / "precedence_pack"
    assert pack_of(Places((), variable), "extra") == three
    assert pack_of(Places((one, two), variable), "installed-only") == site / "precedence_pack"
    assert [pack.root for pack in known_packs.known_packs(Places((one, two), variable))] == [
        one,
        two,
        three,
        four,
        ROOT,
        site / "precedence_pack",
    ]


def test_a_pack_is_known_once(tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often and by whatever way it is named, and nothing of it is hidden by itself."""
    pack = make(site / "once_pack", "extra")
    install(site, "once", "[attn_drill.packs]\nonce = once_pack\n")
    (tmp_path / "link").symlink_to(pack)
    monkeypatch.chdir(site)
    known = catalogue(Places((tmp_path / "link", Path("once_pack"), ROOT), str(pack)))
    assert known.roots == [pack, ROOT]
    assert known.troubles == ()


def test_what_is_hidden_is_told(tmp_path: Path) -> None:
    """A sentence that names both folders; the hidden challenge is not listed."""
    pack = make(tmp_path / "mine", "gqa", "extra")
    known = catalogue(Places((pack,)))
    (trouble,) = known.troubles
    assert (
        f"{ROOT / 'challenges/gqa'} is hidden: {pack / 'challenges/gqa'} has the same id" in trouble
    )
    assert [one.folder.parent.parent for one in known.challenges if one.id == "gqa"] == [pack]


@pytest.mark.parametrize("by_variable", [False, True], ids=["--pack", "variable"])
@pytest.mark.parametrize(
    ("name", "says"),
    [
        pytest.param("nowhere", "nowhere, and there is no such folder", id="nowhere"),
        pytest.param("file", "file, and there is no such folder", id="a file"),
        pytest.param(
            "empty",
            "empty, which is no pack: it has no folder challenges/ and no folder solutions/",
            id="an empty folder",
        ),
        pytest.param(
            "half", "half, which is no pack: it has no folder solutions/", id="no solutions"
        ),
    ],
)
def test_a_folder_that_is_no_pack(tmp_path: Path, name: str, says: str, by_variable: bool) -> None:
    """One sentence that says who names it, whatever challenge is looked for."""
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "half" / "challenges").mkdir(parents=True)
    folder = tmp_path / name
    who = "ATTN_DRILL_PACK names" if by_variable else "--pack names"
    places = (
        Places((), str(folder))
        if by_variable
        else Places((make(tmp_path / "right", "gqa"), folder))
    )
    for ask in (
        lambda: find(places, "gqa"),
        lambda: catalogue(places),
        lambda: known_packs.known_packs(places),
    ):
        with pytest.raises(DrillError, match=rf"^{who} .*{says}.*pack new"):
            ask()


def test_installed_packages_are_looked_for_only_where_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An id that an earlier pack has costs no look at every package."""
    monkeypatch.setattr(known_packs, "_installed", lambda path: 1 / 0)
    assert find(Places(), "gqa").id == "gqa"
    with pytest.raises(ZeroDivisionError):
        find(Places(), "nowhere")


def test_an_unknown_id_is_answered_from_all_packs(tmp_path: Path) -> None:
    """The nearest ids may be of any pack."""
    with pytest.raises(DrillError, match="Did you mean attention-mask"):
        find(Places((make(tmp_path / "mine", "attention_mask"),)), "attention-msk")


# Installed packages


def test_a_package_is_not_imported(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the package that an entry point names, nor one that it lies in; comments, other groups and extras are no matter."""
    for package, folder in (
        ("silent_pack", "silent_pack"),
        ("silent_outer", "silent_outer/inner/pack"),
    ):
        (make(site / folder, "extra") / "__init__.py").write_text("raise ImportError('imported')\n")
        (site / package / "__init__.py").write_text("raise ImportError('imported')\n")
    lines = "[console_scripts]\nx = nowhere:main\n\n[ attn_drill.packs ]\n# a comment\n; another\nplain=silent_pack\ndeep = silent_outer.inner.pack [more]\n[other]\ny = z\n"
    install(site, "silent", lines)
    found, troubles = installed_packs([str(site)])
    assert [(one.name, one.root) for one in found] == [
        ("plain", site / "silent_pack"),
        ("deep", site / "silent_outer/inner/pack"),
    ]
    assert troubles == []
    assert not {"silent_pack", "silent_outer"} & set(sys.modules)


@pytest.mark.parametrize(
    "value",
    ["str(HERE / 'pack')", "HERE / 'pack'", "'pack'", "'../attribute_module/pack'"],
    ids=["text", "path", "relative", "relative, up"],
)
def test_an_attribute_names_the_folder(
    site: Path, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As text or as a path, absolute or from where the module lies; what the module prints does not get between a command's words."""
    make(site / "attribute_module" / "pack", "extra")
    (site / "attribute_module" / "__init__.py").write_text(
        f"from pathlib import Path\nHERE = Path(__file__).parent\nprint('hello')\nclass Folders:\n    mine = {value}\n"
    )
    monkeypatch.delitem(sys.modules, "attribute_module", raising=False)
    install(site, "attribute", "[attn_drill.packs]\nmine = attribute_module : Folders.mine\n")
    found, troubles = installed_packs([str(site)])
    monkeypatch.delitem(sys.modules, "attribute_module")
    assert [one.root for one in found] == [site / "attribute_module" / "pack"], troubles
    assert capsys.readouterr() == ("", "hello\n")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        pytest.param("broken_nowhere", "there is no package 'broken_nowhere'", id="no package"),
        pytest.param(
            "broken_empty.nowhere",
            "broken_empty.nowhere is no package with a folder of its own",
            id="no package in a package",
        ),
        pytest.param(
            "broken_module", "broken_module is no package with a folder of its own", id="a module"
        ),
        pytest.param(
            "broken_empty", "broken_empty has no challenges/ and solutions/", id="no pack in it"
        ),
        pytest.param("", "there is no package ''", id="nothing"),
        pytest.param("broken_raises:PACK", "ZeroDivisionError", id="a module that raises"),
        pytest.param("broken_exits:PACK", "SystemExit: 5", id="a module that ends the process"),
        pytest.param("broken_module:PACK", "AttributeError", id="no such attribute"),
        pytest.param(
            "broken_module:number",
            "broken_module:number is 7, and no folder",
            id="an attribute that is a number",
        ),
        pytest.param(
            "broken_module:folder",
            "broken_empty has no challenges/",
            id="an attribute that names no pack",
        ),
    ],
)
def test_a_broken_entry_point_is_one_sentence(
    site: Path,
    value: str,
    says: str,
    run: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It names the pack and its package; other packs are there, and every command works."""
    (site / "broken_empty").mkdir()
    (site / "broken_module.py").write_text(f"number = 7\nfolder = {str(site / 'broken_empty')!r}\n")
    (site / "broken_raises.py").write_text("1 / 0\n")
    (site / "broken_exits.py").write_text("raise SystemExit(5)\n")
    make(site / "whole_pack", "extra")
    install(site, "a_broken", f"[attn_drill.packs]\nmine = {value}\n")
    install(site, "whole", "[attn_drill.packs]\nwhole = whole_pack\n")
    known = catalogue(Places())
    monkeypatch.delitem(sys.modules, "broken_module", raising=False)
    (trouble,) = known.troubles
    assert trouble.startswith("The pack mine of the installed package a_broken is left out: ")
    assert says in trouble
    assert trouble.endswith(". Install a_broken again, or remove it.")
    assert known.roots == [ROOT, site / "whole_pack"]
    code, out, err = run("list")
    assert (code, err) == (0, f"attn-drill: {trouble}\n")
    assert "extra" in out
    assert run("start", "extra")[::2] == (0, "")


def test_entry_points_that_cannot_be_read(site: Path) -> None:
    """Bytes that are no text, and lines that say nothing: no crash."""
    install(site, "bytes", "")
    (site / "bytes-1.0.dist-info" / "entry_points.txt").write_bytes(
        b"\xff\xfe[attn_drill.packs]\n\xff = \xff\nalone\n"
    )
    found, troubles = installed_packs([str(site), str(site / "nowhere"), ""])
    assert found == []
    assert len(troubles) <= 2


def test_a_project_that_is_installed_as_it_stands(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pack lies beside its package; what an installer copied among the packages is hidden from what is graded as well."""
    project = make(tmp_path / "project", "extra")
    (project / "standing_pack").mkdir()
    (project / "standing_pack" / "__init__.py").write_text("")
    copy = make(site / "standing_pack", "extra")
    install(site, "standing", "[attn_drill.packs]\nstanding = standing_pack\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(project)])
    assert (
        installed_packs(sys.path)[0] == []
    )  # what lies beside a package is no pack unless that is a project
    (project / "pyproject.toml").write_text("")
    monkeypatch.setattr(
        sys, "path", [*sys.path, str(tmp_path)]
    )  # another key for what is kept of a process
    (pack,) = (one for one in known_packs.known_packs(Places()) if one.how == "installed")
    assert (pack.root, pack.copies) == (project, (copy,))
    assert open_packs().roots() == (ROOT, project, copy)


# What they hold


def test_a_broken_challenge_is_left_out(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    """The others are listed, and a sentence names the file; asked for by name, it is an error."""
    pack = make(tmp_path / "mine", "fine", "torn", "a-hyphen", "Capital", "unreadable")
    file = pack / "challenges" / "torn" / "challenge.toml"
    file.write_text("minutes = ")
    (pack / "challenges" / "unreadable" / "challenge.toml").unlink()
    (pack / "challenges" / "unreadable" / "challenge.toml").mkdir()
    code, out, err = run("list", "--pack", str(pack))
    assert code == 0
    assert "fine" in out
    assert not {"torn", "a-hyphen", "capital", "unreadable"} & set(out.lower().split())
    capital, hyphen, torn, unreadable = err.splitlines()
    assert f"{pack / 'challenges/Capital'} is left out, for no id leads to it" in capital
    assert f"{pack / 'challenges/a-hyphen'} is left out, for no id leads to it" in hyphen
    assert f"{file} is not valid TOML" in torn
    assert "challenge.toml cannot be read: Is a directory" in unreadable
    assert run("start", "torn", "--pack", str(pack))[0] == 2
    assert run("start", "fine", "--pack", str(pack))[0] == 0


def test_a_circle_through_two_packs(tmp_path: Path) -> None:
    """All challenges are there all the same, each once, and a sentence says what is wrong."""
    roots = [make(tmp_path / name, name) for name in ("one", "two")]
    for root, other in zip(roots, ("two", "one"), strict=True):
        file = root / "challenges" / root.name / "challenge.toml"
        file.write_text(file.read_text() + f'builds_on = ["{other}"]\n')
        assert catalogue(Places((root,))).troubles == ()
    known = catalogue(Places(tuple(roots)))
    ids = [one.id for one in known.challenges]
    assert sorted(ids) == sorted({*ids, "one", "two", "gqa"})
    assert len(ids) == len(pack_reader.read_pack(ROOT)) + 2
    (trouble,) = known.troubles
    assert "circle" in trouble


def test_challenges_stand_where_they_belong(tmp_path: Path) -> None:
    """Among those of other packs: after what they build on, by minutes."""
    pack = make(tmp_path / "mine", "after", minutes=1)
    file = pack / "challenges" / "after" / "challenge.toml"
    file.write_text(file.read_text() + 'builds_on = ["mha"]\n')
    ids = [one.id for one in catalogue(Places((pack,))).challenges]
    assert ids[ids.index("mha") + 1] == "after"


def test_question_banks_are_one(tmp_path: Path) -> None:
    """Of one id and one topic the earlier pack's counts, in the packs' order; a broken bank is left out and told."""
    roots = [make(tmp_path / name, name) for name in ("one", "two", "torn")]
    for root, files in zip(
        roots,
        (
            {"t": ("First", "q"), "u": ("U", "r")},
            {"t": ("Second", "s"), "v": ("V", "q")},
            {"t": ("Third", "")},
        ),
        strict=True,
    ):
        (root / "challenges" / "_questions").mkdir()
        for name, words in files.items():
            (root / "challenges" / "_questions" / f"{name}.toml").write_text(
                BANK.format(*words) if words[1] else "title ="
            )
    bank = read_bank(roots)
    assert dict(bank.titles) == {"t": "First", "u": "U", "v": "V"}
    assert [(one.id, one.topic) for one in bank.questions] == [("q", "t"), ("r", "u"), ("s", "t")]
    hidden, torn = bank.troubles
    assert f"'q' of {roots[1]} is hidden" in hidden
    assert f"questions of {roots[2]} are left out" in torn


def test_mistakes_that_cannot_be_read(
    tmp_path: Path, run: Callable[..., tuple[int, str, str]]
) -> None:
    """Told, and the quiz goes on without them."""
    pack = make(tmp_path / "mine", "fine", "torn")
    (pack / "solutions" / "torn" / "mistakes.toml").write_text("[[mistake]]\n")
    found, (trouble,) = readable_mistakes(catalogue(Places((pack,))).challenges)
    assert "fine" in found
    assert "torn" not in found
    assert "The mistakes of torn are left out" in trouble
    code, out, err = run("quiz", "--list", "--pack", str(pack))
    assert (code, err) == (0, f"attn-drill: {trouble}\n")
    assert "torn" in out


# The commands


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
        json.loads(with_it("stats", "--json"))["challenges"] == len(pack_reader.read_pack(ROOT)) + 1
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


@pytest.mark.parametrize("columns", [44, 60, 80, 120])
def test_the_list_fits(
    columns: int,
    tmp_path: Path,
    run: Callable[..., tuple[int, str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The pack's name in a column of its own, or below where the terminal is narrow."""
    monkeypatch.setenv("COLUMNS", str(columns))
    pack = make(tmp_path / "a-pack-of-a-course", "extra")
    _, out, _ = run("list", "--pack", str(pack))
    assert max(map(len, out.splitlines())) <= columns
    (place,) = (number for number, line in enumerate(out.splitlines()) if line.startswith("extra "))
    assert "a-pack-of-a-course" in " ".join(out.splitlines()[place : place + 2])


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


def test_errors_with_json_are_objects(run: Callable[..., tuple[int, str, str]]) -> None:
    """`check --json` keeps to its contract with the option on either side."""
    for arguments in (
        ["--pack", "nowhere", "check", "gqa", "--json"],
        ["check", "gqa", "--json", "--pack", "nowhere"],
        ["--pack", ".", "check", "--json", "--nope"],
    ):
        code, out, err = run(*arguments)
        assert (code, err) == (2, "")
        assert json.loads(out)["verdict"] is None


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


# Grading


def test_the_grader_hides_all_packs(
    tmp_path: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is graded sees the content of no known pack, whichever its challenge is of."""
    make(site / "hiding_pack", "extra")
    install(site, "hiding", "[attn_drill.packs]\nhiding = hiding_pack\n")
    mine, other = make(tmp_path / "mine", "a"), make(tmp_path / "other", "b")
    monkeypatch.setenv("ATTN_DRILL_PACK", str(other))
    hidden: list[Path] = []
    monkeypatch.setattr(
        "trainer.grading.grader.Grader", lambda packs, limits, **more: hidden.extend(packs)
    )
    open_grader(open_packs([mine]))
    assert hidden == [mine, other, ROOT, site / "hiding_pack"]


@pytest.mark.thorough
def test_a_session_grades_from_any_pack() -> None:
    """Its grading process looks in all packs that it is given; by default it is given the built-in one."""
    assert SessionRequest(find(Places(), "gqa"), Path("gqa.py"), "", 0.0, 1.0).packs == (ROOT,)
    process = Process(ROOT, TINY_PACK)
    try:
        assert isinstance(process.reply(), Ready)
        process.send(Prepare("prefix-sum"))
        source = pack_reader.solution(pack_reader.find_challenge(TINY_PACK, "prefix-sum"))
        process.send(Grade("prefix-sum", Submission("prefix_sum.py", source)))
        answer = process.reply()
        assert isinstance(answer, Verdict)
        assert answer.report.verdict == "passed"
    finally:
        process.close()


def test_doctor_counts_every_pack(tmp_path: Path, site: Path) -> None:
    """How many challenges each pack gives, where it lies, and what is hidden."""
    make(site / "counted_pack", "gqa", "extra", "more")
    install(site, "counted", "[attn_drill.packs]\ncounted = counted_pack\n")
    done = subprocess.run(
        [sys.executable, "-m", "trainer", "doctor"],
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(pack_reader.TRAINER.parent), str(site)]),
        },
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{len(pack_reader.read_pack(ROOT))} in {ROOT} (attn-drill, built in)" in done.stdout
    assert f"2 in {site / 'counted_pack'} (counted, installed)" in done.stdout
    assert f"{site / 'counted_pack/challenges/gqa'} is hidden" in done.stderr
