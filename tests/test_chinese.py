"""The Chinese texts use full-width punctuation and one word for each term."""

import tomllib
from pathlib import Path

import pytest

from tests.support.chinese import half_width
from tests.support.paths import ROOT

PAGES = sorted(
    path
    for path in (*ROOT.glob("*.zh*.md"), *ROOT.glob("docs/*.zh.md"), *ROOT.rglob("prompt.zh.md"))
    if ".venv" not in path.parts
)
# A word that is not used, and the word for the term.
OTHER_WORDS = {
    "百万": "万, or 亿",
    "投机采样": "投机解码",
    "推测解码": "投机解码",
    "推测性解码": "投机解码",
    "投机性解码": "投机解码",
    "遮盖": "屏蔽",
    "遮蔽": "屏蔽",
    "掩盖": "屏蔽",
    "快取": "缓存",
    "柱搜索": "束搜索",
    "集束搜索": "束搜索",
    "KV 头部": "KV 头",
    "键值头": "KV 头",
    "键/值头": "KV 头",
    "隐向量": "潜向量",
    "潜在向量": "潜向量",
    "就地": "原地",
}


FOLLOW_UPS = sorted(ROOT.glob("solutions/*/follow_up.toml"))


def chinese_text(path: Path) -> str:
    """Return a page, or the Chinese answers to follow-up questions."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return text
    return "\n".join(answer["zh"] for answer in tomllib.loads(text)["answer"])


@pytest.mark.parametrize(
    "path", [*PAGES, *FOLLOW_UPS], ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_chinese_text_has_full_width_punctuation_and_one_word_for_a_term(path: Path) -> None:
    """Code, numbers and addresses are left out."""
    text = chinese_text(path)
    assert list(half_width(text)) == []
    found = {word: OTHER_WORDS[word] for word in OTHER_WORDS if word in text}
    assert found == {}


def test_every_challenge_has_a_chinese_prompt() -> None:
    """Only packs of other authors may leave it out."""
    folders = [path.parent for path in ROOT.glob("challenges/*/challenge.toml")]
    assert [folder.name for folder in folders if not (folder / "prompt.zh.md").exists()] == []


@pytest.mark.parametrize("text", ["掩码,", "(可选)的", "分数: 高", "`x`,`y` 和", "bool,2 维"])
def test_half_width_punctuation_is_found(text: str) -> None:
    """Each rule can fail."""
    assert list(half_width(text))
