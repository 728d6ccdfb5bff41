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

import trainer
from tests.support.paths import TINY_PACK
from trainer.notebook import DrillResult
from trainer.packs import pack_reader
from trainer.practice.journal import default_journal
from trainer.practice.progress import ChallengeProgress, progress_of
from trainer.server.pool import pool

GQA = pack_reader.solution(pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"))
TILED = GQA.replace(
    "k = k.repeat_interleave(group_size, dim=1)", "k = k.repeat(1, group_size, 1, 1)"
)
NORM = pack_reader.solution(pack_reader.find_challenge(pack_reader.built_in_pack(), "rmsnorm"))
LIKELY = "The key heads are tiled"
PREFIX_SUM = pack_reader.solution(pack_reader.find_challenge(TINY_PACK, "prefix-sum"))


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
        ipython.run_line_magic("load_ext", "trainer")
        yield ipython
        ZMQInteractiveShell.clear_instance()
        sys.modules.pop("cells")


@pytest.fixture
def notebook(shell: InteractiveShell) -> Notebook:
    """Return a notebook without names from other tests."""
    shell.reset()
    return Notebook(shell)


def progress(challenge: str) -> ChallengeProgress:
    """Return the progress on a challenge from the journal of this test."""
    return progress_of(default_journal().facts()).get(challenge, ChallengeProgress())


def text_of(page: str) -> str:
    """Return the text of an HTML page."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def test_right_cell_passes(notebook: Notebook) -> None:
    """IPython shows the report, the journal has the attempt, and the class is defined."""
    result = notebook.drilled(f"%%drill rmsnorm --seed 7\n{NORM}")
    assert re.match(
        r"PASSED  rmsnorm  (\d+) of \1 checks passed  seed 7  rmsnorm \(notebook", result.text
    )
    assert result.text.endswith("\n!attn-drill solution rmsnorm shows the reference.")
    assert (result.passed, result.verdict) == (True, "passed")
    assert result.report["schema"] == "attn-drill.report/1"
    assert (result.report["verdict"], result.report["seed"]) == ("passed", 7)
    assert progress("rmsnorm") == ChallengeProgress("passed", attempts=1)
    assert "cells.RMSNorm" in notebook.run("RMSNorm")


def test_report_on_a_wrong_cell_has_line_and_cause(notebook: Notebook) -> None:
    """Line numbers are those of the cell, with `%%drill` as line 1.

    The report has the command that runs its case again.
    """
    cell = f"%%drill gqa --seed 3\n{TILED}"
    result = notebook.drilled(cell)
    assert (result.passed, result.verdict) == (False, "failed")
    line = result.report["diagnosis"]["first_line"]
    assert "k.repeat(1, group_size, 1, 1)" in cell.splitlines()[line - 1]
    assert result.source.splitlines()[1:] == cell.splitlines()[1:]
    assert f"line {line} in forward" in result.text
    assert f"❯ {line} │ k = k.repeat(1" in result.text
    assert LIKELY in result.text
    assert result.text.endswith("\na hint           !attn-drill hint gqa")
    assert not re.search(r"attn-drill (check|trace|repro)", result.text)
    match = re.search(r"^this case again  (%%drill gqa --seed 3 --case \d+)$", result.text, re.M)
    assert match is not None
    assert ", case 1 alone  seed 3" in notebook.drilled(f"{match[1]}\n{TILED}").text
    # A run of a single case is not an attempt.
    assert progress("gqa") == ChallengeProgress("started", attempts=1)


@pytest.mark.thorough
def test_likely_mistake_can_be_hidden(notebook: Notebook) -> None:
    """With `--no-why`, the report still has the line."""
    wrong = NORM.replace(".mean(dim=-1, keepdim=True)", ".sum(dim=-1, keepdim=True)")
    shown = notebook.drilled(f"%%drill rmsnorm --seed 3\n{wrong}")
    likely = shown.report["diagnosis"]["mistakes"][0]["says"]
    result = notebook.drilled(f"%%drill rmsnorm --seed 3 --no-why\n{wrong}")
    for text, is_shown in ((shown.text, True), (result.text, False)):
        assert (likely in " ".join(text.split())) == is_shown
    assert likely not in " ".join(text_of(result._repr_html_()).split())
    assert "mean_square = wide.square().sum(" in result.text
    assert "The likely mistake is known: grade again with --why to see it." in result.text


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("added", "traceback", "shown"),
    [
        ("raise ValueError('no')", "ValueError: no", "ValueError: no at line 12"),
        ("def f(:", "SyntaxError: invalid", "Not counted as an attempt: the cell does not parse"),
        ("print(HALF)", "", "names from other cells are not defined in it"),
    ],
)
def test_cell_that_raises_is_graded(
    notebook: Notebook,
    monkeypatch: pytest.MonkeyPatch,
    added: str,
    traceback: str,
    shown: str,
) -> None:
    """IPython shows the exception of the kernel if there is one, and then the report."""
    monkeypatch.setenv("ATTN_DRILL_PACK", str(TINY_PACK))
    notebook.run("HALF = 0.5")
    output = notebook.run(f"%%drill prefix-sum\n{PREFIX_SUM}\n{added}")
    assert output.index(traceback) < output.index("ERROR  prefix-sum") < output.index(shown)
    assert ("Traceback" in output) == traceback.startswith("ValueError")


def test_page_has_the_same_text(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that a cell prints is never markup. With NO_COLOR, there is no colour."""
    monkeypatch.setenv("ATTN_DRILL_PACK", str(TINY_PACK))
    printing = PREFIX_SUM.replace("    if rev", "    print('<b>&\\x1b[1m')\n    if rev")
    result = notebook.drilled(f"%%drill prefix-sum\n{printing.replace('cumsum', 'cumprod')}")
    page = result._repr_html_()
    assert "<b>&" in result.text
    assert text_of(page).strip() == result.text
    assert '<span style="color: #cc5500; font-weight: bold">FAILED</span>' in page
    assert '<span style="color: #1a7fe0">✓ loads</span>' in page
    monkeypatch.setenv("NO_COLOR", "1")
    assert "<span" not in result._repr_html_()
    assert text_of(result._repr_html_()) == text_of(page)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%%drill", "the following arguments are required: ID. `%drill --help` shows"),
        ("%%drill gqq", "No challenge is called 'gqq'. Did you mean gqa?"),
        ("%%drill gqa --sede 3", "unrecognized arguments: --sede 3. `%drill --help` shows"),
        ("%%drill gqa --seed x", "argument --seed: invalid int value: 'x'. `%drill --help` shows"),
        ("%%drill gqa --seed -1", "--seed is -1; it must be 0 to"),
    ],
)
def test_wrong_options_give_one_sentence(notebook: Notebook, line: str, message: str) -> None:
    """The output has no traceback, and the cell does not run."""
    output = notebook.run(f"{line}\nprint('this ran')")
    assert output.startswith(f"attn-drill: {message}")
    assert len(output.splitlines()) == 1


def test_line_magic_is_refused(notebook: Notebook) -> None:
    """`%drill` has no cell. The message has the right line."""
    assert notebook.run("%drill gqa --seed 3") == (
        "attn-drill: %drill with one percent sign has no cell to grade. Write "
        "`%%drill gqa --seed 3` as the first line of the cell that holds your answer.\n"
    )


def test_empty_cell_is_refused(notebook: Notebook) -> None:
    """A cell of white space is not an answer."""
    assert notebook.run("%%drill gqa\n ") == (
        "attn-drill: The cell is empty. Write your answer in it.\n"
    )


def test_help_lists_all_options(notebook: Notebook) -> None:
    """The help also works with one percent sign, and the cell does not run."""
    output = notebook.run("%drill --help")
    assert set(re.findall(r"--[a-z-]+", output)) == {
        *("--seed", "--case", "--why", "--no-why", "--help")
    }
    assert notebook.run("%%drill gqa --help\nprint('this ran')") == output


def test_refusal_of_the_server_is_shown(notebook: Notebook) -> None:
    """The journal has no attempt then."""
    output = notebook.run(f"%%drill gqa --case 99\n{GQA}")
    assert re.fullmatch(r"attn-drill: gqa has cases 1 to \d+; --case 99 does not exist\.\n", output)
    assert progress("gqa") == ChallengeProgress()


def test_system_without_fork_is_refused(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says that grading needs fork."""
    monkeypatch.delattr(os, "fork")
    output = notebook.run(f"%%drill gqa\n{GQA}")
    assert output.startswith("attn-drill: Grading needs a system that can fork")


def test_interrupt_ends_the_cell(notebook: Notebook, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the interrupt comes while the kernel runs the cell, the cell is not graded."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "ask", interrupted)
    output = notebook.run(f"%%drill gqa\n{GQA}")
    assert output == "attn-drill: Interrupted: the cell has no verdict.\n"
    assert "no verdict" not in notebook.run("%%drill gqa\nraise KeyboardInterrupt")


def test_unwritable_journal_gives_a_warning(
    notebook: Notebook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The verdict is still shown."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ATTN_DRILL_HOME", str(tmp_path / "file" / "home"))
    output = notebook.run(f"%%drill rmsnorm\n{NORM}")
    assert "PASSED  rmsnorm" in output
    assert "progress is not kept" in output


@pytest.mark.thorough
def test_report_fits_a_narrow_ascii_pipe(tmp_path: Path) -> None:
    """The report is plain ASCII text.

    The kernel does not import torch, and the grading server ends with the kernel.
    """
    (tmp_path / "script.ipy").write_text(
        "%load_ext trainer\n"
        "print(get_ipython().run_cell_magic('drill', 'prefix-sum', 'prefix_sum = len'))\n"
        "import sys\n"
        "from trainer.server.pool import pool\n"
        "(servers,) = pool._waiting.values()\n"
        "print('torch' in sys.modules, *(server.pid for server in servers))\n"
    )
    environment = {
        **os.environ,
        "ATTN_DRILL_PACK": str(TINY_PACK),
        "COLUMNS": "50",
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "PYTHONIOENCODING": "ascii",
        "PYTHONPATH": str(pack_reader.TRAINER.parent),
    }
    process = subprocess.run(
        [sys.executable, "-m", "IPython", "script.ipy"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    *report, last = process.stdout.splitlines()
    assert "x interface" in process.stdout
    assert "+ loads" in process.stdout
    assert "\x1b" not in process.stdout
    assert max(map(len, report)) <= 50
    imported, server = last.split()
    assert imported == "False"
    with pytest.raises(ProcessLookupError):
        os.kill(int(server), 0)


def test_import_of_the_package_loads_no_other_module() -> None:
    """`import trainer` loads only the package itself."""
    script = "import sys, trainer; print([name for name in sys.modules if 'trainer.' in name])"
    process = subprocess.run(
        [sys.executable, "-c", script],
        cwd=pack_reader.TRAINER.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == "[]\n"
    assert re.fullmatch(r"\d+\.\d+\.\d+", trainer.__version__)


def test_removed_function_check_names_the_magic() -> None:
    """An import and an attribute access give the message. Other names do not exist."""
    with pytest.raises(ImportError, match=r"Run `%load_ext trainer`, then write `%%drill ID`"):
        from trainer import check  # noqa: F401
    with pytest.raises(ImportError, match="is gone"):
        _ = trainer.check
    with pytest.raises(AttributeError, match="no attribute 'grade'"):
        _ = trainer.grade
