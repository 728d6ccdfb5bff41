"""The pieces of a class's page: its head, pictures, excerpts and reports. All that came from outside goes through `text` or `name`."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from html import escape

from trainer.classroom.summary import CheckRate, Distribution
from trainer.classroom.words import Excerpt, Result
from trainer.core.words import Verdict
from trainer.display.class_html_style import SCRIPT, STYLE
from trainer.display.class_words import VERDICTS, points, visible

__all__ = [
    "SCRIPT",
    "anchor",
    "excerpt",
    "head",
    "histogram",
    "name",
    "rate_bar",
    "report",
    "text",
    "verdict_bar",
]

# Parts of a report that are coloured: the verdict, checks with their symbols, wrong numbers with their star.
_HEADLINE = re.compile(r"\A([A-Z][A-Z ]+[A-Z])(?=  )")
_CHECK = re.compile(r"(?m)(?:(?<=^)|(?<=  ))([✓✗–]) (\S+(?: \S+)*)")
_STARRED = re.compile(
    r"(?m)(?<![\w.*-])(?:-?(?:[\d.]+(?:e[+-]?\d+)?|inf)|nan|True|False)\*(?=\s|$)"
)


def text(words: str) -> str:
    """Somebody's words inside an element or a quoted attribute: inert, and nothing of them unseen."""
    return escape(visible(words))


def name(words: str) -> str:
    """The same for a name, in whatever direction it is written; what stands beside it keeps its own."""
    return f"<bdi>{text(words)}</bdi>"


def anchor(student: str, challenge: str) -> str:
    """The id of a report: the same in every file, and nothing of the name is in it."""
    return (
        "r-"
        + hashlib.sha256(f"{student}\0{challenge}".encode(errors="surrogatepass")).hexdigest()[:16]
    )


def head(title: str) -> Iterator[str]:
    """Everything up to the body. The policy lets nothing in but this file's own style and script, whatever else might get into it."""
    policy = f"default-src 'none'; style-src {_digest(STYLE)}; script-src {_digest(SCRIPT)}; img-src data:; base-uri 'none'; form-action 'none'"
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
    yield f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"


def _digest(inline: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode('ascii')}'"


def verdict_bar(verdicts: Mapping[Verdict | None, int]) -> str:
    """All verdicts as one bar; the list below it says the same in words."""
    whole = sum(verdicts.values())
    parts: list[str] = []
    start = 0.0
    for verdict in VERDICTS:
        width = 100 * verdicts.get(verdict, 0) / whole
        if width:
            parts.append(
                f'<rect class="v-{verdict or "none"}" x="{start:.3f}" width="{width:.3f}" height="8"/>'
            )
            start += width
    return f'<svg class="stack" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">{"".join(parts)}</svg>'


def rate_bar(check: CheckRate) -> str:
    """Failed as a full bar, not made as a hatched one behind it; the numbers stand beside it."""
    failed = 100 * check.failed / check.due
    both = 100 * (check.failed + check.skipped) / check.due
    return (
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="back" width="100" height="8"/>'
        f'<rect class="half" width="{both:.2f}" height="8"/><rect class="fill" width="{failed:.2f}" height="8"/></svg>'
    )


def histogram(title: str, found: Distribution, unit: str) -> str:
    """Ten bars with their counts, and in words for those who do not see them."""
    most = max(found.bins) or 1
    step, high = 30, 100
    bars: list[str] = []
    for number, count in enumerate(found.bins):
        tall, left = high * count / most, number * step
        if count:
            bars.append(
                f'<rect class="fill" x="{left + 2}" y="{14 + high - tall:.1f}" width="{step - 4}" height="{tall:.1f}" rx="2"/>'
            )
            bars.append(f'<text x="{left + step / 2:g}" y="{10 + high - tall:.1f}">{count}</text>')
        bars.append(f'<text class="axis" x="{left}" y="{high + 28}">{number * 10}</text>')
    bars.append(f'<text class="axis" x="{10 * step}" y="{high + 28}">100</text>')
    words = ", ".join(
        f"{number * 10} to {number * 10 + 10}: {count}"
        for number, count in enumerate(found.bins)
        if count
    )
    middle = (
        f", mean {found.mean:.1f}, median {found.median:.1f}"
        if found.mean is not None and found.median is not None
        else ""
    )
    return (
        f'<figure>\n<svg class="histogram" viewBox="-10 -4 320 136" role="img" aria-label="{text(title)}, {unit} by score. {words or "none"}">'
        f'<line x1="0" x2="{10 * step}" y1="{14 + high}" y2="{14 + high}"/>{"".join(bars)}</svg>\n'
        f"<figcaption><b>{text(title)}</b>: {found.count} {unit if found.count != 1 else unit.removesuffix('s')} by score{middle}</figcaption>\n</figure>\n"
    )


def excerpt(found: Excerpt) -> str:
    """Lines of code, the one that is meant marked. Without their numbers: these are somebody's."""
    lines = [
        f"<b><i>▸ </i>{text(line)}</b>" if number == found.marked else f"<i>  </i>{text(line)}"
        for number, line in enumerate(found.lines, start=found.first)
    ]
    return f'<pre class="excerpt"><code>{chr(10).join(lines)}\n</code></pre>\n'


def report(result: Result) -> str:
    """One student's report, folded; what is likely the mistake stands above it."""
    symbol, word = VERDICTS[result.verdict]
    kind = "right" if result.verdict == "passed" else "quiet" if result.verdict is None else "wrong"
    score = f" <b>{points(result.score)}</b>" if result.score is not None else ""
    late = ' <small class="tag">late</small>' if result.late else ""
    verdict = f'<span class="{kind}"><i aria-hidden="true">{symbol}</i> {word}</span>'
    lines = [f'<details class="report" id="{anchor(result.student, result.challenge)}">']
    lines.append(
        f"<summary>{name(result.student)} <small>{text(result.challenge)}</small> {verdict}{score}{late}</summary>"
    )
    if result.diagnosis is not None and result.diagnosis.mistakes:
        said = "".join(
            f"<li>{text(one.says)} <code>{text(one.id)}</code></li>"
            for one in result.diagnosis.mistakes
        )
        lines.append(f"<p>Likely:</p>\n<ul>{said}</ul>")
    if result.unsettled:
        lines.append(f"<p>{text(result.error or '')}</p>")
    elif result.verdict is None:
        lines.append(f"<p>The grading failed: {text(result.error or 'no reason is known')}</p>")
    elif result.text:
        lines.append(f"<pre>{coloured(result.text)}\n</pre>")
    lines.append('<p class="quiet"><a href="#students">back to the students</a></p>\n</details>\n')
    return "\n".join(lines)


def coloured(report_text: str) -> str:
    """A report with its symbols coloured; every character of it stays."""
    shown = escape(visible(report_text.rstrip(), lines=True))
    shown = _CHECK.sub(lambda found: f'<span class="{_KINDS[found[1]]}">{found[0]}</span>', shown)
    shown = _HEADLINE.sub(
        lambda found: f'<b class="{"right" if found[1] == "PASSED" else "wrong"}">{found[1]}</b>',
        shown,
    )
    return _STARRED.sub(lambda found: f'<span class="wrong">{found[0]}</span>', shown)


_KINDS = {"✓": "right", "✗": "wrong", "–": "quiet"}
