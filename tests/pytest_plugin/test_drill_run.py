"""Tests of runs of `pytest --drill`, with the real grading server."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from attn_drill.pytest_plugin._drill_run import DrillRun
from tests.support.paths import ROOT, TINY_PACK
from tests.support.pytest_plugin import Ran, project, run

DRILLS = tuple(f"--drill=prefix-sum={name}.py" for name in ("good", "forgetful", "broken"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project with three answers."""
    return project(tmp_path_factory.mktemp("graded") / "project")


@pytest.fixture(scope="module")
def graded(place: Path) -> Ran:
    """Return a run on all three answers."""
    return run(place, *DRILLS, "--drill-seed=5")


def test_each_check_is_a_test(graded: Ran) -> None:
    """A check that needs a failed check fails, too. The ordinary test does not run."""
    assert graded.code == 1
    good = [name for name in graded.results if name.startswith("good::")]
    assert {graded.results[name] for name in good} == {"passed"}
    checks = [name.removeprefix("good::") for name in good]
    assert list(graded.results) == [
        f"{file}::{check}" for file in ("good", "forgetful", "broken") for check in checks
    ]
    broken = [f"broken::{check}" for check in checks]
    assert graded.failed()[-len(broken) :] == broken
    wrong = graded.failed()[: -len(broken)]
    assert wrong[0] == "forgetful::values"
    for name in wrong[1:]:
        assert graded.texts[name] == "not run: needs values\nnot run: needs values"


def test_first_failed_check_shows_the_report_of_check(graded: Ran) -> None:
    """The report has the difference, the line, the printed text and the next commands.

    JUnit's message and the summary have one line.
    """
    text = graded.texts["forgetful::values"]
    assert text.startswith("backwards: 14 of 14 values of out differ")
    assert re.search(r"FAILED  prefix-sum  \d+ of 12 checks passed  seed 5", text)
    assert "❯ 6 │     return torch.cumsum(x, dim=-1)" in text
    assert "│ here" in text
    assert "this case again  attn-drill check prefix-sum forgetful.py --seed 5 --case 2" in text
    assert graded.texts["broken::loads"].startswith("SyntaxError: expected ':' at line 1\n")
    assert "FAILED broken.py::loads - SyntaxError: expected ':' at line 1\n" in graded.out
    assert "drill: prefix-sum, seed 5" in graded.out
    assert "Traceback" not in graded.out
    assert "attn_drill/pytest_plugin" not in graded.out


@pytest.mark.thorough
def test_workers_of_xdist_grade_with_the_seed_of_the_controller(place: Path, graded: Ran) -> None:
    """The results are the same as without workers."""
    shared = run(place, *DRILLS, "-n", "2")
    assert shared.results == graded.results
    seeds = set(re.findall(r"seed (\d+)", shared.out + "".join(shared.texts.values())))
    assert len(seeds) == 1, seeds


@pytest.mark.thorough
def test_tests_are_chosen_as_usual(place: Path, graded: Ran) -> None:
    """`-k`, an id, a folder, and the tests that failed last choose tests."""
    drill = "--drill=prefix-sum=forgetful.py"
    assert run(place, drill, "-k", "values or loads").results == {
        "forgetful::loads": "passed",
        "forgetful::values": "failure",
    }
    only = run(place, drill, "forgetful.py::gradients")
    assert (only.code, only.failed()) == (1, ["forgetful::gradients"])
    whole = run(place, drill, ".")
    assert whole.failed() == [name for name in graded.failed() if name.startswith("forgetful")]
    assert whole.results["test_own::test_own"] == "passed"
    assert list(run(place, drill, "--lf").results) == whole.failed()


@pytest.mark.thorough
def test_settings_of_the_docs_work_in_an_editor(place: Path) -> None:
    """An editor lists the tests, then runs one of them by its absolute path."""
    block = re.search(r"```json\n(.*?)```", (ROOT / "docs" / "editors.md").read_text(), re.DOTALL)
    assert block is not None
    args = json.loads(block[1])["python.testing.pytestArgs"]
    assert args == ["--drill", "gqa=gqa.py"]
    args[1] = "prefix-sum=good.py"
    listed = run(place, *args, "--collect-only", "-q")
    assert "good.py::values\n" in listed.out
    ran = run(place, *args, f"--rootdir={place}", f"{place}/good.py::values")
    assert (ran.code, ran.results) == (0, {"good::values": "passed"})


@pytest.mark.thorough
def test_no_file_is_imported(tmp_path: Path) -> None:
    """Files outside the root folder, and a file for two challenges, have names of their own."""
    place = project(tmp_path / "project")
    for path in ("test_wrong.py", "../outside.py", "../other.py"):
        (place / path).write_text("raise SystemExit\n")
    names = ("test_wrong.py", "../outside.py", "../other.py")
    drills = [f"--drill=prefix-sum={name}" for name in names]
    ran = run(place, *drills, "--drill=signs=test_wrong.py", "-k", "loads", ".")
    assert ran.code == 1
    assert sorted(name.partition("::")[2] for name in ran.results) == [
        "../other.py loads",
        "../outside.py loads",
        "prefix-sum loads",
        "signs loads",
    ]
    assert set(ran.results.values()) == {"failure"}


@pytest.mark.thorough
def test_fault_of_the_grader_is_an_error(place: Path) -> None:
    """The run stops with a sentence."""
    (place / "refuse.py").write_text(
        "import attn_drill.server.clients as pool\n"
        "from attn_drill.server.messages import Refused\n"
        "pool.ServerPool.ask = lambda *_: Refused(0, 'This machine will not.')\n"
    )
    ran = run(place, "-p", "refuse", DRILLS[0], PYTHONPATH=f"{place}:{ROOT}")
    assert ran.code == 2
    assert "This machine will not." in ran.out
    assert "Traceback" not in ran.out


def config_of(place: Path, **options: Any) -> Any:
    """Return a configuration of pytest with the parts that the plugin reads."""
    defaults = {
        "attn_drill": ["prefix-sum=good.py"],
        "attn_drill_seed": None,
        "attn_drill_packs": [str(TINY_PACK)],
    }
    return SimpleNamespace(
        getoption=(defaults | options).get, invocation_params=SimpleNamespace(dir=place)
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"attn_drill": ["good.py"]}, "--drill is 'good.py'; it must be ID=FILE"),
        ({"attn_drill": ["prefix-sum="]}, "--drill is 'prefix-sum='; it must be ID=FILE"),
        ({"attn_drill": ["prefix-sun=good.py"]}, "No challenge is called 'prefix-sun'. Did you"),
        ({"attn_drill": ["prefix-sum=none.py"]}, "There is no file {place}/none.py."),
        ({"attn_drill_packs": ["."]}, "names {place}, which is not a pack"),
        ({"attn_drill_seed": -1}, "--seed is -1; it must be 0 to"),
    ],
)
def test_bad_options_are_usage_errors(place: Path, options: dict[str, Any], sentence: str) -> None:
    """The message has the given value and the possible values."""
    with pytest.raises(pytest.UsageError, match=re.escape(sentence.format(place=place))):
        DrillRun(config_of(place, **options))


def test_old_pytest_is_refused(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """The sentence has the needed version and the installed version."""
    monkeypatch.setattr(pytest, "version_tuple", (7, 4, 4))
    with pytest.raises(pytest.UsageError, match="--drill needs pytest 8 or newer; this is"):
        DrillRun(config_of(place))
