"""Find out how well workers are confined on this machine: a worker tries to break out.

This is the grader's side of the self-test. `attn_drill.sandbox.break_out` is the worker's side.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attn_drill.model.challenge import Limits
from attn_drill.sandbox.environment import PACKAGE
from attn_drill.sandbox.isolation import FOLDER_BYTES, Isolation
from attn_drill.worker._forkserver import MOST_THREADS
from attn_drill.worker.forkserver_client import ForkServer
from attn_drill.worker.protocol import Request, SubmittedFile, TensorTable, encode
from attn_drill.worker.worker_client import WorkerRun

_LIMITS = Limits(seconds=20.0, memory_mib=1024)
_REQUEST = encode(Request("def drive(): ...", "function", [], 0, [], []), TensorTable())
# The fork server has imported the trials, so a worker need not read the file.
_TRIAL = """\
import json, os
from attn_drill.sandbox.break_out import run_trial
print(json.dumps(run_trial(json.loads({!r}), os.getcwd())))
"""


@dataclass(frozen=True)
class SelfTestResult:
    """The result of the self-test."""

    isolation: Isolation
    refused: Mapping[str, bool]  # each forbidden action: it failed
    works: Mapping[str, bool]  # each action that must be possible: it worked

    @property
    def open(self) -> list[str]:
        """The forbidden actions that a submission could do."""
        return [action for action, is_refused in self.refused.items() if not is_refused]


def selftest(fork_server: ForkServer, hidden: Iterable[Path]) -> SelfTestResult:
    """Run the self-test with the workers of a fork server."""
    hidden = tuple(hidden)
    solutions = next(
        (path for folder in hidden for path in sorted(folder.rglob("solution.py"))), None
    )
    with tempfile.TemporaryDirectory(prefix="attn-drill-probe-") as folder:
        other = Path(folder, "other.py")
        other.write_text("another's work", encoding="utf-8")
        leased = Path(folder, "module.pyc")
        leased.touch()
        trial = {
            "kind": "all",
            "solutions": str(solutions or other),
            "engine": str(PACKAGE / "grading" / "judge.py"),
            "home_files": _some_files_in(Path.home()),
            "other": str(other),
            "leased": _installed(leased),
            "outside": str(Path(folder, "outside")),
            "grader": os.getpid(),
            "bytes_of_memory": 2 * _LIMITS.memory_bytes,
        }
        everything = _begin(fork_server, trial)
        # These two mostly wait for the fork server, so they run beside the first.
        excessive = {
            "fill the disk": {"kind": "disk", "bytes": FOLDER_BYTES + (8 << 20)},
            "start too many threads": {"kind": "threads", "count": MOST_THREADS + 50},
        }
        runs = {action: _begin(fork_server, trial) for action, trial in excessive.items()}
        result, _ = _result_of(everything)
    refused = dict(result.get("tried", {"prevent the self-test": False}))
    refused["live on after its time limit"] = True
    for pid in result.get("pids", []):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 0)
            refused["live on after its time limit"] = False
    for action, run in runs.items():
        limited, is_ended = _result_of(run)
        refused[action] = bool(limited.get("refused")) or is_ended
    works = {
        "threads that torch needs": bool(result.get("threads")),
        "its own folder to write to": bool(result.get("writes")),
    }
    return SelfTestResult(fork_server.isolation, refused, works)


def _installed(otherwise: Path) -> str:
    """Return a compiled module that workers may read, or `otherwise` if there is none."""
    cached = json.__spec__.cached if json.__spec__ is not None else None
    return cached if cached is not None and os.path.exists(cached) else str(otherwise)


def _some_files_in(home: Path) -> list[str]:
    """Return up to five readable files of the home folder, or the folder if there are none."""
    files: list[str] = []
    with contextlib.suppress(OSError):
        for path in sorted(home.iterdir())[:50]:
            if path.is_file() and not path.is_symlink() and os.access(path, os.R_OK):
                files.append(str(path))
    return files[:5] or [str(home)]


def _begin(fork_server: ForkServer, trial: Mapping[str, Any]) -> WorkerRun:
    """Start a trial as a submission, which prints its result."""
    run = WorkerRun(fork_server, _REQUEST, _LIMITS)
    run.submit(SubmittedFile("trial.py", _TRIAL.format(json.dumps(trial))))
    return run


def _result_of(run: WorkerRun) -> tuple[dict[str, Any], bool]:
    """Wait for a trial.

    Returns:
        The result of the trial, {} if the worker ended without a result; and whether the fork
        server ended the worker, because it took too much of a resource.
    """
    ended = run.finish()
    lines = ended.printed.get("import", "").splitlines()
    results = [line for line in lines if line.startswith("{")]  # a library may print, too
    return json.loads(results[-1]) if results else {}, ended.took_too_much
