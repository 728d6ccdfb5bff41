"""A whole class, graded as a teaching assistant does it; every cell of every table is checked.

`tests/support/whole_class.py` has the submissions. The expected tables in `tests/whole_class/`
were computed by hand from the rules in `docs/classroom.md`. In their cells,

- `?` stands for any text, because the documentation does not say what the cell holds,
- `a & b` in the column `look` stands for a text with both words in it.
"""

import csv
import html
import io
import json
import os
import re
import signal
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.support.classroom import soon
from tests.support.cli import drill
from tests.support.paths import SOURCE
from tests.support.rows import each_row
from tests.support.whole_class import (
    BLACKBOARD,
    CANVAS,
    LINKED,
    MOODLE,
    PACKS,
    PLAIN,
    TABLES,
    Upload,
    blackboard_grades,
    canvas_grades,
    moodle_grades,
)

Row = dict[str, str]

PACK_OPTIONS = [word for pack in PACKS for word in ("--pack", str(pack))]
# Standard time is an hour before UTC, as POSIX writes it: the zone of the due time.
CLOCK = {"TZ": "CET-1"}
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
GRADE_COLUMNS = {
    "canvas": "Week 3 (55501)",
    "moodle": "Grade",
    "blackboard": "Week 3 [Total Pts: 100 Score] |55501",
}
IDENTIFIERS = {"canvas": "ID", "moodle": "Identifier", "blackboard": "Username"}
IMPORTED = {"canvas": "canvas.csv", "moodle": "moodle.csv", "blackboard": "blackboard.csv"}


@dataclass
class Graded:
    """A class with its results, and all commands that made them, in order.

    Attributes:
        upload: the submissions.
        folder: the folder in which the commands ran.
        commands: the finished command of each step.
        written: the time when each result was written, by its path, after each step.
        early: the results that an interrupted grading left.
        later: all results after the grading was resumed.
    """

    upload: Upload
    folder: Path
    commands: "dict[str, subprocess.CompletedProcess[str]]" = field(default_factory=dict)
    written: dict[str, dict[str, int]] = field(default_factory=dict)
    early: list[dict[str, object]] = field(default_factory=list)
    later: list[dict[str, object]] = field(default_factory=list)

    @property
    def out(self) -> Path:
        """Return the folder of the results."""
        return self.folder / "grades"

    def run(self, step: str, *arguments: str) -> None:
        """Run `attn-drill class`, and note its output and when each result was written."""
        self.commands[step] = drill(
            "class",
            *arguments,
            cwd=self.folder,
            code=None,
            ATTN_DRILL_HOME=str(self.folder / "home"),
            **CLOCK,
        )
        self.note(step)

    def note(self, step: str) -> None:
        """Note when each result was written, by its path."""
        self.written[step] = {
            str(path.relative_to(self.out)): path.stat().st_mtime_ns
            for path in (self.out / "results").rglob("*.json")
        }

    def changed(self, step: str, earlier: str) -> list[str]:
        """Return the results that a step wrote again, or for the first time."""
        before = self.written[earlier]
        return sorted(path for path, time in self.written[step].items() if before.get(path) != time)

    def table(self, name: str) -> list[Row]:
        """Return the rows of a table, as Python's csv module and a spreadsheet read it."""
        text = (self.out / name).read_bytes().decode("utf-8-sig")
        return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))

    def results(self) -> list[dict[str, object]]:
        """Return the objects of all results."""
        found = (self.out / "results").rglob("*.json")
        return [json.loads(path.read_text(encoding="utf-8")) for path in sorted(found)]

    def feedback(self) -> dict[str, str]:
        """Return the text of each page of feedback, by its path in `feedback/`."""
        root = self.out / "feedback"
        return {
            path.relative_to(root).as_posix(): text_of(path.read_text(encoding="utf-8"))
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }


def text_of(page: str) -> str:
    """Return the words of a page, without its styles and tags."""
    page = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


# --- The four stories ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Grade half of a folder, interrupt it, grade the rest, and decide some points by hand."""
    graded = Graded(PLAIN, tmp_path_factory.mktemp("plain"))
    paths = list(PLAIN.files)
    handed_in = PLAIN.write_files(graded.folder / "class", paths[: len(paths) // 2])
    command = ["grade", "class", *PLAIN.write_settings(graded.folder), "--jobs", "2"]
    command += PACK_OPTIONS
    graded.commands["interrupted"] = interrupted(graded, command)
    graded.note("interrupted")
    graded.early = graded.results()
    PLAIN.write_files(graded.folder / "class", paths[len(paths) // 2 :])
    (graded.folder / "secret.py").write_text("SECRET = 1\n")
    (handed_in / LINKED).symlink_to(graded.folder / "secret.py")
    graded.run("resumed", "grade", "--resume", "grades", "--jobs", "2")
    graded.later = graded.results()
    wrongly = "The mask was explained wrongly."
    graded.run("Zoe Ash", *override("Zoe Ash", "85", wrongly))
    graded.run("Wes Ott", *override("1057", "61", "Explained well, in the office hour."))
    graded.run("Una Fir", *override("una.fir@uni.example", "50", "Half of it is a copy."))
    graded.run("Sue Abt", *override("Sue Abt", "33", "Not for her."))
    decisions = graded.out / "overrides.toml"
    if decisions.exists():
        text = decisions.read_text(encoding="utf-8")
        text = text[: text.rindex("[[override]]")]  # not for Sue Abt
        decisions.write_text(re.sub(r"\b61\b", "62", text), encoding="utf-8")
    again = ["grade", "--resume", "grades", "--jobs", "1"]
    graded.run("edited", *again, "--write", "markers")
    (graded.out / "results" / "Ana Lee.json").unlink()
    graded.run("again", *again)
    return graded


def interrupted(
    graded: Graded, command: list[str], results: int = 3
) -> "subprocess.CompletedProcess[str]":
    """Grade in a process of its own, and interrupt it after the first results."""
    program = [sys.executable, "-m", "attn_drill", "class", *command]
    environment = {
        **os.environ,
        **CLOCK,
        "PYTHONPATH": str(SOURCE),
        "ATTN_DRILL_HOME": str(graded.folder / "home"),
    }
    process = subprocess.Popen(
        program,
        cwd=graded.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    written = graded.out / "results"
    soon(lambda: len(list(written.glob("*.json"))) >= results or process.poll() is not None)
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    return subprocess.CompletedProcess(program, process.returncode, output, errors)


def override(student: str, points: str, comment: str, *more: str) -> list[str]:
    """Return the arguments with which a person decides the points of a student."""
    return ["override", "grades", student, "--points", points, "--comment", comment, *more]


def graded_zip(upload: Upload, folder: Path, *options: str) -> tuple[Graded, list[str]]:
    """Grade the zip of a system. Return the class and the arguments of `class`."""
    graded = Graded(upload, folder)
    upload.write_zip(folder / "submissions.zip")
    settings = upload.write_settings(folder)
    command = ["grade", "submissions.zip", *settings, "--jobs", "1", *PACK_OPTIONS]
    graded.run("graded", *command, *options)
    return graded, command


@pytest.fixture(scope="module")
def canvas(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Grade Canvas's zip with two challenges. Decide a challenge, and a total."""
    graded, command = graded_zip(CANVAS, tmp_path_factory.mktemp("canvas"))
    only = ("--challenge", "masked-mean")
    graded.run("Tom Bix", *override("tbix", "60", "Asked for a second look.", *only))
    graded.run("Uma Cole", *override("Uma Cole", "85", "Good explanation."))
    graded.run("released", *command, "--resume", "--write", "feedback")
    return graded


@pytest.fixture(scope="module")
def moodle(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Grade Moodle's zip. A marker who knows only the anonymous id decides the points."""
    formats = ("--write", f"{MOODLE.formats},markers")
    graded, command = graded_zip(MOODLE, tmp_path_factory.mktemp("moodle"), *formats)
    vic = anonymous_id(graded, "Vic Eld")
    graded.run("Vic Eld", *override(vic, "95", "The input is a copy anyway."))
    graded.run("released", *command, "--resume", "--write", "feedback")
    return graded


@pytest.fixture(scope="module")
def blackboard(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Grade Blackboard's zip. Decide the points of a student by the user name."""
    graded, command = graded_zip(BLACKBOARD, tmp_path_factory.mktemp("blackboard"))
    graded.run("Rex Zand", *override("rzand", "40", "He showed it to me."))
    graded.run("released", *command, "--resume", "--write", "feedback")
    return graded


# By default tests/cli grades a class, and tests/classroom and tests/export check zips and tables.
PLAIN_CLASS, *SYSTEMS = (
    pytest.param(name, marks=mark)
    for name, mark in {
        "plain": pytest.mark.thorough,
        "canvas": pytest.mark.resembling,
        "moodle": pytest.mark.thorough,
        "blackboard": pytest.mark.thorough,
    }.items()
)


@pytest.fixture(params=[PLAIN_CLASS, *SYSTEMS])
def graded(request: pytest.FixtureRequest) -> Graded:
    """Return each class."""
    found: Graded = request.getfixturevalue(request.param)
    return found


@pytest.fixture(params=SYSTEMS)
def system(request: pytest.FixtureRequest) -> Graded:
    """Return each class that a learning management system sent."""
    found: Graded = request.getfixturevalue(request.param)
    return found


def anonymous_id(graded: Graded, student: str) -> str:
    """Return the anonymous id of a student, or the name if there is none."""
    known = {cell for row in graded.upload.roster_rows() for cell in row.values()}
    if (graded.out / "anonymous_ids.csv").exists():
        for row in graded.table("anonymous_ids.csv"):
            cells = [cell for cell in row.values() if cell]
            if student in cells:
                return next(
                    cell
                    for cell in cells
                    if cell not in known and f"Participant {cell}" not in known
                )
    return student


# --- Tables ----------------------------------------------------------------------------------


def differences(expected: list[Row], actual: list[Row]) -> list[str]:
    """Return a line for each row that is missing, wrong or too many."""
    rest, missing = list(actual), []
    for row in expected:
        found = next((other for other in rest if not wrong_cells(row, other)), None)
        if found is None:
            missing.append(row)
        else:
            rest.remove(found)
    lines = []
    for row in missing:
        near = min(rest, key=lambda other: wrong_cells(row, other), default=None)
        if near is None or len(wrong_cells(row, near)) > len(row) // 2:
            lines.append(f"missing: {row}")
            continue
        rest.remove(near)
        for column in wrong_cells(row, near):
            who = " ".join(list(row.values())[:2])
            lines.append(f"{who}: {column} is {near.get(column)!r}, expected {row[column]!r}")
    return [*lines, *(f"too many: {row}" for row in rest)]


def wrong_cells(expected: Row, actual: Row) -> list[str]:
    """Return the columns in which a row differs from the expected row."""
    return [
        column
        for column, cell in expected.items()
        if column not in actual or not is_as_expected(column, cell, actual[column])
    ]


def is_as_expected(column: str, expected: str, actual: str) -> bool:
    """Return whether a cell is as the table that was written by hand says."""
    if expected == "?":
        return True
    if column == "look" and expected:
        return all(word.casefold() in actual.casefold() for word in expected.split(" & "))
    return actual == expected


def test_every_row_of_the_grades_is_right(graded: Graded) -> None:
    """`grades.csv` has one row for each student and each file that belongs to nobody."""
    expected, actual = graded.upload.expected("grades.csv"), graded.table("grades.csv")
    assert list(actual[0]) == list(expected[0])
    wrong = differences(expected, actual)
    assert not wrong, "\n".join(wrong)


def test_every_row_of_the_challenges_is_right(graded: Graded) -> None:
    """`grades_by_challenge.csv` has one row for each submission. Only the seconds vary."""
    expected = graded.upload.expected("grades_by_challenge.csv")
    actual = graded.table("grades_by_challenge.csv")
    assert list(actual[0]) == [*expected[0], "seconds"]
    wrong = differences(expected, actual)
    assert not wrong, "\n".join(wrong)
    assert all(re.fullmatch(r"\d*\.?\d*", row["seconds"]) for row in actual)


def test_rows_have_the_order_of_the_roster(graded: Graded) -> None:
    """A teacher compares both tables side by side. Files that belong to nobody come last."""
    column = IDENTIFIERS.get(graded.upload.name, "id")
    roster = [row[column] for row in graded.upload.roster_rows()]
    ids = [row["id"] for row in graded.table("grades.csv")]
    assert ids[: len(roster)] == [cell.removeprefix("Participant ") for cell in roster]
    if graded.upload.name in IMPORTED:
        assert [row[column] for row in imported(graded)] == roster


def test_class_has_eighty_submissions() -> None:
    """The class is as large as a real class."""
    tables = [upload.expected("grades.csv") for upload in (PLAIN, CANVAS, MOODLE, BLACKBOARD)]
    assert sum(bool(row["file"]) for table in tables for row in table) >= 80


def test_tables_begin_with_a_byte_order_mark(graded: Graded) -> None:
    """Excel reads a file without the mark in an old encoding."""
    tables = {"grades.csv", "grades_by_challenge.csv", IMPORTED.get(graded.upload.name)} - {None}
    for name in tables:
        content = (graded.out / str(name)).read_bytes()
        assert content.startswith(BYTE_ORDER_MARK), name
        assert content.count(BYTE_ORDER_MARK) == 1, name


def imported(graded: Graded) -> list[Row]:
    """Return the students' rows of the import file. Canvas has a row of points in front."""
    rows = graded.table(IMPORTED[graded.upload.name])
    return [row for row in rows if row.get("Student", "").strip() != "Points Possible"]


def test_import_file_has_the_total_of_every_student(system: Graded) -> None:
    """The system's own identifiers stand next to the total, and nobody else is in the file."""
    expected = system.upload.expected(IMPORTED[system.upload.name])
    wrong = differences(expected, imported(system))
    assert not wrong, "\n".join(wrong)


def test_import_file_is_what_the_system_reads(system: Graded) -> None:
    """A reader after the documentation of the system finds the same totals."""
    assert IMPORTED_TOTALS[system.upload.name](import_text(system)) == expected_totals(system)


def canvas_totals(text: str) -> dict[str, str]:
    """Return the totals by the user's number in Canvas."""
    column = GRADE_COLUMNS["canvas"]
    possible, rows = canvas_grades(text)
    assert possible[column] == 100
    return {user: row[column] for user, row in rows.items()}


def moodle_totals(text: str) -> dict[str, str]:
    """Return the totals by Moodle's identifier."""
    return {
        f"Participant {number}": "" if grade is None else f"{grade:g}"
        for number, (grade, _) in moodle_grades(text).items()
    }


def blackboard_totals(text: str) -> dict[str, str]:
    """Return the totals by the user name in Blackboard."""
    column = GRADE_COLUMNS["blackboard"]
    return {user: row[column] for user, row in blackboard_grades(text).items()}


IMPORTED_TOTALS = {
    "canvas": canvas_totals,
    "moodle": moodle_totals,
    "blackboard": blackboard_totals,
}


def import_text(graded: Graded) -> str:
    """Return the text of an import file."""
    return (graded.out / IMPORTED[graded.upload.name]).read_bytes().decode("utf-8-sig")


def expected_totals(graded: Graded) -> dict[str, str]:
    """Return the totals of the table that was written by hand, by the system's identifier."""
    name = graded.upload.name
    rows = graded.upload.expected(IMPORTED[name])
    return {row[IDENTIFIERS[name]]: row[GRADE_COLUMNS[name]] for row in rows}


def test_import_file_repeats_the_systems_export(system: Graded) -> None:
    """All columns except the grade's and the feedback's are those of the export, cell by cell."""
    given = system.upload.roster_rows()
    identifier = IDENTIFIERS[system.upload.name]
    known = {row[identifier] for row in given}
    rows = [row for row in imported(system) if row[identifier] in known]
    assert set(rows[0]) <= set(given[0])
    written = (GRADE_COLUMNS[system.upload.name], "Feedback comments")
    kept = [column for column in rows[0] if column not in written]
    repeated, exported = (
        sorted([row[column] for column in kept] for row in table) for table in (rows, given)
    )
    assert repeated == exported


def test_results_have_the_keys_of_the_contract(graded: Graded) -> None:
    """Each submission has a result, whose points and lateness agree with the tables."""
    results = graded.results()
    points = [result["points"] for result in results]
    scores = [row["score"] for row in graded.upload.expected("grades_by_challenge.csv")]
    assert sorted("" if value is None else f"{value:.1f}" for value in points) == sorted(
        score and f"{float(score):.1f}" for score in scores
    )
    for result in results:
        assert {"schema", "challenge", "file", "verdict", "checks"} <= set(result)
        assert {"student", "id", "late", "points"} <= set(result)
    late = {result["student"] for result in results if result["late"]}
    assert late == {row["student"] for row in graded.table("grades.csv") if row["late"] == "yes"}


# --- Commands --------------------------------------------------------------------------------


def test_every_command_ends_well(graded: Graded) -> None:
    """Grades do not change the exit code; only the interrupt does."""
    codes = {step: process.returncode for step, process in graded.commands.items()}
    expected = {step: 130 if step == "interrupted" else 0 for step in codes}
    last = {step: process.stderr[-300:] for step, process in graded.commands.items()}
    assert codes == expected, "\n".join(last[step] for step in codes if codes[step])


@pytest.mark.thorough
def test_resumed_grading_keeps_early_results(plain: Graded) -> None:
    """An interrupted grading leaves whole results, and --resume does not touch them."""
    assert 3 <= len(plain.early) < 20
    said = plain.commands["interrupted"].stderr
    assert f"Interrupted: {len(plain.early)} of 20 have a result" in said
    assert "To continue: attn-drill class grade --resume grades" in said
    later = {result["student"]: result for result in plain.later}
    for result in plain.early:
        assert result["id"]
        assert (result["points"] is None) == result.get("ungraded", False)
        assert later[result["student"]] == result


@pytest.mark.thorough
def test_only_a_removed_result_is_graded_again(plain: Graded) -> None:
    """Decisions grade nothing. The file of the student whose result is gone is graded."""
    assert set(plain.written["edited"]) == set(plain.written["resumed"])
    assert plain.changed("edited", "resumed") == []
    assert plain.changed("again", "edited") == ["results/Ana Lee.json"]


def test_release_grades_nothing(system: Graded) -> None:
    """--resume finds all results of the zip unchanged."""
    earlier = list(system.written)[-2]
    assert system.changed("released", earlier) == []


@pytest.mark.thorough
def test_decision_is_in_a_file_that_a_person_can_edit(plain: Graded) -> None:
    """The file has every decision. The last entry for a student counts."""
    text = (plain.out / "overrides.toml").read_text(encoding="utf-8")
    entries = {entry["student"]: entry for entry in tomllib.loads(text)["override"]}
    assert entries["Zoe Ash"]["comment"] == "The mask was explained wrongly."
    assert entries["Wes Ott"]["points"] == 62
    assert "Sue Abt" not in entries


@pytest.mark.thorough
def test_unknown_student_is_refused_with_near_names(plain: Graded) -> None:
    """The exit code is 2, and the sentence has the names that look alike. Nothing changes."""
    before = (plain.out / "grades.csv").read_bytes()
    arguments = ["class", *override("Zoe Ashe", "1", "x")]
    process = drill(*arguments, cwd=plain.folder, code=2, **CLOCK)
    assert "Zoe Ash" in process.stderr.replace("Zoe Ashe", "")
    assert process.stderr.count("\n") == 1
    assert (plain.out / "grades.csv").read_bytes() == before


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a folder with a class of one student, and a roster."""
    PLAIN.write_files(tmp_path / "class", ["1001.py"])
    (tmp_path / "names.csv").write_text("name\nAna Lee\n")
    (tmp_path / "weights.toml").write_text(
        '[[challenge]]\nid = "prefix-sum"\nweights = { masks = 2 }\n'
    )
    return tmp_path


@each_row(
    "arguments, message",
    {
        "results over the class": (["--out", "class"], "inside|same"),
        "no such roster": (["--roster", "none.csv"], r"none\.csv"),
        "roster with one column": (["--roster", "names.csv"], r"id.*name.*email"),
        "two assignments": (["--assignment", "weights.toml"], "one of the two"),
    },
)
def test_wrong_use_is_refused(small: Path, arguments: list[str], message: str) -> None:
    """The exit code is 2, stderr has one sentence, and no result is written."""
    options = ["class", "--challenge", "prefix-sum", *PACK_OPTIONS, *arguments]
    process = drill("class", "grade", *options, cwd=small, code=2)
    assert re.search(message, process.stderr, re.IGNORECASE), process.stderr
    assert process.stderr.count("\n") == 1
    assert not list(small.rglob("*.json"))


def test_weight_of_a_check_that_the_challenge_does_not_have_is_refused(small: Path) -> None:
    """The sentence lists the checks that the challenge has."""
    options = ["class", "--assignment", "weights.toml", "--jobs", "1", *PACK_OPTIONS]
    process = drill("class", "grade", *options, cwd=small, code=2)
    for word in ("masks", "values", "gradients", "memory"):
        assert word in process.stderr
    assert "train/eval" not in process.stderr


def test_grader_that_cannot_isolate_ends_with_3(small: Path) -> None:
    """A fault of the machine is not a wrong use."""
    options = ["class", "--challenge", "prefix-sum", "--jobs", "1", *PACK_OPTIONS]
    drill("class", "grade", *options, cwd=small, code=3, ATTN_DRILL_ISOLATION="limits")
    assert not list(small.rglob("results/*.json"))


# --- Reports ---------------------------------------------------------------------------------


def names_of(graded: Graded) -> set[str]:
    """Return everything in the roster that tells who a student is."""
    private = {"id", "name", "email", "Student", "ID", "SIS User ID", "SIS Login ID", "Identifier"}
    private |= {"Full name", "Email address", "Last Name", "Username", "Student ID"}
    return {
        cell
        for row in graded.upload.roster_rows()
        for column, cell in row.items()
        if column in private and (len(cell) > 4 or not cell.isascii())
    }


def test_first_half_of_the_report_names_nobody(graded: Graded) -> None:
    """It can be shown to the class. The second half lists everybody."""
    page = (graded.out / "report.html").read_text(encoding="utf-8")
    first, second = re.split(r'<section id="look"', page)
    assert not [name for name in names_of(graded) if html.escape(name) in first or name in first]
    words = in_one_line(text_of(second))
    for row in graded.upload.expected("grades.csv"):
        assert row["student"].removeprefix("'") in words


def in_one_line(text: str) -> str:
    """Return a text with simple blanks."""
    return " ".join(text.split())


@pytest.mark.thorough
def test_report_lists_everything_that_was_not_graded(plain: Graded) -> None:
    """Unreadable files, files that nobody asked for, folders, clashes, and missing students."""
    page = (plain.out / "report.html").read_text(encoding="utf-8")
    look = text_of(page.split('<section id="look"')[1].split("<section")[0])
    for name in ("notes.pdf", "old/", "Tia Hue/scratch.py", "Kit Sol/prefix_sum.ipynb"):
        assert name in look
    for name in ("Lia Toy", "Mia Ure", "Ned Voss", "Ola Wren", "Quy Yam", "Lou Gee", "Nil Nada"):
        assert name in look
    for name in ("ghost.py", "Kim Min", "1040.py", "Ivo Jun.py", "bob.py", "bob/prefix_sum.py"):
        assert name in look
    assert "SECRET" not in page


@pytest.mark.thorough
def test_reports_show_the_decisions(plain: Graded) -> None:
    """The student's report has the points, and says that a person decided them, and why."""
    words = text_of((plain.out / "report.html").read_text(encoding="utf-8"))
    for comment in ("The mask was explained wrongly.", "Half of it is a copy."):
        assert comment in words
    assert "Not for her." not in words
    assert "verrid" in words


@pytest.mark.thorough
def test_files_for_markers_name_nobody(plain: Graded, moodle: Graded) -> None:
    """Markers see all points. Only `anonymous_ids.csv` has the names."""
    for graded in (plain, moodle):
        for name in ("markers/report.html", "markers/grades.csv"):
            text = (graded.out / name).read_text(encoding="utf-8-sig")
            found = [word for word in names_of(graded) if word in text or html.escape(word) in text]
            assert not found, name
        rows, markers = graded.table("grades.csv"), graded.table("markers/grades.csv")
        graded_rows = [row["total"] for row in rows if row["file"]]
        assert sorted(row["total"] for row in markers if row["total"]) == sorted(
            filter(None, graded_rows)
        )
        students = [row["student"] for row in markers]
        assert len(students) == len(set(students))
        secret = (graded.out / "anonymous_ids.csv").read_text(encoding="utf-8-sig")
        assert set(students) <= set(re.split(r'[,\r\n"]+', secret))


FEEDBACK_NAMES = {
    # Canvas reads the student's id and the number of the file that the student handed in.
    "canvas": r"[^/_]+(?:_LATE)?_(?P<id>\d+)_(?P<file>\d+)_[^/]+\.html?",
    # Moodle splits each part of the path at underscores: name, participant, plugin, the rest.
    "moodle": r"[^/_]+_(?P<id>\d+)_assign(?:submission|feedback)_file(?:_/?|/)[^/]+\.html?",
    "blackboard": r"(?P<id>[^/]+)/[^/]+\.html?",
}


def test_feedback_has_the_names_that_the_system_expects(system: Graded) -> None:
    """Each student with a total has one page, with the total on it."""
    name = system.upload.name
    found = {}
    for path, text in system.feedback().items():
        match = re.fullmatch(FEEDBACK_NAMES[name], path)
        assert match, path
        assert match["id"] not in found
        found[match["id"]] = text
    for student, total in expected_totals(system).items():
        key = student.removeprefix("Participant ")
        if total:
            assert re.search(rf"(?<![\d.]){re.escape(total)}(?!\.?\d)", found[key]), student


@pytest.mark.thorough
def test_feedback_of_canvas_names_a_file_of_the_same_student(canvas: Graded) -> None:
    """Canvas finds the submission by the number of the file."""
    for path in canvas.feedback():
        match = re.fullmatch(FEEDBACK_NAMES["canvas"], path)
        assert match
        head = rf"[^_]+(_LATE)?_{match['id']}_{match['file']}_.+"
        assert any(re.fullmatch(head, handed_in) for handed_in in CANVAS.files), path


@pytest.mark.thorough
def test_feedback_zip_has_the_same_files(canvas: Graded, moodle: Graded) -> None:
    """The zip has the pages at its top, as Canvas and Moodle read it."""
    for graded in (canvas, moodle):
        with zipfile.ZipFile(graded.out / "feedback.zip") as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
        assert sorted(names) == sorted(graded.feedback())


def test_feedback_names_no_other_student(system: Graded) -> None:
    """A page goes to its student only."""
    full_names = {row["student"] for row in system.upload.expected("grades.csv")}
    for path, text in system.feedback().items():
        assert len({name for name in full_names if name in text}) <= 1, path


def page_of(graded: Graded, part: str) -> str:
    """Return the page of feedback whose path has this part."""
    (text,) = (text for path, text in graded.feedback().items() if part in path)
    return text


@pytest.mark.thorough
def test_feedback_shows_lateness_points_and_decision(canvas: Graded, moodle: Graded) -> None:
    """A student sees the due time, the own time, the penalty, the table of points, the comment."""
    late = page_of(moodle, "_12303_")
    for word in ("2026-12-01", "23:59", "2026-12-02", "10:00", "10"):
        assert word in late
    extended = page_of(moodle, "_12315_")
    assert "2026-12-03" in extended
    for check in ("values", "gradients", "shapes", "memory"):
        assert check in page_of(moodle, "_12302_")
    assert "Asked for a second look." in page_of(canvas, "_119_")


def test_feedback_shows_the_penalty_and_the_decision(blackboard: Graded) -> None:
    """A late student sees the due time and the points off, and another the comment."""
    late = page_of(blackboard, "egam/")
    for word in ("2026-12-01", "23:59", "2026-12-02", "10"):
        assert word in late
    assert "He showed it to me." in page_of(blackboard, "rzand/")


def test_feedback_has_no_command(system: Graded) -> None:
    """Students of a class may have no command line."""
    for path, text in system.feedback().items():
        for word in ("attn-drill ", "--why", "--time-limit", "reset "):
            assert word not in text, (path, word)


def test_expected_tables_belong_to_the_uploads() -> None:
    """No table is left over."""
    tables = {path.relative_to(TABLES).as_posix() for path in TABLES.glob("*/*.csv")}
    given = {"roster.csv", "times.csv"}
    expected = {f"{name}/{table}" for name, table in IMPORTED.items()}
    expected |= {
        f"{upload}/{table}"
        for upload in ("plain", *IMPORTED)
        for table in ("grades.csv", "grades_by_challenge.csv")
    }
    assert {table for table in tables if table.split("/")[1] not in given} == expected
