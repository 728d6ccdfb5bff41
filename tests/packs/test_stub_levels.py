"""Three levels of a stub come from one text; every stub has all levels."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import patch, read_mistakes
from attn_drill.packs.stub_levels import (
    LEVELS,
    arranged,
    at_level,
    completed,
    shuffled_pieces,
    steps,
    wrong_piece,
)
from tests.support.packs import (
    GUIDED,
    STANDARD,
    Pieces,
    comments_under,
    functions_of,
    pieces_in_file,
    right_order,
    solved,
    with_wrong,
    wrong_in,
)
from tests.support.paths import TINY_PACK
from tests.support.rows import each_row

CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())
BLANK = """import torch  # a comment after code stays


class A:
    def f(self, x="# no comment"):
        raise NotImplementedError
"""


def test_standard_has_no_steps_and_blank_has_no_docstrings() -> None:
    """Strings, and comments after code, stay at every level."""
    assert [at_level(GUIDED, level) for level in ("guided", "standard", "blank")] == [
        GUIDED,
        STANDARD,
        BLANK,
    ]
    assert steps(GUIDED) == ["1. First. -> [B]", "2. Second, which goes on. -> [L]"]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=[challenge.id for challenge in CHALLENGES])
def test_every_stub_has_four_levels(challenge: Challenge) -> None:
    """Every level compiles and defines the entries.

    The steps of `guided` have shapes, and `blank` has neither docstrings nor comments.
    """
    texts = {level: pack_reader.stub(challenge, level) for level in LEVELS}
    for text in texts.values():
        assert set(challenge.entry) <= {
            node.name
            for node in ast.parse(text).body
            if isinstance(node, ast.ClassDef | ast.FunctionDef)
        }
    assert len(texts["guided"]) > len(texts["standard"]) > len(texts["blank"])
    assert '"""' not in texts["blank"]
    assert "#" not in texts["blank"] + texts["standard"]


WITH_TINY = pack_reader.read_pack(pack_reader.built_in_pack()) + pack_reader.read_pack(TINY_PACK)
REFERENCE = '''"""A reference with everything that is rare."""

import math
import torch

SCALE = 2  # a constant


class Sum:
    def __init__(self, size):
        super().__init__()
        self.size = size; self.log = math.log(size)
        self.text = """two
  lines"""

    @staticmethod
    def helper(x):
        """Add 1."""
        return x + 1

    def forward(self, x):
        # a comment
        total = 0
        for row in x:  # a comment
            # a comment
            row = row * SCALE
            if row > 0:
                row = row + 1
            total = total + self.helper(row)

        return total


def last(x): return x
'''
STUB = '''import torch


class Sum:
    """Docstring."""

    def __init__(self, size):
        super().__init__()
        raise NotImplementedError

    def forward(self, x):
        """Docstring."""
        raise NotImplementedError
'''


def tree_of(source: str) -> str:
    """Return the syntax tree without docstrings, as text."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
            ast.get_docstring(node) is not None
        ):
            del node.body[0]
    return ast.dump(tree)


def is_unfinished(function: ast.FunctionDef) -> bool:
    """Return whether the last statement of a function raises NotImplementedError."""
    return ast.unparse(function.body[-1]) == "raise NotImplementedError"


def pieces_of_stub(stub: str, *mistakes: Mistake) -> Pieces:
    """Return the pieces under the functions of a stub."""
    return shuffled_pieces(completed(stub, REFERENCE), REFERENCE, mistakes, "sum")


def mistake(was: str, now: str) -> Mistake:
    """Return a known mistake."""
    return Mistake("wrong", was, now, "It is wrong.", "Is it right?")


@pytest.mark.sampled(16)
@pytest.mark.parametrize("challenge", WITH_TINY, ids=[challenge.id for challenge in WITH_TINY])
def test_pieces_make_the_reference_or_a_known_mistake(challenge: Challenge) -> None:
    """Uncommented in the right order, the right pieces give the syntax tree of the reference.

    A wrong piece in place of the right piece gives the reference with a mistake. There is about one
    wrong piece for three right ones, at most one for each right piece.
    """
    text, pieces = pack_reader.stub(challenge, "arrange"), pieces_in_file(challenge)
    reference, right, wrong = pack_reader.solution(challenge), right_order(pieces), wrong_in(pieces)
    assert tree_of(solved(text, right)) == tree_of(reference)
    mistakes = {mistake.id: mistake for mistake in read_mistakes(challenge)}
    for piece in wrong:
        answer, patched = solved(text, with_wrong(right, piece)), mistakes[piece.mistake]
        assert tree_of(answer) == tree_of(patch(reference, patched, "")), piece.mistake
    assert len(wrong) == len({(piece.function, piece.place) for piece in wrong})
    if challenge.solutions.is_relative_to(TINY_PACK):
        assert len(wrong) == 1  # the mistakes of these challenges allow no more
    else:
        assert len(wrong) == max(2, round(sum(map(len, right.values())) / 3))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("challenge", WITH_TINY, ids=[challenge.id for challenge in WITH_TINY])
def test_file_is_an_unfinished_stub_that_tells_nothing(challenge: Challenge) -> None:
    """Every function raises NotImplementedError, and its pieces are the only comments under it.

    A function that the stub gives whole has no pieces. The order of pieces is wrong, whichever
    piece of a place the learner takes. Neither the words of a mistake nor a comment of the
    reference is in the file.
    """
    text, pieces = pack_reader.stub(challenge, "arrange"), pieces_in_file(challenge)
    functions = dict(functions_of(text))
    in_stub = dict(functions_of(pack_reader.stub(challenge, "guided")))
    for name, function in functions.items():
        is_given = name in in_stub and not is_unfinished(in_stub[name])
        assert is_unfinished(function) != is_given
        assert not is_given or name not in pieces
        lines = [line for piece in pieces.get(name, []) for line in piece.text.splitlines()]
        assert [line for line in comments_under(text, function) if line] == lines
    for name, of_function in pieces.items():
        assert name in functions
        places = [piece.place for piece in of_function]
        first = {place: places.index(place) for place in places}
        last = {place: index for index, place in enumerate(places)}
        assert len(first) == 1 or any(
            last[later] < first[earlier] for earlier in first for later in first if earlier < later
        )
    names = {node.name for node in ast.parse(text).body if hasattr(node, "name")}
    assert set(challenge.entry) <= names
    for mistake in read_mistakes(challenge):
        assert mistake.says not in text
        assert mistake.hint not in text
    comments = [line.strip() for line in pack_reader.solution(challenge).splitlines()]
    assert not [line for line in comments if line.startswith("#") and line in text]


def test_text_is_stable() -> None:
    """An id always gives the same text. Another id gives another text."""
    sdpa = next(challenge for challenge in WITH_TINY if challenge.id == "sdpa")
    sources = pack_reader.stub(sdpa), pack_reader.solution(sdpa), read_mistakes(sdpa)
    text = pack_reader.stub(sdpa, "arrange")
    arranged.cache_clear()
    assert arranged(*sources, "sdpa") == text
    assert arranged(*sources, "other") != text


def test_stub_gets_what_only_the_reference_has() -> None:
    """Imports, constants, functions and methods are added in the reference's order."""
    text = arranged(STUB, REFERENCE, (), "sum")
    assert tree_of(solved(text, right_order(pieces_of_stub(STUB)))) == tree_of(REFERENCE)
    assert "\nimport math\nimport torch\nSCALE = 2\n\nclass Sum:" in text
    assert '    @staticmethod\n    def helper(x):\n        """Add 1."""\n        raise ' in text
    assert text.endswith("\n\ndef last(x):\n    raise NotImplementedError\n    # return x\n")


def test_code_of_the_stub_is_no_piece() -> None:
    """`super().__init__()` stays where it is. A loop is opened, and a condition stays whole."""
    pieces = pieces_of_stub(STUB)
    assert sorted(piece.text for piece in pieces["Sum.__init__"]) == [
        "self.log = math.log(size)",
        "self.size = size",
        "self.text = 'two\\n  lines'",
    ]
    assert [piece.text for piece in right_order(pieces)["Sum.forward"]] == [
        "total = 0",
        "for row in x:",
        "    row = row * SCALE",
        "    if row > 0:\n        row = row + 1",
        "    total = total + self.helper(row)",
        "return total",
    ]
    assert "        #\n        #     if row > 0:\n        #         row = row + 1\n" in arranged(
        STUB, REFERENCE, (), "sum"
    )


@each_row(
    "was, now, text",
    {
        "in a loop": ("row * SCALE", "row / SCALE", "    row = row / SCALE"),
        "condition": ("if row > 0:", "if row < 0:  # no", "    if row < 0:\n        row = row + 1"),
        "loop": ("for row in x:", "for row in x[1:]:", "for row in x[1:]:"),
        "removed piece": ("return total", "", None),
        "added piece": ("total = 0", "total = 0\n        x = 1", None),
        "outside of functions": ("SCALE = 2", "SCALE = 3", None),
        "signature": ("def forward(self, x)", "def forward(self, x=1)", None),
        "no Python": ("total = 0", "total = (", None),
        "not in the reference": ("not there", "x", None),
        "comment only": ("# a comment\n        total", "total", None),
    },
)
def test_mistake_makes_a_wrong_piece(was: str, now: str, text: str | None) -> None:
    """Only a mistake that changes exactly one piece makes one."""
    piece = wrong_piece(REFERENCE, mistake(was, now))
    assert (piece and piece.text) == text


def test_wrong_pieces_are_those_that_a_reader_does_not_suspect() -> None:
    """A line that is right elsewhere, contrived, or much longer is not chosen before others."""
    copied, contrived, plain = (
        mistake("total = 0", now) for now in ("return total", "total = False", "total = 1")
    )
    contrived = replace(contrived, contrived=True)
    assert wrong_in(pieces_of_stub(STUB, copied, contrived)) == []
    long = [mistake("total = 0", f"total = sum(x) * 0 * {factor}") for factor in range(9)]
    wrong = wrong_in(pieces_of_stub(STUB, *long, contrived, plain))
    assert [piece.text for piece in wrong] == ["total = 1"]


def test_stub_of_any_level_is_recognised(tiny_pack: Path) -> None:
    """A changed stub is none, and unreadable mistakes do no harm."""
    challenge = pack_reader.find_challenge(tiny_pack, "signs")
    text = pack_reader.stub(challenge, "arrange")
    assert pack_reader.is_stub(challenge, text)
    assert pack_reader.is_stub(challenge, pack_reader.stub(challenge, "blank"))
    assert not pack_reader.is_stub(challenge, text + "x = 1\n")
    (challenge.solutions / "mistakes.toml").unlink()
    assert not pack_reader.is_stub(challenge, text)


def test_reference_that_does_not_parse_is_named(tiny_pack: Path) -> None:
    """The author of a pack gets the path and the line."""
    challenge = pack_reader.find_challenge(tiny_pack, "signs")
    (challenge.solutions / "solution.py").write_text("x = 1\nx = (\n")
    with pytest.raises(PackError, match=r"solution\.py, line 2: the file is not valid Python"):
        pack_reader.stub(challenge, "arrange")
