"""A score sheet as one HTML file that opens offline: no script, nothing from elsewhere, light or dark as the reader's system is."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from trainer.display.score_sheet import given_in_words, minutes, outcome, times, when
from trainer.display.words import plain
from trainer.practice.interview.score import ProblemRow, QuestionRow, ScoreSheet

_STYLE = """
:root { color-scheme: light dark; --right: #05a; --wrong: #a40; --line: #8884; --shade: #8881 }
@media (prefers-color-scheme: dark) { :root { --right: #6bf; --wrong: #fa5 } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 90rem; padding: 0 1rem }
h1 small, .quiet { font-weight: normal; opacity: .75 }
h2 { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: 1rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top }
td.number { text-align: right; white-space: nowrap }
.bar { background: var(--shade); border: 1px solid var(--line); border-radius: 3px; display: block; height: .7rem; margin-top: .45rem; width: 8rem }
.bar span { background: var(--right); display: block; height: 100% }
.right { color: var(--right) }
.wrong { color: var(--wrong) }
.beside { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 34rem), 1fr)) }
.beside h3 { font-size: 1rem; margin: .5rem 0 .3rem }
pre { background: var(--shade); border-radius: 4px; font: 13px/1.45 ui-monospace, monospace; margin: 0; overflow-x: auto; padding: .7rem; tab-size: 4 }
dl { display: grid; gap: .2rem 1rem; grid-template-columns: max-content 1fr }
dd { margin: 0 }
@media print { pre { white-space: pre-wrap } }
"""


def to_html(sheet: ScoreSheet) -> str:
    """The whole page."""
    title = f"Mock interview of {when(sheet)}"
    parts = [
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">',
        f"<title>{title}: {sheet.total} of 100</title>\n<style>{_STYLE}</style>",
        f"<h1>{sheet.total} of 100 <small>{title}</small></h1>",
        *_parts(sheet),
        *_times(sheet),
        *(
            line
            for number, one in enumerate(sheet.problems, start=1)
            for line in _problem(number, one)
        ),
        *(["<h2>Questions</h2>"] if sheet.questions else []),
        *(
            line
            for number, one in enumerate(sheet.questions, start=1)
            for line in _question(number, one)
        ),
    ]
    if sheet.practise:
        parts += [
            "<h2>Practise next</h2>",
            "<ul>",
            *(f"<li>{_text(one)}</li>" for one in sheet.practise),
            "</ul>",
        ]
    return "\n".join(parts) + "\n</html>\n"


def _text(words: str) -> str:
    return escape(plain(words))


def _parts(sheet: ScoreSheet) -> Iterator[str]:
    yield "<table>\n<tr><th>part</th><th>points</th><th></th><th>rule</th></tr>"
    for part in sheet.parts:
        bar = f'<span class="bar"><span style="width: {100 * part.points / part.most:.0f}%"></span></span>'
        yield f'<tr><td>{part.name}</td><td class="number">{part.points:.1f} of {part.most}</td><td>{bar}</td><td class="quiet">{_text(part.rule)}</td></tr>'
    yield "</table>"


def _times(sheet: ScoreSheet) -> Iterator[str]:
    yield "<h2>Time</h2>\n<table>\n<tr><th>stage</th><th>spent</th><th>of</th></tr>"
    for what, spent, share in times(sheet):
        yield f'<tr><td>{_text(what)}</td><td class="number">{spent}</td><td>{share}</td></tr>'
    yield "</table>"


def _problem(number: int, problem: ProblemRow) -> Iterator[str]:
    word, facts = outcome(problem)
    yield f"<h2>{number}. {_text(problem.role)}: {_text(problem.title)} <small class='quiet'>{_text(problem.challenge)}</small></h2>"
    yield f'<p><b class="{"right" if problem.passed else "wrong"}">{_text(word)}</b> {_text(facts)}, {minutes(problem.state.seconds)} min</p>'
    result = problem.state.result
    if result is not None and result.failed:
        yield f'<p class="wrong">failed: {_text(", ".join(result.failed))}</p>'
    if problem.state.note:
        yield f"<p>{_text(problem.state.note)}</p>"
    yield '<div class="beside">'
    for title, code in (("yours", problem.state.code), ("reference", problem.reference or None)):
        body = '<p class="quiet">nothing</p>' if code is None else _code(code)
        yield f"<section><h3>{title}</h3>{body}</section>"
    yield "</div>"


def _code(text: str) -> str:
    lines = plain(text).strip("\n")
    return f"<pre><code>{escape(lines)}\n</code></pre>"


def _question(number: int, question: QuestionRow) -> Iterator[str]:
    asked = question.asked
    yield f"<p><b>{number}.</b> {_text(asked.text)}</p>"
    if asked.code:
        yield _code(asked.code)
    kind = "right" if question.right else "wrong"
    yield f'<dl><dt>yours</dt><dd class="{kind}">{_text(given_in_words(question))}: {kind}</dd>'
    if not question.right:
        yield f"<dt>answer</dt><dd>{_text(asked.answer)}</dd>"
    yield f"<dt>why</dt><dd>{_text(asked.explanation)}</dd></dl>"
