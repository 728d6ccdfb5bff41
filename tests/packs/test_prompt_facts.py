"""A translated prompt has the facts of the English prompt."""

import shutil
from pathlib import Path

import pytest

from trainer.model.challenge import Challenge
from trainer.packs import pack_reader
from trainer.packs.prompt_facts import translation_troubles, translations

CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())
MQA = next(challenge for challenge in CHALLENGES if challenge.id == "mqa")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda challenge: challenge.id)
def test_only_the_own_translation_passes(challenge: Challenge) -> None:
    """The translation of every other challenge is refused."""
    (own,) = translations(challenge)
    assert list(translation_troubles(challenge, own)) == []
    for other in CHALLENGES:
        if other != challenge:
            assert list(translation_troubles(challenge, other.folder / own.name)), other.id


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        pytest.param("num_heads", "heads", "does not name num_heads", id="argument"),
        pytest.param("MultiQueryAttention", "Attention", "MultiQueryAttention", id="class"),
        pytest.param("| `mask` |", "| `masks` |", "in mask, masks. Write the same", id="table"),
        pytest.param(">>> ", ">>> 1 + ", "its examples differ", id="example"),
        pytest.param(">>> ", ">>>  # 注释\n>>> ", "", id="comment in the example"),
    ],
)
def test_other_fact_is_named(tmp_path: Path, old: str, new: str, says: str) -> None:
    """The sentence names the file and the fact. Comments may differ."""
    text = (MQA.folder / "prompt.zh.md").read_text()
    assert old in text
    path = tmp_path / "prompt.zh.md"
    path.write_text(text.replace(old, new) if new.count("#") == 0 else text.replace(old, new, 0))
    troubles = "; ".join(translation_troubles(MQA, path))
    assert (says in troubles and "prompt.zh.md" in troubles) if says else not troubles


def test_empty_translation_is_refused(tmp_path: Path) -> None:
    """An empty file would be shown to learners."""
    path = tmp_path / "prompt.zh.md"
    shutil.copy(MQA.folder / "prompt.md", path)
    path.write_text(" \n")
    assert "is empty" in "".join(translation_troubles(MQA, path))
