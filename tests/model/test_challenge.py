"""A challenge of a pack."""

from pathlib import Path

from attn_drill.model.challenge import Challenge


def test_file_name_of_the_learner_follows_the_folder() -> None:
    """The name has the folder's underscores, so that Python can import the file."""
    challenge = Challenge(
        id="kv-cache",
        title="KV cache",
        level="medium",
        minutes=25,
        kind="module",
        entry=("CachedMultiHeadAttention",),
        builds_on=("mha",),
        hints=("a", "b", "c"),
        folder=Path("challenges/kv_cache"),
        solutions=Path("solutions/kv_cache"),
    )
    assert challenge.file_name == "kv_cache.py"
    assert challenge.topic == "other"
