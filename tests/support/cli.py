"""Run `attn-drill` as a user types it."""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from attn_drill.packs import pack_reader
from attn_drill.practice.facts import Attempted, Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import ChallengeProgress
from attn_drill.practice.schedule import agenda
from attn_drill.practice.statistics import Stats
from tests.support import forked
from tests.support.paths import SOURCE

Run = Callable[..., tuple[int, str, str]]  # the exit code, stdout and stderr of a command
BUILT_IN = pack_reader.built_in_pack()
GQA = pack_reader.find_challenge(BUILT_IN, "gqa")


def drill(
    *arguments: str, cwd: Path, code: int | None = 0, given: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run attn-drill in a folder with this input, and return its output.

    The exit code must be `code`; None accepts every code.
    """
    python_path = str(SOURCE)
    variables = {**os.environ, "PYTHONPATH": python_path, **environment}
    completed = forked.run(arguments, cwd, variables, given)
    assert code is None or completed.returncode == code, completed.stdout + completed.stderr
    return completed


TILED = pack_reader.solution(GQA).replace(
    "k = k.repeat_interleave(group_size, dim=1)", "k = k.repeat(1, group_size, 1, 1)"
)


def type_lines(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    """Let standard input have these lines and then end."""
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


CHALLENGES = pack_reader.read_pack(BUILT_IN)
DAY = 86_400.0
NOW = 1_700_000_000.0


def reviewed(challenge: str, days_ago: float, rating: int = 3) -> Reviewed:
    """Return a review from some days ago."""
    return Reviewed(
        f"challenge:{challenge}", NOW - days_ago * DAY, f"id {challenge}", rating=rating
    )


ENTRIES = agenda(
    CHALLENGES,
    {
        "gqa": ChallengeProgress("passed", 1),
        "mha": ChallengeProgress("passed", 1),
        "rope": ChallengeProgress("started"),
        "sdpa": ChallengeProgress("passed", 2),
    },
    [reviewed("mha", 40), reviewed("gqa", 90), reviewed("sdpa", 0.1)],
    NOW,
)

PASSED_IN_SHORT = Stats(
    passed=("gqa", "mha", "sdpa"),
    challenges=len(CHALLENGES),
    streak=3,
    best_seconds={"gqa": 850.0, "sdpa": 20.0},
)


def record_pass(home: Path, challenge: str, when: float) -> None:
    """Record a pass and its review in the journal."""
    journal = Journal(home)
    journal.add(Attempted(challenge, when, seed=1, verdict="passed", source="text"))
    journal.add(Reviewed(f"challenge:{challenge}", when, rating=3, reason="10 of 20 min, no hint"))
    journal.close()


def run(
    root: Path, environment: dict[str, str]
) -> tuple[dict[str, object], subprocess.CompletedProcess[str]]:
    """Run a copy of the script in the root folder, as Gradescope does.

    Return the student's results, and the finished process.
    """
    script = root / "run_autograder"
    script.write_text((root / "source" / "run_autograder").read_text())
    script.chmod(0o755)
    process = subprocess.run(
        [str(script)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    results = json.loads((root / "results" / "results.json").read_text(encoding="utf-8"))
    return results, process
