"""Tests of all HTML pages: self-contained, accessible, and without markup from data."""

import base64
import hashlib
import re
from dataclasses import replace
from itertools import pairwise

import jinja2
import pytest

from attn_drill.model.report import AttentionWeights, EffectiveMask, Mismatch
from attn_drill.report import pages
from tests.support.classroom import make_class
from tests.support.pages import Page, class_page, handout_page
from tests.support.report import DIAGNOSIS, SHEET, error_map, explained
from tests.support.tools import facts, random_weights

LOADING = {
    *("img", "link", "iframe", "object", "embed", "form", "base"),
    *("video", "audio", "source", "image", "use"),
}
LOADING_ATTRIBUTES = {
    *("src", "srcset", "style", "action", "xlink:href", "background", "poster"),
}
CONTROL_CHARACTERS = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
REPORT = explained(
    Mismatch("out", "value", "B L", error_maps=(error_map("B", "L", (0.0, None), (2.0, 1e9)),)),
    source="x = '\x1b<b>\u202e'\n",
    stdout="<i>\x1b[2J",
    diagnosis=replace(
        DIAGNOSIS,
        effective_mask=EffectiveMask("the <mask>", 0, ("#.",), ("##",)),
        attention=AttentionWeights(0, (((0.25, None),),), (((0.5, 0.5),),)),
    ),
)
PAGES = {
    "report": lambda: pages.report_page(REPORT),
    "class": lambda: class_page(make_class(), "first"),
    "class with two challenges": lambda: class_page(
        make_class(("first", "second")), "first", "second"
    ),
    "class without results": lambda: class_page([], "first"),
    "handout": lambda: handout_page(),
    "score sheet": lambda: pages.score_sheet_page(SHEET),
    "short score sheet": lambda: pages.score_sheet_page(replace(SHEET, questions=())),
    "heads": lambda: pages.heads_page(facts(random_weights(3), "a\x1b[31m\n<b>"), "<i>\u202ew"),
}


@pytest.fixture(scope="module", params=PAGES.values(), ids=PAGES)
def text(request: pytest.FixtureRequest) -> str:
    """Return the text of a page."""
    return request.param()


def test_every_link_leads_to_an_id(text: str) -> None:
    """The ids of a page are unique, and its tags close in order."""
    parsed = Page(text)
    ids = [attrs["id"] for _, attrs in parsed.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"] or "" for attrs in parsed.named("a")]
    assert [link for link in links if not (link.startswith("#") and link[1:] in ids)] == []


def test_page_loads_no_other_file(text: str) -> None:
    """No element or attribute loads a file or holds code, and there is no web address."""
    parsed = Page(text)
    assert not {tag for tag, _ in parsed.tags} & LOADING
    for tag, attrs in parsed.tags:
        assert not LOADING_ATTRIBUTES & set(attrs)
        assert not any(name.startswith("on") for name in attrs)
        assert not any("http" in (value or "") for value in attrs.values())
        assert tag == "a" or "href" not in attrs
    style, script = parsed.inside("style"), parsed.inside("script")
    assert "url(" not in style
    assert "@import" not in style
    assert not re.search("fetch|XMLHttp|innerHTML|eval|http|import", script)


def test_policy_allows_only_the_style_and_script_of_the_page(text: str) -> None:
    """The policy comes before the style and the script, and has their digests."""
    parsed = Page(text)
    assert len(parsed.named("style")) == 1
    assert text.count("<script") == len(parsed.named("script")) <= 1
    (policy,) = (attrs["content"] or "" for attrs in parsed.named("meta") if "http-equiv" in attrs)
    expected = {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}
    for tag in ("style", "script"):
        if inline := parsed.inside(tag):
            digest = hashlib.sha256(inline.encode()).digest()
            expected[f"{tag}-src"] = f"'sha256-{base64.b64encode(digest).decode()}'"
    assert dict(rule.strip().split(" ", 1) for rule in policy.split(";")) == expected
    tags = [tag for tag, _ in parsed.tags]
    assert text.index("Content-Security-Policy") < text.index("<style>")
    assert tags.index("meta") < tags.index("style")


def test_page_is_accessible(text: str) -> None:
    """A page has a language, a title, headings without a gap, and colours for light and dark."""
    parsed = Page(text)
    assert parsed.named("html") == [{"lang": "en"}]
    assert parsed.inside("title")
    levels = [int(tag[1]) for tag, _ in parsed.tags if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all(attrs.get("scope") in ("row", "col") for attrs in parsed.named("th"))
    assert all(attrs.get("aria-label") or attrs.get("aria-hidden") for attrs in parsed.named("svg"))
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    viewport = {"name": "viewport", "content": "width=device-width, initial-scale=1"}
    assert viewport in parsed.named("meta")


def test_page_has_no_control_characters(text: str) -> None:
    """A page has no control characters, direction overrides or surrogates, and is valid UTF-8."""
    assert not re.search(CONTROL_CHARACTERS, text)
    text.encode()


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{{ words }}", r"&lt;b&gt;\x1b\n&amp;\u202e"),
        ("{{ words | lines }}", "&lt;b&gt;\\x1b\n&amp;\\u202e"),
        ("{% macro m(x) %}{{ x }}{% endmacro %}{{ m(words) }}", r"&lt;b&gt;\x1b\n&amp;\u202e"),
        ('<p title="{{ words + quote }}">', r'<p title="&lt;b&gt;\x1b\n&amp;\u202e&#34;">'),
        ("{{ [words] | join(quote) }}", r"&lt;b&gt;\x1b\n&amp;\u202e"),
    ],
)
def test_every_value_in_a_template_is_escaped(template: str, shown: str) -> None:
    """Control characters become escapes and markup becomes text, without a filter."""
    compiled = pages._environment().from_string(template)
    assert compiled.render(words="<b>\x1b\n&\u202e", quote='"') == shown


def test_misspelt_name_in_a_template_is_an_error() -> None:
    """Otherwise the page would have an empty place."""
    compiled = pages._environment().from_string("{{ titel }}")
    with pytest.raises(jinja2.UndefinedError, match="titel"):
        compiled.render(title="Results")
