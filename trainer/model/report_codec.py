"""Convert a report to the JSON object with schema `attn-drill.report/1`, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainer.model.challenge import Mistake
from trainer.model.report import Diagnosis, EffectiveMask, Frame, Mismatch, Outcome, Report

SCHEMA = "attn-drill.report/1"


def to_object(report: Report) -> dict[str, Any]:
    """Return the report as plain dicts and lists."""
    return {
        "schema": SCHEMA,
        "challenge": report.challenge,
        "file": report.file,
        "seed": report.seed,
        "verdict": report.verdict,
        "checks": [_outcome_to_object(outcome) for outcome in report.outcomes],
        "diagnosis": None if report.diagnosis is None else _diagnosis_to_object(report.diagnosis),
        "stdout": report.stdout,
        "elapsed_seconds": round(report.elapsed_seconds, 3),
    }


def _outcome_to_object(outcome: Outcome) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": outcome.check,
        "case": outcome.case,
        "case_number": outcome.number,
        "status": outcome.status,
        "message": outcome.message,
    }
    if outcome.mismatch is not None:
        found["mismatch"] = _mismatch_to_object(outcome.mismatch)
    if outcome.frames:
        found["line"] = outcome.frames[-1].line
    if outcome.advice:
        found["advice"] = outcome.advice
    return found


def _mismatch_to_object(mismatch: Mismatch) -> dict[str, Any]:
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


def _diagnosis_to_object(diagnosis: Diagnosis) -> dict[str, Any]:
    mask, line = diagnosis.effective_mask, diagnosis.first_line
    return {
        "mistakes": [{"id": mistake.id, "says": mistake.says} for mistake in diagnosis.mistakes],
        "first_line": None if line is None else line.line,
        "case_number": diagnosis.case,
        "last_reached": diagnosis.last_reached,
        "first_missed": diagnosis.first_missed,
        "layout": diagnosis.layout,
        "effective_mask": None if mask is None else _mask_to_object(mask),
        "cleared": list(diagnosis.cleared),
    }


def _mask_to_object(mask: EffectiveMask) -> dict[str, Any]:
    return {
        "says": mask.difference,
        "batch_item": mask.item,
        "actual": list(mask.actual),
        "expected": list(mask.expected),
    }


def from_object(found: Mapping[str, Any]) -> Report:
    """Return the report that `to_object` converted to this object.

    The result has no cases, no texts of lines and no slices of tensors, because the object does
    not contain them.

    Raises:
        KeyError, TypeError: if `to_object` did not make the object.
    """
    diagnosis = found["diagnosis"]
    return Report(
        challenge=found["challenge"],
        file=found["file"],
        seed=found["seed"],
        verdict=found["verdict"],
        outcomes=tuple(_outcome_from_object(check) for check in found["checks"]),
        stdout=found["stdout"],
        elapsed_seconds=found["elapsed_seconds"],
        diagnosis=None if diagnosis is None else _diagnosis_from_object(diagnosis),
    )


def _outcome_from_object(found: Mapping[str, Any]) -> Outcome:
    line, mismatch = found.get("line"), found.get("mismatch")
    return Outcome(
        check=found["name"],
        status=found["status"],
        message=found["message"],
        case=found["case"],
        number=found["case_number"],
        mismatch=None if mismatch is None else _mismatch_from_object(mismatch),
        frames=() if line is None else (Frame(line, "", ""),),
        advice=found.get("advice", ""),
    )


def _mismatch_from_object(found: Mapping[str, Any]) -> Mismatch:
    tuples = ("expected_shape", "actual_shape", "max_abs_error_index")
    values = {name: tuple(found[name]) if found[name] else found[name] for name in tuples}
    return Mismatch(**{**found, **values, "dims": found["dims"] or ""})


def _diagnosis_from_object(found: Mapping[str, Any]) -> Diagnosis:
    line, mask = found["first_line"], found["effective_mask"]
    return Diagnosis(
        mistakes=tuple(
            Mistake(mistake["id"], "", "", mistake["says"], "") for mistake in found["mistakes"]
        ),
        first_line=None if line is None else Frame(line, "", ""),
        case=found["case_number"],
        last_reached=found["last_reached"],
        first_missed=found["first_missed"],
        layout=found["layout"],
        effective_mask=None if mask is None else _mask_from_object(mask),
        cleared=tuple(found["cleared"]),
    )


def _mask_from_object(found: Mapping[str, Any]) -> EffectiveMask:
    actual, expected = tuple(found["actual"]), tuple(found["expected"])
    return EffectiveMask(found["says"], found["batch_item"], actual, expected)
