"""Submissions that are alike: disguised copies are found, independent answers are not, and no text breaks it."""

from __future__ import annotations

import ast
import csv
import io
import os
import random
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from trainer.classroom import likeness
from trainer.classroom.likeness import (
    _LOOKED_AT,
    LEAST_SHARE,
    LEAST_SHARED,
    Pair,
    Passage,
    _candidates,
    _weights,
    likenesses,
)
from trainer.classroom.words import Result
from trainer.content import packs
from trainer.content.levels import LEVELS
from trainer.core.words import Challenge
from trainer.display.gradebook import cells
from trainer.display.likeness import COLUMNS, HINT, likeness_csv, likeness_text

CHALLENGES = packs.read_pack(packs.built_in_pack())
BY_HAND = Path(__file__).parent / "by_hand"
TELLING = 12  # fingerprints of its own, from which on a copy must be found; what has fewer is too short to say anything


def known_of(challenge: Challenge) -> list[str]:
    """What explains likeness here: the stub at all levels and the reference, but not `also_right`, which stands for students."""
    return [*(packs.stub(challenge, level) for level in LEVELS), packs.solution(challenge)]


def also_right(challenge: Challenge) -> dict[str, str]:
    """Whole answers in different styles, by name."""
    return {path.stem: path.read_text() for path in packs.also_right(challenge)}


def by_name(name: str) -> Challenge:
    """A challenge of the built-in pack."""
    return next(one for one in CHALLENGES if one.id == name)


def own(text: str, known: list[str]) -> int:
    """How many fingerprints a text has beyond what is known."""
    return sum(
        pair.shared for pair in likenesses({"a": text, "b": f"{text}# b"}, known, least_shared=0)
    )


def couples(pairs: list[Pair]) -> list[tuple[str, str]]:
    """Who is paired with whom."""
    return [(pair.one, pair.other) for pair in pairs]


# Copies that are not to be recognised


ANYTHING = ast.Name("object", ast.Load())
AS_FUNCTIONS = {"transpose", "softmax", "flatten", "masked_fill", "exp", "unsqueeze"}


def disguised(source: str, challenge: Challenge) -> str:
    """The same program in other clothes.

    What the stub does not name has another name, modules are imported by other names, methods stand in another order; there are docstrings, comments and types;
    results have a name before they are returned; operators and methods are written as functions of torch; messages are put together by `format`;
    infinity is spelt otherwise; and the second half of a long function is a function of its own.
    """
    stub = list(ast.walk(ast.parse(packs.stub(challenge))))
    kept = {
        *challenge.entry,
        "self",
        "cls",
        "ctx",
        *(node.arg for node in stub if isinstance(node, ast.arg)),
    }
    kept |= {node.name for node in stub if isinstance(node, ast.FunctionDef)}
    tree = ast.parse(source)
    tree.body = [
        one
        for one in tree.body
        if not (isinstance(one, ast.ImportFrom) and one.module == "__future__")
    ]
    tree = ast.fix_missing_locations(_Disguise(tree, kept).visit(tree))
    lines = ast.unparse(tree).split("\n")
    commented = [
        f"{line}\n    # and then" if line.endswith(")") and number % 4 == 0 else line
        for number, line in enumerate(lines)
    ]
    return "\n".join(
        ["import math as mathematics", "import torch as torch_library", *commented, ""]
    )


class _Disguise(ast.NodeTransformer):
    """Renames and rewrites, in place."""

    def __init__(self, tree: ast.Module, kept: set[str]) -> None:
        nodes = list(ast.walk(tree))
        classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        methods = {
            one.name: None
            for node in classes
            for one in node.body
            if isinstance(one, ast.FunctionDef)
        }
        bound = [
            node.id
            for node in nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        bound += [node.arg for node in nodes if isinstance(node, ast.arg)]
        bound += [
            node.name
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name not in methods
        ]
        fields = [
            node.attr
            for node in nodes
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        ]
        fields += [
            one
            for one in methods
            if not one.startswith("__") and one not in {"forward", "backward", "setup_context"}
        ]
        self.names = {
            name: f"thing_{number}"
            for number, name in enumerate(dict.fromkeys(bound))
            if name not in kept
        }
        self.fields = {
            name: f"field_{number}"
            for number, name in enumerate(dict.fromkeys(fields))
            if name not in kept
        }
        self.own = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}

    def visit_alias(self, node: ast.alias) -> ast.alias:
        if "." not in node.name or node.asname:
            name = node.asname or node.name
            node.asname = self.names[name] = f"{name}_library"
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self.names.get(node.arg, node.arg)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            node.attr = self.fields.get(node.attr, node.attr)
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        function = node.func
        name = (
            function.id
            if isinstance(function, ast.Name)
            else function.attr
            if isinstance(function, ast.Attribute)
            else ""
        )
        imported = (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Name)
            and function.value.id in ("torch", "F", "functional")
        )
        self.generic_visit(node)
        if name in self.own:
            for keyword in node.keywords:
                keyword.arg = self.names.get(keyword.arg or "", keyword.arg)
        if (
            isinstance(function, ast.Name)
            and name == "float"
            and isinstance(node.args[0], ast.Constant)
        ):
            infinity = of("mathematics", "inf")
            return ast.UnaryOp(ast.USub(), infinity) if "-" in str(node.args[0].value) else infinity
        if isinstance(function, ast.Attribute) and name in AS_FUNCTIONS and not imported:
            return ast.Call(of("torch_library", name), [function.value, *node.args], node.keywords)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        return (
            ast.Call(of("torch_library", "matmul"), [node.left, node.right], [])
            if isinstance(node.op, ast.MatMult)
            else node
        )

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        values = [one.value for one in node.values if isinstance(one, ast.FormattedValue)]
        return ast.Call(
            ast.Attribute(
                ast.Constant("these do not fit" + " {}" * len(values)), "format", ast.Load()
            ),
            values,
            [],
        )

    def visit_Return(self, node: ast.Return) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        return (
            node
            if node.value is None
            else [
                ast.Assign([ast.Name("final", ast.Store())], node.value),
                ast.Return(ast.Name("final", ast.Load())),
            ]
        )

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        node.name = self.names.get(node.name, node.name)
        if all(isinstance(one, ast.FunctionDef) for one in node.body):
            node.body.reverse()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.name = self.fields.get(node.name, self.names.get(node.name, node.name))
        if isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant):
            node.body = node.body[1:] or [ast.Pass()]
        half = len(node.body) // 2
        before = stored(node.body[:half]) | {
            one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)
        }
        after = stored(node.body[half:])
        plain = (
            not node.decorator_list
            and not any(isinstance(one, ast.FunctionDef) for one in node.body)
            and "__init__" not in ast.dump(node)
        )
        if half >= 3 and plain:
            taken: list[ast.stmt] = [ast.Nonlocal(sorted(before & after))] if before & after else []
            rest = ast.FunctionDef(
                "the_rest",
                ast.arguments([], [], None, [], [], None, []),
                [*taken, *node.body[half:]],
                [],
            )
            node.body[half:] = [
                rest,
                ast.Return(ast.Call(ast.Name("the_rest", ast.Load()), [], [])),
            ]
        if not node.decorator_list:
            node.body = [
                ast.AnnAssign(one.targets[0], ANYTHING, one.value, 1)
                if typed(one, before & after)
                else one
                for one in node.body
            ]  # type: ignore[attr-defined]
            for argument in node.args.args:
                argument.annotation = ANYTHING
        node.body.insert(0, ast.Expr(ast.Constant("In my own words.")))
        return node


def typed(statement: ast.stmt, shared: set[str]) -> bool:
    """Whether an assignment can have a type: one name, which no inner function changes."""
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and statement.targets[0].id not in shared
    )


def stored(body: list[ast.stmt]) -> set[str]:
    """The names that statements bind, and not within a comprehension."""
    return {
        node.id
        for one in body
        for node in ast.walk(one)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def of(module: str, name: str) -> ast.Attribute:
    """`module.name`."""
    return ast.Attribute(ast.Name(module, ast.Load()), name, ast.Load())


# Both sides, over all challenges


@pytest.mark.parametrize("challenge", CHALLENGES, ids=[one.id for one in CHALLENGES])
def test_independent_answers_are_not_reported(challenge: Challenge) -> None:
    """Of the right answers in different styles and the wrong ones made by hand no two are reported; of the right ones not at lower thresholds either."""
    known, sources = known_of(challenge), also_right(challenge)
    assert (
        likenesses(sources, known, least_shared=LEAST_SHARED * 0.7, least_share=LEAST_SHARE * 0.7)
        == []
    )
    sources |= {
        f"by hand/{path.stem}": path.read_text()
        for path in (BY_HAND / packs.folder_name(challenge.id)).glob("*.py")
    }
    assert likenesses(sources, known) == []


@pytest.mark.parametrize("challenge", CHALLENGES, ids=[one.id for one in CHALLENGES])
def test_disguised_copies_are_found(challenge: Challenge) -> None:
    """In a class where every answer has a disguised copy, each that says enough is paired with its copy, and nobody with anybody else."""
    known, sources = known_of(challenge), also_right(challenge)
    copies = {f"{name} copied": disguised(text, challenge) for name, text in sources.items()}
    for name, text in copies.items():
        compile(text, name, "exec")
    found = couples(likenesses(sources | copies, known))
    assert set(found) <= {(name, f"{name} copied") for name in sources}
    missed = [name for name in sources if (name, f"{name} copied") not in found]
    assert [name for name in missed if own(sources[name], known) >= TELLING] == []
    assert len(missed) < len(sources) * 2 / 3


def test_a_copy_of_the_reference_is_explained() -> None:
    """Who hands in the reference or the stub, disguised or not, has nothing of their own, and is not paired."""
    for challenge in CHALLENGES:
        text = packs.solution(challenge)
        sources = {
            "a": disguised(text, challenge),
            "b": text,
            "c": text + "# mine",
            "d": packs.stub(challenge),
            "e": packs.stub(challenge, "guided"),
        }
        assert likenesses(sources, known_of(challenge)) == []
        assert likenesses(sources, [packs.stub(challenge)]) != []


SPLIT = [
    ("{a} = self.{a}_proj({n}).view(B, -1, self.h, self.d).transpose(1, 2)",),
    (
        "{a} = self.{a}_proj({n})",
        "{a} = {a}.reshape(B, {n}.shape[1], self.h, self.d).transpose(1, 2)",
    ),
    ("{a} = self.{a}_proj({n}).view(B, -1, self.h, self.d).permute(0, 2, 1, 3)",),
]
TEXTBOOK = [
    [
        "assert d_model % num_heads == 0",
        "if d_model % num_heads != 0:\n            raise ValueError('no')",
    ],
    [
        "self.h = num_heads; self.d = d_model // num_heads",
        "self.d = d_model // num_heads; self.h = num_heads",
        "self.h, self.d = num_heads, d_model // num_heads",
    ],
    [
        "self.scale = self.d ** -0.5",
        "self.scale = 1 / math.sqrt(self.d)",
        "self.scale = 1.0 / self.d ** 0.5",
    ],
]
STEPS = [
    ["B = query.shape[0]", "B, Lq, _ = query.shape", "B = query.size(0)"],
    [
        "scores = torch.matmul(q, k.transpose(-2, -1)) * self.scale",
        "scores = q @ k.mT * self.scale",
        "scores = torch.einsum('bhqd,bhkd->bhqk', q, k) * self.scale",
    ],
    [
        "if mask is not None:\n            scores = scores.masked_fill(mask == 0, {})",
        "if mask is not None:\n            scores = scores.masked_fill(~mask, {})",
        "if mask is not None:\n            scores = torch.where(mask, scores, {})",
    ],
    [
        "w = F.softmax(scores, dim=-1)",
        "w = torch.softmax(scores, -1, dtype=torch.float32).to(q.dtype)",
        "w = (scores - scores.logsumexp(-1, keepdim=True)).exp()",
    ],
    ["a = self.drop(w)", "a = F.dropout(w, self.p, self.training)"],
    [
        "o = (a @ v).transpose(1, 2).contiguous().view(B, -1, self.h * self.d)",
        "o = (a @ v).transpose(1, 2).flatten(2)",
        "o = (a @ v).permute(0, 2, 1, 3).reshape(query.shape)",
    ],
    [
        "return (self.o_proj(o), w) if return_weights else self.o_proj(o)",
        "o = self.o_proj(o)\n        if return_weights:\n            return o, w\n        return o",
    ],
]


def textbook(draw: random.Random) -> str:
    """An answer as most people write it: every step in one of a few usual ways, so that two people often take the same."""
    split = draw.choices(SPLIT, (4, 3, 2))[0]
    lines = [draw.choices(ways, (4, 3, 2)[: len(ways)])[0] for ways in TEXTBOOK]
    lines += [f"self.{name}_proj = nn.Linear(d_model, d_model, bias=bias)" for name in "qkvo"] + [
        "self.drop, self.p = nn.Dropout(dropout), dropout"
    ]
    steps = [
        draw.choices(ways, (4, 3, 2)[: len(ways)])[0].format(
            draw.choice(["-1e9", "float('-inf')", "-math.inf"])
        )
        for ways in STEPS
    ]
    steps[1:1] = [
        line.format(a=name, n=source)
        for name, source in (("q", "query"), ("k", "key"), ("v", "value"))
        for line in split
    ]
    head = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n\nclass MultiHeadAttention(nn.Module):\n"
    init = (
        "    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):\n        super().__init__()\n"
        + "".join(f"        {line}\n" for line in lines)
    )
    forward = (
        "    def forward(self, query, key, value, mask=None, return_weights=False):\n"
        + "".join(f"        {line}\n" for line in steps)
    )
    return f"{head}{init}\n{forward}"


@pytest.mark.parametrize(("students", "classes", "most"), [(5, 20, 3), (30, 6, 1), (150, 1, 1)])
def test_a_class_that_writes_as_textbooks_do(students: int, classes: int, most: int) -> None:
    """Where everybody chooses among the same few ways, next to nobody is reported: what many have says little."""
    challenge = by_name("mha")
    known = [*known_of(challenge), *also_right(challenge).values()]
    found = 0
    for seed in range(classes):
        draw = random.Random(seed)
        found += len(
            [
                pair
                for pair in likenesses(
                    {f"s{number:03}": textbook(draw) for number in range(students)}, known
                )
                if not pair.same
            ]
        )
    assert found <= most


# What leaves no trace, and what does

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
        else:
            total = total.tanh()
        total[0] += 1.5
        self.label = f"{width + 1} wide"
        return total.flatten(1)
"""

NO_TRACE = {
    "names": [
        ("hidden", "h"),
        ("scores", "similarity"),
        ("self.rate", "self.p"),
        ("rate)", "p)"),
        ("= rate\n", "= p\n"),
        ("rows", "out"),
        ("Block", "Layer"),
    ],
    "self": [("self", "this")],
    "imports": [
        ("import math\nimport torch\n", "import torch\nimport os, math\n"),
        ("from torch import nn", "from torch import nn as layers"),
        ("nn.", "layers."),
    ],
    "functional by its whole name": [("F.", "torch.nn.functional.")],
    "comments": [("        rows = []\n", "        # rows\n\n        rows = []  # empty\n")],
    "docstrings": [
        (
            "    def forward(self, x, mask):\n",
            '    def forward(self, x, mask):\n        """What it does."""\n',
        )
    ],
    "types": [
        ("self, x, mask)", "self, x: torch.Tensor, mask: 'bool') -> torch.Tensor"),
        ("rows = []", "rows: list[torch.Tensor] = []"),
    ],
    "the message": [
        ('f"{width} is no multiple of 4"', '"{} does not go into {}".format(4, width)')
    ],
    "an empty method": [("    def forward", "    def before(self): pass\n\n    def forward")],
    "numbers": [("/ 2.0", "/ 2"), ("0.5", "5e-1"), ("4 * width", "0x4 * width")],
    "infinity": [('float("-inf")', "-math.inf")],
    "equations": [("bij,bkj->bik", "n i d, n j d -> n i j")],
    "line ends": [("\n", "\r\n")],
    "broken lines": [
        ("torch.einsum(", "torch.einsum(\n            "),
        ("hidden = self", "hidden = \\\n            self"),
    ],
    "a name for a step": [
        ("return total.flatten(1)", "flat = total.flatten(1)\n        return flat")
    ],
    "no name for a step": [
        ("kept = F.dropout(weights, ", "kept = F.dropout(F.softmax(scores / 2.0, dim=-1), "),
        ("        weights = F.softmax(scores / 2.0, dim=-1)\n", ""),
    ],
    "functions for methods": [
        ("scores.masked_fill(", "torch.masked_fill(scores, "),
        ("total.flatten(1)", "torch.flatten(total, 1)"),
    ],
    "functions for operators": [
        ("torch.stack(rows) @ hidden", "torch.matmul(torch.stack(rows), hidden)"),
        ("~mask", "torch.logical_not(mask)"),
    ],
    "in place": [
        ("scores = scores.masked_fill(", "scores.masked_fill_("),
        ("total[0] += 1.5", "total[0].add_(1.5)"),
    ],
    "text": [('f"{width + 1} wide"', '"as \\d"')],
    "names of arguments": [("dim=1, keepdim=True", "1, True")],
    "other names of torch": [(".view(", ".reshape("), (".transpose(", ".swapaxes(")],
    "an expression for a statement": [
        (
            "        if mask.any():\n            total = total.relu()\n        else:\n            total = total.tanh()\n",
            "        total = total.relu() if mask.any() else total.tanh()\n",
        )
    ],
}


@pytest.mark.parametrize("changes", NO_TRACE.values(), ids=NO_TRACE)
def test_what_leaves_no_trace(changes: list[tuple[str, str]]) -> None:
    """A copy that differs in this alone shares all that is its own, and has nothing else."""
    text = PLAIN
    for was, now in changes:
        assert was in text
        text = text.replace(was, now)
    with warnings.catch_warnings(action="ignore"):
        ast.parse(text)
    whole = own(PLAIN, [])
    pair = likenesses({"a": PLAIN, "b": text}, [])[0]
    assert (pair.share, pair.shared) == (1.0, whole)
    assert own(text, []) == whole


def test_the_order_of_methods_leaves_no_trace() -> None:
    """Methods in another order say the same."""
    head, init, forward = (
        part if number == 0 else f"    def {part}"
        for number, part in enumerate(PLAIN.split("    def "))
    )
    assert likenesses({"a": PLAIN, "b": f"{head}{forward}\n{init}"}, [])[0].shared == own(PLAIN, [])


@pytest.mark.parametrize(
    ("was", "now"),
    [
        pytest.param("softmax", "sigmoid", id="a function of torch"),
        pytest.param("cumsum(0)", "cumsum(1)", id="a number"),
        pytest.param(" @ hidden", " * hidden", id="an operator"),
        pytest.param("bij,bkj->bik", "bij,bkj->bki", id="an equation"),
        pytest.param("len(x)", "sum(x)", id="a function of Python"),
        pytest.param(
            "super().__init__()",
            "super().__init__()\n        self.late = nn.Identity()",
            id="one step more",
        ),
        pytest.param("for row in kept:", "while row in kept:", id="a kind of loop"),
        pytest.param(
            "        else:\n            total = total.tanh()",
            "        total = total.tanh()",
            id="a branch",
        ),
    ],
)
def test_what_is_seen(was: str, now: str) -> None:
    """A change of what is done is a difference."""
    whole = own(PLAIN, [])
    assert was in PLAIN
    assert (
        likenesses({"a": PLAIN, "b": PLAIN.replace(was, now)}, [], least_shared=1)[0].shared < whole
    )


# Whom a pair names, and where


def numbered(*steps: int) -> str:
    """A file of such steps, of which no two share a fingerprint."""
    return "import torch\n" + "".join(
        f"x = torch.f{step}(x, {step}).g{step}(h{step}, {step + 1000}).i{step}(x)\n"
        for step in steps
    )


def test_lines_to_compare() -> None:
    """The three longest common passages come with the lines of both files, in the order of the first; what lies between is not in them."""
    one = numbered(
        *range(100, 108),
        *range(10, 16),
        *range(200, 206),
        *range(30, 34),
        *range(210, 213),
        *range(40, 42),
        *range(220, 223),
        *range(50, 53),
    )
    other = "\n\n" + numbered(
        *range(30, 34),
        *range(300, 305),
        *range(10, 16),
        *range(310, 313),
        *range(40, 42),
        *range(320, 323),
        *range(50, 53),
    )
    (pair,) = likenesses({"one": one, "other": other}, [], least_share=0.3)
    assert pair.passages == (
        Passage((10, 15), (13, 18)),
        Passage((22, 25), (4, 7)),
        Passage((34, 36), (27, 29)),
    )
    assert not pair.same
    assert pair.rare == 1.0


def test_lines_that_follow_each_other_in_one_file_alone() -> None:
    """What is one passage in one file and two in the other are two; and of a step that stands in several places the one that goes on is meant."""
    whole, apart = (
        numbered(*range(10), *range(20, 30)),
        numbered(*range(10), *range(90, 98), *range(20, 30)),
    )
    halves = (Passage((2, 11), (2, 11)), Passage((12, 21), (20, 29)))
    assert likenesses({"a": whole, "b": apart}, [])[0].passages == halves
    assert likenesses({"a": apart, "b": whole}, [])[0].passages == tuple(
        Passage(one.other, one.one) for one in halves
    )
    twice = numbered(*range(5, 8), *range(90, 98), *range(20))
    assert likenesses({"a": numbered(*range(20)), "b": twice}, [])[0].passages == (
        Passage((2, 21), (13, 32)),
    )


def test_lines_of_a_function_within_a_function() -> None:
    """Its lines stand between those of the other, and in their order."""
    text = "def f(x):\n" + "".join(
        f"    x = x.f{step}(h{step}).g{step}(i{step})\n" for step in range(20)
    )
    nested = text.replace(
        "    x = x.f10(",
        "    def inner(x):\n"
        + "".join(f"        x = x.a{step}(b{step}).c{step}(d{step})\n" for step in range(6))
        + "    x = x.f10(",
    )
    (pair,) = likenesses({"a": nested, "b": nested.replace("x", "y")}, [])
    assert pair.passages == (Passage((2, 28), (2, 28)),)


def test_the_smaller_one_counts() -> None:
    """A copy within a longer file is as much a copy."""
    short, long = numbered(*range(10)), numbered(*range(50, 80), *range(10), *range(90, 120))
    (pair,) = likenesses({"short": short, "long": long}, [])
    assert (pair.one, pair.other) == ("long", "short")
    assert pair.share > 0.9


def test_what_is_known_does_not_count() -> None:
    """The same class, when one of the texts is known: what remains is theirs alone."""
    common = list(range(12))
    sources = {"a": numbered(*common, *range(20, 32)), "b": numbered(*common, *range(40, 52))}
    (pair,) = likenesses(sources, [], least_share=0.3)
    assert pair.shared > LEAST_SHARED
    assert likenesses(sources, [numbered(*common)], least_share=0.3) == []


def test_what_half_of_the_class_has_does_not_count() -> None:
    """A text that 30 of 60 have, each with names of their own, pairs none of them; of 5 in 60 it pairs all."""
    others = {
        f"z{number}": numbered(*range(100 + 20 * number, 115 + 20 * number)) for number in range(60)
    }

    def class_of(many: int) -> dict[str, str]:
        return dict(list(others.items())[many:]) | {
            f"a{number:02}": numbered(*range(20)).replace("x", f"name_{number}")
            for number in range(many)
        }

    assert likenesses(class_of(30), []) == []
    pairs = likenesses(class_of(5), [])
    assert {student for pair in pairs for student in (pair.one, pair.other)} == {
        f"a{number:02}" for number in range(5)
    }
    assert likenesses(class_of(2), [])[0].rare == 1.0 > pairs[0].rare > 0.5


def test_a_group_of_the_same() -> None:
    """Of 500 who hand in one file, a few with other layout and comments, each is paired with the first, who alone is paired with a disguised copy."""
    challenge = by_name("mha")
    text = also_right(challenge)["own_backward"]
    sources = {f"s{number:03}": text for number in range(500)}
    sources["s007"] = "# Mine.\n\n" + text.replace("    ", "\t").replace("\n\n", "\n  # here\n")
    sources["r"] = disguised(text, challenge)
    pairs = likenesses(dict(reversed(sources.items())), known_of(challenge))
    assert couples(pairs) == [
        *(("s000", f"s{number:03}") for number in range(1, 500)),
        ("r", "s000"),
    ]
    assert [pair.same for pair in pairs] == [True] * 499 + [False]
    assert all(pair.share == 1.0 and pair.passages for pair in pairs[:-1])
    shifted = next(pair for pair in pairs if pair.other == "s007")
    assert all(lines.other[0] > lines.one[0] for lines in shifted.passages)


def test_the_order_of_pairs() -> None:
    """Copies first, then by the share, then by how much is shared."""
    texts = {
        "same": numbered(*range(10)),
        "much": numbered(*range(20, 60)),
        "little": numbered(*range(60, 90)),
    }
    sources = {f"{name} {which}": text for name, text in texts.items() for which in "ab"} | {
        "half a": numbered(*range(90, 100))
    }
    sources |= {
        f"{name} b": text.replace("x", "y") for name, text in texts.items() if name != "same"
    }
    sources |= {"half b": numbered(*range(90, 98), *range(100, 108))}
    assert [pair.one for pair in likenesses(sources, [])] == [
        "same a",
        "much a",
        "little a",
        "half a",
    ]


def test_short_files_that_are_the_same() -> None:
    """Names and all are evidence as well: of the same text half as much is enough, but next to nothing is not."""
    enough, less = numbered(1, 2, 3), numbered(1)
    assert 5 <= likenesses({"a": enough, "b": enough}, [])[0].shared < LEAST_SHARED
    assert likenesses({"a": enough, "b": enough.replace("x", "y")}, []) == []
    assert likenesses({"a": less, "b": less}, []) == []


def test_many_who_are_nearly_the_same() -> None:
    """In a ring of 30, of whom each changed something, everybody is named, in a number of pairs that a person can read."""
    ring = {f"r{number:02}": numbered(*range(30), 1000 + number) for number in range(30)}
    pairs = likenesses(
        ring
        | {
            f"z{number}": numbered(*range(2000 + 20 * number, 2020 + 20 * number))
            for number in range(100)
        },
        [],
    )
    assert {student for pair in pairs for student in (pair.one, pair.other)} == set(ring)
    assert len(pairs) <= 3 * len(ring)


def test_time_grows_with_the_class() -> None:
    """However many have a fingerprint, only so many pairs of each are compared in full."""
    held = [frozenset({*range(50), 1000 + number, 2000 + number // 2}) for number in range(300)]
    weights = Counted({one: 1.0 for mine in held for one in mine})
    found = _candidates(held, weights)
    assert len(found) <= _LOOKED_AT * len(held)
    assert {(number, number + 1) for number in range(0, 300, 2)} <= set(found)
    assert weights.looked_up <= 20 * sum(len(mine) for mine in held)
    assert _candidates(held, _weights(held)) == [
        (number, number + 1) for number in range(0, 300, 2)
    ]


class Counted(dict[int, float]):
    """Counts how often it is asked."""

    looked_up = 0

    def __getitem__(self, key: int) -> float:
        self.looked_up += 1
        return super().__getitem__(key)


@pytest.mark.parametrize(
    "sources",
    [{}, {"a": PLAIN}, {"a": "", "b": ""}, {"a": "x = 1", "b": "x = 1"}],
    ids=["nobody", "one", "nothing", "next to nothing"],
)
def test_nobody_is_alike(sources: dict[str, str]) -> None:
    """Without two files that say something there is no pair, whatever the thresholds."""
    assert likenesses(sources, []) == []
    assert likenesses(sources, [], least_shared=0, least_share=0) == []


SCRIPT = """
import sys
from tests.test_likeness import also_right, by_name, disguised, known_of, likenesses
challenge = by_name("rope")
sources = also_right(challenge)
sources |= {f"copy of {name}": disguised(text, challenge) for name, text in sources.items()}
names = sorted(sources, reverse=sys.argv[1] == "turned")
print(likenesses({name: sources[name] for name in names}, known_of(challenge), least_shared=1, least_share=0.05))
"""


def test_the_same_in_every_process() -> None:
    """Neither Python's random hashes nor the order in which files are found change a digit."""
    root = Path(__file__).resolve().parents[1]
    answers = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT, order],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, order in (("1", "straight"), ("2", "turned"))
    ]
    assert answers[0] == answers[1]
    assert answers[0].count("Pair(") >= 7


# Hostile text

HOSTILE = {
    "open brackets": "(" * 2**20,
    "open brackets on lines": "(\n" * 2**18,
    "minus signs": "-" * 2**20 + "1",
    "a long chain": "x" + ".a" * 300_000,
    "calls of calls": "f" + "()" * 5_000,
    "a sum of 900": "x = (" + ("+1" * 100 + "\n") * 9 + ")",
    "a sum of 100,000": "x = 1" + " + 1" * 100_000,
    "branch after branch": "if 1:\n pass\n" + "elif 1:\n pass\n" * 3_000,
    "deeper and deeper": "\n".join(" " * depth + "if x:" for depth in range(99))
    + "\n"
    + " " * 99
    + "pass",
    "lambdas": "lambda: " * 5_000 + "1",
    "a long file": "x = y.exp() + 1\n" * 60_000,
    "a wide line": "a;" * 90_000,
    "wide lines": ("x = y" + ".a" * 450 + "\n") * 1_500,
    "wide statements": ("f(\n" + ("x" * 390 + ",\n") * 28 + ")\n") * 10,
    "an open string": "'" * 2**20,
    "an open text": '"""' + "a\n" * 2**18,
    "line ends": "\r\n" * 2**18,
    "backslashes": "\\\n" * 2**18,
    "a large number": "x = 0x" + "f" * 40_000 + " + " + "9" * 5_000,
    "a larger number": "x = 1e999 + 1e999j",
    "a wrong escape": "x = '\\d' is 1",
    "surrogates": "x = '\ud800'\ny.\udc80\nz = torch.exp(x)",
    "a null": "x = 1\0\n",
    "no letters": "\x1b[2J\x07\x08",
    "names of all kinds": "é = ñ.exp()\nclass _: __ = ___\n",
    "all statements": "async def f():\n async with a as b: await c()\n async for x in y: yield x\nmatch f:\n case [1, *_]: del x\nwith a: pass\n"
    "try: pass\nexcept* E as e: raise\nglobal q\n(n := 1)\nx[1:2, ...] @= {**a, 'b': {1, 2}}\nprint(*a, **b)\nf'{x!r:>{y}}'\nassert x, y\n"
    "lambda x, *y, z=1, **k: (yield)\n@a.b\ndef g(*, a): nonlocal q\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text(text: str) -> None:
    """Whatever one hands in, as a student or as what is known, others are compared all the same, and it is not paired with them."""
    pairs = likenesses(
        {
            "a": PLAIN,
            "b": PLAIN.replace("hidden", "h"),
            "hostile": text,
            "more": text + "\nz = 1\n",
        },
        [text],
    )
    assert couples(pairs) == [("a", "b")]


def test_statements_of_all_kinds_are_read() -> None:
    """The hostile text with all statements in it parses: it is not only read line by line."""
    ast.parse(HOSTILE["all statements"].replace("nonlocal q", "pass"))


def test_how_much_of_hostile_text_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """No text gives the parser or the comparison more than so much, and a line of any length is none."""
    given: list[int] = []
    parsed = likeness._parsed
    monkeypatch.setattr(
        likeness, "_parsed", lambda text: (given.append(len(text)), parsed(text))[1]
    )
    for text in [*HOSTILE.values(), PLAIN * 20_000]:
        given.clear()
        words = sum(len(run) for run in likeness._runs(text))
        assert max(given[:1], default=0) <= 50_000
        assert max(given[1:], default=0) <= 2_005
        assert sum(given) <= 1_000_000
        assert words <= 3_000


BROKEN = {
    "a line": PLAIN.replace("        rows = []\n", "        rows = [\n"),
    "an indent": PLAIN.replace("        kept =", "     kept ="),
    "another language": PLAIN + "\nprint 'done'\n",
    "far too long": PLAIN + "\n# " + "x" * 60_000,
    "a null at its end": PLAIN + "\0",
    "a bracket at its end, and lines that are broken within brackets": PLAIN.replace(
        "(", "(\n    "
    ).replace("[", "[  # here\n  ")
    + ")",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_a_copy_that_does_not_parse(text: str) -> None:
    """A copy is found by the lines that can be read, and they stand where they stand."""
    (pair,) = likenesses({"a": PLAIN, "b": text.replace("hidden", "h")}, [])
    assert pair.shared >= 0.7 * own(PLAIN, [])
    assert pair.passages[0].one[0] == 9
    assert (
        text.split("\n")[pair.passages[0].other[0] - 1].strip()[:6]
        == PLAIN.split("\n")[8].strip()[:6]
    )


def test_line_by_line_nothing_is_added() -> None:
    """A file that does not parse says nothing that it would not say if it did: its functions are read apart from each other."""
    broken = PLAIN.replace("        else:\n", "") + ")"
    whole = PLAIN.replace("        else:\n            total", "        total")
    assert likenesses({"a": broken, "b": whole + numbered(*range(20))}, [])[0].share == 1.0


# As people read it

COPIES = [
    Pair("ana", f"s{number:02}", 1.0, 12, 1.0, (Passage((3, 9), (4, 10)),), same=True)
    for number in range(30)
]
ALIKE = Pair(
    "bo\x1b[31m",
    "=cmd()\u202e, " + "n" * 60,
    0.923,
    31,
    0.875,
    (Passage((3, 9), (20, 31)), Passage((12, 12), (40, 44))),
)


def test_the_table() -> None:
    """One row a pair; students are spelt as in grades.csv, and lines so that no spreadsheet takes them for a day."""
    table = list(
        csv.reader(io.StringIO(likeness_csv([("c-1", COPIES[:1]), ("c-2", []), ("c-3", [ALIKE])])))
    )
    spelt = [
        cells(Result(schema="", student=student, challenge="c", file="", verdict="failed"))[0]
        for student in (ALIKE.one, ALIKE.other)
    ]
    assert table == [
        list(COLUMNS),
        ["c-1", "ana", "s00", "1.00", "12", "1.00", "yes", "L3-L9", "L4-L10"],
        ["c-3", *spelt, "0.92", "31", "0.88", "no", "L3-L9 L12-L12", "L20-L31 L40-L44"],
    ]
    assert spelt[1].startswith("'=")


def test_the_text() -> None:
    """It begins by saying that it is a hint; a group is one sentence, a pair has the lines of both, and nothing of a name acts on the terminal."""
    text = likeness_text([("c-1", [*COPIES, ALIKE])])
    assert " ".join(text.split()).startswith(HINT)
    assert (
        "31 files are the same but for layout and comments: ana, s00, s01, s02, s03, s04,"
        in " ".join(text.split())
    )
    assert "s06 and 23 more." in " ".join(text.split())
    assert "s07" not in text
    assert "92% of what is the shorter one's own, in 31 places" in " ".join(text.split())
    assert "    bo\\x1b[31m: lines 3-9, 12\n    =cmd()\\u202e, nnn" in text
    assert "n" * 41 not in text
    assert all(one.isprintable() or one == "\n" for one in text)
    assert all(len(line) <= 80 for line in text.split("\n"))


def test_the_text_of_many_pairs() -> None:
    """After twenty pairs of a challenge it says how many more there are."""
    pairs = [Pair(f"a{number}", f"b{number}", 0.8, 20, 1.0, ()) for number in range(23)]
    text = likeness_text([("c-1", pairs)])
    assert "a19 and b19" in text
    assert "a20" not in text
    assert text.endswith("and 3 more")


def test_the_text_of_nothing() -> None:
    """Where nobody is alike it says so, and that this proves nothing."""
    assert "No two submissions are alike" in likeness_text([("c-1", []), ("c-2", [])])
    assert "no proof" in " ".join(likeness_text([]).split())
    assert likeness_csv([]) == ",".join(COLUMNS) + "\n"
