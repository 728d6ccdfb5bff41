"""Convert a report to the JSON object with schema `attn-drill.report/1`, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from attn_drill.model.challenge import Mistake
from attn_drill.model.report import Diagnosis, EffectiveMask, Frame, Mismatch, Outcome, Report

SCHEMA = "attn-drill.report/1"

# The keys of the objects, each with the attribute of the record that has the value.
_CHECK = {
    "name": "check",
    "case": "case",
    "case_number": "number",
    "status": "status",
    "message": "message",
}
_MISMATCH = {
    name: name
    for name in (
        "tensor kind dims expected_shape actual_shape expected_type actual_type expected_value "
        "actual_value mismatched total max_abs_error max_abs_error_index"
    ).split()
}
_DIAGNOSIS = {
    "missing": "missing",
    "case_number": "case",
    "last_reached": "last_reached",
    "first_missed": "first_missed",
    "layout": "layout",
    "cleared": "cleared",
}
_MASK = {"says": "difference", "batch_item": "item", "actual": "actual", "expected": "expected"}


def to_object(report: Report) -> dict[str, Any]:
    """Return the report as plain dicts and lists. Keys that are only for a class may be missing."""
    diagnosis = report.diagnosis
    found = {
        "schema": SCHEMA,
        "challenge": report.challenge,
        "file": report.file,
        "seed": report.seed,
        "verdict": report.verdict,
        "checks": [_check(outcome) for outcome in report.outcomes],
        "diagnosis": None if diagnosis is None else _diagnosis(diagnosis),
        "stdout": report.stdout,
        "elapsed_seconds": round(report.elapsed_seconds, 3),
    }
    if report.shares:
        found["shares"] = dict(report.shares)
    return found


def _check(outcome: Outcome) -> dict[str, Any]:
    found = _object(outcome, _CHECK)
    if outcome.mismatch is not None:
        dims = outcome.mismatch.dims or None
        found["mismatch"] = {**_object(outcome.mismatch, _MISMATCH), "dims": dims}
    if outcome.frames:
        found["line"] = outcome.frames[-1].line
    if outcome.advice:
        found["advice"] = outcome.advice
    return found


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    line, mask, span = diagnosis.first_line, diagnosis.effective_mask, diagnosis.span
    return {
        "mistakes": [{"id": mistake.id, "says": mistake.says} for mistake in diagnosis.mistakes],
        "first_line": None if line is None else line.line,
        "span": None if span is None else list(span),
        **_object(diagnosis, _DIAGNOSIS),
        "effective_mask": None if mask is None else _object(mask, _MASK),
        **({"only_mistake": True} if diagnosis.is_only_mistake else {}),
    }


def _object(record: object, keys: Mapping[str, str]) -> dict[str, Any]:
    values = {key: getattr(record, attribute) for key, attribute in keys.items()}
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in values.items()
    }


def from_object(found: Mapping[str, Any]) -> Report:
    """Return the report that `to_object` converted, without cases, texts of lines and slices.

    KeyError or TypeError if `to_object` did not make the object.
    """
    diagnosis = found["diagnosis"]
    return Report(
        challenge=found["challenge"],
        file=found["file"],
        seed=found["seed"],
        verdict=found["verdict"],
        outcomes=tuple(_outcome_from(check) for check in found["checks"]),
        stdout=found["stdout"],
        elapsed_seconds=found["elapsed_seconds"],
        shares=found.get("shares", {}),
        diagnosis=None if diagnosis is None else _diagnosis_from(diagnosis),
    )


def _outcome_from(found: Mapping[str, Any]) -> Outcome:
    mismatch = found.get("mismatch")
    if mismatch is not None:
        fields = _fields(mismatch, _MISMATCH)
        mismatch = Mismatch(**{**fields, "dims": fields["dims"] or ""})
    return Outcome(
        **_fields(found, _CHECK),
        mismatch=mismatch,
        frames=_frames(found.get("line")),
        advice=found.get("advice", ""),
    )


def _diagnosis_from(found: Mapping[str, Any]) -> Diagnosis:
    mask, mistakes, span = found["effective_mask"], found["mistakes"], found["span"]
    return Diagnosis(
        mistakes=tuple(Mistake(known["id"], "", "", known["says"], "") for known in mistakes),
        first_line=next(iter(_frames(found["first_line"])), None),
        start=span[0] if span is not None and span[0] != span[1] else None,
        **_fields(found, _DIAGNOSIS),
        effective_mask=None if mask is None else EffectiveMask(**_fields(mask, _MASK)),
        is_only_mistake=found.get("only_mistake", False),
    )


def _frames(line: int | None) -> tuple[Frame, ...]:
    return () if line is None else (Frame(line, "", ""),)


def _fields(found: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    values = {attribute: found[key] for key, attribute in keys.items()}
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


def to_json(report: Report) -> str:
    """Return one line of JSON. It is ASCII, so that escape sequences in it cannot act."""
    return json.dumps(to_object(report), allow_nan=False)


def error_to_json(sentence: str) -> str:
    """Return the object for exit codes 2 and 3, which have no verdict."""
    return json.dumps({"schema": SCHEMA, "verdict": None, "error": sentence})
