"""What a class's results are written as: nothing of a student acts, nothing that is to stay hidden is told, and the sums are right."""

import base64
import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest

from tests.support.class_results import (
    COUNTED,
    HOSTILE_NAMES,
    INVERTED,
    NO_SCALE,
    PLAIN_NAMES,
    SETTLE,
    TILED,
    TWICE,
    UNCOUNTED,
    a_class,
    assignment,
    outcome,
    result,
    unsettled,
)
from trainer.classroom.excerpts import HIDDEN, anonymous, name_words
from trainer.classroom.records import AssignedChallenge, Assignment, Excerpt, StudentResult
from trainer.classroom.summary import CheckRate, Handed, distribution, summarise
from trainer.export import github_classroom
from trainer.export.github_classroom import github_classroom_object, result_line
from trainer.export.gradebook import COLUMNS, grades_csv
from trainer.export.gradescope import gradescope_object
from trainer.export.junit import junit_xml
from trainer.export.student_view import apportioned
from trainer.model.checks import CHECK_ORDER
from trainer.report.class_progress import summary
from trainer.report.visible import visible

FORMULA = tuple("=+-@\t\r\n＝＋－＠")
EVERYONE = a_class()
FAILED = result(
    "Ann",
    verdict="failed",
    failed=("values", "masks"),
    skipped=("gradients",),
    mistakes=(NO_SCALE, TILED),
)
NOT_READ = result(
    "Ann",
    verdict="error",
    outcomes=(),
    diagnosis=None,
    score=0.0,
    text="ERROR  there is no file first.py",
)
NEVER_RAN = result(
    "Ann",
    verdict="error",
    seed=None,
    outcomes=(outcome("loads", "failed", message="there is no first.py"),),
    diagnosis=None,
    score=0.0,
    text="",
)
# What was skipped leaves no failure behind, and is no pass either.
NOTHING_FAILED = result("Ann", verdict="failed", skipped=("values",))


# Text made visible


def test_what_acts_is_shown_as_its_escape() -> None:
    """Control characters, bidirectional overrides and lone surrogates are seen; line ends only where they are lines."""
    assert visible("a\x1b[31m\n\u202eb\udce9\u2028") == r"a\x1b[31m\n\u202eb\udce9\u2028"
    assert visible("a\r\n\tb\rc\x00", lines=True) == "a\n\tb\nc\\x00"


@pytest.mark.parametrize("name", [*PLAIN_NAMES, "نی\u200cلوفر", "a\u3000b", "é", "😀"])
def test_names_of_people_stay_as_they_are(name: str) -> None:
    """No script's letters are taken for something that acts."""
    assert visible(name) == name


# Summary


def test_a_summary_counts_what_there_is() -> None:
    """Verdicts, scores, checks, lateness and failed gradings of a class of five, by hand."""
    results = [
        result("Ann", late=True),
        result(
            "Ben",
            verdict="failed",
            failed=("values",),
            skipped=("masks", "gradients"),
            mistakes=(NO_SCALE,),
        ),
        result("Cy", verdict="failed", failed=("values", "masks"), mistakes=(NO_SCALE, TILED)),
        result(
            "Di",
            verdict=None,
        ),
        result("Ed", verdict="not-allowed", failed=("from scratch",)),
    ]
    found = summarise(results, assignment())
    only = found.challenges[0]
    assert (found.students, found.submissions) == (5, 5)
    assert found.verdicts == {"failed": 2, "passed": 1, None: 1, "not-allowed": 1}
    assert only.verdicts == found.verdicts
    scores = [0.0, 70.0, 80.0, 100.0]
    assert only.scores.mean == pytest.approx(sum(scores) / 4)
    assert only.scores.median == pytest.approx((scores[1] + scores[2]) / 2)
    assert only.scores.bins == (1, 0, 0, 0, 0, 0, 0, 1, 1, 1)
    assert only.checks[:3] == (
        CheckRate("values", 4, 2, 0),
        CheckRate("masks", 4, 1, 1),
        CheckRate("from scratch", 4, 1, 0),
    )
    assert CheckRate("gradients", 4, 0, 1) in only.checks
    assert [(one.id, one.students, one.says) for one in only.mistakes] == [
        (NO_SCALE.id, 2, NO_SCALE.says),
        (TILED.id, 1, TILED.says),
    ]
    assert found.late == (Handed("Ann", "first"),)
    assert found.not_graded == (Handed("Di", "first", results[3].error or ""),)
    assert found.missing == ()


def test_several_challenges_are_summed_by_their_worth() -> None:
    """The second is worth twice the first; a student without a score in one has none in total, and is named."""
    results = [
        result("Ann", "first", score=40.0),
        result("Ann", "second", score=100.0),
        result("Ben", "first", score=40.0),
        result("Cy", "first", score=10.0),
        result("Cy", "second", None),
    ]
    found = summarise(results, assignment(("first", "second")))
    assert (found.students, found.submissions) == (3, 5)
    assert [one.challenge for one in found.challenges] == ["first", "second"]
    assert found.total.count == 1
    assert found.total.mean == pytest.approx(80.0)
    assert found.challenges[0].scores.mean == pytest.approx(30.0)
    assert found.missing == (Handed("Ben", "second"),)


def test_the_ends_of_the_bins() -> None:
    """A score belongs to the bin that it begins; 100 has none of its own."""
    assert distribution([0.0, 9.9, 10.0, 89.9, 90.0, 100.0]).bins == (2, 1, 0, 0, 0, 0, 0, 0, 1, 2)
    empty = distribution([])
    assert (empty.bins, empty.mean, empty.median) == ((0,) * 10, None, None)


def test_a_class_of_nobody_has_a_summary() -> None:
    """No results are no error."""
    found = summarise(iter(()), assignment())
    assert (found.students, found.verdicts, found.total.mean) == (0, {}, None)


# Excerpts that name nobody


def test_no_excerpt_of_a_class_has_anybodys_name() -> None:
    """The name stood in the docstring, the comments, the strings and an identifier of every excerpt."""
    names = frozenset(word for one in EVERYONE for word in name_words(one.student))
    mistakes = summarise(EVERYONE, assignment()).challenges[0].mistakes
    assert {one.id for one in mistakes} == {NO_SCALE.id, TILED.id, INVERTED.id}
    for one in mistakes:
        assert one.excerpt is not None
        shown = "\n".join(one.excerpt.lines)
        assert "scores = q @ k.transpose(-2, -1)" in shown
        assert (
            one.excerpt.lines[one.excerpt.marked - one.excerpt.first]
            == "scores = q @ k.transpose(-2, -1)"
        )
        assert not name_words(shown) & names
        assert not any(mark in shown for mark in ("#", "uni", "by ", "wrote", '"""'))


def test_the_excerpt_with_the_least_hidden_is_taken() -> None:
    """Of one who made this mistake alone, and nothing hidden before something hidden."""
    plain = Excerpt(first=1, marked=1, lines=("scores = q @ k.mT",))
    named = Excerpt(first=1, marked=1, lines=("scores = cy @ k.mT",))
    both = Excerpt(first=1, marked=1, lines=("scores = of_two",))
    results = [
        result(
            "Ann", verdict="failed", failed=("values",), mistakes=(NO_SCALE, TILED), excerpt=both
        ),
        result("Cy", verdict="failed", failed=("values",), mistakes=(NO_SCALE,), excerpt=named),
        result("Di", verdict="failed", failed=("values",), mistakes=(NO_SCALE,), excerpt=plain),
        result("Ed", verdict="failed", failed=("values",), mistakes=(TILED,), excerpt=None),
    ]
    mistakes = {
        one.id: one.excerpt for one in summarise(results, assignment()).challenges[0].mistakes
    }
    assert mistakes == {NO_SCALE.id: plain, TILED.id: both}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        pytest.param("x = q @ k  # Jane", "x = q @ k", id="comment"),
        pytest.param("x = f('by Jane', \"#\")", f'x = f("{HIDDEN}", "{HIDDEN}")', id="strings"),
        pytest.param("x = f'{q} by {jane}' + y", f'x = "{HIDDEN}" + y', id="formatted string"),
        pytest.param("jane_q = q.view(1)", f"{HIDDEN} = q.view(1)", id="identifier"),
        pytest.param("class JaneAttention: pass", f"class {HIDDEN}: pass", id="camel case"),
        pytest.param(
            "class LiHead: pass", f"class {HIDDEN}: pass", id="camel case of a short word"
        ),
        pytest.param("myjanes = q", f"{HIDDEN} = q", id="inside a word"),
        pytest.param(
            "li = q; like = li", f"{HIDDEN} = q; like = {HIDDEN}", id="short word of the own name"
        ),
        pytest.param("seed(20231187)", f"seed({HIDDEN})", id="a long number is an id"),
        pytest.param("x = q * 4711", f"x = q * {HIDDEN}", id="number of the name"),
        pytest.param("x.masked_fill(m, -10000)", "x.masked_fill(m, -10000)", id="a fill is no id"),
        pytest.param(
            "x = m * -1000000000 + 1e-6", "x = m * -1000000000 + 1e-6", id="nor is a round number"
        ),
        pytest.param(
            'x = einsum("bhqd,bhkd->bhqk", q, k)',
            'x = einsum("bhqd,bhkd->bhqk", q, k)',
            id="einsum",
        ),
        pytest.param(
            "x = rearrange(q, 'b (h d) l -> b h l d')",
            "x = rearrange(q, 'b (h d) l -> b h l d')",
            id="axes",
        ),
        pytest.param(
            'x = einsum("jane,doe->x", q)', f'x = einsum("{HIDDEN}", q)', id="a name as axes"
        ),
        pytest.param('x = float("-inf")', 'x = float("-inf")', id="infinity"),
        pytest.param("x = einsum(  # Jane", "x = einsum(", id="first line of a longer statement"),
        pytest.param("    q, k.mT)  # Jane", "q, k.mT)", id="last line of a longer statement"),
        pytest.param("    ], dim=1) + f(", "], dim=1) + f(", id="a line in the middle of one"),
        pytest.param("x = einsum(q, 'Jane", "x = einsum(q,", id="string that goes on"),
        pytest.param('    """By Jane', None, id="docstring"),
        pytest.param('    Somebody """', None, id="end of a docstring"),
        pytest.param("Jane Doe, class of 2024", None, id="no Python"),
        pytest.param("# Jane", None, id="nothing left"),
        pytest.param("'Jane'", None, id="a string alone"),
        pytest.param("x = " + "1 + " * 200 + "1", None, id="too long"),
    ],
)
def test_what_is_hidden_in_a_line(line: str, shown: str | None) -> None:
    """Words of the name, wherever they stand; what the computation needs stays."""
    found = anonymous(Excerpt(first=7, marked=7, lines=(line,)), name_words("Jane Li 4711", 2))
    assert (found.lines[0] if found else None) == shown


def test_a_piece_of_a_docstring_is_no_code() -> None:
    """Where lines begin inside a string, code and text look exchanged: only what can be read for sure is shown."""
    lines = [
        "    Ann Other asked Bo,",
        '    """',
        "    x = 'a'",
        '    """',
        "    So said Cy Other",
        '    """',
        "    y = x @ w",
    ]
    found = anonymous(Excerpt(first=1, marked=7, lines=tuple(lines)), frozenset())
    assert found is not None
    assert found.lines[-1] == "y = x @ w"
    assert not any(word in " ".join(found.lines) for word in ("Ann", "asked", "So said", "Cy"))


def test_lines_keep_their_depth_and_their_mark() -> None:
    """Comments in between go, the marked line is still the marked one."""
    lines = [
        "        if a:",
        "            # Jane",
        "            b = c",
        "        text = '''",
        "          Jane",
        "        ''' + d",
    ]
    found = anonymous(Excerpt(first=10, marked=12, lines=tuple(lines)), frozenset({"jane"}))
    assert found == Excerpt(
        first=10, marked=12, lines=("if a:", "", "    b = c", f'text = "{HIDDEN}"', "", " + d")
    )


# Grades as CSV


def rows(results: list[StudentResult]) -> list[dict[str, str]]:
    """The file as a program reads it."""
    return list(csv.DictReader(io.StringIO(grades_csv(results), newline="")))


def test_grades_have_the_columns_of_the_contract() -> None:
    """In this order, with nothing before them."""
    assert grades_csv([]).splitlines() == [
        "student,challenge,verdict,score,checks_passed,checks_total,likely_mistake,seconds"
    ]
    assert rows([FAILED]) == [
        dict(
            zip(
                COLUMNS,
                ("Ann", "first", "failed", "70", "11", "14", "no-scale+heads-tiled", "1.25"),
                strict=True,
            )
        )
    ]


def test_a_failed_grading_has_no_score() -> None:
    """Nobody's 0 comes from the grader."""
    assert rows([result("Ann", verdict=None)])[0] | {"seconds": ""} == dict.fromkeys(
        COLUMNS, ""
    ) | {
        "student": "Ann",
        "challenge": "first",
        "verdict": "not graded",
    }


def test_several_submissions_of_one_name_are_one_row() -> None:
    """The row has no score; it names the files and the next step."""
    expected = {
        "student": "bob",
        "challenge": "first",
        "verdict": "not graded",
        "likely_mistake": SETTLE,
    }
    assert rows([unsettled()])[0] | {"seconds": ""} == dict.fromkeys(COLUMNS, "") | expected


def test_several_submissions_of_one_name_are_told_on_the_console() -> None:
    """The grader did not fail on them; the files and the next step are named."""
    text, failed = summary([result("ann"), unsettled(), result("di", verdict=None)])
    assert failed == 1
    assert "3 results: 1 passed, 2 not graded" in text
    assert "\n1 to settle: more than one submission of one name\n  bob: bob.py, bob/x.py\n" in text
    assert text.endswith("\nRemove or rename all but one of each name, then add --resume.")
    assert "to settle" not in summary([result("ann"), result("di", verdict=None)])[0]


@pytest.mark.parametrize("width", [80, 50])
def test_the_console_stays_within_its_columns(width: int) -> None:
    """Also with many names, of which ten are listed."""
    many = [unsettled(f"student number {number}") for number in range(13)]
    text, _ = summary(many, width)
    assert max(map(len, text.splitlines())) <= width
    assert "student number 9: bob.py," in " ".join(text.split())
    assert "student number 10:" not in " ".join(text.split())
    assert "and 3 more names" in " ".join(text.split())


def test_many_files_of_one_name_are_cut_on_the_console() -> None:
    """Four files are named, and nothing in a name acts on the terminal."""
    places = [f"{number}\x1b[31m.py" for number in range(6)]
    text, _ = summary([result("bob\n", verdict=None, unsettled=places)])
    assert r"bob\n: 0\x1b[31m.py, 1\x1b[31m.py, 2\x1b[31m.py, 3\x1b[31m.py and 2 more" in text


def test_several_submissions_of_one_name_are_no_failed_grading() -> None:
    """The summary of the class lists them apart, and no score counts."""
    found = summarise(
        [result("Ann"), unsettled(), result("Di", verdict=None, error="it broke")], assignment()
    )
    assert found.to_settle == (Handed("bob", "first", SETTLE),)
    assert found.not_graded == (Handed("Di", "first", "it broke"),)
    assert (found.total.count, found.verdicts) == (1, {"passed": 1, None: 2})


@pytest.mark.parametrize("challenges", [("first",), ("first", "second")])
@pytest.mark.parametrize("shown", ["report", "checks", "verdict"])
def test_several_submissions_of_one_name_bring_no_points_on_platforms(
    shown: str, challenges: tuple[str, ...]
) -> None:
    """The student is told to ask; neither points nor file names nor commands are handed on."""
    asked = assignment(challenges, shown=shown)
    results = [
        unsettled(challenge=challenges[0]),
        *(result("bob", challenge) for challenge in challenges[1:]),
    ]
    for_gradescope, for_github = (
        gradescope_object(results, asked),
        github_classroom_object(results, asked),
    )
    assert "score" not in for_gradescope
    assert (
        "more than one submission came under this name. Tell your teacher."
        in for_gradescope["output"]
    )
    assert (for_github["status"], for_github["max_score"]) == ("error", 0)
    assert not any(test["score"] for test in for_github["tests"])
    told = json.dumps([for_gradescope, for_github])
    assert not any(word in told for word in (*TWICE[1:], "--resume"))


def test_several_submissions_of_one_name_are_an_error_for_junit() -> None:
    """The suite holds one case with the sentence."""
    (suite,) = ElementTree.fromstring(junit_xml([unsettled()]))
    assert (suite.get("name"), suite.get("errors"), suite.get("failures")) == (
        "bob: first",
        "1",
        "0",
    )
    error = suite.find("testcase/error")
    assert error is not None
    assert error.get("message") == SETTLE


def test_one_row_a_student_whatever_the_names() -> None:
    """A reader gets every name back, by lines and by the csv module."""
    found = rows(EVERYONE)
    assert [one["student"].removeprefix("'") for one in found] == [
        visible(one.student).removeprefix("'") for one in EVERYONE
    ]
    assert len(grades_csv(EVERYONE).splitlines()) == len(EVERYONE) + 1
    assert len({one["student"] for one in found}) == len(EVERYONE)
    grades_csv(EVERYONE).encode()


@pytest.mark.parametrize(
    "name",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "\tx",
        "\nx",
        " =1",
        "  \t =1",
        '"=1',
        "'=1",
        "\"' =1",
        "＝1",
        "＋1",
        "－1",
        "＠a",
        "\xa0=1",
        "\u3000＝1",
    ],
)
def test_no_name_is_a_formula(name: str) -> None:
    """An apostrophe stands before it, and the name behind it."""
    assert rows([result(name)])[0]["student"] == "'" + visible(name)


@pytest.mark.parametrize("name", ["Ann", "a=1", "O'Neil", "Ann-Marie", "x@uni.example", "1+1"])
def test_other_names_stay(name: str) -> None:
    """Only the beginning makes a formula."""
    assert rows([result(name)])[0]["student"] == name


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_cell_is_a_formula_however_the_file_is_divided(delimiter: str) -> None:
    """Where a country's spreadsheets divide by semicolons, a name cannot begin a cell of its own either."""
    for row in csv.reader(
        io.StringIO(grades_csv([*EVERYONE, result("Bo;=1+1"), result("Bo\t=1")]), newline=""),
        delimiter=delimiter,
    ):
        assert not any(
            cell.lstrip(" \"'").startswith(FORMULA) and not cell.startswith("'") for cell in row
        )


# JUnit


def test_junit_counts_what_it_holds() -> None:
    """A suite a submission, a case a check; the numbers are those of the elements."""
    root = ElementTree.fromstring(junit_xml(EVERYONE).encode())
    suites = root.findall("testsuite")
    assert [one.get("name") for one in suites] == [
        visible(f"{one.student}: first") for one in EVERYONE
    ]
    assert float(root.get("time", "")) == pytest.approx(
        1.25 * sum(result.verdict is not None for result in EVERYONE)
    )
    for element in (root, *suites):
        for kind, tag in (
            ("tests", "testcase"),
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            assert int(element.get(kind, "-1")) == len(list(element.iter(tag)))
    for suite, one in zip(suites, EVERYONE, strict=True):
        assert float(suite.get("time", "-1")) == (0 if one.verdict is None else 1.25)
        assert (suite.get("failures") == "0" and suite.get("errors") == "0") == (
            one.verdict == "passed"
        )
        if one.verdict is not None:
            assert [case.get("name") for case in suite.findall("testcase")] == list(one.statuses())
            assert suite.findtext("system-out") == visible(one.text, lines=True)


def test_a_failure_says_which_cases_and_what() -> None:
    """The first message is the attribute, all of them are the text; a skipped check says what it needed."""
    suite = ElementTree.fromstring(junit_xml([FAILED]))[0]
    cases = {one.get("name"): one for one in suite.findall("testcase")}
    failure = cases["values"].find("failure")
    assert failure is not None
    assert (
        failure.get("message")
        == "padding mask: 300 of 672 values of out differ (45%); the inputs are SECRET-INPUT"
    )
    assert (failure.text or "").splitlines()[1].startswith("causal: ")
    skipped = cases["gradients"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "needs values"
    assert not list(cases["shapes"])


@pytest.mark.parametrize("one", [NOT_READ, NOTHING_FAILED], ids=["not read", "nothing failed"])
def test_what_did_not_pass_is_never_all_green(one: StudentResult) -> None:
    """Where no check says so, the verdict does: in JUnit, for Gradescope and for GitHub Classroom."""
    root = ElementTree.fromstring(junit_xml([one]))
    assert root.get("failures") == "1"
    for shown in ("report", "checks"):
        tests = gradescope_object([one], assignment(shown=shown))["tests"]
        assert [test["name"] for test in tests if test["status"] == "failed"][-1] == "verdict"
        assert github_classroom_object([one], assignment(shown=shown))["status"] == "fail"


# What students are told

SHOWN = ("report", "checks", "verdict")


def as_written(one: StudentResult, **more: object) -> list[str]:
    """What both platforms are given, as text."""
    asked = assignment(**more)
    return [
        json.dumps(made([one], asked), allow_nan=False, ensure_ascii=False)
        for made in (gradescope_object, github_classroom_object)
    ]


@pytest.mark.parametrize("one", EVERYONE[::5], ids=lambda one: visible(one.student)[:20])
@pytest.mark.parametrize("shown", SHOWN)
def test_points_sum_to_a_hundred(one: StudentResult, shown: str) -> None:
    """All checks are worth 100 together, and those that passed the score."""
    asked = assignment(shown=shown)
    found = gradescope_object([one], asked)
    github = github_classroom_object([one], asked)
    if one.verdict is None:
        assert "score" not in json.dumps(found)
        assert (
            github["status"],
            github["max_score"],
            [test["score"] for test in github["tests"]],
        ) == ("error", 0, [0])
        return
    assert found["score"] == pytest.approx(one.score, abs=0.06)
    assert github["max_score"] == 100
    assert all(isinstance(test["score"], int) for test in github["tests"])
    assert sum(test["score"] for test in github["tests"]) == pytest.approx(one.score, abs=5)
    assert github["status"] == ("pass" if one.verdict == "passed" else "fail")
    if shown == "verdict":
        assert "tests" not in found
    else:
        assert sum(test["max_score"] for test in found["tests"]) == pytest.approx(100)
        assert sum(test["score"] for test in found["tests"]) == pytest.approx(one.score, abs=0.1)
        assert {test["name"]: test["status"] for test in found["tests"]} == {
            name: "passed" if status == "passed" else "failed"
            for name, status in one.statuses().items()
        }


@pytest.mark.parametrize("shown", ["checks", "verdict"])
def test_nothing_that_gives_a_case_away_is_told(shown: str) -> None:
    """No message, print, seed, time, digest, line, excerpt or likely mistake, and with the verdict alone no check."""
    for one in (
        FAILED,
        result("Ann", verdict=None),
        NOT_READ,
        result("Ann", verdict="timeout", failed=("runs",)),
        result("Ann", verdict="error", failed=("loads",)),
    ):
        for text in as_written(one, shown=shown):
            for secret in (
                "SECRET",
                "differ",
                "padding",
                "123456",
                "digest",
                "1.25",
                "1.2",
                "34",
                "no-scale",
                "sqrt",
                "tiled",
                "q @ k",
                "disk",
                "no file",
                "stops",
            ):
                assert secret not in text
            assert shown == "checks" or not any(f'"{check}"' in text for check in CHECK_ORDER)
    verdict = gradescope_object([FAILED], assignment(shown="verdict"))
    assert verdict == {
        "score": 70.0,
        "output": "first: failed",
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
    }


@pytest.mark.parametrize("shown", SHOWN)
def test_why_a_file_could_not_be_read_is_always_told(shown: str) -> None:
    """It was never run: nothing of a case can be in the reason, and without it nobody would know what to hand in."""
    for text in as_written(NEVER_RAN, shown=shown):
        assert "there is no first.py" in text


@pytest.mark.parametrize("why", [True, False])
def test_the_whole_report_is_told_where_it_may_be(why: bool) -> None:
    """With its text where the first failure is; the likely mistake only if the teacher says so."""
    for text in as_written(FAILED, shown="report", why=why):
        assert "seed 123456" in text
        assert "300 of 672" in text
        assert (
            NO_SCALE.says in text
        ) == why or "version" in text  # GitHub's message is the check's own
        assert ("no-scale" in text) is False
    tests = {one["name"]: one for one in gradescope_object([FAILED], assignment())["tests"]}
    assert tests["values"]["output"] == visible(FAILED.text, lines=True)
    assert [line[:19] for line in tests["masks"]["output"].splitlines()] == [
        "padding mask: 300 o",
        "causal: 300 of 672 ",
    ]
    assert tests["gradients"]["output"].startswith("not made")
    assert tests["shapes"]["output"] == ""


def test_library_attention_counts_nothing() -> None:
    """Checks that passed keep their status, and bring no points."""
    one = result("Ann", verdict="not-allowed", failed=("from scratch",))
    found = gradescope_object([one], assignment())
    assert found["score"] == 0
    assert {test["score"] for test in found["tests"]} == {0}
    assert Counter(test["status"] for test in found["tests"]) == {"passed": 13, "failed": 1}
    assert "from scratch" in found["output"]


def test_weights_and_worth_make_the_points() -> None:
    """A check's points are its weight's part of its challenge's part of 100."""
    weights = dict.fromkeys(CHECK_ORDER, 0.0) | {"values": 3.0, "masks": 1.0}
    asked = Assignment(
        "x", (AssignedChallenge("first", weights, 1.0), AssignedChallenge("second", weights, 2.0))
    )
    results = [
        result("Ann", one, "failed", failed=("masks",), weights=weights)
        for one in ("first", "second")
    ]
    found = gradescope_object(results, asked)
    worth = {
        test["name"]: (test["score"], test["max_score"])
        for test in found["tests"]
        if test["max_score"]
    }
    assert worth == {
        "first: values": (25.0, 25.0),
        "first: masks": (0, 8.33),
        "second: values": (50.0, 50.0),
        "second: masks": (0, 16.67),
    }
    assert found["score"] == 75
    github = github_classroom_object(results, asked)
    assert [(one["name"], one["score"]) for one in github["tests"] if one["score"]] == [
        ("first: values", 25),
        ("second: values", 50),
    ]


def test_a_part_that_could_not_be_graded_leaves_no_score() -> None:
    """Neither a failed grading nor a missing result is a 0: nothing in the file is a score."""
    asked = assignment(("first", "second"))
    for others in ([], [result("Ann", "second", None)]):
        found = gradescope_object([result("Ann"), *others], asked)
        assert "score" not in json.dumps(found)
        assert "second: This could not be graded" in found["output"]
        github = github_classroom_object([result("Ann"), *others], asked)
        assert (
            github["status"],
            github["max_score"],
            sum(one["score"] for one in github["tests"]),
        ) == ("error", 0, 0)


@pytest.mark.parametrize(
    "one", [NOT_READ, NOTHING_FAILED, result("Ann")], ids=["not read", "nothing failed", "passed"]
)
def test_the_verdict_takes_the_points_that_no_check_has(one: StudentResult) -> None:
    """All weights nought, or no checks at all: the maximum is still 100."""
    asked = Assignment("x", (AssignedChallenge("first", {}),))
    tests = gradescope_object([one], asked)["tests"]
    assert sum(test["max_score"] for test in tests) == pytest.approx(100)
    assert sum(test["score"] for test in tests) == pytest.approx(one.score or 0.0, abs=0.01)


@pytest.mark.parametrize(
    "weights", [[1.0] * 3, [1.0, 2.0, 0.0], [1e308, 1e308], [0.1] * 11, [5e-324, 1.0], [1.0]]
)
@pytest.mark.parametrize("units", [100, 10_000, 7, 0])
def test_units_are_shared_out_to_the_last(weights: list[float], units: int) -> None:
    """They sum exactly, none is further than one from its part, and no weight is no unit."""
    found = apportioned(dict(enumerate(weights)), units)
    assert sum(found.values()) == units
    for key, weight in enumerate(weights):
        assert (
            abs(
                found[key]
                - units * (weight / max(weights)) / sum(one / max(weights) for one in weights)
            )
            < 1
        )
        assert weight or not found[key]


def test_github_gets_it_in_base64() -> None:
    """The line for $GITHUB_OUTPUT is one line of ASCII, and gives the object back; every key of the format is there."""
    made = github_classroom_object(
        [result(HOSTILE_NAMES[9], verdict="failed", failed=("values",))], assignment()
    )
    line = result_line(made)
    assert line.isascii()
    assert line.startswith("result=")
    assert line.count("\n") == 1
    assert json.loads(base64.b64decode(line.removeprefix("result="), validate=False)) == made
    assert made["version"] == 1
    for test in made["tests"]:
        assert list(test) == [
            "name",
            "status",
            "message",
            "test_code",
            "filename",
            "line_no",
            "execution_time",
            "score",
        ]
    told = {test["name"]: test for test in made["tests"]}
    assert (
        told["runs"]["line_no"],
        told["runs"]["filename"],
        told["runs"]["status"],
        told["runs"]["message"],
    ) == (0, "", "pass", "")
    assert (told["values"]["line_no"], told["values"]["filename"], told["values"]["status"]) == (
        34,
        r"\x1b[31mred\x1b[0m\x07.py",
        "fail",
    )


def test_no_log_line_is_an_order() -> None:
    """What a submission printed cannot speak to the machine that runs the workflow."""
    text = "FAILED\n::set-env name=PATH::x\n   ::warning::x\n##[group]x\nx ##[error]x\nfine :: here\n\t::add-mask::x"
    one = result("Ann", verdict="failed", failed=("values",), text=text)
    message = next(
        test["message"]
        for test in github_classroom_object([one], assignment())["tests"]
        if test["name"] == "values"
    )
    assert "##[" not in message
    assert not any(line.strip().startswith("::") for line in message.splitlines())
    assert "fine :: here" in message
    assert github_classroom._MOST == 100


def test_checks_of_no_weight() -> None:
    """The samples above go by the same weights as an assignment without any of its own."""
    worth = {name for name, weight in AssignedChallenge("first").weights.items() if weight}
    assert set(COUNTED) <= worth
    assert not worth & set(UNCOUNTED)


def test_checks_are_counted_by_the_worst_case() -> None:
    """A check that failed in one case of two has failed, in every output."""
    one = result(
        "Ann",
        verdict="failed",
        outcomes=(outcome("runs", "passed", "a"), outcome("runs", "failed", "b", "no")),
        diagnosis=None,
    )
    assert rows([one])[0]["checks_passed"] == "0"
    assert summarise([one], assignment()).challenges[0].checks == (CheckRate("runs", 1, 1, 0),)
    assert ElementTree.fromstring(junit_xml([one])).get("failures") == "1"


@pytest.mark.parametrize("width", [80, 50])
def test_what_came_of_a_class_fits_the_terminal(width: int) -> None:
    """No line is longer, and no word is torn; into a pipe a mistake is one line."""
    text, _ = summary(EVERYONE, width)
    whole, _ = summary(EVERYONE)
    assert max(map(len, text.splitlines())) <= width
    assert text.split() == whole.split()
    assert max(map(len, whole.splitlines())) > width
