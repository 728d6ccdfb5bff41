"""Documents are true: commands run, options and files exist, links lead somewhere, figures hold."""

import dataclasses
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from attn_drill.casekit.draw import Draw
from attn_drill.cli._commands import app
from attn_drill.model.case import Case
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import read_mistakes
from tests.support import forked
from tests.support.paths import PACKAGE, ROOT, SOURCE, TESTS
from tests.support.update_readme import PICTURE, current_picture

README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
COMMAND_DOCS = ["README.md", *DOCS]
ALL_DOCS = [*COMMAND_DOCS, "README.zh-CN.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())
GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
WRONG = pack_reader.solution(GQA).replace(
    "k = k.repeat_interleave(group_size, dim=1)", "k = k.repeat(1, group_size, 1, 1)"
)
# These commands exit with another code than 0: the answer is wrong, or there is no terminal.
OTHER_CODES = {
    "attn-drill check test_gqa.py": 1,  # it has no test yet
    "attn-drill check gqa": 1,
    "attn-drill check gqa gqa.py --seed 2 --case 1": 1,
    "attn-drill check gqa gqa.py --hints-first": 1,
    "attn-drill check gqa gqa.py --html report.html": 1,
    "attn-drill check gqa gqa.py --json": 1,
    "attn-drill check sdpa": 1,
    "attn-drill check gqa gqa_hunt.py": 1,
    "attn-drill check mini-gpt mini_gpt_hunt.py --why": 1,
    "attn-drill interview --minutes 45": 2,
    "attn-drill interview --no-grader": 2,
    "attn-drill interview --debug": 2,
    "pytest --drill gqa=gqa.py": 1,
}


def text_of(document: str) -> str:
    """Return the text of a document."""
    return (ROOT / document).read_text(encoding="utf-8")


def commands(document: str) -> list[str]:
    """Return the indented shell commands of a document, in order."""
    pattern = r"^ {4,}((?:python|attn-drill|pytest) .*)$"
    return re.findall(pattern, text_of(document), re.MULTILINE)


def rows_under(document: str, heading: str) -> str:
    """Return the rows of the table under a heading of a document."""
    section = text_of(document).partition(f"### {heading}\n")[2].partition("\n### ")[0]
    return "\n".join(line for line in section.splitlines() if line.startswith("| `"))


def test_methods_of_draw_and_fields_of_case_are_listed() -> None:
    """An author of a pack finds all of them in docs/packs.md, and no others."""
    rows = rows_under("docs/packs.md", "Methods of draw")
    public = [name for name in vars(Draw) if not name.startswith("_")]
    assert sorted(re.findall(r"^\| `draw\.(\w+)\(", rows, re.MULTILINE)) == sorted(public)
    rows = rows_under("docs/packs.md", "Fields of Case")
    assert re.findall(r"^\| `(\w+)` ", rows, re.MULTILINE) == [
        field.name for field in dataclasses.fields(Case)
    ]


def test_two_set_up_commands() -> None:
    """The first command runs the main job, the second the tests; all documents repeat them."""
    first, second = (line for line in commands("README.md") if "pip install" in line)
    assert first.endswith("&& attn-drill start gqa")
    assert second.endswith("&& python -m pytest")
    assert set(commands("README.zh-CN.md")) == {first, second, "attn-drill check gqa"}
    assert second in commands("CONTRIBUTING.md")


def test_ci_runs_the_second_command() -> None:
    """CI takes the command from the README, so the two cannot differ."""
    pattern = re.search(r'sed -n "s/\^    (.*?)\$/', text_of(".ci/run"))
    assert pattern is not None
    lines = re.findall(r"^    python -m pip install .* python -m pytest$", README, re.MULTILINE)
    assert len(lines) == 1
    assert "bash .ci/run" in text_of(".github/workflows/ci.yml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files that the documents speak of."""
    (tmp_path / "gqa.py").write_text(WRONG)
    (tmp_path / "submissions").mkdir()
    (tmp_path / "submissions" / "Ana Lee.py").write_text(pack_reader.solution(GQA))
    (tmp_path / "submissions" / "bob.py").write_text(WRONG)
    (tmp_path / "roster.csv").write_text("id,name\n1,Ana Lee\n2,Bob\n")
    (tmp_path / "times.csv").write_text("student,submitted\nAna Lee,2026-12-02 10:00\n")
    assignment = re.search(r"```toml\n(.*?)```", text_of("docs/classroom.md"), re.DOTALL)
    (tmp_path / "assignment.toml").write_text(assignment.group(1))
    return tmp_path


def run(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command of a document in a folder."""
    words = shlex.split(command)
    environment = {**os.environ, "COLUMNS": "80", "PYTHONPATH": str(SOURCE)}
    if words[:3] == ["attn-drill", "class", "grade"]:
        words += ["--jobs", "1"]  # a second grading process would only take time
    if words[0] == "attn-drill":
        return forked.run(words[1:], folder, environment)
    return subprocess.run(
        [sys.executable, "-m", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


# tests/cli/test_pack.py runs the commands of this document.
RUN_ELSEWHERE = {"docs/packs.md"}


def is_slow(document: str, command: str) -> bool:
    """Return whether a command grades for seconds, and tests/cli runs it with the same options."""
    grades = ("mini-gpt", "hunt gqa", "gqa_hunt", "repro", "grade submissions")
    return document in ("docs/classroom.md", "docs/reports.md") or any(
        word in command for word in grades
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    "slow", [False, pytest.param(True, marks=pytest.mark.resembling)], ids=["quick", "slow"]
)
@pytest.mark.parametrize("document", [name for name in COMMAND_DOCS if name not in RUN_ELSEWHERE])
def test_every_command_runs(document: str, slow: bool, folder: Path) -> None:
    """Each command of a document ends with its exit code, run in the order of the document."""
    extras = tomllib.loads(text_of("pyproject.toml"))["project"]["optional-dependencies"]
    # The README repeats commands of the other documents.
    others = {line for name in DOCS for line in commands(name)}
    repeated = others if document == "README.md" else set()
    for command in commands(document):
        if is_slow(document, command) != slow:
            continue
        if command.startswith("python -m pip install"):
            extra = re.search(r"\[(\w+)\]", command)
            assert extra is None or extra.group(1) in extras, command
        elif command.startswith("python tests/"):
            assert (ROOT / command.split()[1]).exists(), command
        elif command not in repeated:
            result = run(command, folder)
            code = OTHER_CODES.get(command, 0)
            assert result.returncode == code, f"{command}\n{result.stdout}\n{result.stderr}"


@pytest.mark.thorough  # tests/report has the parts of a report
def test_worked_example_is_the_real_report(folder: Path) -> None:
    """The report in the document is what `check` prints, and the correction passes."""
    example = re.search(r"```text\n( LIKELY.*?)```", text_of("docs/reports.md"), re.DOTALL)
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "kv-cache")
    right, now = pack_reader.solution(challenge), "everything.tril()"
    was = "everything.tril(diagonal=past_length)"
    assert was in text_of("docs/reports.md")
    assert right.count(was) == 1
    (folder / "kv_cache.py").write_text(right.replace(was, now))
    shown = run("attn-drill check kv-cache --seed 2", folder).stdout
    assert example.group(1) in shown


def test_other_codes_belong_to_commands() -> None:
    """The table above names no command that the documents have lost."""
    assert set(OTHER_CODES) <= {line for document in COMMAND_DOCS for line in commands(document)}


@pytest.mark.thorough
def test_every_command_of_the_table_exists() -> None:
    """The table of commands names commands and options that the program has, and all commands."""
    program = get_command(app)
    assert isinstance(program, TyperGroup)
    paths = set()
    for name, command in program.commands.items():
        below = command.commands if isinstance(command, TyperGroup) else ("",)
        paths |= {f"{name} {each}".strip() for each in below}
    named = set()
    for row in re.findall(r"^\| `attn-drill [^`]*`.*", text_of("docs/practice.md"), re.MULTILINE):
        words = re.match(r"\| `attn-drill((?: [a-z]+)*)", row)
        named.add(words[1].strip())
        text = forked.run([*words[1].split(), "--help"], ROOT, os.environ).stdout
        for option in re.findall(r"--[a-z][a-z-]+", row):
            assert option in text, f"{words[1]}: {option}"
    assert named == {"", *paths}


def anchors(document: Path) -> set[str]:
    """Return the anchors of a document's headings."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", ALL_DOCS)
def test_links_lead_somewhere(document: str) -> None:
    """Every relative link names a file, and every anchor a heading of it."""
    here = ROOT / document
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", here.read_text(encoding="utf-8")):
        name, _, anchor = target.partition("#")
        file = here.parent / name if name else here
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("document", [*ALL_DOCS, ".ci/run"])
def test_paths_exist(document: str) -> None:
    """Every path of this repository that a document names is there."""
    text = re.sub(r"```.*?```", "", text_of(document), flags=re.DOTALL)
    if document == "CHANGELOG.md":  # it speaks of former versions too
        pytest.skip("names files of former versions")
    for path in re.findall(r"`((?:trainer|tests|challenges|solutions|docs)/[\w./-]+)`", text):
        assert (ROOT / path).exists(), path
    for command in re.findall(r"python (?:-m pytest )?[^`\n]*tests/[^`\n]*", text):
        for path in re.findall(r"tests/[\w./-]+", command):
            assert (ROOT / path).exists(), command


def test_every_challenge_is_listed() -> None:
    """The table of challenges has every challenge with its entries and what it builds on."""
    text = text_of("docs/practice.md")
    for challenge in CHALLENGES:
        entries = ", ".join(f"`{entry}`" for entry in challenge.entry)
        needs = ", ".join(f"`{other}`" for other in challenge.builds_on)
        assert f"| `{challenge.id}` | {entries} | {needs}".rstrip() in text, challenge.id


def test_the_map_is_complete() -> None:
    """The architecture's map names every package, and every module that it speaks of exists."""
    text = text_of("docs/architecture.md")
    table = text[: text.index("## The path")]
    for path in PACKAGE.iterdir():
        if (path / "__init__.py").exists():
            assert f"`{path.name}`" in table, path.name
    packages = "|".join(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    for name in re.findall(rf"`((?:{packages})/[\w*]+\.(?:py|tcss))`", text):
        assert list(PACKAGE.glob(name)), name
    diagnosis = text[text.index("7. **Diagnose") : text.index("8. **Show")]
    for name in re.findall(r"`(\w+\.py)`", diagnosis):
        assert (PACKAGE / "diagnosis" / name).exists(), name


def test_figures_of_the_comparison_hold() -> None:
    """The README's figures are not larger than what the repository has."""
    mistakes = sum(len(read_mistakes(challenge)) for challenge in CHALLENGES)
    answers = sum(len(pack_reader.also_right(challenge)) for challenge in CHALLENGES)
    attacks = len(list((TESTS / "hostile" / "submissions").glob("*.py")))
    for pattern, count in (
        (r"none of ([\d,]+) known mistakes", mistakes),
        (r"(\d+) such answers", answers),
        (r"(\d+) hostile files", attacks),
    ):
        found = re.search(pattern, README)
        assert found is not None, pattern
        assert int(found.group(1).replace(",", "")) <= count, pattern


def test_the_readme_is_short() -> None:
    """A new user reads it to the end."""
    assert len(README.splitlines()) <= 90


@pytest.mark.thorough  # draws the report in a process of its own
def test_the_picture_is_current() -> None:
    """The picture shows today's report. `python tests/support/update_readme.py` draws it again."""
    assert "(docs/report.svg)" in README
    assert PICTURE.read_text(encoding="utf-8") == current_picture()
