"""The limits of a submission."""

from attn_drill.model.limits import DEFAULT, Limits


def test_memory_is_also_given_in_bytes() -> None:
    """The kernel takes bytes, and people write MiB."""
    assert Limits(memory_mib=3).memory_bytes == 3 << 20
    assert Limits() == DEFAULT
