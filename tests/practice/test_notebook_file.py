"""Tests of making a Python file from the answers in a notebook."""

import json

import pytest

from attn_drill.model.errors import DrillError
from attn_drill.practice import notebook_file
from attn_drill.practice.notebook_file import (
    MOST_PARSED_BYTES,
    cell_line,
    defined_names,
    python_of,
    undefined,
)
from tests.support.classroom import notebook

WANTED = ("f", "A", "GQA")


def kept(*cells: str) -> str:
    """Return the lines that are neither empty nor comments."""
    lines = python_of(notebook(*cells), "a.ipynb", WANTED).split("\n")
    return "\n".join(line for line in lines if line.strip() and not line.startswith("#"))


def test_lines_stay_as_far_below_the_comment_as_in_the_cell() -> None:
    """A cell that the answer does not need is left out, but it counts."""
    cells = (
        "print('hello')",
        "import torch\nprint(torch.__version__)\n\nprint('''a\nb''')\n"
        "def f(x):\n    return torch.abs(x)",
        "assert f(1)",
        "def A():\n    return f(2)\n\nA()\n",
    )
    source = python_of(notebook(*cells), "a.ipynb", ("A",))
    assert source == (
        "# cell 2\nimport torch\n\n\n\n\ndef f(x):\n    return torch.abs(x)\n\n"
        "# cell 4\ndef A():\n    return f(2)\n"
    )
    places = {
        line: cell_line(f"from __future__ import x\n{source}", line) for line in (1, 2, 3, 12)
    }
    assert places == {1: None, 2: None, 3: (2, 1), 12: (4, 1)}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("f = lambda x: x", id="a lambda"),
        pytest.param("async def f():\n    pass", id="async"),
        pytest.param("def f():\n    return 1\ndef f():\n    return 2", id="twice, in order"),
        pytest.param("def g():\n    pass\nf = g", id="another name"),
        pytest.param("if 1:\n    def f():\n        pass", id="a definition in a block"),
        pytest.param("def d():\n    return id\nv = d()\n@v\ndef f():\n    pass", id="a decorator"),
        pytest.param("def d():\n    pass\nv = d()\ndef f(x=v):\n    pass", id="a default"),
        pytest.param("class A:\n    pass\ndef f(self):\n    pass\nA.f = f", id="a method"),
        pytest.param(
            "class A:\n    def g(self):\n        return v\nv = max(1, 2)", id="in a method"
        ),
        pytest.param(
            "from x import C\nc = C(1)\nc.n, c.m = 2, 3\ndef f():\n    c", id="attributes"
        ),
        pytest.param("x: int = 3\nx += 1\ndef f():\n    return x", id="an annotation"),
        pytest.param("from x import *\ndef f():\n    return v", id="a star"),
        pytest.param("import a; print(\n1)\ndef f():\n    return a", id="a shared line"),
        pytest.param("d = 's\u2028t'\ndef f():\n    return d", id="a line separator"),
        pytest.param("class A(nn.Module):\n    pass", id="a missing import"),
        pytest.param("def f():\n    nonlocal x", id="a late syntax error"),
        pytest.param(
            "try:\n    import x\nexcept ImportError:\n    x = 1\ndef f():\n    x()", id="try"
        ),
        pytest.param(
            "import torch, math\nN = 4\nhalf = math.sqrt(N)\nmasks = torch.ones(half)\n"
            "def f(x):\n    return masks.to(x)",
            id="constants of constants",
        ),
    ],
)
def test_everything_that_the_answer_needs_is_kept(text: str) -> None:
    """Definitions, imports and assignments, in order."""
    assert kept(text) == text


ANSWER = "import torch\nclass GQA(torch.nn.Module):\n    pass"


@pytest.mark.parametrize(
    "cell",
    [
        "model = GQA(64, 8)\nout = model(torch.randn(2, 3))\nprint(out)\nassert out.shape",
        "for _ in range(3):\n    GQA(1)",
        "with torch.no_grad():\n    out = GQA(1)",
        "if __name__ == '__main__':\n    out = GQA(2)",
        "try:\n    GQA(7, 2)\nexcept ValueError:\n    pass",
        "if GQA:\n    print(1)",
        "torch.manual_seed(0)",
        "data = open('x.csv').read()",
        "await model",
        "GQA = GQA(1)",
        "GQA = torch.compile(GQA)",
        "from gqa import GQA",
        "import seaborn as sns\ndef plot(x: GQA):\n    sns.heatmap(x)",
        "x = = 1",
        "def test(:\n    GQA(1)",
        "%%bash\nclass GQA",
        "%%HTML\nGQA(",
    ],
)
def test_everything_else_is_left_out(cell: str) -> None:
    """The plots and tests of a notebook do not run, before and after the answer."""
    assert kept(ANSWER, cell) == ANSWER
    assert kept(cell, ANSWER) == ANSWER


@pytest.mark.parametrize(
    "magic",
    [
        *("%matplotlib inline", "!pip install einops \\\n  torch", "?torch.abs", "torch.abs??"),
        *("files = !ls", "t = %timeit -o f(1)", "%%time", "\n%%capture out\n%%time"),
        *("%%drill gqa --seed 3", "%%writefile gqa.py"),
    ],
)
def test_magics_are_left_out(magic: str) -> None:
    """The rest of the cell is kept. A line that only looks like a magic stays."""
    assert kept(f"{magic}\n\ndef f(a):\n    return a") == "def f(a):\n    return a"
    assert kept("    %time\n    def f():\n        %time g()") == "def f():\n    pass"
    answer = "b = 2\ndef f(a):\n    return (a\n      %b)"
    assert kept(answer) == answer


def test_broken_cell_is_kept_only_if_the_answer_needs_it() -> None:
    """The student reads the syntax error, and not that a function is missing."""
    broken = "print(1)\n%time\ndef g(:\n    pass"
    assert kept("def f():\n    return g()", broken).endswith("\nprint(1)\ndef g(:\n    pass")
    assert kept("def f():\n    pass", broken) == "def f():\n    pass"
    assert kept(broken.replace("g(", "f(")) == "print(1)\ndef f(:\n    pass"


def test_imports_from_future_come_first() -> None:
    """Python allows them nowhere else. No other line moves."""
    future = "from __future__ import annotations"
    cells = ("def f():\n    pass", f"{future}\ndef A():\n    pass")
    source = python_of(notebook(*cells), "a.ipynb", WANTED)
    compile(source, "a.py", "exec")
    assert source.startswith(f"{future}\n\n# cell 1\n")
    assert source.endswith("# cell 2\n\ndef A():\n    pass\n")


def test_every_form_of_a_text_is_read() -> None:
    """Jupyter writes lines, other programs one text, and any line end."""
    cells = [
        {"cell_type": "markdown", "source": "def x():\n    pass"},
        {"cell_type": "code", "source": ["def f():\r\n", "    pass"]},
        {"cell_type": "code", "source": "def A():\r    pass"},
    ]
    expected = "# cell 1\ndef f():\n    pass\n\n# cell 2\ndef A():\n    pass\n"
    assert python_of("\ufeff" + json.dumps({"cells": cells}), "a", WANTED) == expected


NO_NOTEBOOK = r"cannot be read as a notebook\. Save it again in Jupyter, or hand in a Python file"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, NO_NOTEBOOK) for text in ("", "def f(): pass", "[]", '{"cells": 3}')),
        *((text, NO_NOTEBOOK) for text in ('{"cells": [3]}', '{"cells": "\udc80"}')),
        pytest.param('{"cells": ' + "[" * 100_000, NO_NOTEBOOK, id="deep"),
        ("{}", NO_NOTEBOOK),
        (notebook(""), "does not define f or A or GQA"),
        (notebook("x = 1\nimport f"), "does not define f or A or GQA, only x"),
        (notebook("class GQa:\n    def f(self): 1\n\n"), "does not define f or A or GQA, only GQa"),
        pytest.param(notebook("x = " + "(" * 3000), "does not define f", id="brackets"),
        pytest.param(
            notebook("#" * (MOST_PARSED_BYTES + 1)), "has 262,145 characters of code", id="long"
        ),
    ],
)
def test_bad_notebook_is_refused(text: str, message: str) -> None:
    """The sentence names the file and the next step."""
    with pytest.raises(DrillError, match=rf"ana/gqa\.ipynb .*{message}"):
        python_of(text, "ana/gqa.ipynb", WANTED)


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(" " * 200_000 + "=", id="blanks"),
        pytest.param("x = 1 1\n" + "\n" * 200_000, id="empty lines"),
        pytest.param("x" + ", x" * 3_000 + " 1", id="commas"),
        pytest.param("\n".join(f"a{i} = max(a{i + 1})" for i in range(2000)), id="a chain"),
        pytest.param("a = 1\n" * 20_000, id="statements"),
        pytest.param("if a: pass\n" + "elif a: pass\n" * 1500, id="elif"),
        pytest.param("x = " + "lambda:" * 1500 + "1\n", id="nested functions"),
        pytest.param("print('run')\nx = '\\d'", id="code"),
    ],
)
def test_odd_cell_does_not_stop_the_grading(cell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The process that grades the whole class reads the notebook. No code is run."""
    answer = "def f(x=print('run')):\n    return a0"
    assert kept(cell, answer).endswith(answer)
    assert capsys.readouterr().out == ""
    assert not hasattr(notebook_file, "f")


@pytest.mark.parametrize(
    ("source", "names", "is_readable"),
    [
        (
            "def f(): x = 1\nclass A: y = 1\nz: int = 1\nw, v = 1, 2",
            {"f", "A", "z", "w", "v"},
            True,
        ),
        ("if 1:\n    def f(): pass\nelse:\n    a = b = 1", {"f", "a", "b"}, True),
        ("from f import A\nimport f", set(), True),
        ("class A\n    def f(self)\n", {"A", "f"}, False),
        ("x = (\n", set(), False),
        ("x = " + "-" * 90_000 + "1", set(), False),
        ("def f(): pass\n" + "#" * MOST_PARSED_BYTES, {"f"}, False),
    ],
)
def test_names_that_a_source_defines(source: str, names: set[str], is_readable: bool) -> None:
    """A test that imports the answer is not the answer."""
    assert defined_names(source) == (names, is_readable)


def test_sentence_about_a_missing_name_has_the_nearest_name() -> None:
    """A letter may be missing."""
    wanted = ("GroupedQueryAttention", "rope")
    assert undefined("a.py", wanted, {"GroupedQueryAttenton", "x"}) == (
        "a.py defines GroupedQueryAttenton, and not GroupedQueryAttention: correct the name."
    )
    assert undefined("a.py", wanted, {"GQA", "B"}) == (
        "a.py does not define GroupedQueryAttention or rope, only B, GQA."
    )
