"""The keys of a session."""

from typing import get_args

from attn_drill.session._practice_model import ACTIONS, Phase, key_line


def test_no_two_actions_have_the_same_key_at_once() -> None:
    """Enter is only for the answer of a question."""
    keys = [action.key for action in ACTIONS.values()]
    assert len(keys) == len(set(keys))


def test_line_of_keys_has_at_most_five_in_every_phase() -> None:
    """The list of all keys and the way out are always there."""
    for phase in get_args(Phase):
        names = [action.name for action in key_line(phase, set(ACTIONS))]
        assert len(names) == 5
        assert names[-2:] == ["help", "leave"]
        assert [action.name for action in key_line(phase, set())] == ["help", "leave"]
