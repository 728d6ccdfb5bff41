"""The choice of several bugs, and the file of the follow-up."""

import pytest

from attn_drill.app.hunts import (
    choose_bugs,
    continued,
    debugging_challenge,
    follow_ups_of,
)
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader

CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())
BY_ID = {challenge.id: challenge for challenge in CHALLENGES}


@pytest.mark.thorough
def test_same_seed_gives_the_same_bugs() -> None:
    """Two bugs of the small GPT, which differ."""
    first, second = (choose_bugs(BY_ID["mini-gpt"], 2, (), 7) for _ in range(2))
    assert [mistake.id for mistake in first] == [mistake.id for mistake in second]
    assert len({mistake.id for mistake in first}) == 2


def test_follow_ups_are_those_of_the_challenge_that_a_pack_has() -> None:
    """The small GPT continues with its cache; grouped-query attention has no follow-up."""
    assert follow_ups_of(BY_ID["mini-gpt"], CHALLENGES)[0].entry[0] == "MiniGPT"
    assert follow_ups_of(BY_ID["mini-gpt"], [BY_ID["gqa"]]) == []
    assert follow_ups_of(BY_ID["gqa"], CHALLENGES) == []


def test_follow_up_begins_with_the_repaired_text() -> None:
    """The docstring names the follow-up; the code stays."""
    text = continued(BY_ID["mini-gpt"], BY_ID["mini-gpt-cache"], '"""Old."""\n\nimport torch\n')
    assert "the repaired file of mini-gpt" in text
    assert "Old." not in text
    assert text.endswith("import torch\n")


def test_follow_up_with_another_class_begins_with_its_stub() -> None:
    """The repaired file is of no use there."""
    text = continued(BY_ID["mini-gpt"], BY_ID["sdpa"], "import torch\n")
    assert text == pack_reader.stub(BY_ID["sdpa"])


def test_debugging_round_has_a_challenge_with_parts_or_a_named_challenge() -> None:
    """A challenge that another continues is preferred; a topic without such a challenge is not."""
    assert debugging_challenge(CHALLENGES, CHALLENGES, None).id == "mini-gpt"
    assert debugging_challenge([BY_ID["gqa"]], CHALLENGES, "gqa").id == "gqa"
    heads = [challenge for challenge in CHALLENGES if challenge.topic == "heads"]
    with pytest.raises(DrillError, match="topic heads has a debugging round"):
        debugging_challenge(heads, CHALLENGES, "heads")
