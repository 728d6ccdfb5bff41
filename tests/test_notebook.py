"""Tests of `%%drill` in a notebook: its report, its options, and its error messages."""

import html
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from attn_drill.notebook import DrillResult
from attn_drill.practice.journal import default_journal
from attn_drill.practice.progress import ChallengeProgress, progress_of
from attn_drill.server.clients import pool
from tests.support.paths import ROOT, TINY_PACK

GQA = (ROOT / "solutions" / "gqa" / "solution.py").read_text()
TILED = GQA.replace(
    "k = k.repeat_interleave(group_size, dim=1)", "k = k.repeat(1, group_size, 1, 1)"
)
PREFIX_SUM = (TINY_PACK / "solutions" / "prefix_sum" / "solution.py").read_text()


class ZMQInteractiveShell(InteractiveShell):
    """A shell with this name is the kernel of a notebook for rich."""


class Notebook:
    """A notebook. Its kernel is this process."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell

    def run(self, cell: str) -> str:
        """Run a cell and return its text. The cell must not display anything else."""
        with capture_output() as captured:
            self.shell.run_cell(cell)
        assert captured.outputs == []
        return captured.stdout + captured.stderr

    def drilled(self, cell: str) -> DrillResult:
        """Run a cell with `%%drill` and return its result, which IPython keeps as `_`."""
        output = self.run(cell)
        result = self.shell.user_ns["_"]
        assert isinstance(result, DrillResult), output
        assert output.endswith(f"{result.text}\n")
        return result


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InteractiveShell]:
    """Return an IPython shell with the magic `%%drill`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
        config = Config({"HistoryManager": {"enabled": False}})
        cells = ModuleType("cells")
        ipython = ZMQInteractiveShell.instance(config=config, user_module=cells, colors="nocolor")
        ipython.run_line_magic("load_ext", "attn_drill")
        yield ipython
        ZMQInteractiveShell.clear_instance()
        sys.modules.pop("cells")


@pytest.fixture
def notebook(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    """Return a notebook without names from other tests, with the tiny pack."""
    monkeypatch.setenv("ATTN_DRILL_PACK", str(TINY_PACK))
    shell.reset()
    return Notebook(shell)


def progress(challenge: str) -> ChallengeProgress:
    """Return the progress on a challenge from the journal of this test."""
    return progress_of(default_journal().facts()).get(challenge, ChallengeProgress())


def text_of(page: str) -> str:
    """Return the text of an HTML page."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def test_right_cell_passes(notebook: Notebook) -> None:
    """IPython shows the report, the journal has the attempt, and the function is defined."""
    result = notebook.drilled(f"%%drill prefix-sum --seed 7\n{PREFIX_SUM}")
    assert re.match(r"PASSED  prefix-sum  (\d+) of \1 checks passed  seed 7", result.text)
    assert result.text.endswith("\n!attn-drill solution prefix-sum shows the reference.")
    assert result.passed
    assert result.report["schema"] == "attn-drill.report/1"
    assert (result.report["verdict"], result.report["seed"]) == ("passed", 7)
    assert progress("prefix-sum") == ChallengeProgress("passed", attempts=1)
    assert "prefix_sum" in notebook.run("prefix_sum")


def test_report_on_a_wrong_cell_has_line_and_cause(notebook: Notebook) -> None:
    """Line numbers are those of the cell, with `%%drill` as line 1.

    The report has the command that runs its case again. `--no-why` hides the likely mistake.
    """
    cell = f"%%drill gqa --seed 3\n{TILED}"
    result = notebook.drilled(cell)
    assert not result.passed
    line = result.report["diagnosis"]["first_line"]
    assert "k.repeat(1, group_size, 1, 1)" in cell.splitlines()[line - 1]
    assert f"❯ {line} │ k = k.repeat(1" in result.text
    assert "The key heads are tiled" in result.text
    assert result.text.endswith("\na hint           !attn-drill hint gqa")
    assert not re.search(r"attn-drill (check|trace|repro)", result.text)
    match = re.search(r"^this case again  (%%drill gqa --seed 3 --case \d+)$", result.text, re.M)
    again = notebook.drilled(f"{match[1]} --no-why\n{TILED}").text
    assert ", case 1 alone  seed 3" in again
    assert "The key heads are tiled" not in again
    assert "grade again without --no-why to see it" in " ".join(again.split())
    # A run of a single case is not an attempt.
    assert progress("gqa") == ChallengeProgress("started", attempts=1)


@pytest.mark.parametrize(
    ("added", "traceback", "shown"),
    [
        ("raise ValueError('no')", "ValueError: no", "ValueError: no at line 12"),
        ("def f(:", "SyntaxError: invalid", "Not counted as an attempt: the cell does not parse"),
        ("print(HALF)", "", "names from other cells are not defined in it"),
    ],
)
def test_cell_that_raises_is_graded(
    notebook: Notebook, added: str, traceback: str, shown: str
) -> None:
    """IPython shows the exception of the kernel if there is one, and then the report."""
    notebook.run("HALF = 0.5")
    output = notebook.run(f"%%drill prefix-sum\n{PREFIX_SUM}\n{added}")
    assert output.index(traceback) < output.index("ERROR  prefix-sum") < output.index(shown)


def test_page_has_the_same_text(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that a cell prints is never markup. With NO_COLOR, there is no colour."""
    printing = PREFIX_SUM.replace("    if rev", "    print('<b>&\\x1b[1m')\n    if rev")
    result = notebook.drilled(f"%%drill prefix-sum\n{printing.replace('cumsum', 'cumprod')}")
    page = result._repr_html_()
    assert "<b>&" in result.text
    assert text_of(page).strip() == result.text
    assert '<span style="color: #cc5500; font-weight: bold">FAILED</span>' in page
    monkeypatch.setenv("NO_COLOR", "1")
    assert "<span" not in result._repr_html_()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%%drill", "the following arguments are required: ID. `%drill --help` shows"),
        ("%%drill gqq", "No challenge is called 'gqq'. Did you mean gqa?"),
        ("%%drill gqa --seed x", "argument --seed: invalid int value: 'x'. `%drill --help` shows"),
        ("%%drill gqa --seed -1", "--seed is -1; it must be 0 to"),
    ],
)
def test_wrong_options_give_one_sentence(notebook: Notebook, line: str, message: str) -> None:
    """The output has no traceback, and the cell does not run."""
    output = notebook.run(f"{line}\nprint('this ran')")
    assert output.startswith(f"attn-drill: {message}")
    assert len(output.splitlines()) == 1


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%drill gqa --seed 3", "%drill with one percent sign has no cell to grade. Write `%%dril"),
        ("%%drill gqa\n ", "The cell is empty. Write your answer in it.\n"),
        (f"%%drill prefix-sum --case 99\n{PREFIX_SUM}", "prefix-sum has cases 1 to "),
    ],
    ids=["line magic", "empty cell", "unknown case"],
)
def test_cell_that_cannot_be_graded_is_refused(notebook: Notebook, cell: str, message: str) -> None:
    """The journal has no attempt then."""
    output = notebook.run(cell)
    assert output.startswith(f"attn-drill: {message}")
    assert len(output.splitlines()) == 1
    assert progress("prefix-sum") == ChallengeProgress()


def test_help_lists_all_options(notebook: Notebook) -> None:
    """The help also works with one percent sign, and the cell does not run."""
    output = notebook.run("%drill --help")
    assert set(re.findall(r"--[a-z-]+", output)) == {"--seed", "--case", "--no-why", "--help"}
    assert notebook.run("%%drill gqa --help\nprint('this ran')") == output


def test_interrupt_ends_the_cell(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the interrupt comes while the kernel runs the cell, the cell is not graded."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "ask", interrupted)
    output = notebook.run(f"%%drill gqa\n{GQA}")
    assert output == "attn-drill: Interrupted: the cell has no verdict.\n"
    assert "no verdict" not in notebook.run("%%drill gqa\nraise KeyboardInterrupt")


@pytest.mark.thorough
def test_report_fits_a_narrow_ascii_pipe(tmp_path: Path) -> None:
    """The report is plain ASCII text. The kernel does not import torch."""
    (tmp_path / "script.ipy").write_text(
        "%load_ext attn_drill\n"
        "print(get_ipython().run_cell_magic('drill', 'prefix-sum', 'prefix_sum = len'))\n"
        "import sys\n"
        "assert 'torch' not in sys.modules\n"
    )
    environment = {
        **os.environ,
        "ATTN_DRILL_PACK": str(TINY_PACK),
        "COLUMNS": "50",
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "PYTHONIOENCODING": "ascii",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "IPython", "script.ipy"]
    process = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert "x interface" in process.stdout
    assert "+ loads" in process.stdout
    assert "\x1b" not in process.stdout
    assert max(map(len, process.stdout.splitlines())) <= 50


def test_import_of_the_package_loads_no_other_module() -> None:
    """`import attn_drill` loads only the package itself."""
    script = (
        "import sys, attn_drill; print(attn_drill.__version__, [name for name in sys.modules "
        "if 'attn_drill.' in name])"
    )
    command = [sys.executable, "-c", script]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert re.fullmatch(r"\d+\.\d+\.\d+ \[\]\n", process.stdout)
