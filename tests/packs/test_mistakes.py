"""Known mistakes: reading them, and patching a reference with them."""

from pathlib import Path

import pytest

from attn_drill.model.challenge import Mistake
from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import (
    fit_together,
    lines_of,
    patch,
    patch_all,
    read_mistakes,
    readable_mistakes,
    statements_of,
)
from attn_drill.packs.pack_reader import signatures
from tests.support.cli import Run
from tests.support.packs import make_pack
from tests.support.rows import each_row

SOURCE = """\
@cache
def double(x):
    total = (
        x
        + x
    )
    if total > 9:
        total = 9
    return total
"""


def mistake(was: str, now: str = "pass") -> Mistake:
    """Return a mistake that replaces this text; the text is its id."""
    return Mistake(was, was, now, "", "")


@pytest.mark.thorough
def test_unreadable_mistakes_are_reported(tmp_path: Path, run: Run) -> None:
    """The quiz continues without these mistakes and prints one sentence."""
    pack = make_pack(tmp_path / "mine", "fine", "torn")
    (pack / "solutions" / "torn" / "mistakes.toml").write_text("[[mistake]]\n")
    found, (trouble,) = readable_mistakes(pack_reader.read_pack(pack))
    assert set(found) == {"fine"}
    assert "The mistakes of torn are left out" in trouble
    code, out, err = run("quiz", "--list", "--pack", str(pack))
    assert (code, err) == (0, f"attn-drill: {trouble}\n")
    assert "torn" in out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('id = "matrix"', 'id = "wrong-axis"', "two mistakes have the id 'wrong-axis'"),
        ('id = "matrix"', 'id = "matrix"\ntwins = ["x"]', "has the twin 'x', but no mistake above"),
        ('id = "matrix"', 'id = "matrix"\ntwin = []', "`twin` is not a key here"),
    ],
)
def test_fault_of_the_file_has_its_line(tiny_pack: Path, old: str, new: str, message: str) -> None:
    """Ids are unique, and a twin is above."""
    file = tiny_pack / "solutions/prefix_sum/mistakes.toml"
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(PackError, match=rf"mistakes\.toml, line \d+: .*{message}"):
        read_mistakes(pack_reader.find_challenge(tiny_pack, "prefix-sum"))


def test_patch_changes_only_the_named_text() -> None:
    """The patched source differs from the reference in the replaced text only."""
    changed = mistake("total = 9", "total = 8")
    assert patch(SOURCE, changed, "m") == SOURCE.replace("total = 9", "total = 8")
    assert list(lines_of(SOURCE, changed)) == [8]
    assert list(lines_of(SOURCE, mistake("        x\n        + x\n"))) == [4, 5]


@each_row(
    "mistakes, message",
    {
        "not there": ([mistake("absent")], "found 0 times"),
        "twice": ([mistake("total = ")], "found 2 times"),
        "syntax": ([mistake("return", "(")], "with mistake 'return' does not"),
        "overlapping": ([mistake("total = 9"), mistake("= 9")], "found 0 times"),
    },
)
def test_mistake_that_does_not_fit_is_refused(mistakes: list[Mistake], message: str) -> None:
    """A mistake must apply exactly once, and the result must compile."""
    with pytest.raises(PackError, match=rf"mistakes\.toml: .*{message}"):
        patch_all(SOURCE, mistakes, "mistakes.toml")
    assert not fit_together(SOURCE, mistakes)


@pytest.mark.parametrize(
    ("was", "lines"),
    [
        ("+ x", {3}),
        ("total > 9", {7}),
        ("total = 9", {8}),
        ("@cache", {1}),
        ("        total = 9\n    return total", {8, 9}),
    ],
)
def test_mistake_changes_the_whole_statement(was: str, lines: set[int]) -> None:
    """A statement of several lines counts from its first line; a head counts alone."""
    assert statements_of(SOURCE, mistake(was)) == lines


def test_signatures_come_from_the_stub() -> None:
    """Constructor and forward have names, order and defaults of the stub, without `self`."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    found = {signature.name: signature.parameters for signature in signatures(gqa)}
    assert list(found) == ["GroupedQueryAttention.__init__", "GroupedQueryAttention.forward"]
    assert [parameter.name for parameter in found["GroupedQueryAttention.forward"]] == ["x", "mask"]
    assert found["GroupedQueryAttention.__init__"][3].default == 0.0
    assert found["GroupedQueryAttention.__init__"][2].required


@pytest.mark.parametrize(
    ("stub", "message"),
    [
        ("def other(): ...\n", "defines no prefix_sum, which"),
        ("def prefix_sum(x:\n    # 1\n", r"stub\.py.* not valid Python"),
        ("def prefix_sum(x)\n", r"stub\.py, line 1: .*expected ':'"),
        ("def prefix_sum(x, n=len('a')): ...\n", "the default of n must be a literal"),
    ],
)
def test_stub_without_a_readable_interface_is_refused(
    tiny_pack: Path, stub: str, message: str
) -> None:
    """A stub that does not define the entry with literal defaults is an error of the pack."""
    (tiny_pack / "challenges/prefix_sum/stub.py").write_text(stub)
    with pytest.raises(PackError, match=message):
        signatures(pack_reader.find_challenge(tiny_pack, "prefix-sum"))


def test_dtype_is_a_default(tiny_pack: Path) -> None:
    """Its text has no quotes in reports."""
    stub = "import torch\n\n\ndef prefix_sum(x, dtype=torch.float32): ...\n"
    (tiny_pack / "challenges/prefix_sum/stub.py").write_text(stub)
    (signature,) = signatures(pack_reader.find_challenge(tiny_pack, "prefix-sum"))
    assert repr(signature.parameters[1].default) == "torch.float32"
