"""Tests of making a Python file from the definitions in a notebook."""

import ast
import contextlib
import json
from typing import Any

import pytest

from trainer.classroom import notebook_cells
from trainer.classroom.archives import FileError
from trainer.classroom.notebook_cells import (
    MOST_CODE_BYTES,
    MOST_NOTEBOOK_BYTES,
    cell_line,
    definitions,
)


def notebook(*cells: str) -> str:
    """Return a notebook of format 4 with code cells."""
    return json.dumps({
        "cells": [
            {"cell_type": "code", "source": cell.splitlines(True), "outputs": [{"x": [1]}]}
            for cell in cells
        ],
        "metadata": {"kernelspec": {"name": "python3"}},
        "nbformat": 4,
    })  # fmt: skip


ENTRY = ("f", "A", "GQA")


def kept(*cells: str) -> list[str]:
    """Return the lines that are neither empty nor comments."""
    lines = definitions(notebook(*cells), "a.ipynb", ENTRY).split("\n")
    return [line for line in lines if line.strip() and not line.startswith("#")]


def test_lines_stay_as_far_below_the_comment_as_in_the_cell() -> None:
    """A cell without a definition is left out, but it counts."""
    cells = (
        "print('hello')",
        "import torch\nprint(torch.__version__)\n\nprint('''a\nb''')\n"
        "def f(x):\n    return torch.abs(x)",
        "assert f(1)",
        "def g():\n    return f(2)\n\ng()\n",
    )
    source = definitions(notebook(*cells), "a.ipynb", ("g",))
    assert source == (
        "# cell 2\nimport torch\n\n\n\n\ndef f(x):\n    return torch.abs(x)\n\n"
        "# cell 4\ndef g():\n    return f(2)\n"
    )


@pytest.mark.parametrize(
    "test",
    [
        pytest.param("f = f(1)", id="a result"),
        pytest.param("out, h = h(1), 2", id="a helper"),
        pytest.param("N, F = 1, 2", id="a module"),
        pytest.param("from torch.nn.functional import f", id="an import"),
        pytest.param("C = C.float()", id="a constant"),
        pytest.param("C += 1", id="a sum"),
        pytest.param("for h in range(3):\n    pass", id="a loop"),
    ],
)
def test_cell_below_the_answer_gives_no_name_another_value(test: str) -> None:
    """A test runs after the answer is complete."""
    answer = "import torch.nn.functional as F\ndef h():\n    F\nC = 1\ndef f():\n    return h, C"
    assert "\n".join(kept(answer, test)) == answer


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param("def f():\n    return 2", id="a second definition"),
        pytest.param("import torch\nf = torch.compile(f)", id="a wrapper"),
        pytest.param("import functools\nf = functools.partial(func=f)", id="a keyword"),
        pytest.param("def g():\n    pass\nf = g", id="another name"),
        pytest.param("f = lambda: 1", id="a lambda"),
    ],
)
def test_cell_below_the_answer_can_replace_the_answer(cell: str) -> None:
    """The last definition counts, as in the notebook."""
    assert "\n".join(kept("def f():\n    return 1", cell)) == f"def f():\n    return 1\n{cell}"


@pytest.mark.parametrize(
    ("cell", "left"),
    [
        pytest.param("!pip install a \\\n  b \\\n  c\nimport a", "import a", id="shell"),
        pytest.param("v = !ls \\\n /tmp\nimport a", "import a", id="the output of a shell"),
        pytest.param("    import a\n    if a:\n        pass", "import a", id="indentation"),
        pytest.param("    %time\n    import a", "import a", id="indentation and a magic"),
    ],
)
def test_cells_that_only_jupyter_accepts_are_read(cell: str, left: str) -> None:
    """The definition in the next cell needs the import."""
    assert "\n".join(kept(cell, "def f():\n    a")) == f"{left}\ndef f():\n    a"


def test_module_that_a_cell_writes_is_not_imported() -> None:
    """Its code is a part of the source."""
    cells = ("%%writefile -a ./src/my_f.py\ndef f(): pass", "from my_f import f\nimport my_f, os")
    assert kept(*cells) == ["def f(): pass"]


def test_missing_import_leaves_the_answer() -> None:
    """The student reads NameError, and not that there is no answer."""
    assert kept("class A(nn.Module):\n    pass") == ["class A(nn.Module):", "    pass"]


@pytest.mark.parametrize(
    ("line", "place"), [(1, None), (2, None), (3, (2, 1)), (4, (2, 2)), (6, None), (7, (3, 1))]
)
def test_line_of_the_source_has_a_cell(line: int, place: tuple[int, int] | None) -> None:
    """Imports from __future__ and the comments belong to no cell."""
    source = definitions(notebook("1", "def f():\n    g", "def g(): 1"), "a", ("f",))
    assert cell_line(f"from __future__ import annotations\n{source}", line) == place


def test_statements_that_only_call_something_are_left_out() -> None:
    """The tests, plots and models of a notebook do not run."""
    calls = """\
model = GQA(64, 8)
out = model(torch.randn(2, 3, 64))
print(out)
assert out.shape
for _ in range(3):
    model(out)
with torch.no_grad():
    out = model(out)
if __name__ == "__main__":
    out = model(out)
torch.manual_seed(0)
try:
    GQA(7, 2)
except ValueError:
    pass
del out
"a text"
data = open("x.csv").read()
await model
"""
    answer = "import torch\nclass GQA(torch.nn.Module):\n    pass"
    assert kept(f"{answer}\n{calls}", calls) == answer.splitlines()


def test_constants_that_a_definition_needs_are_kept() -> None:
    """Also from a cell without a definition, and constants that a constant needs."""
    constants = "SIZE = 4\nhalf = SIZE // 2\ndevice = torch.device('cpu')\nmasks = torch.ones(half)"
    unneeded = "other = torch.ones(3)\nrows = load('x.csv')"
    answer = "import torch\ndef f(x):\n    return masks.to(device)"
    assert kept(constants, unneeded, answer) == [*constants.splitlines(), *answer.splitlines()]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("f = lambda x: x", id="a lambda"),
        pytest.param(
            "class A:\n    pass\nCONFIG = A()\ndef f():\n    return CONFIG", id="capitals"
        ),
        pytest.param("def d():\n    return id\nv = d()\n@v\ndef f():\n    pass", id="a decorator"),
        pytest.param("def d():\n    pass\nv = d()\ndef f(x=v):\n    pass", id="a default"),
        pytest.param("def d():\n    pass\nv = d()\nclass A:\n    x = [v for _ in ()]", id="class"),
        pytest.param("class B:\n    pass\nA = B", id="another name for the answer"),
        pytest.param("class A:\n    pass\ndef f(self):\n    pass\nA.f = f", id="a method"),
        pytest.param(
            "try:\n    import x\nexcept ImportError:\n    x = 1\ndef f():\n    x()", id="try"
        ),
        pytest.param("if 1:\n    def f():\n        pass", id="a definition in a block"),
        pytest.param("from x import *\nv = float(a)\ndef f():\n    return v", id="a star"),
        pytest.param("def f():\n    return 1\ndef f():\n    return 2", id="twice, in order"),
        pytest.param("async def f():\n    pass", id="async"),
        pytest.param("x: int = 3\nx += 1\ndef f():\n    return x", id="an annotation"),
        pytest.param("def f():\n    def g():\n        return v\nv = max(1, 2)", id="nested"),
        pytest.param("class A:\n    def g(self):\n        return v\nv = max(1, 2)", id="method"),
        pytest.param("C = {}\nfor i in 1, 2:\n    C[i] = 1\ndef f():\n    C", id="a loop"),
        pytest.param("C = []\nC.append(1)\ndef f():\n    return C", id="a method of a constant"),
        pytest.param("from x import C\nc = C(1)\nc.n, c.m = 2, 3\ndef f():\n    c", id="items"),
        pytest.param("class C:\n    pass\nc = C()\ndef f():\n    return c.n", id="own class"),
        pytest.param("class A:\n    pass\nsetattr(A, 'f', len)", id="setattr"),
        pytest.param("with open('x') as h:\n    n = h.read()\ndef f():\n    n", id="a file"),
        pytest.param(
            "def p(c):\n    return setattr\nclass A:\n    pass\n@p(A)\ndef g(self):\n    pass",
            id="a method with a decorator",
        ),
        pytest.param(
            "import torch\ntorch.Tensor.g = 1\ndef f():\n    torch", id="a method of torch"
        ),
        pytest.param("s = {}\nglobals().update(s)\ndef f():\n    return n", id="unknown names"),
        pytest.param(
            "R = {}\ndef r(c):\n    R[1] = c\n@r\nclass B:\n    pass\nA = R[1]", id="a register"
        ),
        pytest.param("def g():\n    pass\ndef f():\n    globals()['g']()", id="all names"),
        pytest.param("d = 's\u2028t'\ndef f():\n    return d", id="a line separator in a text"),
    ],
)
def test_whole_cell_is_kept(text: str) -> None:
    """Each statement defines something or is needed."""
    assert "\n".join(kept(text)) == text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("import plots\ndef f():\n    pass", "def f():\n    pass", id="an import"),
        pytest.param(
            "def f():\n    x = 1\n    return x\nx = max(1, 2)",
            "def f():\n    x = 1\n    return x",
            id="a name that is local in the function",
        ),
        pytest.param(
            "def f():\n    return d\nd = read('x')", "def f():\n    return d", id="an unknown call"
        ),
        pytest.param(
            "import torch, seaborn\nimport a, b as c\ndef f():\n    torch.abs(c)",
            "import torch\nimport b as c\ndef f():\n    torch.abs(c)",
            id="some names of an import",
        ),
        pytest.param(
            "from x import (a,\n    b,\n)  # c\ndef f():\n    return b",
            "from x import b  # c\ndef f():\n    return b",
            id="some names of an import of several lines",
        ),
        pytest.param(
            "from x import (a,\n    b,\n); print(b)\ndef f():\n    return b",
            "from x import b; pass\ndef f():\n    return b",
            id="some names of an import before another statement",
        ),
        pytest.param(
            "import sns\ndef f():\n    pass\ndef plot(x: f):\n    sns.heatmap(f(x))",
            "def f():\n    pass",
            id="a function that plots",
        ),
        pytest.param(
            "import torch\ntorch.manual_seed(0)\ndef f():\n    torch.abs(1)\n"
            "@torch.no_grad()\ndef test(x: f):\n    f(x)",
            "import torch\ndef f():\n    torch.abs(1)",
            id="a test with a decorator",
        ),
        pytest.param(
            "class A:\n    pass\nmodel = A()\nmodel.eval()\nA.test()\nmodel.x = 1",
            "class A:\n    pass",
            id="a model",
        ),
        pytest.param(
            "n = f(1)\nm = n + 1\ndef f(x):\n    pass",
            "def f(x):\n    pass",
            id="a value of something left out",
        ),
    ],
)
def test_unneeded_statements_are_left_out(text: str, left: str) -> None:
    """A package that only a plot needs may not exist where the file is graded."""
    assert "\n".join(kept(text)) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        pytest.param("import a; print(a)", "import a; pass", id="the last"),
        pytest.param("print('é'); import a; print(a)", "pass; import a; pass", id="both sides"),
        pytest.param("print(\n1); import a", "pass; import a", id="from the line before"),
        pytest.param("import a; print(\n1)", "import a; \npass", id="into the next line"),
        pytest.param(
            "print(\n); print(\n); import a", "pass; \npass; import a", id="a chain of lines"
        ),
    ],
)
def test_statements_on_one_line_are_separated(text: str, left: str) -> None:
    """A statement that is left out becomes `pass`, because `; import a` is not valid."""
    found = "\n".join(kept(f"{text}\ndef f():\n    return a"))
    ast.parse(found)
    assert found == f"{left}\ndef f():\n    return a"


@pytest.mark.parametrize(
    "magic",
    [
        "%matplotlib inline",
        "!pip install einops",
        "?torch.abs",
        "torch.abs??",
        "files = !ls",
        "t = %timeit -o f(1)",
        "%%time",
        "\n%%capture out\n%%time",
        "%%drill gqa --seed 3",
        "%%writefile gqa.py",
    ],
)
def test_magics_are_left_out(magic: str) -> None:
    """The rest of the cell is kept. A line that only looks like a magic stays."""
    answer = "def f(a):\n    return (a\n      %b)"
    assert kept(f"{magic}\n\ndef f(a):\n    return a") == ["def f(a):", "    return a"]
    assert "\n".join(kept(f"b = 2\n{answer}")) == f"b = 2\n{answer}"


def test_magic_in_a_block_becomes_pass() -> None:
    """The block may hold nothing else."""
    assert kept("def f():\n    %time g()") == ["def f():", "    pass"]


def test_cells_in_other_languages_are_left_out() -> None:
    """They could look like a broken definition."""
    assert kept("%%bash\nclass x", "%%HTML\ndef f(", "def f():\n    pass") == [
        "def f():",
        "    pass",
    ]


def test_broken_definition_is_kept() -> None:
    """The student learns the syntax error. A broken cell without a definition is left out."""
    broken = "print(1)\n%time\ndef f(:\n    pass"
    source = definitions(notebook("x = = 1", broken), "a.ipynb", ENTRY)
    assert source == "# cell 2\nprint(1)\n\ndef f(:\n    pass\n"


@pytest.mark.parametrize("broken", ["def f(:\n    pass", "def test(:\n    f(1)", "class Draft"])
def test_broken_cell_that_the_answer_does_not_need_is_left_out(broken: str) -> None:
    """It never ran in the notebook either."""
    assert kept("def f():\n    return 1", broken) == ["def f():", "    return 1"]


def test_broken_definition_that_the_answer_needs_is_kept() -> None:
    """A missing function would be a less helpful message."""
    source = definitions(notebook("def f():\n    return g()", "def g(:"), "a.ipynb", ENTRY)
    assert source.endswith("# cell 2\ndef g(:\n")


def test_definition_that_python_refuses_later_is_kept() -> None:
    """Only the compiler finds this syntax error."""
    assert kept("def f():\n    nonlocal x") == ["def f():", "    nonlocal x"]


def test_imports_from_future_come_first() -> None:
    """Python allows them nowhere else. No other line moves."""
    future = "from __future__ import annotations"
    source = definitions(
        notebook("def f():\n    pass", f"{future}\ndef g():\n    pass"), "a.ipynb", ("f", "g")
    )
    compile(source, "a.py", "exec")
    assert source.startswith(f"{future}\n\n# cell 1\n")
    assert source.endswith("# cell 2\n\ndef g():\n    pass\n")


def test_format_3_is_read() -> None:
    """Its cells are in worksheets, and its text is called input."""
    cells = [
        {"cell_type": "heading", "source": "def x():\n    pass"},
        {"cell_type": "code", "input": ["def f():\r\n", "    pass"], "language": "python"},
        {"cell_type": "code", "input": "def g():\r    pass"},
    ]
    text = "\ufeff" + json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3})
    assert (
        definitions(text, "a", ("f", "g"))
        == "# cell 1\ndef f():\n    pass\n\n# cell 2\ndef g():\n    pass\n"
    )


def document(source: Any) -> str:
    """Return a notebook with one cell."""
    return json.dumps({"cells": [{"cell_type": "code", "source": source}]})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "cannot be read as a notebook. Save it again in Jupyter", id="empty"),
        pytest.param("def f(): pass", "cannot be read as a notebook", id="Python"),
        pytest.param("[]", "cannot be read as a notebook", id="a list"),
        pytest.param("{}", "has no cells", id="no cells"),
        pytest.param('{"cells": 3}', "cannot be read as a notebook", id="a number of cells"),
        pytest.param('{"cells": [3]}', "cannot be read as a notebook", id="a cell is a number"),
        pytest.param('{"cells": [], "x": NaN}', "cannot be read as a notebook", id="NaN"),
        pytest.param(document(3), "cannot be read as a notebook", id="a number for a text"),
        pytest.param(document([1]), "cannot be read as a notebook", id="a list of numbers"),
        pytest.param(document("\ud800"), "cannot be read as a notebook", id="half a character"),
        pytest.param('{"cells": "\udc80"}', "cannot be read as a notebook", id="no UTF-8"),
        pytest.param(
            '{"cells": ' + "[" * 100_000, "cannot be read as a notebook", id="nested too deeply"
        ),
        pytest.param(
            '{"x": ' + '{"y":' * 100_000, "cannot be read as a notebook", id="nested metadata"
        ),
        pytest.param(document(""), "defines f or A or GQA. Hand in", id="no code"),
        pytest.param(
            document("x = 1\nimport a"), "defines f or A or GQA. Hand in", id="no function"
        ),
        pytest.param(
            document("x = " + "(" * 3000), "defines f or A or GQA. Hand in", id="too many brackets"
        ),
        pytest.param(
            document("x = " + "-" * 90_000), "defines f or A or GQA. Hand in", id="too many signs"
        ),
        pytest.param(document("def f():\n  '\0'"), "holds a NUL character", id="a NUL"),
        pytest.param(
            document("#" * (MOST_CODE_BYTES + 1)),
            "has 262,145 bytes of code; at most 262,144 are graded",
            id="too much code",
        ),
        pytest.param(
            " " * (MOST_NOTEBOOK_BYTES + 1), "Clear the outputs and save it again", id="too large"
        ),
    ],
)
def test_bad_notebook_is_refused(text: str, message: str) -> None:
    """The sentence names the file and the next step."""
    with pytest.raises(FileError, match=rf"ana/gqa\.ipynb .*{message}"):
        definitions(text, "ana/gqa.ipynb", ENTRY)


@pytest.mark.parametrize(
    "cell",
    [
        pytest.param(" " * 200_000 + "=", id="blanks"),
        pytest.param("x = 1 1\n" + "\n" * 200_000, id="empty lines"),
        pytest.param("x" + ", x" * 3_000 + " 1", id="commas"),
        pytest.param("\n".join(f"a{i} = max(a{i + 1})" for i in range(2000)), id="a chain"),
    ],
)
def test_bad_cell_does_not_stop_the_grading(cell: str) -> None:
    """The time does not grow with the square of the length."""
    assert kept(cell, "def f():\n    return a0")[-2:] == ["def f():", "    return a0"]


def test_no_code_is_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Only its syntax is looked at."""
    definitions(notebook("print('run')\ndef f(x=print('run')):\n    '\\d'"), "a.ipynb", ENTRY)
    assert capsys.readouterr().out == ""
    assert not hasattr(notebook_cells, "f")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            "a = 1\n" * 6_000 + "def f(): pass\n",
            "has 6,001 statements in one cell; at most 5,000 are read",
            id="many statements",
        ),
        pytest.param(
            "def f(): pass\n" + "#" * MOST_CODE_BYTES, "bytes of code; at most", id="much code"
        ),
    ],
)
def test_code_that_takes_long_is_refused(source: str, message: str) -> None:
    """The process that grades the whole class reads the notebook."""
    with pytest.raises(FileError, match=message):
        definitions(notebook(source), "n.ipynb", ENTRY)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("if a: pass\n" + "elif a: pass\n" * 1500, id="a long chain of elif"),
        pytest.param("x = " + "lambda:" * 1500 + "1\n", id="nested functions"),
    ],
)
def test_deep_nesting_does_not_end_the_grading(source: str) -> None:
    """Python may refuse the depth or not. No other exception may leave the function."""
    with contextlib.suppress(FileError):
        assert "def f" in definitions(notebook("def f(): pass\n" + source), "n.ipynb", ENTRY)


@pytest.mark.parametrize(
    "metadata",
    [
        {"language_info": {"name": "R"}},
        {"kernelspec": {"language": "R"}, "language_info": 3},
    ],
)
def test_notebook_in_another_language_is_refused(metadata: dict[str, object]) -> None:
    """The sentence names the language."""
    text = json.dumps({**json.loads(notebook("def f(): pass")), "metadata": metadata})
    with pytest.raises(FileError, match=r"a\.ipynb is a notebook for R, and not for Python"):
        definitions(text, "a.ipynb", ENTRY)


@pytest.mark.parametrize("metadata", [None, 3, {"kernelspec": []}, {"language_info": {"name": ""}}])
def test_notebook_without_a_language_is_read(metadata: object) -> None:
    """Colab and old versions leave it out."""
    text = json.dumps({**json.loads(notebook("def f(): pass")), "metadata": metadata})
    assert "def f" in definitions(text, "a.ipynb", ENTRY)
