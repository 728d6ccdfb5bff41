"""The keys of a session."""

from attn_drill.session._practice_model import ACTIONS


def test_no_two_actions_have_the_same_key_at_once() -> None:
    """Enter is only for the answer of a question."""
    keys = [action.key for action in ACTIONS.values()]
    assert len(keys) == len(set(keys))
