"""A class's page: complete without script, nothing from elsewhere, and nothing of a student's gets out of its place."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.class_results import (
    HOSTILE_NAMES,
    INVERTED,
    NO_SCALE,
    SETTLE,
    TILED,
    a_class,
    assignment,
    named,
    result,
    unsettled,
)
from tests.support.html_page import Page
from tests.support.pages import class_page
from trainer.classroom.records import AssignedChallenge, Assignment, Excerpt, StudentResult
from trainer.export.class_page import anchor, class_html
from trainer.model.report import Diagnosis
from trainer.report.class_words import VERDICTS
from trainer.report.visible import visible

EVERYONE = a_class()


TWO = ("first", "second")


CHROMIUM = next(
    (
        path
        for name in ("chromium", "chromium-browser", "google-chrome")
        if (path := shutil.which(name))
    ),
    None,
)


def page(results: Sequence[StudentResult], challenges: Sequence[str] = ("first",)) -> str:
    """The whole page."""
    return "".join(class_html(lambda: results, assignment(challenges)))


def test_title_and_tables_have_their_words() -> None:
    """The title is the heading, and every table has a caption."""
    seen = Page(page(EVERYONE))
    assert seen.inside("title") == seen.inside("h1") == "Attention, week 3 <& more>"
    assert len(seen.named("caption")) == len(seen.named("table")) > 0


@pytest.mark.parametrize("challenges", [("first",), TWO], ids=["one", "two"])
def test_everybody_is_there_with_name_verdict_and_report(challenges: Sequence[str]) -> None:
    """Whatever the name is made of: a row and a folded report each, with every character of the report."""
    results = a_class(challenges)
    seen = Page(page(results, challenges))
    reports = [attrs for attrs in seen.named("details") if attrs.get("class") == "report"]
    assert [attrs["id"] for attrs in reports] == [
        anchor(one.student, one.challenge) for one in results
    ]
    assert not any("open" in attrs for attrs in reports)
    table = "".join(data for path, data in seen.pieces if "tbody" in path)
    folded = [data for path, data in seen.pieces if "details" in path]
    for one in results:
        assert visible(one.student) in table
        assert visible(one.student) in folded
    whole = "".join(folded)
    for one in results:
        if one.text:
            assert visible(one.text.rstrip(), lines=True) in whole
        else:
            assert f"The grading failed: {visible(one.error or '')}" in whole


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=lambda name: visible(name)[:20])
def test_a_name_stays_a_name(name: str) -> None:
    """In every place where it stands, and also where everything else of a result is made of it."""
    plain = [tag for tag, _ in Page(page([hostile("x")])).tags]
    seen = Page(page([hostile(name)]))
    assert [tag for tag, _ in seen.tags] == plain
    assert seen.text.count(visible(name)) >= 6


def hostile(words: str) -> StudentResult:
    """A result whose every text is this."""
    made = result(
        words,
        verdict="failed",
        failed=("values",),
        mistakes=(NO_SCALE,),
        late=True,
        file=words,
        error=words,
        excerpt=None,
        text=f"FAILED  {words}",
    )
    assert made.report is not None
    diagnosis = Diagnosis(mistakes=(named(words, words),))
    return replace(made, report=replace(made.report, diagnosis=diagnosis))


def test_the_overview_says_verdicts_and_scores_in_words() -> None:
    """Each verdict with symbol, word and number; the picture of the scores says its numbers too."""
    seen = Page(page(EVERYONE))
    verdicts = " ".join(seen.inside("ul").split())
    assert verdicts.startswith("25 ✓ passed 42% 20 ✗ failed 33% 5 ! error 8%")
    assert "60 students, mean 70.2, median 90.0 of 100" in seen.text
    label = next(attrs["aria-label"] for attrs in seen.named("svg") if attrs.get("role") == "img")
    assert (
        label
        == "first, students by score. 0 to 10: 12, 60 to 70: 5, 70 to 80: 5, 80 to 90: 5, 90 to 100: 30"
    )
    for verdict, (symbol, word) in VERDICTS.items():
        count = sum(one.verdict == verdict for one in EVERYONE)
        assert count
        assert f"{count} {symbol} {word} " in verdicts


def test_bars_are_as_long_as_their_numbers() -> None:
    """Failed and not made, as shares of those for whom the check was due."""
    seen = Page(
        page(
            [
                result("a", verdict="failed", failed=("values",)),
                result("b", verdict="failed", failed=("runs",), skipped=("values",)),
                result("c"),
                result("d"),
            ]
        )
    )
    bars = [
        attrs
        for attrs in seen.named("rect")
        if attrs.get("class") in ("half", "fill") and "x" not in attrs
    ]
    assert [(attrs["class"], attrs["width"]) for attrs in bars] == [
        ("half", "25.00"),
        ("fill", "25.00"),
        ("half", "50.00"),
        ("fill", "25.00"),
    ]
    assert "values25%1 of 41" in seen.inside("tbody").replace("\n", "")
    tall = [attrs["height"] for attrs in seen.named("rect") if attrs.get("rx")]
    assert tall == ["33.3", "100.0"]


def test_mistakes_come_with_their_sentence_the_most_common_first() -> None:
    """Sentence, how many students, and lines in which the marked one is marked."""
    seen = Page(page(EVERYONE))
    said = seen.inside("ol")
    places = [said.index(one.says) for one in (INVERTED, NO_SCALE, TILED)]
    assert places == sorted(places)
    assert said.count("▸ scores = q @ k.transpose(-2, -1)") == 3
    assert "5 students,\nheads-tiled" in said


def test_code_is_shown_as_code() -> None:
    """What stands in a line of an excerpt is text, whatever it looks like."""
    code = Excerpt(first=4, marked=5, lines=["if a<b and c>d:", "    e = a<script>b & c"])
    one = result("Ann", verdict="failed", failed=("values",), mistakes=(NO_SCALE,), excerpt=code)
    assert "  if a<b and c>d:\n▸     e = a<script>b & c\n" in Page(page([one])).inside("pre")


def test_the_first_half_names_nobody() -> None:
    """What may be shown to the class ends before the section in which students are named."""
    first, second = page(EVERYONE).split('<section id="look">')
    first = Page(first + "</main></body></html>").text
    for one in EVERYONE:
        name = visible(one.student)
        assert name not in first or name in "Attention, week 3 <& more>"
        assert one.student.split()[-1:] != ["Müller"] or "Müller" not in first
    assert "Most common mistakes" in first
    assert "From here on, students are named." in second


def test_what_needs_a_look_is_listed() -> None:
    """Failed gradings with their reason, late ones, and students without a result for another challenge."""
    results = [
        result("Ann", "first", None, error="no <room>"),
        result("Ben", "first", late=True),
        result("Ben", "second"),
    ]
    seen = Page(page(results, TWO))
    assert [data for path, data in seen.pieces if path[-1:] == ("h3",) and "(" in data] == [
        "Not graded (1)",
        "Late (1)",
        "No result (1)",
    ]
    assert "Ann, first: no <room>Ben, first" in seen.inside("li")
    assert "Ann, second" in seen.inside("li")
    assert "Everything was graded" in Page(page([result("Ann")])).text


def test_what_a_person_has_to_settle_is_listed() -> None:
    """Files and next step stand in the list and in the report; it is not called a failed grading."""
    found = Page(page([result("ann"), unsettled()]))
    look = found.text.split("To look at")[-1]
    assert "To settle (1)" in look
    assert look.count(SETTLE) == 2
    assert "Not graded (" not in look
    assert "The grading failed" not in found.text
    assert "Everything was graded" not in found.text
    assert [attrs["href"] for attrs in found.named("a")].count(f"#{anchor('bob', 'first')}") == 2


def test_several_challenges_have_a_column_each() -> None:
    """The total by worth, a score with its symbol and link in each, and an empty total where a score is missing."""
    seen = Page(
        page(
            [
                result("Ann", "first", "failed", failed=("runs",), score=40.0),
                result("Ann", "second"),
                result("Ben", "second", None),
            ],
            TWO,
        )
    )
    cells = [
        data
        for path, data in seen.pieces
        if path[-3:] == ("table", "tbody", "tr") or "td" in path or path[-1:] == ("bdi",)
    ]
    rows = " ".join("".join(cells).split())
    assert "Ann 80 ✗ 40 ✓ 100" in rows
    assert "Ben no result ? not graded" in rows


def test_a_report_is_coloured_and_loses_nothing() -> None:
    """Verdict, checks and starred numbers have a colour; the rest of a student's print is text."""
    text = (
        "FAILED  x  1 of 2\n\n✓ bad sizes  ✗ train/eval  – work\n"
        "   -1.2e-05*  0.5 True* a*b 2*c nan*\n│ </pre><b>✗ x</b>"
    )
    seen = Page(page([result("Ann", verdict="failed", failed=("runs",), text=text)]))
    assert seen.inside("pre") == text
    coloured = [data for path, data in seen.pieces if path[-2:] == ("pre", "span")]
    numbers = ["-1.2e-05*", "True*", "nan*"]
    assert coloured == ["FAILED", "✓ bad sizes", "✗ train/eval", "– work", *numbers]
    classes = [attrs.get("class") for attrs in seen.named("span")][-7:]
    assert classes == ["wrong verdict", "right", "wrong", "quiet", "wrong", "wrong", "wrong"]
    assert '<span class="right verdict">PASSED</span>' in page([result("Ann")])


def test_anchors_differ_and_name_nobody() -> None:
    """One for every student and challenge, the same each time."""
    found = {
        anchor(student, challenge)
        for student in (*HOSTILE_NAMES, "ab", "a", "")
        for challenge in ("first", "bfirst", "second")
    }
    assert len(found) == 3 * (len(HOSTILE_NAMES) + 3)
    assert all(re.fullmatch("r-[0-9a-f]{16}", one) for one in found)


def test_the_page_comes_piece_by_piece() -> None:
    """Each of three passes reads a result, writes it, and then reads the next."""
    read: list[int] = []

    def results() -> Iterator[StudentResult]:
        read.append(0)
        for found in EVERYONE:
            read[-1] += 1
            yield found

    seen_before_each_report = []
    largest = 0
    for piece in class_html(results, assignment()):
        largest = max(largest, len(piece))
        if '<details class="report"' in piece:
            seen_before_each_report.append(list(read))
    assert seen_before_each_report == [[60, 60, count] for count in range(1, 61)]
    assert largest < 12_000


def test_an_assignment_without_a_title_has_one() -> None:
    """The page is not without a heading."""
    assert (
        Page(
            "".join(
                class_html(lambda: [result("Ann")], Assignment(" ", (AssignedChallenge("first"),)))
            )
        ).inside("h1")
        == "Results of the class"
    )


def in_chromium(text: str, folder: Path, target: str = "") -> tuple[str, str]:
    """The document after its script ran, and what the browser complained of."""
    if CHROMIUM is None:
        pytest.skip(
            "no chromium, chromium-browser or google-chrome is installed: the page is not tried in a browser"
        )
    file = folder / "report.html"
    file.write_text(text, encoding="utf-8")
    flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"
    command = [
        CHROMIUM,
        *flags.split(),
        f"--user-data-dir={folder / 'profile'}",
        "--enable-logging=stderr",
        "--dump-dom",
        f"{file.as_uri()}{target}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)


def test_a_browser_shows_it_and_runs_its_script_alone(tmp_path: Path) -> None:
    """No name became markup or ran, the policy let the page's own script in, and a link to a report unfolds it."""
    wanted = anchor(EVERYONE[20].student, "first")
    dom, complaints = in_chromium(page(EVERYONE), tmp_path, f"#{wanted}")
    assert complaints == ""
    assert "<title>Attention, week 3 &lt;&amp; more&gt;</title>" in dom
    assert '<input type="search"' in dom
    assert f'<details class="report" id="{wanted}" open="">' in dom
    assert dom.count('<details class="report"') == 60
    assert dom.count(' open=""') == 1
    assert "<img" not in dom
    assert dom.count("<h1>") == 1


def test_a_browser_refuses_what_is_not_the_pages_own(tmp_path: Path) -> None:
    """Even if something got into the page unescaped, it would not run and not load."""
    injected = "<script>document.title = 'taken'</script><img src='x' onerror=\"document.title = 'taken'\"><p style='color: red'>x</p>"
    dom, complaints = in_chromium(
        page(EVERYONE[:3]).replace("<h1>", f"{injected}<h1>", 1), tmp_path
    )
    assert "<title>taken" not in dom
    assert complaints.count("Content Security Policy") >= 3
    assert '<input type="search"' in dom


def test_the_size_of_a_page_is_bounded() -> None:
    """A class of 300 has a page of less than 2,000 characters a student."""
    assert len(class_page(a_class(students=300), "first")) < 300 * 2_000


def test_results_of_one_student_make_a_whole_page() -> None:
    """No section needs more than one result."""
    Page(class_page([result("Ann")], "first"))
