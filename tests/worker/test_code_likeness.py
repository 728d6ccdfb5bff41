"""The library's attention is refused under every name, and nothing else is."""

from tests.support.from_scratch import CONTENT
from trainer.worker import code_likeness, forbidden_ops


def test_no_answer_is_like_torchs_code() -> None:
    """The most that an honest file has in common with torch's functions is far below what makes a copy."""
    files = [*(CONTENT / "solutions").rglob("*.py"), *(CONTENT / "challenges").rglob("*.py")]
    codes = [compile(path.read_text(encoding="utf-8"), str(path), "exec") for path in files]
    for code in codes:
        codes += code_likeness.nested_in(code)  # the list grows while it is walked
    found = [forbidden_ops.prepare().originals.likeness(code) for code in codes]
    assert len(forbidden_ops.prepare().originals) >= 4
    assert max(found) < 0.4
