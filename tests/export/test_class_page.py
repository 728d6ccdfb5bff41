"""Tests of the page of a class: complete without script, self-contained, and safe for all names."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from attn_drill.classroom.records import (
    AssignedChallenge,
    Assignment,
    Gradebook,
    Lateness,
    Override,
    Student,
    StudentResult,
)
from attn_drill.classroom.similarity import SameText
from attn_drill.export._class_page import class_html
from attn_drill.model.report import Diagnosis
from attn_drill.report.class_text import VERDICTS
from attn_drill.report.wording import visible
from tests.support.classroom import (
    EVERYONE,
    HOSTILE_NAMES,
    INVERTED,
    NO_SCALE,
    SETTLE,
    TILED,
    assignment,
    grade_of,
    make_class,
    make_gradebook,
    named,
    result,
    student_grade,
    ungraded,
)
from tests.support.pages import Page, class_page, handout_page

TWO = ("first", "second")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)


def page(results: list[StudentResult], challenges: tuple[str, ...] = ("first",)) -> str:
    """Return the page of a class, by default for one challenge."""
    return class_page(results, *challenges)


def test_title_is_the_heading_and_tables_have_captions() -> None:
    """The title of the assignment is the title of the page and its heading."""
    parsed = Page(page(EVERYONE))
    assert parsed.inside("title") == parsed.inside("h1") == "Attention, week 3 <& more>"
    assert len(parsed.named("caption")) == len(parsed.named("table")) > 0


@pytest.mark.parametrize("challenges", [("first",), TWO], ids=["one challenge", "two challenges"])
def test_every_student_has_a_row_and_a_report(challenges: tuple[str, ...]) -> None:
    """Each report is folded and complete, even if the name of its student is hostile."""
    results = make_class(challenges)
    parsed = Page(page(results, challenges))
    reports = [attrs for attrs in parsed.named("details") if attrs.get("class") == "report"]
    assert [attrs["id"] for attrs in reports] == [
        f"report-{number}" for number in range(1, len(results) + 1)
    ]
    assert not any("open" in attrs for attrs in reports)
    table = "".join(data for path, data in parsed.pieces if "tbody" in path)
    folded = [data for path, data in parsed.pieces if "details" in path]
    text = "".join(folded)
    for found in results:
        assert visible(found.student) in table
        assert visible(found.student) in folded
        if found.text:
            assert visible(found.text.rstrip(), lines=True) in text
        else:
            assert f"The grading failed: {visible(found.error or '')}" in text


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=lambda name: visible(name)[:20])
def test_name_is_never_markup(name: str) -> None:
    """The page has the same tags if all texts of a result are a hostile name."""
    plain = [tag for tag, _ in Page(page([hostile("x")])).tags]
    parsed = Page(page([hostile(name)]))
    assert [tag for tag, _ in parsed.tags] == plain
    assert parsed.text.count(visible(name)) >= 6


def hostile(words: str) -> StudentResult:
    """Return a result in which every text is the same."""
    student_result = result(
        words,
        verdict="failed",
        failed=("values",),
        mistakes=(NO_SCALE,),
        late=True,
        file=words,
        error=words,
        text=f"FAILED  {words}",
    )
    assert student_result.report is not None
    diagnosis = Diagnosis(mistakes=(named(words, words),))
    report = replace(student_result.report, diagnosis=diagnosis)
    return replace(student_result, report=report)


def test_overview_has_verdicts_and_scores_in_words() -> None:
    """Each verdict has a symbol, a word and a count. The histogram has its counts in words."""
    parsed = Page(page(EVERYONE))
    verdicts = " ".join(parsed.inside("ul").split())
    assert verdicts.startswith("25 ✓ passed 42% 20 ✗ failed 33% 5 ! error 8%")
    assert "60 students, mean 55.3, median 77.6 of 100" in parsed.text
    label = next(attrs["aria-label"] for attrs in parsed.named("svg") if attrs.get("role") == "img")
    assert label == (
        "first, students by score. 0 to 10: 17, 10 to 20: 5, 20 to 30: 5, 70 to 80: 5,"
        " 90 to 100: 25"
    )
    for verdict, (symbol, word) in VERDICTS.items():
        count = sum(result.verdict == verdict for result in EVERYONE)
        assert count
        assert f"{count} {symbol} {word} " in verdicts


def test_length_of_bars_matches_their_counts() -> None:
    """A bar shows the failed and the skipped submissions as shares of the due submissions."""
    results = [
        result("a", verdict="failed", failed=("values",)),
        result("b", verdict="failed", failed=("runs",), skipped=("values",), score=0.0),
        result("c"),
        result("d"),
    ]
    parsed = Page(page(results))
    bars = [
        attrs
        for attrs in parsed.named("rect")
        if attrs.get("class") in ("half", "fill") and "x" not in attrs
    ]
    assert [(attrs["class"], attrs["width"]) for attrs in bars] == [
        ("half", "25.00"),
        ("fill", "25.00"),
        ("half", "50.00"),
        ("fill", "25.00"),
    ]
    assert "values25%1 of 41" in parsed.inside("tbody").replace("\n", "")
    heights = [attrs["height"] for attrs in parsed.named("rect") if attrs.get("rx")]
    assert heights == ["50.0", "50.0", "100.0"]


def test_most_common_mistake_comes_first() -> None:
    """A mistake has its sentence, its number of students, and the line of one."""
    mistakes = Page(page(EVERYONE)).inside("ol")
    offsets = [mistakes.index(mistake.says) for mistake in (INVERTED, NO_SCALE, TILED)]
    assert offsets == sorted(offsets)
    assert mistakes.count("scores = q @ k.transpose(-2, -1)") == 3
    assert "5 students,\nheads-tiled" in mistakes


def test_code_is_never_markup() -> None:
    """The code of an excerpt is shown as text."""
    code = "\n" * 33 + "e = a < script > b & c\n"
    ann = result("Ann", verdict="failed", failed=("values",), mistakes=(NO_SCALE,), source=code)
    assert "e = a < script > b & c" in Page(page([ann])).inside("pre")


def test_page_for_the_class_names_no_student() -> None:
    """It is the first half of the teacher's page, and has no script."""
    whole, half = (
        "".join(class_html(make_gradebook(EVERYONE, assignment()), reader))
        for reader in ("teacher", "class")
    )
    first, second = whole.split('<section id="look">')
    assert first.split("<main")[1].split("</nav>")[1].strip() == (
        half.split("<main")[1].split("</nav>")[1].split("</main>")[0].strip()
    )
    parsed = Page(half)
    for name in {visible(found.student) for found in EVERYONE}:
        assert name not in parsed.text or name in "Attention, week 3 <& more>"
    assert "Most common mistakes" in parsed.text
    assert not parsed.named("script")
    targets = {attrs.get("id") for _, attrs in parsed.tags}
    assert {attrs["href"] for attrs in parsed.named("a")} <= {f"#{target}" for target in targets}
    assert "The rest of this page names students." in second


def test_page_for_markers_has_the_whole_file() -> None:
    """A marker reads the code, and gets no next steps."""
    ann = result("Ann", source="x = 1 < 2\n\ny = 3\n")
    book = make_gradebook([ann], assignment())
    for_markers = Page("".join(class_html(book, "markers")))
    assert "   1  x = 1 < 2\n   2  \n   3  y = 3\n" in for_markers.inside("pre")
    assert "--roster" not in for_markers.text
    assert "y = 3" not in Page("".join(class_html(book))).text


def test_same_texts_are_a_list_that_is_folded() -> None:
    """The names link to the reports. The words say that it proves nothing."""
    groups = SameText(("Ann", "Ben"), ()), SameText(("Ann",), ("solution.py",))
    found = [("first", group) for group in groups]
    results = [result("Ann"), result("Ben")]
    book = make_gradebook(results, assignment())
    parsed = Page("".join(class_html(book, "teacher", found)))
    (folded,) = (attrs for attrs in parsed.named("details") if attrs.get("class") == "same")
    assert "open" not in folded
    text = " ".join(parsed.inside("details").split())
    assert "Same text (2)" in text
    assert "Ann, Ben Ann: the text of solution.py" in text
    links = [attrs["href"] for attrs in parsed.named("a")]
    assert links.count("#report-1") == 3
    assert "Same text" not in Page(page(results)).text


def test_results_that_need_attention_are_listed() -> None:
    """The page lists what was not graded with the reason, and missing results."""
    results = [
        result("Ann", "first", None, error="no <room>"),
        result("Ben", "first", late=True),
        result("Ben", "second"),
        ungraded(),
    ]
    parsed = Page(page(results, TWO))
    headings = [data for path, data in parsed.pieces if path[-1:] == ("h3",) and "(" in data]
    expected = "Not graded (1), The grader failed (1)"
    assert ", ".join(headings) == expected
    assert parsed.text.count(SETTLE) == 2  # in the list, and in the report that it links to
    assert parsed.text.count("The grading failed") == 1
    look = " ".join(parsed.inside("li").split())
    assert "Ann, first: no <room>" in look
    alone = Page(page([result("Ann")])).text
    assert "Every submission was graded." in alone
    assert "Add --roster FILE" in alone


def test_each_challenge_has_a_column() -> None:
    """A row has the total, and a symbol and a score for each challenge.

    The total is empty if a score is missing.
    """
    results = [
        result("Ann", "first", "failed", failed=("runs",), score=40.0),
        result("Ann", "second"),
        result("Ben", "second", None),
    ]
    cells = [
        data
        for path, data in Page(page(results, TWO)).pieces
        if path[-3:] == ("table", "tbody", "tr") or "td" in path or path[-1:] == ("bdi",)
    ]
    rows = " ".join("".join(cells).split())
    assert "Ann 80 40 ✗ failed 100 ✓ passed" in rows
    assert "Ben no result ? not graded" in rows


def test_rows_have_penalties_overrides_and_missing_students() -> None:
    """The total is that of the gradebook. A student who handed in nothing has a row."""
    ann, ben = result("Ann"), result("Ben", verdict="failed", failed=("masks",))
    settings = assignment()
    late = Lateness(True, 1e9, 9e8, days=2, penalty=20.0)
    decided = Override("Ben", "", 85.0, "Well <told>.")
    rows = (
        student_grade(Student("Ann"), [grade_of(ann, lateness=late, points=80.0)], settings),
        student_grade(Student("Ben"), [grade_of(ben)], settings, decided),
        student_grade(Student("Cy", is_in_roster=True), [], settings),
    )
    book = Gradebook(settings, rows, ("old/: a folder",), has_roster=True)
    parsed = Page("".join(class_html(book)))
    table = [data for path, data in parsed.pieces if "tr" in path]
    shown = " ".join(" ".join(table).split())
    assert "Ann 80 80 ✓ passed late: 2 days, −20 points" in shown
    assert "Ben 85 77.6 ✗ failed override: 85 points. Well <told>." in shown
    assert "Cy handed in nothing" in shown
    look = parsed.text.split("To look at")[-1]
    assert "Handed in nothing (1)" in look
    assert "old/: a folder" in look
    reports = " ".join(parsed.inside("details").split())
    assert "due: 1998-07-09" in reports
    assert "counts: 80 points" in reports


def test_points_are_explained_with_the_weights_of_the_assignment() -> None:
    """The section is in the half that names nobody. Its points sum to 100."""
    settings = Assignment(
        "x",
        (AssignedChallenge("first", {"values": 6.0}, 3.0), AssignedChallenge("second")),
        due=9e8,
        penalty=10.0,
    )
    results = [result("Ann"), result("Ann", "second")]
    text = "".join(class_html(make_gradebook(results, settings)))
    section = text.split('<section id="points">')[1].split('<section id="look">')[0]
    words = " ".join(re.sub("<[^>]*>", " ", section).split())
    assert "first 75%, second 25%." in words
    assert "values 39.0 masks 19.5" in words
    assert "values 29.9" in words
    assert "costs 10 of 100 points" in words


def in_chromium(text: str, folder: Path, target: str = "") -> tuple[str, str]:
    """Return a page after its script ran in a browser, and the messages on the console."""
    if CHROMIUM is None:
        pytest.skip(f"no browser is installed: the page needs one of {', '.join(BROWSERS)}")
    file = folder / "report.html"
    file.write_text(text, encoding="utf-8")
    command = [
        CHROMIUM,
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        f"--user-data-dir={folder / 'profile'}",
        "--enable-logging=stderr",
        "--dump-dom",
        f"{file.as_uri()}{target}",
    ]
    process = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    messages = [line for line in process.stderr.splitlines() if "CONSOLE" in line]
    return process.stdout, "\n".join(messages)


def test_browser_runs_only_the_script_of_the_page(tmp_path: Path) -> None:
    """No name is markup or runs. The page's own script runs, and a link unfolds its report."""
    wanted = "report-21"
    dom, complaints = in_chromium(page(EVERYONE), tmp_path, f"#{wanted}")
    assert complaints == ""
    assert "<title>Attention, week 3 &lt;&amp; more&gt;</title>" in dom
    assert '<input type="search"' in dom
    assert f'<details class="report" id="{wanted}" open="">' in dom
    assert dom.count('<details class="report"') == 60
    assert dom.count(' open=""') == 1
    assert "<img" not in dom
    assert dom.count("<h1>") == 1


def test_browser_refuses_injected_markup(tmp_path: Path) -> None:
    """Markup that was not escaped would not run and not load anything."""
    injected = (
        "<script>document.title = 'taken'</script>"
        "<img src='x' onerror=\"document.title = 'taken'\"><p style='color: red'>x</p>"
    )
    dom, complaints = in_chromium(
        page(EVERYONE[:3]).replace("<h1>", f"{injected}<h1>", 1), tmp_path
    )
    assert "<title>taken" not in dom
    assert complaints.count("Content Security Policy") >= 3
    assert '<input type="search"' in dom


def test_page_has_the_rules_of_the_assignment() -> None:
    """Rules that the assignment does not set are left out."""
    assert "Each day late that has begun costs 10 of 100 points." in handout_page(penalty=10.0)
    page = handout_page(seconds=2.5)
    assert "day late" not in page
    assert "for at most 2.5 CPU seconds" in page


def test_page_has_each_task_with_its_points() -> None:
    """Markdown becomes HTML without its heading, and HTML in it is shown as text."""
    page = handout_page()
    assert "&lt;second&gt; <small>67% of the total</small>" in page
    assert '<th scope="col">shape</th>' in page
    assert "<td><code>[B, L]</code></td>" in page
    assert "The heading" not in page
    assert "&lt;script&gt;alert(1)" in page
    parsed = Page(page)
    assert len(parsed.named("table")) == 4
    assert '<th scope="row" class="check">values</th>\n<td class="number">100.0</td>' in page
