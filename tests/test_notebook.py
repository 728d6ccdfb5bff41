"""`check` for notebooks: sources put together from live cells, the report, and the sentences where it cannot be done."""

import html
import itertools
import json
import linecache
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest
import torch
from torch import nn

import trainer
from tests.test_cli import drill
from trainer import check
from trainer.content import packs
from trainer.core.words import DrillError, GraderError
from trainer.notebook import live as notebook
from trainer.notebook.live_source import assembled

GQA = packs.solution(packs.find_challenge(packs.built_in_pack(), "gqa"))
IMPORTS, BODY = GQA[: GQA.index("class ")], GQA[GQA.index("class ") :]
RENAMED = BODY.replace("class GroupedQueryAttention", "class MyAttention")
TILED = RENAMED.replace(
    "k = k.repeat_interleave(group_size, dim=1)", "k = k.repeat(1, group_size, 1, 1)"
)
MASKS = packs.solution(packs.find_challenge(packs.built_in_pack(), "masks"))
_NUMBERS = itertools.count(1)


class Notebook:
    """Cells that run as a kernel runs them: in one namespace, their lines kept by linecache."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.files: list[str] = []

    def run(self, *cells: str) -> "Notebook":
        """Run cells."""
        for cell in cells:
            file = f"<ipython-input-{next(_NUMBERS)}-abc>"
            self.files.append(file)
            linecache.cache[file] = (len(cell), None, cell.splitlines(keepends=True), file)
            exec(compile(cell, file, "exec"), self.names)
        return self

    def __getitem__(self, name: str) -> Any:
        return self.names[name]


@pytest.fixture
def cells() -> Iterator[Notebook]:
    """A notebook without cells; its lines are forgotten after the test."""
    made = Notebook()
    yield made
    for file in made.files:
        linecache.cache.pop(file, None)


def defined_by(source: str) -> dict[str, Any]:
    """What a file of this text defines."""
    namespace: dict[str, Any] = {"__name__": "submission"}
    exec(compile(source, "submission.py", "exec"), namespace)
    return namespace


@pytest.mark.parametrize(
    "written",
    [
        pytest.param(["def probe(x):\n    return x + 1\n"], id="a function alone"),
        pytest.param(
            ["def one(x):\n    return x + 1\n", "def probe(x):\n    return one(x) * 2\n"],
            id="helper from another cell",
        ),
        pytest.param(
            ["def probe(x):\n    return later(x)\n", "def later(x):\n    return x * 3\n"],
            id="helper from a later cell",
        ),
        pytest.param(
            [
                "import math\nimport os.path as paths\ndef probe(x):\n    return math.sqrt(x), paths.join('a', 'b')\n"
            ],
            id="modules, one renamed",
        ),
        pytest.param(
            [
                "import torch\nimport torch.nn.functional as F\ndef probe(x):\n    return F.relu(torch.tensor(float(x))).item()\n"
            ],
            id="torch",
        ),
        pytest.param(
            [
                "from math import sqrt as root, floor\nfrom torch import softmax, einsum\ndef probe(x):\n    return root(x), floor(x), softmax.__name__, einsum.__name__\n"
            ],
            id="functions of packages",
        ),
        pytest.param(
            [
                "import xml\nimport xml.dom.minidom\ndef probe(x):\n    return xml.dom.minidom.parseString('<a/>').documentElement.tagName\n"
            ],
            id="a module within a module",
        ),
        pytest.param(
            [
                "A = 3\nB = (1, 'two', None, [4.5, float('inf')], {'k': {6}}, set(), b'7', (8,))\ndef probe(x):\n    return x + A, B\n"
            ],
            id="constants",
        ),
        pytest.param(
            [
                "import torch\nDTYPE, DEVICE = torch.float16, torch.device('cpu')\ndef probe(x):\n    return str(torch.zeros(1, dtype=DTYPE, device=DEVICE).dtype)\n"
            ],
            id="torch's constants",
        ),
        pytest.param(
            [
                "def again(function):\n    def twice(x):\n        return function(function(x))\n    return twice\n",
                "@again\ndef other(x):\n    return x + 1\n",
                "def probe(x):\n    return other(x)\n",
            ],
            id="own decorator without wraps",
        ),
        pytest.param(
            [
                "import functools\ndef again(function):\n    @functools.wraps(function)\n    def twice(x):\n        return function(function(x))\n    return twice\n",
                "@again\ndef probe(x):\n    return x + 1\n",
            ],
            id="own decorator with wraps",
        ),
        pytest.param(
            [
                "from functools import lru_cache\nimport torch\n@lru_cache(maxsize=None)\ndef inner(x):\n    return x + 1\n@torch.no_grad()\ndef probe(x):\n    return inner(x)\n"
            ],
            id="decorators of packages",
        ),
        pytest.param(
            [
                "class Base:\n    def value(self, x):\n        return x + 1\n",
                "class Own(Base):\n    pass\n",
                "def probe(x):\n    return Own().value(x)\n",
            ],
            id="own classes, one without a method",
        ),
        pytest.param(
            [
                "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Config:\n    width: int = 8\n",
                "def probe(x, config=Config(3)):\n    return config.width + x\n",
            ],
            id="a dataclass as a default",
        ),
        pytest.param(
            [
                "import enum\nclass Kind(enum.Enum):\n    ONE = 1\n    TWO = 2\n",
                "def probe(x):\n    return Kind.TWO.value + x\n",
            ],
            id="an enum",
        ),
        pytest.param(
            ["double = lambda x: 2 * x\n", "def probe(x):\n    return double(x)\n"],
            id="a lambda with a name",
        ),
        pytest.param(
            [
                "def first(x):\n    return x + 1\nsecond = first\ndef probe(x):\n    return second(x)\n"
            ],
            id="a second name",
        ),
        pytest.param(
            [
                "def even(x):\n    return x == 0 or odd(x - 1)\ndef odd(x):\n    return x != 0 and even(x - 1)\ndef probe(x):\n    return even(x)\n"
            ],
            id="functions that call each other",
        ),
        pytest.param(
            [
                "class Base:\n    @staticmethod\n    def make():\n        return Derived()\n    def value(self):\n        return 1\n",
                "class Derived(Base):\n    def value(self):\n        return 2\n",
                "def probe(x):\n    return Base.make().value()\n",
            ],
            id="a base that makes what is derived from it",
        ),
        pytest.param(
            [
                "if True:\n    def probe(x):\n        '''Two\nlines.'''\n        return x, probe.__doc__\n"
            ],
            id="below an if",
        ),
        pytest.param(
            ["def probe(x):\n    return 1\n", "def probe(x):\n    return 2\n"],
            id="the newer of two",
        ),
        pytest.param(
            ["table = [object()]\ndef probe(x: table) -> table:\n    return x\n"],
            id="a thing in annotations alone",
        ),
        pytest.param(
            [
                "from __future__ import annotations\ndef probe(x: NotThere) -> NotThere:\n    return x\n"
            ],
            id="annotations that are never evaluated",
        ),
        pytest.param(
            [
                "def probe(x):\n    try:\n        return not_there\n    except NameError:\n        return 'missing'\n"
            ],
            id="a name that is not there",
        ),
        pytest.param(
            ["COUNT = 5\ndef probe(x):\n    global COUNT\n    COUNT += x\n    return COUNT\n"],
            id="a global that it changes",
        ),
        pytest.param(
            ["size = 9\ndef probe(x):\n    size = 2\n    return [size for _ in range(x)]\n"],
            id="a local name like a global one",
        ),
        pytest.param(
            [
                "HALF = 0.5\nclass Own:\n    scale = HALF\n    def value(self, by=HALF):\n        return self.scale + by\n",
                "def probe(x):\n    return Own().value()\n",
            ],
            id="constants that a class reads at once",
        ),
        pytest.param(
            [
                "def outer(x):\n    return x + 1\nclass Own:\n    run = staticmethod(outer)\n",
                "def probe(x):\n    return Own.run(x)\n",
            ],
            id="a function that a class takes in",
        ),
        pytest.param(
            [
                "class Own:\n    @property\n    def value(self):\n        return helper()\n",
                "def helper():\n    return 4\n",
                "def probe(x):\n    return Own().value\n",
            ],
            id="a property",
        ),
    ],
)
def test_what_a_function_uses_comes_along(cells: Notebook, written: list[str]) -> None:
    """The file that is put together gives what the live function gives."""
    cells.run(*written)
    source = assembled({"probe": cells["probe"]})
    assert defined_by(source)["probe"](4) == cells["probe"](4)


def test_only_what_is_used_comes_along(cells: Notebook) -> None:
    """Other cells, and other lines of the same cell, stay behind."""
    cells.run(
        "import torch\nimport math\nunused = 1\n",
        "def other():\n    return unused\n\n\ndef probe(x):\n    return math.floor(x)  # kept\n\nprint_me = probe(1.5)\n",
    )
    assert (
        assembled({"probe": cells["probe"]})
        == "import math\n\n\ndef probe(x):\n    return math.floor(x)  # kept\n"
    )


def test_modules_within_modules_are_imported(cells: Notebook) -> None:
    """Where the package alone does not import them, as in a fresh interpreter; and no others."""
    cells.run(
        "import xml\nimport xml.dom.minidom\nimport xml.sax\ndef probe(x):\n    return xml.dom.minidom.parseString('<a/>').documentElement.tagName\n"
    )
    source = assembled({"probe": cells["probe"]})
    assert source.splitlines()[:3] == ["import xml", "import xml.dom.minidom", ""]


def test_the_newest_of_two_classes_without_methods(cells: Notebook) -> None:
    """Classes of the same attributes have nothing that tells their cells apart but their age."""
    cells.run(
        "class Sizes:\n    width = 1\n",
        "class Sizes:\n    width = 2\n",
        "def probe(x):\n    return Sizes.width\n",
    )
    assert defined_by(assembled({"probe": cells["probe"]}))["probe"](0) == 2


def test_a_renamed_class_gets_the_asked_name(cells: Notebook) -> None:
    """The last line gives the class the name that the challenge asks for; its text stays as it is."""
    cells.run(IMPORTS, RENAMED)
    source = assembled({"Asked": cells["MyAttention"]})
    assert source.endswith("\n\n\nAsked = MyAttention\n")
    assert RENAMED.strip() in source
    assert defined_by(source)["Asked"].__name__ == "MyAttention"


def test_a_base_may_have_the_asked_name(cells: Notebook) -> None:
    """A second version built on the first, which has the name already."""
    cells.run(
        "class Asked:\n    def value(self):\n        return 1\n",
        "class Better(Asked):\n    def value(self):\n        return super().value() + 1\n",
    )
    assert defined_by(assembled({"Asked": cells["Better"]}))["Asked"]().value() == 2


def test_classes_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes from a file of one's own is taken along as from a cell, as the file is now."""
    (tmp_path / "own_helper.py").write_text("SCALE = 3\n\n\ndef scaled(x):\n    return SCALE * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    made = Notebook().run("from own_helper import scaled as s\ndef probe(x):\n    return s(x)\n")
    try:
        assert defined_by(assembled({"probe": made["probe"]}))["probe"](2) == 6
    finally:
        sys.modules.pop("own_helper")


CLASS = "class Mine:\n    def forward(self, x):\n        return x\n"


@pytest.mark.parametrize(
    ("written", "name", "says"),
    [
        pytest.param(
            ["import torch\ntable = torch.zeros(3)\ndef probe(x):\n    return x + table\n"],
            "probe",
            r"can't take `table` \(a Tensor\), which probe uses, along; make it inside probe",
            id="a tensor",
        ),
        pytest.param(
            [
                "from torch import nn\nlayer = nn.Identity()\n",
                "def helper(x):\n    return layer(x)\n",
                "def probe(x):\n    return helper(x)\n",
            ],
            "probe",
            r"can't take `layer` \(an Identity\), which helper uses",
            id="a layer of a helper",
        ),
        pytest.param(
            ["big = list(range(10_000))\ndef probe(x):\n    return big\n"],
            "probe",
            r"can't take `big` \(a list\)",
            id="a long list",
        ),
        pytest.param(
            ["loop = []\nloop.append(loop)\ndef probe(x):\n    return loop\n"],
            "probe",
            r"can't take `loop` \(a list\)",
            id="a list in itself",
        ),
        pytest.param(
            [
                "def make(n):\n    def add(x):\n        return x + n\n    return add\n",
                "probe = make(1)\n",
            ],
            "probe",
            r"probe is a function made inside make",
            id="a closure",
        ),
        pytest.param(
            [
                "def make(n):\n    return lambda x: x + n\n",
                "add = make(1)\ndef probe(x):\n    return add(x)\n",
            ],
            "probe",
            r"add is a function made inside make",
            id="a closure of a helper",
        ),
        pytest.param(
            [
                "def make():\n    class Inner:\n        def forward(self):\n            return 1\n    return Inner\nMine = make()\n"
            ],
            "Mine",
            r"Inner is defined inside make",
            id="a class in a function",
        ),
        pytest.param(
            ["class Outer:\n    class Inner:\n        pass\nMine = Outer.Inner\n"],
            "Mine",
            r"Inner is defined inside Outer",
            id="a class in a class",
        ),
        pytest.param(
            [CLASS, "def forward(self, x):\n    return x + 1\nMine.forward = forward\n"],
            "Mine",
            r"Mine\.forward was put on the class after it was made",
            id="a method put on later",
        ),
        pytest.param(
            [CLASS, "class Two(Mine):\n    def other(self):\n        return 1\n", CLASS],
            "Two",
            r"Two is built on an older Mine than the one there is now\. Run the cell of Two again",
            id="a base that was made anew",
        ),
        pytest.param(
            ["exec('def probe(x):\\n    return x')\n"],
            "probe",
            r"The source of probe, which was made in <string>, cannot be had\. .*save it to a file and run `attn-drill check",
            id="made by exec",
        ),
        pytest.param(
            ["exec('class Mine:\\n    def forward(self):\\n        return 1')\n"],
            "Mine",
            r"The source of Mine, which was made in <string>, cannot be had",
            id="a class made by exec",
        ),
        pytest.param(
            ["Mine = type('Mine', (), {})\n"],
            "Mine",
            r"The source of Mine cannot be had",
            id="a class without text",
        ),
        pytest.param(
            ["from torch import softmax as probe\n"],
            "probe",
            r"softmax comes from torch, not from you",
            id="written in C",
        ),
        pytest.param(
            ["from torch.nn import MultiheadAttention as Mine\n"],
            "Mine",
            r"MultiheadAttention comes from torch\.nn\.modules\.activation, not from you",
            id="of a package",
        ),
        pytest.param(
            [
                "def probe(x):\n    return 1\n",
                "def old(x):\n    return probe(x)\n",
                "kept = probe\n",
                "def probe(x):\n    return kept(x), old(x)\n",
            ],
            "probe",
            r"Two different things are called probe",
            id="two of one name",
        ),
    ],
)
def test_what_cannot_come_along_is_named(
    cells: Notebook, written: list[str], name: str, says: str
) -> None:
    """One sentence that names the thing and says what to do."""
    cells.run(*written)
    with pytest.raises(DrillError, match=says) as raised:
        assembled({name: cells[name]})
    assert len(str(raised.value).splitlines()) == 1


def test_a_module_of_ones_own_is_named(
    cells: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker sees installed packages only."""
    (tmp_path / "own_tools.py").write_text("def f(x):\n    return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    cells.run("import own_tools as tools\ndef probe(x):\n    return tools.f(x)\n")
    sys.modules.pop("own_tools")
    with pytest.raises(
        DrillError, match=r"can't take the module `tools` \(.*own_tools\.py\), which probe uses"
    ):
        assembled({"probe": cells["probe"]})


def test_another_thing_of_the_asked_name_is_named(cells: Notebook) -> None:
    """A function that looks the asked name up would find the wrong class."""
    cells.run(
        "class Asked:\n    def value(self):\n        return 1\n",
        "class Better(Asked):\n    def value(self):\n        return Asked.value(self) + 1\n",
    )
    with pytest.raises(DrillError, match="Better uses another Asked of yours"):
        assembled({"Asked": cells["Better"]})


def text_of(page: str) -> str:
    """What a browser would show."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def test_a_right_class_passes(cells: Notebook, tmp_path: Path) -> None:
    """The report shows itself as text and as HTML, and the attempt is in the journal."""
    cells.run(
        IMPORTS,
        "FILL = float('-inf')\ndef to_weights(scores):\n    return torch.softmax(scores, dim=-1)\n",
        RENAMED.replace("torch.softmax(scores, dim=-1)", "to_weights(scores)").replace(
            'float("-inf")', "FILL"
        ),
    )
    found = check("gqa", cells["MyAttention"], seed=7)
    assert found.passed
    assert repr(found) == str(found) == found.text
    assert found.text.startswith(
        "PASSED  gqa  14 of 14 checks passed   seed 7\ngqa (from MyAttention)\n"
    )
    assert found.report["schema"] == "attn-drill.report/1"
    assert (found.report["verdict"], found.report["seed"], found.report["file"]) == (
        "passed",
        7,
        "gqa (from MyAttention)",
    )
    shown = text_of(found._repr_html_())
    assert "PASSED  gqa" in shown
    assert "to_weights(scores)" in shown
    assert [
        one["state"]
        for one in json.loads(drill("list", "--json", cwd=tmp_path).stdout)
        if one["id"] == "gqa"
    ] == ["passed"]


def test_a_wrong_class_is_told_where_and_why(cells: Notebook) -> None:
    """The line is one of `.source`, the likely mistake is named, and what leads on is a call and no file."""
    cells.run(IMPORTS, TILED)
    found = check("gqa", cells["MyAttention"], seed=3)
    assert not found.passed
    assert found.report["verdict"] == "failed"
    line = found.report["diagnosis"]["first_line"]
    assert "k.repeat(1, group_size, 1, 1)" in found.source.splitlines()[line - 1]
    assert f"line {line}  k = k.repeat(1" in found.text
    assert "The key heads are tiled" in found.text
    assert 'once more   check("gqa", MyAttention, seed=3)' in found.text
    assert "attn-drill hint gqa" in found.text.splitlines()[-1]
    assert not re.search(r"attn-drill (check|trace|repro)", found.text)
    assert f"\n{line:>2}          k = k.repeat(1" in text_of(found._repr_html_())


def test_why_can_be_held_back(cells: Notebook) -> None:
    """As `--no-why` does; the line stays."""
    cells.run(IMPORTS, TILED)
    found = check("gqa", cells["MyAttention"], seed=3, why=False)
    assert "The key heads are tiled" not in found.text
    assert "The key heads are tiled" not in found._repr_html_()
    assert "k = k.repeat(1" in found.text


@pytest.mark.parametrize("way", ["by name", "one renamed", "dict", "module"])
def test_several_functions(cells: Notebook, tmp_path: Path, way: str) -> None:
    """By their own names, by a dict, as a module; a single one that is called otherwise is the one left."""
    cells.run(
        MASKS.replace("def causal_mask", "def mine") + "\nmine_too = mine\n"
        if way in ("one renamed", "dict")
        else MASKS
    )
    names = ["padding_mask", "causal_mask", "decoder_mask", "cross_attention_mask"]
    if way == "module":
        module = ModuleType("answers")
        module.__file__ = str(tmp_path / "answers.py")
        (tmp_path / "answers.py").write_text(MASKS)
        given: list[Any] = [module]
    elif way == "dict":
        given = [{name: cells.names.get(name, cells.names.get("mine")) for name in names}]
    else:
        given = [cells.names.get(name, cells.names.get("mine")) for name in names]
    found = check("masks", *given, seed=5)
    assert found.passed, found.text
    assert found.report["file"] == (
        module.__file__
        if way == "module"
        else f"masks (from {given[0]['padding_mask'].__name__ if way == 'dict' else 'padding_mask'} and 3 more)"
    )


class Instance(nn.Module):
    """No answer, and an instance of it still less."""


@pytest.mark.parametrize(
    ("call", "says"),
    [
        pytest.param(lambda: check("gqq", Instance), r"Did you mean gqa\?", id="no such challenge"),
        pytest.param(
            lambda: check("gqa"),
            r'has nothing to grade; gqa asks for GroupedQueryAttention\. Give it: check\("gqa", GroupedQueryAttention\)',
            id="nothing",
        ),
        pytest.param(
            lambda: check("gqa", Instance()),
            r"check got an object of class Instance; gqa asks for GroupedQueryAttention\. Give the class or function itself",
            id="an instance",
        ),
        pytest.param(
            lambda: check("gqa", "gqa.py"), r"check got 'gqa\.py'; gqa asks", id="a file's name"
        ),
        pytest.param(
            lambda: check("gqa", Instance, nn.Linear),
            r"check got Instance, Linear\. Give these, or say which is which",
            id="two for one",
        ),
        pytest.param(
            lambda: check("masks", test_why_can_be_held_back),
            r"masks asks for padding_mask, causal_mask, decoder_mask, cross_attention_mask; check got test_why",
            id="one for four",
        ),
        pytest.param(lambda: check("gqa", {}), r"check got none", id="an empty dict"),
        pytest.param(
            lambda: check("gqa", ModuleType("made")),
            r"made is no module of yours",
            id="a module without a file",
        ),
        pytest.param(
            lambda: check("gqa", torch), r"torch is no module of yours", id="a whole package"
        ),
        pytest.param(
            lambda: check("gqa", Instance, seed="x"),
            r"seed is 'x'; it must be a whole number",
            id="seed that is no number",
        ),
        pytest.param(
            lambda: check("gqa", Instance, seed=-1),
            r"seed is -1; it must be 0 to",
            id="negative seed",
        ),
    ],
)
def test_wrong_calls(call: FunctionType, says: str) -> None:
    """One sentence, shown without a traceback in a notebook."""
    with pytest.raises(DrillError, match=says) as raised:
        call()
    assert raised.value._render_traceback_() == [f"attn-drill: {raised.value}"]  # type: ignore[attr-defined]


def test_an_interrupt_ends_the_grader(monkeypatch: pytest.MonkeyPatch) -> None:
    """KeyboardInterrupt while it grades: the other interpreter is gone before the exception goes on."""
    started: list[subprocess.Popen[bytes]] = []

    def interrupted(process: subprocess.Popen[bytes], *_: object) -> None:
        started.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess.Popen, "communicate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        notebook._ask({})
    (process,) = started
    assert process.returncode is not None
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()


def test_a_grader_that_dies_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence has the last thing it said."""
    monkeypatch.setattr(notebook, "_CHILD", "raise SystemExit('out of luck')")
    with pytest.raises(GraderError, match="ended without a report: out of luck"):
        notebook._ask({})


def test_trouble_with_the_journal_is_said(
    cells: Notebook,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On stderr, and the verdict is there all the same."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ATTN_DRILL_HOME", str(tmp_path / "file" / "home"))
    cells.run(IMPORTS, RENAMED)
    assert check("gqa", cells["MyAttention"]).passed
    assert "progress is not kept" in capsys.readouterr().err


def test_ascii_and_no_colour(cells: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that has only ASCII gets words for the symbols; NO_COLOR holds for the page too; with colours none is black on a dark page."""
    cells.run(IMPORTS, TILED)
    plain = check("gqa", cells["MyAttention"], seed=3)
    assert "✗ values" in plain.text
    assert "color: #ff8700" in plain.page
    assert "#000000" not in plain.page
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys, "stdout", open(os.devnull, "w", encoding="ascii"))  # noqa: SIM115 - closed below
    try:
        other = check("gqa", cells["MyAttention"], seed=3)
    finally:
        sys.stdout.close()
        monkeypatch.undo()
    assert other.text.isascii()
    assert "X values" in other.text
    assert "ok loads" in other.text
    assert max(map(len, other.text.splitlines())) <= 60
    assert "color" not in other.page
    assert text_of(other.page).split() == text_of(plain.page).split()


def test_importing_the_package_is_light() -> None:
    """`import trainer` loads nothing else of it; `check` needs no torch, rich or typer in the kernel; other names are not there."""
    script = (
        "import sys; import trainer; print([name for name in sys.modules if name.startswith('trainer.')]);"
        "from trainer import check; print(sorted(set(sys.modules) & {'torch', 'numpy', 'rich', 'typer'}), check.__module__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=packs.TRAINER.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["[]", "[] trainer.notebook.live"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", trainer.__version__)
    with pytest.raises(AttributeError, match="no attribute 'grade'"):
        _ = trainer.grade  # type: ignore[attr-defined]
