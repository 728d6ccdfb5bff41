"""Run a learner's file of tests with pytest, on one implementation after the other.

Only a worker imports this module, because the tests are the learner's code.
"""

from __future__ import annotations

import importlib
import linecache
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attn_drill.worker.protocol import TestResult, cap

if TYPE_CHECKING:
    import pytest

_MOST_TESTS = 400
# pytest must write nothing, and must collect no garbage after each run, which takes 0.2 s.
_OPTIONS = (
    "--import-mode=importlib --capture=no -p no:cacheprovider -p no:faulthandler -p no:terminal "
    "-p no:unraisableexception"
).split()


class _Results:
    """A plugin of pytest that keeps the results."""

    def __init__(self, file_name: str) -> None:
        self._place = re.compile(re.escape(file_name) + r"(?:\", line |:)(\d+)")
        self.tests: dict[str, TestResult] = {}

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep the failure to import the file."""
        if report.failed:
            self._add("", report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the result of a test, or the failure of its fixtures."""
        name = report.location[2]
        if report.failed:
            self._add(name, report)
        elif report.skipped:
            self.tests.setdefault(name, TestResult(name, is_skipped=True))
        elif report.when == "call":
            self.tests.setdefault(name, TestResult(name))

    def _add(self, name: str, report: pytest.CollectReport | pytest.TestReport) -> None:
        text = str(report.longrepr)
        lines = self._place.findall(text)
        crash = getattr(report.longrepr, "reprcrash", None)
        marked = [line for line in text.splitlines() if line.startswith("E ")]
        failure = crash.message if crash else (marked or [text])[-1].removeprefix("E ").strip()
        line = int(lines[-1]) if lines else 0
        self.tests[name] = TestResult(cap(name, 200), cap(failure or "it fails"), line)


def run_tests(path: str, module: str, implementation: str) -> list[TestResult]:
    """Return the results of the tests in a file, in order.

    Args:
        path: the absolute path of the file with the tests, in a folder of its own.
        module: the name under which the tests import the implementation.
        implementation: the text of that module.
    """
    import pytest  # noqa: PLC0415  # takes time, and most workers run no tests

    folder, name = os.path.split(path)
    Path(folder, f"{module}.py").write_text(implementation, encoding="utf-8")
    Path(folder, "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # A module of bytecode would hide the next implementation, which has the same name.
    sys.dont_write_bytecode = True
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for loaded in (module, Path(name).stem):
        sys.modules.pop(loaded, None)
    importlib.invalidate_caches()
    linecache.clearcache()
    results = _Results(name)
    code = pytest.main([path, f"--rootdir={folder}", *_OPTIONS], plugins=[results])
    tests = list(results.tests.values())[:_MOST_TESTS]
    complete = [pytest.ExitCode[name] for name in ("OK", "TESTS_FAILED", "NO_TESTS_COLLECTED")]
    if code not in complete and not any(test.failure for test in tests):
        tests.append(TestResult("", "pytest was ended before all tests had run"))
    return tests
