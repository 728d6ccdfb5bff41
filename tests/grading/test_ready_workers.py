"""Workers: requests that are kept in the fork server, and the worker that is kept ready."""

from __future__ import annotations

import os

import pytest

from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.grader import Grader, Workers
from attn_drill.model.challenge import Submission
from attn_drill.worker.worker_client import SupersededError
from tests.support.grading import report_of
from tests.support.isolation import RIGHT, SUMS, grader_by
from tests.support.paths import TINY_PACK


def test_preloaded_request_is_sent_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request of another case set is sent each time, and graded on its own cases."""
    with grader_by() as grader:
        sent, request = list[int](), CaseSet.request
        monkeypatch.setattr(
            CaseSet, "request", lambda *args: sent.append(args[0].seed) or request(*args)
        )
        grader.workers.preload(grader.case_set(SUMS, 11))
        grader.workers.preload(grader.case_set(SUMS, 11))
        assert all(report_of(grader, SUMS, RIGHT, "a.py", 11).verdict == "passed" for _ in range(3))
        assert sent == [11]
        assert report_of(grader, SUMS, RIGHT, "a.py", 12).seed == 12
        grader.workers.preload(grader.case_set(SUMS, 12))
        assert report_of(grader, SUMS, RIGHT, "a.py", 12).verdict == "passed"
        assert report_of(grader, SUMS, RIGHT, "a.py", 11).verdict == "passed"
        assert sent == [11, 12, 12, 11]


def test_prepared_worker_serves_the_next_submission_of_its_cases(grader: Grader) -> None:
    """A submission on other cases does not take the prepared worker."""
    case_set, other = grader.case_set(SUMS, 11), grader.case_set(SUMS, 12)
    grader.workers.prepare(case_set)
    prepared = grader.workers._ready
    assert prepared is not None
    submission = Submission("a.py", RIGHT)
    assert grader.workers.run(other, submission).how == "replied"
    assert grader.workers._ready is prepared
    running = grader.workers.begin(case_set, submission)
    assert running is prepared[1]
    assert grader.workers.finish(running).how == "replied"
    assert grader.workers._ready is None


def test_readable_interrupt_stops_the_work() -> None:
    """As soon as the descriptor is readable, the work raises SupersededError."""
    reader, writer = os.pipe()
    workers = Workers([TINY_PACK], interrupt=reader)
    try:
        workers.check_interrupt()
        os.write(writer, b"x")
        with pytest.raises(SupersededError):
            workers.check_interrupt()
    finally:
        workers.close()
        os.close(reader)
        os.close(writer)
