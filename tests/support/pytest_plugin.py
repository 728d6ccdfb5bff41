"""Helpers of the tests of pytest plugin."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.support.paths import ROOT, TINY_PACK
from trainer.pytest_plugin import drill_run as drill_run

TINY = TINY_PACK


PLUGIN = ("-p", "trainer.pytest_plugin.plugin")


# Puts a fake in the place of the grading server. The first line of a file says what its report is.
# All requests are written down.
SHOWN = r"it is \x1b[31m3 and must be 4"  # the message below, made visible


CONFTEST = """
import os
import trainer.server.pool as pool
from trainer.model.report import Frame, Outcome, Report
from trainer.model.case import Case
from trainer.server.messages import GradeReference, Refused, Verdict
from trainer.server.process import ServerLostError

CASES = tuple(Case(name, {}, {}, {"B": 2}) for name in ("first", "second [B, 1]"))
MESSAGE = "it is \\x1b[31m3 and must be 4 …"


def on_cases(check, status):
    message = MESSAGE if status == "failed" else ""
    return [Outcome(check, status, message, case.name, n) for n, case in enumerate(CASES, 1)]


def sizes(second):
    both = (("passed", "one is odd"), (second, "two is odd"))
    return [Outcome("bad sizes", status, message) for status, message in both]


def outcomes(kind):
    start = [Outcome("loads", "passed"), *on_cases("runs", "passed")]
    if kind == "values":
        skipped = Outcome("properties", "skipped", "needs values")
        return [*start, *on_cases("values", "failed"), skipped, *sizes("failed")]
    if kind == "loads":
        message = "SyntaxError: `--time-limit` at line 7"
        failed = Outcome("loads", "failed", message, frames=(Frame(7, "", "x ="),))
        later = ("runs", "values", "properties", "bad sizes")
        return [failed, *(Outcome(check, "skipped", "needs loads") for check in later)]
    end = [*on_cases("properties", "passed"), *sizes("passed")]
    return [*start, *on_cases("values", "passed"), *end]


def say(what):
    with open("requests.txt", "a") as file:
        file.write(f"{what}\\n")


class Server:
    def __init__(self, packs):
        say("started")

    def ask(self, request):
        name, kind = "it.py", os.environ.get("REFERENCE", "right")
        if not isinstance(request, GradeReference):
            name, kind = request.submission.name, request.submission.source.split()[1]
            assert (request.seconds, request.memory_mib) == (10.0, int(os.environ.get("MIB", 2048)))
        say(f"{type(request).__name__} {kind}")
        if kind == "lost":
            raise ServerLostError("out of luck")
        if kind == "refused":
            return Refused(request.id, "This machine will not.")
        made = tuple(outcomes(kind))
        verdict = "failed" if any(outcome.status == "failed" for outcome in made) else "passed"
        report = Report(request.challenge, name, request.seed, verdict, made, CASES)
        return Verdict(request.id, report)

    def close(self):
        say("closed")


pool.ServerProcess = Server
"""


@dataclass(frozen=True)
class Ran:
    """A run of pytest: the result and the text of each test, by its name in JUnit's file."""

    code: int
    out: str
    results: dict[str, str]
    texts: dict[str, str]

    def count(self) -> dict[str, int]:
        """Return how many tests have each result."""
        return dict(Counter(self.results.values()))


def environment(**more: str) -> dict[str, str]:
    """Return our environment without the variables of pytest and of its workers."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST_", "ATTN_DRILL_", "COV_"))
    }
    return {**ours, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "PYTHONIOENCODING": "utf-8", **more}


def run(folder: Path, *args: str, plugin: Sequence[str] = PLUGIN, **more: str) -> Ran:
    """Run pytest in a folder. `more` are variables of the environment."""
    (folder / "junit.xml").unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", *plugin, f"--drill-pack={TINY}"]
    done = subprocess.run(
        [*command, "--junitxml=junit.xml", *args],
        cwd=folder,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    found, texts = {}, {}
    if (folder / "junit.xml").exists():
        for case in ET.parse(folder / "junit.xml").iter("testcase"):
            name = f"{case.get('classname')}::{case.get('name')}"
            assert name not in found, f"two tests are called {name}"
            kinds = [child for child in case if child.tag in ("failure", "error", "skipped")]
            found[name] = kinds[0].tag if kinds else "passed"
            texts[name] = f"{kinds[0].get('message')}\n{kinds[0].text}" if kinds else ""
    return Ran(done.returncode, done.stdout, found, texts)


def project(place: Path, conftest: str = "") -> Path:
    """Make a folder with a test of its own and files that cannot be imported."""
    place.mkdir()
    (place / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (place / "conftest.py").write_text(conftest)
    (place / "test_own.py").write_text("def test_own():\n    pass\n")
    for kind in ("right", "values", "loads", "lost", "refused"):
        (place / f"{kind}.py").write_text(f"# {kind}\nraise SystemExit\n")
    return place


def requests(folder: Path) -> list[str]:
    """Return what the fake server was asked."""
    return (folder / "requests.txt").read_text().splitlines()


def config_of(place: Path, **options: Any) -> Any:
    """Return a configuration of pytest that answers as much as is asked."""
    given = {
        "attn_drill": ["prefix-sum=right.py"],
        "attn_drill_seed": None,
        "attn_drill_packs": [str(TINY)],
        "attn_drill_seconds": 10.0,
        "attn_drill_mib": 2048,
    }
    params = SimpleNamespace(dir=place)
    return SimpleNamespace(getoption=(given | options).get, invocation_params=params)
