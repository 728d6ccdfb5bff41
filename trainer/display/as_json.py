"""A report as the JSON object of the contract, schema `attn-drill.report/1`."""

from __future__ import annotations

import json
from typing import Any

from trainer.core.report import Diagnosis, Mismatch, Outcome, Report

SCHEMA = "attn-drill.report/1"


def to_json(report: Report) -> str:
    """One line of JSON, in ASCII: what a submission printed cannot draw on a terminal."""
    return json.dumps(as_object(report), allow_nan=False)


def error_to_json(sentence: str) -> str:
    """The object for exit codes 2 and 3, where there is no verdict."""
    return json.dumps({"schema": SCHEMA, "verdict": None, "error": sentence})


def as_object(report: Report) -> dict[str, Any]:
    """The report as plain dicts and lists."""
    return {
        "schema": SCHEMA,
        "challenge": report.challenge,
        "file": report.file,
        "seed": report.seed,
        "verdict": report.verdict,
        "checks": [_check(outcome) for outcome in report.outcomes],
        "diagnosis": _diagnosis(report.diagnosis),
        "stdout": report.stdout,
        "elapsed_seconds": round(report.elapsed_seconds, 3),
    }


def _diagnosis(found: Diagnosis | None) -> dict[str, Any] | None:
    if found is None:
        return None
    mask = found.effective_mask
    return {
        "mistakes": [{"id": one.id, "says": one.says} for one in found.mistakes],
        "first_line": found.first_line.line if found.first_line else None,
        "case_number": found.case,
        "last_reached": found.last_reached,
        "first_missed": found.first_missed,
        "layout": found.layout,
        "effective_mask": {
            "says": mask.what,
            "batch_item": mask.item,
            "actual": list(mask.actual),
            "expected": list(mask.expected),
        }
        if mask
        else None,
        "cleared": list(found.cleared),
    }


def _check(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": outcome.check,
        "case": outcome.case,
        "case_number": outcome.number,
        "status": outcome.status,
        "message": outcome.message,
    }
    if outcome.mismatch is not None:
        found["mismatch"] = _mismatch(outcome.mismatch)
    if outcome.frames:
        found["line"] = outcome.frames[-1].line
    return found


def _mismatch(mismatch: Mismatch) -> dict[str, Any]:
    return {
        "tensor": mismatch.tensor,
        "kind": mismatch.kind,
        "dims": mismatch.dims or None,
        "expected_shape": _list(mismatch.expected_shape),
        "actual_shape": _list(mismatch.actual_shape),
        "expected_type": mismatch.expected_type,
        "actual_type": mismatch.actual_type,
        "expected_value": mismatch.expected_value,
        "actual_value": mismatch.actual_value,
        "mismatched": mismatch.mismatched,
        "total": mismatch.total,
        "max_abs_error": mismatch.max_abs_error,
        "max_abs_error_index": _list(mismatch.max_abs_error_index),
    }


def _list(values: tuple[int, ...] | None) -> list[int] | None:
    return None if values is None else list(values)
