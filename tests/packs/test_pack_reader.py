"""Packs are read by path. A broken pack gives one sentence with the file and the key."""

from dataclasses import replace
from pathlib import Path

import pytest

from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError, PackError
from attn_drill.packs import pack_reader
from tests.support.paths import TINY_PACK
from tests.support.rows import each_row


def test_prerequisites_come_first() -> None:
    """Each challenge is listed after those that it builds on."""
    challenges = pack_reader.read_pack(pack_reader.built_in_pack())
    places = {challenge.id: place for place, challenge in enumerate(challenges)}
    for challenge in challenges:
        known = [other for other in challenge.builds_on if other in places]
        assert all(places[other] < places[challenge.id] for other in known)


@each_row(
    "wanted, near",
    {
        "one letter off": ("gqq", "gqa"),
        "no hyphen": ("kvcache", "kv-cache"),
        "a part": ("cache", "kv-cache"),
    },
)
def test_error_for_an_unknown_id_names_the_nearest(wanted: str, near: str) -> None:
    """The error for a mistyped id suggests the id that may be meant."""
    with pytest.raises(DrillError, match=f"No challenge is called '{wanted}'.*{near}"):
        pack_reader.find_challenge(pack_reader.built_in_pack(), wanted)


@pytest.mark.parametrize("wanted", ["", ".", "..", "../solutions/gqa", "/etc", "gqa/../mha", "%00"])
def test_id_is_not_a_path(wanted: str) -> None:
    """An id cannot name a folder outside challenges/."""
    with pytest.raises(DrillError, match="No challenge"):
        pack_reader.find_challenge(pack_reader.built_in_pack(), wanted)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("minutes = 5", "minutes = 0", r"challenge\.toml, line \d+: `minutes` is 0"),
        ('title = "', 'title = ""  # ', r"challenge\.toml, line 1: `title` is \"\""),
        (
            "minutes = 5",
            'minutes = 5\nparts = ["a", "b"]',
            "`parts` has 2 words, but `entry` has 1",
        ),
        ('kind = "function"\nentry = [', 'kind = "class"\nentry = ["A", ', "exactly one class"),
    ],
)
def test_error_of_a_broken_challenge_file_names_file_and_key(
    tiny_pack: Path, old: str, new: str, message: str
) -> None:
    """The rules about two keys are checked, too."""
    file = tiny_pack / "challenges/prefix_sum/challenge.toml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(PackError, match=message):
        pack_reader.read_pack(tiny_pack)


def test_circle_of_prerequisites_is_refused(tiny_pack: Path) -> None:
    """A challenge that builds on itself is an error, not an endless loop."""
    file = tiny_pack / "challenges/prefix_sum/challenge.toml"
    file.write_text(file.read_text() + '\nbuilds_on = ["prefix-sum"]\n')
    with pytest.raises(PackError, match="circle among prefix-sum"):
        pack_reader.read_pack(tiny_pack)


def test_folder_without_challenges_is_refused(tmp_path: Path) -> None:
    """The error says which folder is missing."""
    with pytest.raises(PackError, match="challenges cannot be read"):
        pack_reader.read_pack(tmp_path)


def test_prompt_falls_back_to_english() -> None:
    """A prompt without a translation is in English."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    assert "分组" in pack_reader.prompt(gqa, "zh")
    assert pack_reader.prompt(gqa, "fr") == pack_reader.prompt(gqa)


def test_task_has_the_usual_rules_under_its_table() -> None:
    """The rules stand in the order of `rules.toml`, in the language of the task."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    gqa = replace(gqa, rules=("library", "scale"))
    above, _, below = pack_reader.prompt(gqa).partition("**The usual rules.** Scores are scaled")
    assert above.endswith("|\n\n")
    assert below.startswith(" by `1 / sqrt(D)`. No `F.scaled_dot_product_attention` or")
    assert "\n\n- `q_proj" in below
    assert "**通用规则。** 分数乘以" in pack_reader.prompt(gqa, "zh")


def test_pack_adds_rules_of_its_own(tiny_pack: Path) -> None:
    """A rule that no file has is refused; the message names the rules that exist."""
    (tiny_pack / "challenges/rules.toml").write_text('[rules.sorted]\nen = "Rows are sorted."\n')
    challenge = pack_reader.find_challenge(tiny_pack, "prefix-sum")
    text = pack_reader.prompt(replace(challenge, rules=("sorted", "inputs")))
    assert "Do not change the inputs; they may be non-contiguous. Rows are sorted." in text
    with pytest.raises(PackError, match=r"names sort, but the rules are scale, .*, sorted\."):
        pack_reader.prompt(replace(challenge, rules=("sort",)))
    (tiny_pack / "challenges/rules.toml").write_text('[rules.sorted]\nzh = "有序。"\n')
    with pytest.raises(PackError, match=r"rules\.toml, line 1: the key `en` is missing"):
        pack_reader.prompt(replace(challenge, rules=("sorted",)))


@pytest.mark.parametrize(
    ("wanted", "advice"),
    [
        ("gqa.py", "`gqa gqa.py`"),
        ("a/kv_cache.py", "`kv-cache a/kv_cache.py`"),
        ("b.py", "`ID b.py`"),
    ],
)
def test_file_in_place_of_an_id_is_recognised(wanted: str, advice: str) -> None:
    """The error says that a file was given, and how to name its challenge."""
    with pytest.raises(DrillError, match="is the name of a file") as error:
        pack_reader.find_challenge(pack_reader.built_in_pack(), wanted)
    assert advice in str(error.value)


@pytest.fixture
def sums(tiny_pack: Path) -> Challenge:
    """Return a challenge whose other answers a test may write."""
    challenge = pack_reader.find_challenge(tiny_pack, "prefix-sum")
    (challenge.solutions / "also_right").mkdir(exist_ok=True)
    for path in (challenge.solutions / "also_right").glob("*.py"):
        path.unlink()
    return challenge


def test_reference_comes_first_then_the_files_in_order(sums: Challenge) -> None:
    """The paragraphs of the docstring become single lines."""
    folder = sums.solutions / "also_right"
    (folder / "loop.py").write_text('"""Add in\na loop.\n\nThis is\nslow.\n\nMore."""\nx = 1\n')
    (folder / "by_hand.py").write_text('"""Add by hand."""\n')
    (folder / "silent.py").write_text("x = 1\n")
    found = pack_reader.other_answers(sums)
    assert [(answer.name, answer.does, answer.costs) for answer in found] == [
        ("reference", "", ""),
        ("by_hand", "Add by hand.", ""),
        ("loop", "Add in a loop.", "This is slow."),
        ("silent", "", ""),
    ]
    assert found[0].source == pack_reader.solution(sums)
    assert found[3].source == "x = 1\n"


def test_file_that_does_not_parse_has_no_words(sums: Challenge) -> None:
    """The author of a pack may be editing the file."""
    (sums.solutions / "also_right" / "half.py").write_text('"""Add."""\nx = (\n')
    assert [(answer.name, answer.does) for answer in pack_reader.other_answers(sums)][1:] == [
        ("half", "")
    ]


def test_challenge_without_other_answers_has_its_reference(sums: Challenge) -> None:
    """The folder may be missing."""
    (sums.solutions / "also_right").rmdir()
    assert [answer.name for answer in pack_reader.other_answers(sums)] == ["reference"]


def test_digest_is_that_of_the_files(tiny_pack: Path) -> None:
    """A copy of the challenge in another folder has the same digest, until a file changes."""
    original = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
    copied = pack_reader.find_challenge(tiny_pack, "prefix-sum")
    digests = {pack_reader.content_digest(original)}
    assert digests == {pack_reader.content_digest(copied)}
    for name in ("challenges/prefix_sum/cases.py", "solutions/prefix_sum/solution.py"):
        with (tiny_pack / name).open("a") as file:
            file.write("\n")
        digests.add(pack_reader.content_digest(copied))
    assert len(digests) == 3
