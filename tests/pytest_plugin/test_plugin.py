"""Tests of runs of pytest with the real grading server, and of runs without `--drill`."""

import os
import re
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.pytest_plugin import PLUGIN, TINY, Ran, environment, project, run
from tests.support.waiting import wait_until
from trainer.packs import mistakes, pack_reader


@pytest.mark.thorough
@pytest.mark.parametrize("args", [["nothing"], ["prefix-sum=right.py", "nowhere.py"]])
def test_bad_input_is_exit_code_4(folder: Path, args: list[str]) -> None:
    """pytest prints one error message, and no test runs."""
    ran = run(folder, "--drill", *args)
    assert ran.code == 4
    assert len(re.findall("^ERROR: ", ran.out, re.MULTILINE)) == 1
    assert not ran.results


@pytest.fixture
def installed(tmp_path: Path) -> str:
    """Return a PYTHONPATH with a package whose entry point is the plugin."""
    info = tmp_path / "site" / "attn_drill_named-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: attn-drill-named\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[pytest11]\nattn_drill = trainer.pytest_plugin.plugin\n"
    )
    return os.pathsep.join([str(tmp_path / "site"), str(ROOT)])


WRITE_MODULES = """
def pytest_unconfigure(config):
    import pathlib, sys
    names = [*sys.modules, *(name for name, _ in config.pluginmanager.list_name_plugin())]
    pathlib.Path("modules.txt").write_text("\\n".join(names))
"""


def modules(folder: Path) -> set[str]:
    """Return the modules and plugins of a run at its end."""
    return set((folder / "modules.txt").read_text().split("\n"))


@pytest.mark.thorough
@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("plugin", "conftest"),
    [
        pytest.param((), "", id="installed"),
        pytest.param(PLUGIN, "", id="installed and named by its module"),
        pytest.param(("-p", "attn_drill"), "", id="installed and named by its entry point"),
        pytest.param(
            (),
            "pytest_plugins = ['trainer.pytest_plugin.plugin']",
            id="installed and named in a conftest",
        ),
    ],
)
def test_plugin_does_nothing_without_the_option(
    tmp_path: Path, installed: str, plugin: tuple[str, ...], conftest: str
) -> None:
    """The plugin does not take part in the run, and imports no other module of attn-drill."""
    place = project(tmp_path / "project", f"{conftest}\n{WRITE_MODULES}")
    ran = run(place, plugin=plugin, PYTHONPATH=installed)
    assert (ran.code, ran.count()) == (0, {"passed": 1}), ran.out
    ours = {name for name in modules(place) if name.startswith("trainer.")}
    assert ours == {"trainer.pytest_plugin", "trainer.pytest_plugin.plugin"}
    assert not modules(place) & {"torch", "numpy", "rich", "msgspec", "attn-drill-run"}


FORGETFUL = """import torch


def prefix_sum(x, reverse=False):
    print('here')
    return torch.cumsum(x, dim=-1)
"""
HANGING = FORGETFUL.replace("print('here')", "while reverse: pass")


def marked_path() -> tuple[str, str]:
    """Return a mark, and a PYTHONPATH that contains it. Every grading process inherits the path."""
    mark = uuid.uuid4().hex
    return mark, os.pathsep.join([str(ROOT), f"/{mark}"])


def processes(mark: str) -> int:
    """Return the number of processes with this mark in their environment.

    Return 0 on a system without /proc.
    """
    count = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            count += mark.encode() in (folder / "environ").read_bytes()
        except OSError:
            continue
    return count


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Path]:
    """Return a run with four answers, and its project.

    One answer is right, one is wrong in one direction, one does not parse, and one never ends.
    """
    place = project(tmp_path_factory.mktemp("graded") / "project", WRITE_MODULES)
    (place / "good.py").write_text((TINY / "solutions" / "prefix_sum" / "solution.py").read_text())
    (place / "forgetful.py").write_text(FORGETFUL)
    (place / "broken.py").write_text("def prefix_sum(x, reverse=False)\n    return x\n")
    (place / "hanging.py").write_text(HANGING)
    names = ("good", "forgetful", "broken", "hanging")
    drills = [f"--drill=prefix-sum={name}.py" for name in names]
    mark, path = marked_path()
    ran = run(place, *drills, "--drill-seed=5", "--drill-time-limit=2", PYTHONPATH=path)
    wait_until(lambda: not processes(mark))
    return ran, place


def test_only_the_tests_of_the_wrong_part_fail(graded: tuple[Ran, Path]) -> None:
    """The right answer passes all tests."""
    ran, _ = graded
    assert ran.code == 1
    good = {result for name, result in ran.results.items() if name.startswith("good")}
    assert good == {"passed"}
    assert [name for name, result in ran.results.items() if result == "failure"] == [
        "forgetful.values::backwards",
        "broken::loads",
        "hanging.runs::backwards",
    ]
    assert ran.results["forgetful.gradients::forwards"] == "skipped"
    unfinished = [name for name in ran.results if name.startswith(("broken", "hanging"))]
    passed = [name for name in unfinished if ran.results[name] == "passed"]
    assert passed == ["hanging::loads"]


def test_text_of_a_failed_test_is_the_report_of_check(graded: tuple[Ran, Path]) -> None:
    """The report has the difference, its index, the line, and the printed text."""
    ran, _ = graded
    text = ran.texts["forgetful.values::backwards"]
    assert "FAILED  prefix-sum  8 of 12 checks passed  seed 5" in text
    assert "14 of 14 values of out differ" in text
    assert "line 6 in prefix_sum" in text
    assert "❯ 6 │     return torch.cumsum(x, dim=-1)" in text
    assert "│ here" in text
    assert "attn-drill check" not in text
    assert "SyntaxError: expected ':' at line 1" in ran.texts["broken::loads"]
    assert "TIME LIMIT" in ran.texts["hanging.runs::backwards"]
    assert "`--drill-time-limit` raises" in ran.texts["hanging.runs::backwards"]


def test_pytest_does_not_import_torch_or_an_answer(graded: tuple[Ran, Path]) -> None:
    """The files are graded in another process."""
    names = modules(graded[1])
    assert "trainer.pytest_plugin.drill_run" in names
    assert not names & {"torch", "numpy", "good", "forgetful", "hanging"}


@pytest.mark.thorough
def test_run_with_xdist_has_the_same_texts(graded: tuple[Ran, Path]) -> None:
    """Results and texts are the same with workers of xdist and the same seed."""
    ran, place = graded
    options = ["--drill-seed=5", "--drill-time-limit=2", "-n", "2"]
    drills = ["--drill=prefix-sum=good.py", "--drill=prefix-sum=forgetful.py"]
    shared = run(place, *drills, *options)
    assert set(shared.results) == {name for name in ran.results if name[:4] in ("good", "forg")}
    for name, result in shared.results.items():
        assert (result, shared.texts[name]) == (ran.results[name], ran.texts[name])


@pytest.mark.thorough
def test_interrupted_run_leaves_no_process(tmp_path: Path) -> None:
    """The server and the worker process of an endless answer are ended."""
    place, (mark, path) = project(tmp_path / "project"), marked_path()
    (place / "hanging.py").write_text(HANGING)
    command = [sys.executable, "-m", "pytest", *PLUGIN, f"--drill-pack={TINY}", "-v"]
    with subprocess.Popen(
        [*command, "--drill=prefix-sum=hanging.py", "--drill-time-limit=600"],
        cwd=place,
        env=environment(PYTHONPATH=path),
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        try:
            output = b""
            while b"collecting" not in output:
                piece = os.read(process.stdout.fileno(), 4096)
                assert piece
                output += piece
            if Path("/proc/self/environ").exists():
                wait_until(lambda: processes(mark) >= 4)  # pytest, server, fork server, worker
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 2
    assert b"KeyboardInterrupt" in rest
    wait_until(lambda: not processes(mark))


@pytest.mark.thorough
def test_known_mistake_is_named(tmp_path: Path) -> None:
    """The reference of a built-in challenge passes all tests.

    Without its mask, only the tests about masks fail.
    """
    place = project(tmp_path / "project")
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    known = {mistake.id: mistake for mistake in mistakes.read_mistakes(challenge)}["mask-ignored"]
    (place / "gqa.py").write_text(pack_reader.solution(challenge))
    (place / "unmasked.py").write_text(
        mistakes.replaced(pack_reader.solution(challenge), known, "gqa")
    )
    ran = run(place, "--drill=gqa=gqa.py", "--drill=gqa=unmasked.py", "--drill-time-limit=60")
    assert {result for name, result in ran.results.items() if name.startswith("gqa")} == {"passed"}
    wrong = [name for name, result in ran.results.items() if result == "failure"]
    assert wrong
    checks = {name.partition("::")[0] for name in wrong}
    assert "unmasked.masks" in checks
    # The checks `properties` and `train/eval` also have cases with masks.
    assert checks <= {"unmasked.masks", "unmasked.properties", "unmasked.train/eval"}, checks
    assert known.says in ran.out
    assert ran.results["unmasked::loads"] == "passed"
