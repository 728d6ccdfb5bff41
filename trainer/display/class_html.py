"""A class's results as one HTML file that opens offline: nothing from elsewhere, readable without its few lines of script, light or dark.

The first half names nobody and may be shown to the class; the second half is the teacher's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

from trainer.classroom.assignment import total
from trainer.classroom.summary import (
    ChallengeSummary,
    ClassSummary,
    CommonMistake,
    Handed,
    summarise,
)
from trainer.classroom.words import Assignment, Result
from trainer.display.class_html_parts import (
    SCRIPT,
    anchor,
    excerpt,
    head,
    histogram,
    name,
    rate_bar,
    report,
    text,
    verdict_bar,
)
from trainer.display.class_words import VERDICTS, checks_passed, likely, points

_SHOWN_MISTAKES = 12
_TO_SETTLE = "More than one submission of one name. A person has to say which of them counts."


def class_html(results: Callable[[], Iterable[Result]], assignment: Assignment) -> Iterator[str]:
    """The page, piece by piece. `results` is called for each of three passes and gives the same results each time, sorted by student."""
    found = summarise(results(), assignment)
    title = assignment.title.strip() or "Results of the class"
    yield from head(title)
    yield f'<main id="top">\n<h1>{text(title)}</h1>\n'
    yield from _overview(found)
    yield from _scores(found)
    yield from _checks(found)
    yield from _mistakes(found)
    yield from _to_look_at(found)
    yield from _students(results(), assignment)
    yield '<section id="reports">\n<h2>Reports</h2>\n<div class="tools" id="report-tools"></div>\n'
    for result in results():
        yield report(result)
    yield f"</section>\n</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _overview(found: ClassSummary) -> Iterator[str]:
    facts = [_number(found.students, "student", "students")]
    if found.submissions != found.students:
        facts.append(_number(found.submissions, "submission", "submissions"))
    if found.total.mean is not None and found.total.median is not None:
        facts += [f"mean {found.total.mean:.1f}", f"median {found.total.median:.1f} of 100"]
    yield f'<p class="lead">{", ".join(facts)}</p>\n'
    links = {
        "scores": "Scores",
        "checks": "Checks",
        "mistakes": "Mistakes",
        "look": "To look at",
        "students": "Students",
        "reports": "Reports",
    }
    linked = "".join(f'<a href="#{one}">{word}</a>' for one, word in links.items())
    yield f'<nav aria-label="Sections">{linked}</nav>\n'
    if not found.submissions:
        yield "<p>There are no results yet.</p>\n"
        return
    yield f'<div class="verdicts">\n{verdict_bar(found.verdicts)}\n<ul>\n'
    for verdict, (symbol, word) in VERDICTS.items():
        if count := found.verdicts.get(verdict, 0):
            share = f"{count / found.submissions:.0%}"
            yield f'<li class="{_kind(verdict)}"><b>{count}</b> <span><i aria-hidden="true">{symbol}</i> {word}</span> <small>{share}</small></li>\n'
    yield "</ul>\n</div>\n"


def _kind(verdict: str | None) -> str:
    return "right" if verdict == "passed" else "quiet" if verdict is None else "wrong"


def _scores(found: ClassSummary) -> Iterator[str]:
    yield '<section id="scores">\n<h2>Scores</h2>\n<div class="figures">\n'
    if len(found.challenges) > 1:
        yield histogram("all challenges, by their worth", found.total, "students")
    for one in found.challenges:
        yield histogram(one.challenge, one.scores, "students")
    yield "</div>\n</section>\n"


def _checks(found: ClassSummary) -> Iterator[str]:
    yield '<section id="checks">\n<h2>Which checks fail</h2>\n'
    for one in found.challenges:
        yield from _check_table(one, several=len(found.challenges) > 1)
    yield "</section>\n"


def _check_table(one: ChallengeSummary, *, several: bool) -> Iterator[str]:
    heading = f"<h3>{text(one.challenge)}</h3>\n" if several else ""
    failing = [check for check in one.checks if check.failed]
    waiting = [
        f"{check.check} ({check.skipped})"
        for check in one.checks
        if check.skipped and not check.failed
    ]
    fine = [check.check for check in one.checks if not (check.failed or check.skipped)]
    yield heading
    if failing:
        yield f'<div class="wide" tabindex="0" role="region" aria-label="Checks of {text(one.challenge)}">\n<table>\n'
        yield f"<caption>{text(one.challenge)}: how many failed a check, of those for whom it was due. The pale part of a bar and the last column: "
        yield "not made, because something that it needs had failed</caption>\n"
        yield '<thead><tr><th scope="col">check</th><th scope="col">failed</th><th scope="col" class="number">share</th>'
        yield '<th scope="col" class="number">count</th><th scope="col" class="number">not made</th></tr></thead>\n<tbody>\n'
        for check in failing:
            yield f'<tr><th scope="row">{text(check.check)}</th><td class="bars">{rate_bar(check)}</td><td class="number">{check.rate:.0%}</td>'
            yield f'<td class="number">{check.failed} of {check.due}</td><td class="number">{check.skipped or ""}</td></tr>\n'
        yield "</tbody>\n</table>\n</div>\n"
    if waiting:
        yield f'<p class="quiet">Nobody failed these, but for some they were not made: {text(", ".join(waiting))}.</p>\n'
    if fine:
        yield f'<p class="quiet">Everybody passed {text(", ".join(fine))}.</p>\n'
    if not one.checks:
        yield f'<p class="quiet">No submission to {text(one.challenge)} was graded.</p>\n'


def _mistakes(found: ClassSummary) -> Iterator[str]:
    yield '<section id="mistakes">\n<h2>Most common mistakes</h2>\n'
    several = len(found.challenges) > 1
    made = sorted(
        ((one, mistake) for one in found.challenges for mistake in one.mistakes),
        key=lambda pair: -pair[1].students,
    )
    if not made:
        yield "<p>No known mistake was named.</p>\n"
    else:
        yield '<p class="quiet">Known mistakes that give exactly what was handed in. The lines are one student\'s, without comments, strings and names.</p>\n'
    for start, end in ((0, _SHOWN_MISTAKES), (_SHOWN_MISTAKES, len(made))):
        if made[start:end]:
            if start:
                yield f"<details><summary>{_number(len(made) - start, 'rarer mistake', 'rarer mistakes')}</summary>\n"
            yield f'<ol class="mistakes" start="{start + 1}">\n'
            for one, mistake in made[start:end]:
                yield _mistake(mistake, one.challenge if several else "")
            yield "</ol>\n" + ("</details>\n" if start else "")
    yield "</section>\n"


def _mistake(mistake: CommonMistake, challenge: str) -> str:
    where = f" in {text(challenge)}" if challenge else ""
    facts = f"<small>{_number(mistake.students, 'student', 'students')}{where}, <code>{text(mistake.id)}</code></small>"
    return f"<li><p><b>{text(mistake.says)}</b><br>{facts}</p>\n{excerpt(mistake.excerpt) if mistake.excerpt else ''}</li>\n"


def _to_look_at(found: ClassSummary) -> Iterator[str]:
    yield '<section id="look">\n<h2>To look at</h2>\n<p class="quiet">From here on, students are named.</p>\n'
    yield from _handed("To settle", _TO_SETTLE, found.to_settle, link=True)
    yield from _handed(
        "Not graded",
        "The grading failed; the submission is not to blame. Grade again with --resume.",
        found.not_graded,
        link=True,
    )
    yield from _handed("Late", "Handed in after the date.", found.late, link=True)
    yield from _handed(
        "No result",
        "These students have a result for another challenge only.",
        found.missing,
        link=False,
    )
    if not (found.to_settle or found.not_graded or found.late or found.missing):
        yield "<p>Everything was graded, nothing is late and nothing is missing.</p>\n"
    yield "</section>\n"


def _handed(title: str, says: str, found: tuple[Handed, ...], *, link: bool) -> Iterator[str]:
    if not found:
        return
    yield f"<h3>{title} ({len(found)})</h3>\n<p>{says}</p>\n<ul>\n"
    for one in found:
        shown = name(one.student)
        linked = f'<a href="#{anchor(one.student, one.challenge)}">{shown}</a>' if link else shown
        yield f"<li>{linked}, {text(one.challenge)}{f': {text(one.why)}' if one.why else ''}</li>\n"
    yield "</ul>\n"


def _students(results: Iterable[Result], assignment: Assignment) -> Iterator[str]:
    """One row a student: for one challenge with its verdict, for several with a column each."""
    asked = [one.challenge for one in assignment.asked]
    several = len(asked) > 1
    columns = ["total", *asked] if several else ["verdict", "score", "checks"]
    yield '<section id="students">\n<h2>Students</h2>\n<div class="tools" id="student-tools"></div>\n'
    yield '<div class="wide" tabindex="0" role="region" aria-label="Students">\n<table id="student-table">\n'
    yield f"<caption>Every student, with {'the score of each challenge' if several else 'verdict and score'} of 100; links lead to the report</caption>\n"
    yield '<thead><tr><th scope="col">student</th>'
    yield "".join(f'<th scope="col"{_numeric(one)}>{text(one)}</th>' for one in columns)
    yield '<th scope="col">likely mistake</th></tr></thead>\n<tbody>\n'
    for student, group in groupby(results, key=lambda one: one.student):
        found = {one.challenge: one for one in group}
        cells = _several(found, asked, assignment) if several else _only(next(iter(found.values())))
        first = anchor(student, next(iter(found)))
        named = name(student) if several else f'<a href="#{first}">{name(student)}</a>'
        named_in = [
            (text(one.challenge), text(likely(one))) for one in found.values() if likely(one)
        ]
        mistakes = "<br>".join(
            (f"<small>{where}</small> " if several else "") + f"<code>{ids}</code>"
            for where, ids in named_in
        )
        yield f'<tr><th scope="row">{named}</th>{cells}<td>{mistakes}</td></tr>\n'
    yield "</tbody>\n</table>\n</div>\n</section>\n"


def _numeric(column: str) -> str:
    return ' class="number"' if column in ("total", "score", "checks") else ""


def _verdict(result: Result) -> str:
    symbol, word = VERDICTS[result.verdict]
    late = ' <small class="tag">late</small>' if result.late else ""
    return f'<span class="{_kind(result.verdict)}"><i aria-hidden="true">{symbol}</i> {word}</span>{late}'


def _score(label: str, score: float | None) -> str:
    return f'<td class="number" data-label="{label}" data-sort="{-1 if score is None else score}">{"" if score is None else points(score)}</td>'


def _only(result: Result) -> str:
    passed, due = checks_passed(result)
    checks = f"{passed} of {due}" if result.verdict is not None and due else ""
    return f'<td>{_verdict(result)}</td>{_score("score", result.score)}<td class="number" data-label="checks" data-sort="{passed}">{checks}</td>'


def _several(found: dict[str, Result], asked: list[str], assignment: Assignment) -> str:
    cells = [
        _score("total", total({one: result.score for one, result in found.items()}, assignment))
    ]
    for challenge in asked:
        result = found.get(challenge)
        if result is None:
            cells.append(
                f'<td class="quiet" data-label="{text(challenge)}" data-sort="-2">no result</td>'
            )
            continue
        symbol, word = VERDICTS[result.verdict]
        score = word if result.score is None else points(result.score)
        late = ' <small class="tag">late</small>' if result.late else ""
        label = (
            f'<span class="{_kind(result.verdict)}" title="{word}"><i>{symbol}</i></span> {score}'
        )
        order = -1 if result.score is None else result.score
        linked = f'<a href="#{anchor(result.student, challenge)}">{label}</a>{late}'
        cells.append(f'<td data-label="{text(challenge)}" data-sort="{order}">{linked}</td>')
    return "".join(cells)
