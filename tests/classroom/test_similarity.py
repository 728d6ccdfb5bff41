"""Tests of similar submissions: copies are found, and independent answers are not reported."""

from __future__ import annotations

import ast
import os
import random
import subprocess
import sys

import pytest

from tests.support.paths import ROOT
from trainer.classroom import similarity
from trainer.classroom.similarity import LEAST_SHARED, Pair, check_similarity, similar_pairs
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.packs.stub_levels import LEVELS

CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())
IDS = [challenge.id for challenge in CHALLENGES]


def known_of(challenge: Challenge) -> list[str]:
    """Return the stubs and the reference.

    The other right answers are left out, because the tests use them as students' answers.
    """
    return [
        *(pack_reader.stub(challenge, level) for level in LEVELS),
        pack_reader.solution(challenge),
    ]


def also_right(challenge: Challenge) -> dict[str, str]:
    """Return complete right answers in different styles, by name."""
    return {path.stem: path.read_text() for path in pack_reader.also_right(challenge)}


def wrong_by_hand(challenge: Challenge) -> dict[str, str]:
    """Return independent wrong answers, by name."""
    folder = ROOT / "tests" / "by_hand" / pack_reader.folder_name(challenge.id)
    return {f"wrong/{path.stem}": path.read_text() for path in folder.glob("*.py")}


def by_name(name: str) -> Challenge:
    """Return a challenge of the built-in pack."""
    return next(challenge for challenge in CHALLENGES if challenge.id == name)


def students(pairs: list[Pair]) -> list[tuple[str, str]]:
    """Return the two students of each pair."""
    return [(pair.student, pair.other) for pair in pairs]


def renamed(source: str) -> str:
    """Return a copy with other names, docstrings and layout, without comments.

    The methods of the copy are in reverse order.
    """
    tree = ast.parse(source)
    return ast.unparse(ast.fix_missing_locations(_Renamed(tree).visit(tree)))


class _Renamed(ast.NodeTransformer):
    """Rename everything that a file defines itself, and reverse the order of its methods."""

    def __init__(self, tree: ast.Module) -> None:
        bound: list[str] = []
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                    bound.append(name)
                case ast.FunctionDef(name=name) | ast.Attribute(attr=name, ctx=ast.Store()):
                    bound.append(name)
        own = [name for name in bound if name != "self" and not name.startswith("__")]
        self.names = {name: f"thing_{index}" for index, name in enumerate(dict.fromkeys(own))}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for field in ("id", "arg", "attr", "name"):
            name = getattr(node, field, None)
            if name in self.names:
                setattr(node, field, self.names[name])
        if isinstance(node, ast.FunctionDef):
            if isinstance(node.body[0], ast.Expr) and len(node.body) > 1:
                del node.body[0]
            node.body.insert(0, ast.Expr(ast.Constant("In my own words.")))
        if isinstance(node, ast.ClassDef):
            node.body.reverse()
        return node


@pytest.mark.thorough
@pytest.mark.sampled(24)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_independent_answers_are_not_reported(
    challenge: Challenge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No two answers in different styles are reported, even with a lower threshold."""
    monkeypatch.setattr(similarity, "LEAST_SHARE", 0.5)
    answers = also_right(challenge) | wrong_by_hand(challenge)
    assert similar_pairs(answers, known_of(challenge)) == []


@pytest.mark.thorough
@pytest.mark.sampled(24)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_renamed_copies_are_found(challenge: Challenge) -> None:
    """If every answer of a class has a renamed copy, only an answer and its copy are a pair.

    An answer that shares less than twice the bound with a copy in the same words is too short.
    """
    sources = also_right(challenge)
    same_words = {f"{name} copied": f"{text}\nSEEN = True\n" for name, text in sources.items()}
    near = similar_pairs(sources | same_words, known_of(challenge))
    long_enough = {pair.student for pair in near if pair.shared >= 2 * LEAST_SHARED}
    copies = {f"{name} copied": renamed(text) for name, text in sources.items()}
    found = students(similar_pairs(sources | copies, known_of(challenge)))
    assert long_enough <= {name for name, _ in found}
    assert all(other == f"{name} copied" for name, other in found)


@pytest.mark.thorough
def test_most_answers_are_long_enough_to_be_compared() -> None:
    """The bound leaves out short answers only: of grouped-query attention, all are compared."""
    gqa = next(challenge for challenge in CHALLENGES if challenge.id == "gqa")
    sources = also_right(gqa)
    copies = {f"{name} copied": renamed(text) for name, text in sources.items()}
    assert len(similar_pairs(sources | copies, known_of(gqa))) == len(sources)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_copies_of_the_reference_are_not_reported(challenge: Challenge) -> None:
    """The code of the reference and of the stub does not count."""
    reference = pack_reader.solution(challenge)
    sources = {
        "a": reference,
        "b": f"{reference}# mine",
        "c": reference.replace("\n\n", "\n# here\n\n"),
        "d": pack_reader.stub(challenge),
        "e": pack_reader.stub(challenge, "guided"),
    }
    assert similar_pairs(sources, known_of(challenge)) == []
    assert similar_pairs(sources, [pack_reader.stub(challenge)]) != []


TEXTBOOK = """
import math
import torch
import torch.nn.functional as F
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        assert d_model % num_heads == 0 | if d_model % num_heads != 0: raise ValueError("no")
        self.h = num_heads; self.d = d_model // num_heads | self.h, self.d = num_heads, d_model // h
        self.scale = self.d ** -0.5 | self.scale = 1 / math.sqrt(self.d) | self.scale = 1 / d ** 0.5
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout) | self.p = dropout

    def forward(self, query, key, value, mask=None, return_weights=False):
        B = query.shape[0] | B, Lq, _ = query.shape | B = query.size(0)
        q = self.split(self.q_proj(query)) | q = self.q_proj(query).view(B, -1, h,d).transpose(1, 2)
        k = self.split(self.k_proj(key)) | k = self.k_proj(key).view(B, -1, h, d).transpose(1, 2)
        v = self.split(self.v_proj(value)) | v = self.v_proj(value).view(B, -1, h,d).transpose(1, 2)
        scores = torch.matmul(q, k.transpose(-2, -1)) * self.scale | scores = q @ k.mT * self.scale
        if mask is not None:
            s = s.masked_fill(mask == 0, -1e9) | s = s.masked_fill(~mask, float("-inf"))
        w = F.softmax(scores, dim=-1) | w = torch.softmax(s, -1) | w = (s - s.logsumexp(-1)).exp()
        a = self.drop(w) | a = F.dropout(w, self.p, self.training) | a = dropout(w, p=self.p)
        o = (a @ v).transpose(1, 2).flatten(2) | o = (a @ v).permute(0, 2, 1, 3).reshape(q.shape)
        o = self.o_proj(o) | out = self.o_proj(o.contiguous())
        return (o, w) if return_weights else o | return o if not return_weights else (o, w)
"""


def textbook(draw: random.Random) -> str:
    """Return an answer that writes every step in a random one of a few usual ways."""
    lines = []
    for line in TEXTBOOK.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        lines.append(indent + draw.choice(line.strip().split(" | ")))
    return "\n".join(lines)


@pytest.mark.sampled(8)
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("size", "classes", "most"), [(5, 20, 1), (2, 50, 5), (30, 4, 0), (150, 1, 0)]
)
def test_textbook_answers_are_not_reported(size: int, classes: int, most: int) -> None:
    """If all students choose from the same few ways, almost no pair is reported."""
    challenge = by_name("mha")
    known = [*known_of(challenge), *also_right(challenge).values()]
    found: list[Pair] = []
    for seed in range(classes):
        draw = random.Random(seed)
        found += similar_pairs({f"s{index:03}": textbook(draw) for index in range(size)}, known)
    assert len([pair for pair in found if not pair.same]) <= most


PLAIN = """
import math
import torch
import torch.nn.functional as F
from torch import nn

class Block(nn.Module):
    def __init__(self, width, rate):
        super().__init__()
        if width % 4 != 0:
            raise ValueError(f"{width} is no multiple of 4")
        self.inner = nn.Linear(width, 4 * width)
        self.rate = rate

    def forward(self, x, mask):
        hidden = self.inner(x).view(len(x), -1, 4).transpose(1, 2)
        scores = torch.einsum("bij,bkj->bik", hidden, hidden)
        scores = scores.masked_fill(~mask, float("-inf"))
        weights = F.softmax(scores / 2.0, dim=-1)
        kept = F.dropout(weights, self.rate, self.training)
        rows = []
        for row in kept:
            rows.append(row.cumsum(0) if row.sum() > 0.5 else row)
        total = torch.stack(rows) @ hidden
        total += total.mean(dim=1, keepdim=True).clamp(min=0.25).exp()
        if mask.any():
            total = total.relu()
        total[0] += 1.5
        return total.flatten(1)
"""


# Changes that do not change the fingerprints of PLAIN.
SAME = {
    "names": [("hidden", "h"), ("self.rate", "self.p"), ("rate)", "p)"), ("Block", "Layer")],
    "names of functions": [("softmax", "sigmoid")],
    "strings": [("bij,bkj->bik", "nid,njd->nij"), ('float("-inf")', 'float("-1e9")')],
    "comments": [("        rows = []\n", "        # rows\n\n        rows = []  # empty\n")],
    "line ends": [("\n", "\r\n")],
    "broken lines": [("torch.einsum(", "torch.einsum(\n            ")],
    "indents": [("    ", "\t")],
}


# Changes that change a few fingerprints of PLAIN.
NEARLY = {
    "docstrings": [("x, mask):\n", 'x, mask):\n        """Attend."""\n')],
    "types": [("x, mask)", "x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor")],
    "a name for a step": [("return total.flatten(1)", "y = total.flatten(1)\n        return y")],
    "a function for an operator": [("torch.stack(rows) @ hidden", "torch.matmul(rows, hidden)")],
    "a number": [("0.25", "0.75")],
    "a bracket missing": [("kept:\n", "kept:\n        (\n")],
    "another language": [("        return", "        print 'done'\n        return")],
    "padding": [("(1)\n", "(1)\n# " + "x" * 60_000)],
    "a null": [("(1)\n", "(1)\n\0")],
}


def changed(changes: list[tuple[str, str]]) -> str:
    """Return PLAIN with these changes."""
    text = PLAIN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_changes_of_names_and_layout_do_not_count(changes: list[tuple[str, str]]) -> None:
    """A copy with one of these changes has the same fingerprints."""
    (pair,) = similar_pairs({"a": PLAIN, "b": changed(changes)}, [])
    assert pair.share == 1.0


@pytest.mark.parametrize("changes", NEARLY.values(), ids=NEARLY)
def test_small_changes_change_few_fingerprints(changes: list[tuple[str, str]]) -> None:
    """A copy with one small change is found, even if the copy does not parse."""
    (pair,) = similar_pairs({"a": PLAIN, "b": changed(changes)}, [])
    assert 0.85 < pair.share <= 1.0


def test_copy_with_methods_in_another_order_is_found() -> None:
    """The order of the methods changes only a few fingerprints."""
    head, init, forward = PLAIN.split("    def ")
    reordered = f"{head}    def {forward}\n    def {init}".replace("hidden", "h")
    (pair,) = similar_pairs({"a": PLAIN, "b": reordered}, [])
    assert pair.share > 0.9


def numbered(*steps: int) -> str:
    """Return a file with a line of 20 characters for each step. Different steps look different."""
    lines = []
    for step in steps:
        draw = random.Random(step)
        left, right = draw.randrange(10**7, 10**8), draw.randrange(10**7, 10**8)
        lines.append(f"x = {left} * {right}\n")
    return "".join(lines)


def test_copy_inside_a_longer_file_is_found() -> None:
    """The share is relative to the smaller file."""
    long = numbered(*range(50, 80), *range(10), *range(90, 120))
    (pair,) = similar_pairs({"short": numbered(*range(10)), "long": long}, [])
    assert (pair.student, pair.other) == ("long", "short")
    assert pair.share > 0.9


def test_two_thirds_of_a_file_make_a_pair() -> None:
    """In a class with at least five files, two thirds are enough. Half of a file is not enough.

    In a smaller class, two thirds are not enough.
    """
    sources = {f"z{student}": numbered(*range(student, student + 9)) for student in (100, 120, 140)}
    sources |= {"a": numbered(*range(30)), "b": numbered(*range(20), *range(40, 50))}
    sources |= {"c": numbered(*range(60, 90)), "d": numbered(*range(60, 75), *range(200, 215))}
    assert students(similar_pairs(sources, [])) == [("a", "b")]
    assert similar_pairs({"a": sources["a"], "b": sources["b"]}, []) == []


def test_lines_of_the_longest_shared_passages() -> None:
    """A pair has the lines of the longest shared passages in each file, from top to bottom."""
    first, second, third = numbered(*range(1, 7)), numbered(*range(10, 20)), numbered(70, 71)
    gap = "del a[1]\n" * 3
    student = "\n\n# mine\n" + first + gap + second + gap + third + gap + numbered(80)
    second = numbered(*range(10, 16)) + "# yours\n\n" + numbered(*range(16, 20))
    other = third + "assert 2\n" * 3 + second + "assert 2\n" * 3 + numbered(80, 81)
    first = numbered(*range(1, 4)) + "assert 2\n" + numbered(*range(4, 7))
    (pair,) = similar_pairs({"a": student, "b": other + "assert 2\n" * 3 + first + "\n\n"}, [])
    assert pair.lines == ((4, 9), (13, 22), (26, 27))
    assert pair.other_lines == ((1, 2), (6, 17), (26, 32))


def test_passage_that_begins_with_the_name_of_a_class() -> None:
    """The passage begins on the line of the name."""
    stub = "class Mine(nn.Module):\n    pass\n"
    text = "# mine\n" * 30 + "class Mine(nn.Module):\n" + numbered(*range(10))
    (pair,) = similar_pairs({"a": text, "b": text.replace("\n", "\r") + "\ry"}, [stub])
    assert pair.lines == pair.other_lines == ((31, 41),)


def test_known_texts_do_not_count() -> None:
    """Two files that share only a known text are not paired."""
    sources = {"a": numbered(*range(42)), "b": numbered(*range(40), *range(50, 52))}
    assert students(similar_pairs(sources, [])) == [("a", "b")]
    assert similar_pairs(sources, [numbered(*range(40))]) == []


def test_text_of_half_of_the_class_does_not_count() -> None:
    """A text of 30 of 60 students makes no pair. A text of 5 of 60 makes pairs of all five."""

    def class_of(copies: int) -> dict[str, str]:
        sources = {
            f"a{student:02}": numbered(*range(20), 1000 + student) for student in range(copies)
        }
        for student in range(copies, 60):
            sources[f"z{student}"] = numbered(*range(100 + 20 * student, 115 + 20 * student))
        return sources

    assert similar_pairs(class_of(30), []) == []
    pairs = similar_pairs(class_of(5), [])
    names = {name for pair in students(pairs) for name in pair}
    assert names == {"a00", "a01", "a02", "a03", "a04"}
    assert similar_pairs(class_of(2), [])[0].rare == 1.0 > pairs[0].rare > 0.5


@pytest.mark.thorough
def test_identical_files_are_paired_with_the_first_student() -> None:
    """100 students have the same file, and one of them has another layout."""
    text = also_right(by_name("mha"))["own_backward"]
    sources = {f"s{index:03}": text for index in range(100)}
    sources["s007"] = "# Mine.\n\n" + text.replace("    ", "\t").replace("\n\n", "\n  # here\n")
    sources["z"] = renamed(text)
    pairs = similar_pairs(dict(reversed(sources.items())), known_of(by_name("mha")))
    expected = [("s000", f"s{index:03}") for index in range(1, 100)]
    assert students(pairs) == [*expected, ("s000", "z")]
    assert [pair.same for pair in pairs] == [True] * 99 + [False]
    assert pairs[6].other_lines[0] != pairs[6].lines[0] == pairs[5].other_lines[0]


def test_pairs_are_sorted_by_similarity() -> None:
    """Copies come first, then pairs by their share, then by the size of the shared part."""
    sources = {}
    for name, text in {
        "same": numbered(*range(10)),
        "much": numbered(*range(20, 60)),
        "little": numbered(*range(60, 90)),
        "less": numbered(*range(90, 108)),
    }.items():
        sources |= {f"{name} a": text, f"{name} b": text.replace("x", "y")}
    sources["same b"] = sources["same a"]
    sources["less b"] += numbered(110, 111)
    sources["less a"] += numbered(112, 113)
    found = [pair.student for pair in similar_pairs(sources, [])]
    assert found == ["same a", "much a", "little a", "less a"]


def test_short_identical_files_make_a_pair() -> None:
    """If names are the same too, half as many fingerprints are enough. Very few are not enough."""
    short = numbered(1, 2)
    (pair,) = similar_pairs({"a": short, "b": short}, [])
    assert LEAST_SHARED / 2 <= pair.shared < LEAST_SHARED
    assert similar_pairs({"a": short, "b": short.replace("x", "y")}, []) == []
    assert similar_pairs({"a": numbered(1), "b": numbered(1)}, []) == []


@pytest.mark.thorough
def test_many_nearly_identical_files_give_few_pairs() -> None:
    """30 students changed one line each. All are named, in few enough pairs to read."""
    ring = {f"r{index:02}": numbered(*range(30), 1000 + index) for index in range(30)}
    others = {
        f"z{index}": numbered(*range(2000 + 20 * index, 2020 + 20 * index)) for index in range(100)
    }
    pairs = similar_pairs(ring | others, [])
    assert {name for pair in students(pairs) for name in pair} == set(ring)
    assert len(pairs) <= 3 * len(ring)


@pytest.mark.parametrize(
    "sources",
    [{}, {"a": PLAIN}, {"a": "", "b": ""}, {"a": "x = 1", "b": "x = 1"}],
    ids=["nobody", "one student", "empty files", "tiny files"],
)
def test_no_pair_without_two_real_files(sources: dict[str, str]) -> None:
    """There is no pair without two files that are long enough."""
    assert similar_pairs(sources, []) == []


SCRIPT = """
import sys
from tests.classroom.test_similarity import also_right, by_name, known_of, renamed, similar_pairs
challenge = by_name("rope")
sources = also_right(challenge)
sources |= {f"copy of {name}": renamed(text) for name, text in sources.items()}
names = sorted(sources, reverse=sys.argv[1] == "reverse")
print(similar_pairs({name: sources[name] for name in names}, known_of(challenge)))
"""


@pytest.mark.thorough
def test_result_is_the_same_in_every_process() -> None:
    """Python's random hashes and the order of the files do not change the result."""
    answers = []
    for seed, order in (("1", "sorted"), ("2", "reverse")):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", SCRIPT, order]
        answers.append(subprocess.check_output(command, cwd=ROOT, env=environment, text=True))
    assert answers[0] == answers[1]
    assert answers[0].count("Pair(") == len(also_right(by_name("rope")))


HOSTILE = {
    "open brackets": "(" * 2**20,
    "a long chain": "x" + ".a" * 300_000,
    "a long file": "x = y.exp() + 1\n" * 60_000,
    "a wide line": "a;" * 90_000,
    "an open string": '"""' + "a\n" * 2**18,
    "blanks": "match" + " " * 2**18 + "!",
    "lines of blanks": "x" + "\n " * 2**17 + "y",
    "line ends": "\r\n" * 2**18,
    "backslashes": "\\\n" * 2**18,
    "a large number": "x = 0x" + "f" * 40_000 + " + " + "9" * 5_000,
    "surrogates": "x = '\ud800'\ny.\udc80\nz = torch.exp(x)",
    "a null": "x = 1\0\n",
    "no letters": "\x1b[2J\x07\x08",
    "a notebook": '{"cells": [{"cell_type": "code", "source": ["import torch"]}]}',
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_does_not_stop_the_comparison(text: str) -> None:
    """Other files are compared, even if a hostile text is handed in or is a known text."""
    sources = {"a": PLAIN, "b": PLAIN.replace("hidden", "h"), "hostile": text, "more": f"{text}\nz"}
    assert students(similar_pairs(sources, [text])) == [("a", "b")]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_cut_before_it_is_read(text: str) -> None:
    """The library gets no long lines, no blanks at the end of a line and no long files."""
    read = similarity._fingerprint(text).raw_code
    assert len(read) <= 10_001
    for line in read.split("\n"):
        assert len(line) <= 401
        assert line in (" ", line.rstrip())


def test_library_is_imported_only_for_similar() -> None:
    """The command and its modules do not import copydetect, which imports matplotlib."""
    script = (
        "import sys, trainer.cli.grade, trainer.cli.grade_outputs, trainer.export.similar_pairs\n"
        "sys.exit('copydetect' in sys.modules or 'matplotlib' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_missing_library_gives_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence has the command that installs the library."""
    check_similarity()
    monkeypatch.setitem(sys.modules, "copydetect", None)
    with pytest.raises(DrillError, match=r"pip install 'attn-drill\[similar\]'"):
        check_similarity()
