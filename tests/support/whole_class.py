"""A class of about ninety students, as a teaching assistant gets it from four places.

`PLAIN` is a folder with files and folders. `CANVAS`, `MOODLE` and `BLACKBOARD` are the zips that
these systems make. Each upload comes with the system's own export as the roster. The grades that
the class must get are in `tests/whole_class/<upload>/*.csv`, computed by hand.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.paths import TESTS, TINY_PACK

# Canvas Instructor Guide, "How do I import grades in the Gradebook?".
CANVAS_STUDENT_COLUMNS = {
    *("Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Section"),
    *("Integration ID", "Root Account"),
}
CANVAS_READ_ONLY = re.compile(r"(Current|Final|Override) (Score|Points|Grade|Status)")


def table(text: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file by heading. Every row must have all columns."""
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert len(set(header)) == len(header)
    return [dict(zip(header, row, strict=True)) for row in rows]


def canvas_grades(text: str) -> tuple[dict[str, float], dict[str, dict[str, str]]]:
    """Return the points possible and each student's cells of the assignments' columns.

    The first columns are the student's. A student is named by the first of ID, SIS User ID and SIS
    Login ID that is not empty.
    """
    first, *rows = table(text)
    names = list(first)
    assert names[0] in ("Student", "LastName")
    assert "ID" in names[1:3]
    assert "Section" in names
    assert "Points Possible" in first[names[0]]
    columns = [
        name
        for name in names
        if name not in CANVAS_STUDENT_COLUMNS and not CANVAS_READ_ONLY.search(name)
    ]
    # Canvas takes even an empty text in quotes as new points of an assignment.
    points_line = text.splitlines()[1]
    assert '""' not in points_line
    possible = {name: float(first[name]) for name in columns if first[name]}
    grades: dict[str, dict[str, str]] = {}
    for row in rows:
        keys = (row["ID"], row.get("SIS User ID", ""), row.get("SIS Login ID", ""))
        key = next(key for key in keys if key)
        assert key not in grades
        grades[key] = {name: row[name] for name in columns}
    return possible, grades


def moodle_grades(text: str) -> dict[int, tuple[float | None, str]]:
    """Return the grade and the feedback by the number of the participant.

    MoodleDocs, "Offline grading worksheet": the importer needs "Identifier", "Grade" and
    "Last modified (grade)". It skips an empty grade, and a grade above the maximum.
    """
    grades: dict[int, tuple[float | None, str]] = {}
    for row in table(text):
        found = re.fullmatch(r"Participant (\d+)", row["Identifier"])
        assert found
        assert row["Last modified (grade)"]
        grade = float(row["Grade"]) if row["Grade"] else None
        maximum = row.get("Maximum Grade", row.get("Maximum grade", "100"))
        assert grade is None or 0 <= grade <= float(maximum)
        grades[int(found[1])] = (grade, row["Feedback comments"])
    return grades


def blackboard_grades(text: str) -> dict[str, dict[str, str]]:
    """Return each student's cells by user name.

    Blackboard Help, "Work Offline With Grade Data": each cell of a comma-delimited file is in
    quotation marks, and the user name identifies the student.
    """
    for line in text.splitlines():
        assert re.fullmatch(r'"(?:[^"]|"")*"(?:,"(?:[^"]|"")*")*', line)
    grades = {row["Username"]: row for row in table(text)}
    assert "" not in grades
    return grades


def canvas_student_id(file_name: str) -> str:
    """Return the student whom Canvas gives a file of feedback to.

    Canvas reads the first two parts that are numbers: the id of the user and of the submission.
    source: `SubmissionComment` uploads in the source of Canvas.
    """
    user, _submission = [part for part in file_name.split("_") if part.isdigit()][:2]
    return user


def moodle_participant(path: str) -> str:
    """Return the participant whom Moodle gives a file of feedback to.

    source: `assignfeedback_file` in the source of Moodle: the parts between underscores are the
    name, the number, the kind of plugin and its name.
    """
    parts = path.split("/")[0].split("_")
    return parts[next(i for i, part in enumerate(parts) if part.startswith("assign")) - 1]


TABLES = TESTS / "whole_class"
PACKS = (TINY_PACK, TABLES / "pack")

# The points of docs/classroom.md for the challenge `prefix-sum`, whose checks have the weights
# values 4, gradients 2, properties 1, vectorised 1, memory 1, shapes 0.2, dtype 0.2: 9.4. There are
# 7 cases; gradients and properties look at the first 4. "passed" counts all 12 checks.
#
# source    wrong                                         of 9.4  points  passed
# right                                                      9.4     100  12
# doubled   the values of all cases                            0       0   8
# axis      the values of all but "backwards": 1/7 of values,
#           shapes, dtype, vectorised and memory, 1/4 of
#           gradients and properties                       1.664    17.7   8: wrong-axis is named
# zeros     the values of all cases                            0       0   8
# matrix    memory                                           8.4    89.4  11: matrix is named
# loop      vectorised                                       8.4    89.4  11
# float     the dtype of 2 of 7 cases: 5/7 of values, shapes,
#           vectorised, memory; 25/49 of dtype              7.53    80.1  11
# in_place  properties                                       8.4    89.4  11
# detached  gradients                                        7.4    78.7  11
# empty     every output                                       0       0   5
# raises    every case                                         0       0   3
# library   from scratch                                       0       0   3
# syntax    loads                                              0       0   0
_HEAD = "def prefix_sum(x, reverse=False):\n"
_SUM = "x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
_AXIS = "    if reverse:\n        return torch.cumsum(x.flip(-1), dim=-1).flip(-1)\n"
PREFIX_SUM = {
    "right": f"{_HEAD}    return {_SUM}",
    "doubled": f"{_HEAD}    total = {_SUM}    return total * 2\n",
    "axis": f"import torch\n\n\n{_HEAD}{_AXIS}    return torch.cumsum(x, dim=0)\n",
    "zeros": f"import torch\n\n\n{_HEAD}    return torch.zeros_like(x)\n",
    "matrix": (
        f"import torch\n\n\n{_HEAD}{_AXIS}"
        "    return x @ torch.ones(x.shape[-1], x.shape[-1], dtype=x.dtype).triu()\n"
    ),
    "loop": (
        f"import torch\n\n\n{_HEAD}"
        "    columns = list(x.flip(-1).unbind(-1) if reverse else x.unbind(-1))\n"
        "    for index in range(1, len(columns)):\n"
        "        columns[index] = columns[index] + columns[index - 1]\n"
        "    total = torch.stack(columns, -1)\n"
        "    return total.flip(-1) if reverse else total\n"
    ),
    "float": f"{_HEAD}    total = {_SUM}    return total.float()\n",
    "in_place": (
        f"import torch\n\n\n{_HEAD}    total = {_SUM}"
        "    with torch.no_grad():\n        x.add_(1)\n    return total\n"
    ),
    "detached": f"{_HEAD}    x = x.detach()\n    return {_SUM}",
    "empty": f"{_HEAD}    pass\n",
    "raises": f"{_HEAD}    raise RuntimeError('not yet')\n",
    "library": (
        f"import torch\n\n\n{_HEAD}"
        "    torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None])\n"
        f"    return {_SUM}"
    ),
    "syntax": "def prefix_sum(x, reverse=False)\n    return x\n",
}

# The points for `masked-mean`. Its checks have the weights values 4, masks 3, gradients 2,
# properties 1, vectorised 1, shapes 0.2, dtype 0.2: 11.4. Blackboard's class has these weights.
# Canvas's class has `weights = { masks = 2, vectorised = 0 }`, which makes 9.4. One of the 3 cases
# of properties has a mask.
#
# source    wrong                                     of 11.4  points  of 9.4  points  passed
# right                                                  11.4     100     9.4     100  12
# ignores   masks, 1/3 of properties                    8.067    70.8   7.067    75.2  10
# length    masks, 1/3 of properties                    8.067    70.8   7.067    75.2  10: named
# detached  gradients                                     9.4    82.5     7.4    78.7  11
# doubled   the values of all cases                         0       0       0       0   8
# zeros     the values of all cases                         0       0       0       0   8
# empty     every output                                    0       0       0       0   5
# library   from scratch                                    0       0       0       0   3
# syntax    loads                                           0       0       0       0   0
_MEAN = "def masked_mean(x, mask=None):\n"
_MASKED = "(x * mask[:, :, None]).sum(1) / mask.sum(1)[:, None].to(x.dtype)\n"
_ALL = "    if mask is None:\n        return x.mean(1)"
MASKED_MEAN = {
    "right": f"{_MEAN}{_ALL}\n    return {_MASKED}",
    "ignores": f"{_MEAN}    return x.mean(1)\n",
    "length": (
        f"{_MEAN}    if mask is not None:\n        x = x * mask[:, :, None]\n    return x.mean(1)\n"
    ),
    "detached": f"{_MEAN}    x = x.detach()\n{_ALL}\n    return {_MASKED}",
    "doubled": f"{_MEAN}{_ALL} * 2\n    return 2 * {_MASKED}",
    "zeros": f"import torch\n\n\n{_MEAN}    return torch.zeros_like(x[:, 0])\n",
    "empty": f"{_MEAN}    pass\n",
    "library": (
        f"import torch\n\n\n{_MEAN}"
        "    torch.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None])\n"
        f"{_ALL}\n    return {_MASKED}"
    ),
    "syntax": "def masked_mean(x, mask=None)\n    return x\n",
}


def notebook(source: str) -> str:
    """Return a notebook: the cells that only call something would fail if they ran."""
    cells = [
        ("markdown", "# My answer"),
        ("code", "import torch"),
        ("code", source),
        ("code", "show_a_plot(of=the_result)"),
    ]
    return json.dumps(
        {
            "cells": [
                {
                    "cell_type": kind,
                    "metadata": {},
                    "source": text.splitlines(keepends=True),
                    **({"execution_count": None, "outputs": []} if kind == "code" else {}),
                }
                for kind, text in cells
            ],
            "metadata": {},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


Content = str | bytes


@dataclass(frozen=True)
class Upload:
    """The submissions of one system.

    Attributes:
        name: the folder with the roster, the assignment, the times, and the expected tables.
        files: the content of each file by its path.
        roster: the file name that the system gives to the roster.
        formats: the value of --write.
        dates: local times of members of the zip, by path.
    """

    name: str
    files: Mapping[str, Content]
    roster: str
    formats: str
    dates: Mapping[str, tuple[int, int, int, int, int, int]] = field(default_factory=dict)

    def write_files(self, root: Path, paths: Iterable[str] | None = None) -> Path:
        """Write the files, or only some of them, into a folder."""
        for path in self.files if paths is None else paths:
            place = root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(as_bytes(self.files[path]))
        return root

    def write_zip(self, path: Path) -> Path:
        """Write the files as a zip."""
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in self.files.items():
                date = self.dates.get(name, (2026, 12, 1, 12, 0, 0))
                archive.writestr(zipfile.ZipInfo(name, date), as_bytes(content))
        return path

    def write_settings(self, folder: Path) -> list[str]:
        """Write roster, assignment and times into a folder. Return the options that name them."""
        given = TABLES / self.name
        (folder / self.roster).write_bytes(self.roster_bytes())
        shutil.copy(given / "assignment.toml", folder)
        options = ["--assignment", "assignment.toml", "--roster", self.roster]
        options += ["--write", self.formats]
        if (given / "times.csv").exists():
            shutil.copy(given / "times.csv", folder)
        return options

    def roster_bytes(self) -> bytes:
        """Return the roster. Blackboard's is UTF-16 with tabs, which is that system's default."""
        if self.roster.endswith(".xls"):
            text = (TABLES / self.name / "roster.tsv").read_text(encoding="utf-8")
            return text.replace("\n", "\r\n").encode("utf-16")
        return (TABLES / self.name / "roster.csv").read_bytes()

    def roster_rows(self) -> list[dict[str, str]]:
        """Return the students of the roster: not the points and the test student of Canvas."""
        is_tabbed = self.roster.endswith(".xls")
        text = self.roster_bytes().decode("utf-16" if is_tabbed else "utf-8")
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t" if is_tabbed else ",")
        nobody = ("Points Possible", "Student, Test")
        return [row for row in rows if row.get("Student", "").strip() not in nobody]

    def expected(self, table: str) -> list[dict[str, str]]:
        """Return the rows of a table that was written by hand."""
        text = (TABLES / self.name / table).read_text(encoding="utf-8")
        return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def as_bytes(content: Content) -> bytes:
    """Return the bytes of a file."""
    return content if isinstance(content, bytes) else content.encode()


# --- A folder with files and folders ---------------------------------------------------------

PLAIN = Upload(
    name="plain",
    files={
        "1001.py": PREFIX_SUM["right"],
        "bo@uni.example.py": PREFIX_SUM["doubled"],
        "cy.dow.py": PREFIX_SUM["matrix"],
        "Dana Fox.py": PREFIX_SUM["detached"],
        "Gam, Eli.py": PREFIX_SUM["detached"],
        "orrfay.py": PREFIX_SUM["loop"],
        "Gil Pym/prefix_sum.py": PREFIX_SUM["right"],
        "1008/answer.py": PREFIX_SUM["float"],
        "hw3_1009.py": PREFIX_SUM["in_place"],
        "Jo Ray.ipynb": notebook(PREFIX_SUM["right"]),
        "Kit Sol/prefix_sum.py": PREFIX_SUM["right"],
        "Kit Sol/prefix_sum.ipynb": notebook(PREFIX_SUM["zeros"]),
        "Lia Toy.ipynb": '{"cells": [',
        "Mia Ure.py": "",
        "Ned Voss.py": b"\x7fELF\x00\xff\xfe",
        "Ola Wren.py": "#" * 2_000_000,
        "Pia Xu.py": PREFIX_SUM["syntax"],
        "Rex Zand.py": PREFIX_SUM["raises"],
        "Sue Abt.py": PREFIX_SUM["zeros"],
        "Tom Bix.py": PREFIX_SUM["empty"],
        "Uma Cole.py": PREFIX_SUM["library"],
        "ghost.py": PREFIX_SUM["right"],
        "Kim Min.py": PREFIX_SUM["doubled"],
        "1040.py": PREFIX_SUM["right"],
        "Ivo Jun.py": PREFIX_SUM["doubled"],
        "bob.py": PREFIX_SUM["right"],
        "bob/prefix_sum.py": PREFIX_SUM["doubled"],
        '=HYPERLINK("x").py': PREFIX_SUM["right"],
        "-rf.py": PREFIX_SUM["right"],
        "王小明.py": PREFIX_SUM["matrix"],
        "عدي كهن.py": PREFIX_SUM["right"],
        'O"Neil; Jo, Jr.py': PREFIX_SUM["doubled"],
        "new\nline.py": PREFIX_SUM["detached"],
        "Zoe Ash.py": PREFIX_SUM["axis"],
        "Wes Ott.py": PREFIX_SUM["empty"],
        "Vic Eld.py": PREFIX_SUM["right"],
        "Una Fir.py": PREFIX_SUM["right"],
        "Lou Gee/notes.txt": "I could not do it.\n",
        "Tia Hue/prefix_sum.py": PREFIX_SUM["right"],
        "Tia Hue/scratch.py": "print(1)\n",
        "notes.pdf": b"%PDF-1.7",
        "old/class.json": "{}",
        "old/results/1001.json": "{}",
    },
    roster="roster.csv",
    formats="csv,html,junit",
    # The tests run in the time zone +01:00. Late, and points off:
    # 1003 his own due time is 3 December 23:59: in time
    # 1004 31 minutes after her own due time, 5 December: late, 10 off
    # 1005 within the grace of 15 minutes: in time
    # 1006 21 minutes: late, 10 off
    # 1007 a day and 31 minutes, so the second day has begun: late, 20 off
    # 1058 more than 18 days: late, all points off
    # 1059 an hour: late, but a person decides the points
)
LINKED = "Quy Yam.py"  # leads out of the folder of submissions; the test makes the link

# --- The zip of Canvas -----------------------------------------------------------------------


def _canvas(head: str, mean: str | None, total: str | None, number: int) -> dict[str, Content]:
    """Return the files of a student for both challenges. Canvas counts files from `number` on."""
    files: dict[str, Content] = {}
    if mean is not None:
        files[f"{head}_{number}_masked_mean.py"] = MASKED_MEAN[mean]
    if total is not None:
        files[f"{head}_{number + 1}_prefix_sum.py"] = PREFIX_SUM[total]
    return files


CANVAS = Upload(
    name="canvas",
    files={
        **_canvas("leeana_101", "right", "right", 5001),
        **_canvas("chenbo_LATE_102", "right", "doubled", 5003),
        **_canvas("dowcy_LATE_103", "ignores", "right", 5005),
        **_canvas("foxdana_104", "length", "axis", 5007),
        **_canvas("gameli_105", "doubled", "right", 5009),
        "gameli_105_5011_masked_mean-1.py": MASKED_MEAN["right"],
        **_canvas("orrfay_106", None, "right", 5012),
        **_canvas("pymgil_107", "detached", "detached", 5014),
        **_canvas("quinhal_108", "zeros", "zeros", 5016),
        **_canvas("rayida_109", "empty", "empty", 5018),
        **_canvas("liwei_111", "right", "right", 5020),
        **_canvas("liwei_112", "doubled", "right", 5022),
        **_canvas("uremia_LATE_113", "right", "matrix", 5024),
        **_canvas("vossned_LATE_114", "right", "right", 5026),
        **_canvas("王小明_116", "right", "raises", 5028),
        **_canvas("abtsue_118", "syntax", "syntax", 5030),
        **_canvas("bixtom_119", "ignores", "right", 5032),
        **_canvas("coleuma_120", "doubled", "doubled", 5034),
        **_canvas("deeval_122", "right", "library", 5036),
        "eckxi_123_5038_masked_mean.ipynb": notebook(MASKED_MEAN["right"]),
        "eckxi_123_5039_prefix_sum.py": PREFIX_SUM["right"],
        **_canvas("ghostpat_777", "right", "right", 5040),
    },
    roster="2026-12-08T1000_Grades-CS101.csv",
    formats="csv,html,canvas",
    # 102 one hour late, 10 off each challenge; 103 late, no time: nothing off, but to look at;
    # 113 in the three days more; 114 within the grace
)

# --- The zip of Moodle -----------------------------------------------------------------------

_FILE = "assignsubmission_file"
_MOODLE: tuple[tuple[str, Content, tuple[int, int, int]], ...] = (
    # path, content, and day, hour and minute of December
    (f"Ana Lee_12301_{_FILE}/prefix_sum.py", PREFIX_SUM["right"], (1, 20, 0)),
    (f"Bo Chen_12302_{_FILE}_prefix_sum.py", PREFIX_SUM["matrix"], (1, 23, 58)),
    (f"Cy Dow_12303_{_FILE}/prefix_sum.py", PREFIX_SUM["right"], (2, 10, 0)),
    (f"Dana Fox_12304_{_FILE}_answer.py", PREFIX_SUM["doubled"], (3, 0, 30)),
    (f"Eli Gam_12305_{_FILE}_/prefix_sum.py", PREFIX_SUM["detached"], (1, 8, 0)),
    (f"Min Kim_12307_{_FILE}/prefix_sum.py", PREFIX_SUM["right"], (1, 9, 0)),
    (f"Min Kim_12308_{_FILE}/prefix_sum.py", PREFIX_SUM["axis"], (1, 9, 2)),
    (f"Jo Ray_12309_{_FILE}/week3.ipynb", notebook(PREFIX_SUM["right"]), (1, 9, 4)),
    (f"Kit Sol_12310_{_FILE}/prefix_sum.py", "", (1, 9, 6)),
    (
        "Lia Toy_12311_assignsubmission_onlinetext/onlinetext.html",
        "<p>I could not do it.</p>",
        (1, 9, 8),
    ),
    (f"王小明_12312_{_FILE}/prefix_sum.py", PREFIX_SUM["right"], (1, 9, 10)),
    (f"Zoë Ash_12313_{_FILE}/prefix_sum.py", PREFIX_SUM["float"], (1, 9, 12)),
    (f"O'Neil Jo_12314_{_FILE}/prefix_sum.py", PREFIX_SUM["raises"], (1, 9, 14)),
    (f"Pia Xu_12315_{_FILE}/prefix_sum.py", PREFIX_SUM["right"], (3, 12, 0)),
    (f"Rex Zand_12316_{_FILE}_prefix_sum.py", PREFIX_SUM["zeros"], (1, 9, 16)),
    (f"Sue Abt_12317_{_FILE}/prefix_sum.py", PREFIX_SUM["right"], (2, 0, 12)),
    (f"Tom Bix_12318_{_FILE}/prefix_sum.py", PREFIX_SUM["library"], (1, 9, 18)),
    (f"Una Fir_12319_{_FILE}/prefix_sum.py", PREFIX_SUM["syntax"], (1, 9, 20)),
    (f"Vic Eld_12320_{_FILE}/prefix_sum.py", PREFIX_SUM["in_place"], (1, 9, 22)),
    (f"Pat Ghost_12999_{_FILE}/prefix_sum.py", PREFIX_SUM["right"], (1, 9, 24)),
)

MOODLE = Upload(
    name="moodle",
    files={path: content for path, content, _ in _MOODLE},
    dates={path: (2026, 12, *when, 0) for path, _, when in _MOODLE},
    # 12303 ten hours: 10 off; 12304 the second day has begun: 20 off; 12315 in the two days more;
    # 12317 within the grace
    roster="Grades-CS101-Week 3-4711.csv",
    formats="csv,html,moodle",
)

# --- The zip of Blackboard -------------------------------------------------------------------


def _attempt(
    user: str, when: str, content: Content, name: str = "", file: str = "masked_mean.py"
) -> dict[str, Content]:
    """Return the file of an attempt, and the receipt if the student's name is given."""
    head = f"Week 3_{user}_attempt_2026-12-{when}"
    files = {f"{head}_{file}": content}
    if name:
        files[f"{head}.txt"] = (
            f"Name: {name} ({user})\r\nAssignment: Week 3\r\nDate Submitted: see the name\r\n"
            "Current Grade: Not graded yet\r\n\r\nSubmission Field:\r\nThere is no student "
            "submission text data for this assignment.\r\n\r\nFiles:\r\n"
            f"\tOriginal filename: {file}\r\n\tFilename: {head}_{file}\r\n\r\n"
        )
    return files


BLACKBOARD = Upload(
    name="blackboard",
    files={
        **_attempt("alee", "01-23-58-00", MASKED_MEAN["right"], "Ana Lee"),
        **_attempt("bchen", "01-10-00-00", MASKED_MEAN["doubled"], "Bo Chen"),
        **_attempt("cdow", "01-10-05-00", MASKED_MEAN["ignores"], "Cy Dow"),
        **_attempt("dfox", "01-10-10-00", MASKED_MEAN["detached"], "Dana Fox"),
        **_attempt("egam", "02-10-00-00", MASKED_MEAN["right"], "Eli Gam"),
        **_attempt("forr", "03-00-30-00", MASKED_MEAN["detached"], "Fay Orr"),
        **_attempt("gpym", "02-00-30-00", MASKED_MEAN["zeros"], "Gil Pym"),
        **_attempt("hquin", "02-00-14-00", MASKED_MEAN["right"]),
        **_attempt("iray", "01-10-00-00", MASKED_MEAN["doubled"], "Ida Ray"),
        **_attempt("iray", "01-11-00-00", MASKED_MEAN["right"], "Ida Ray"),
        **_attempt("k_sol", "01-10-20-00", MASKED_MEAN["right"], "Kit Sol"),
        **_attempt("ltoy", "01-10-25-00", MASKED_MEAN["empty"], "Lia Toy"),
        **_attempt("mure", "01-10-30-00", MASKED_MEAN["syntax"], "Mia Ure"),
        **_attempt(
            "owren", "01-10-35-00", notebook(MASKED_MEAN["right"]), "Ola Wren", "week 3.ipynb"
        ),
        **_attempt("pxu", "01-10-40-00", MASKED_MEAN["library"], "Pia Xu"),
        **_attempt("wxm", "01-10-45-00", MASKED_MEAN["length"], "小明 王"),
        **_attempt("qyam", "03-20-00-00", MASKED_MEAN["right"], "Quy Yam"),
        **_attempt("rzand", "01-10-50-00", MASKED_MEAN["zeros"], "Rex Zand"),
        **_attempt("joneil", "01-10-55-00", MASKED_MEAN["right"], "Jo O'Neil; Sr"),
        **_attempt("zghost", "01-11-00-00", MASKED_MEAN["right"], "Zed Ghost"),
    },
    roster="gc_CS101_fullgc_2026-12-08.xls",
    # egam ten hours: 10 off; forr the second day has begun: 20 off; gpym 31 minutes: 10 off, but
    # there are 0 points; hquin within the grace; qyam in the two days more
    formats="csv,html,blackboard",
)

UPLOADS = (PLAIN, CANVAS, MOODLE, BLACKBOARD)
