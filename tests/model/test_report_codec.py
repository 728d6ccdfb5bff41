"""A report as a JSON object, and back."""

import json
from dataclasses import replace

import pytest

from attn_drill.model.challenge import Mistake
from attn_drill.model.report import (
    SCHEMA,
    Diagnosis,
    EffectiveMask,
    Frame,
    Mismatch,
    Outcome,
    Report,
    from_object,
    to_object,
)

MISMATCH = Mismatch(
    "out",
    "value",
    dims="B L M",
    expected_shape=(2, 7, 48),
    actual_shape=(2, 7, 48),
    mismatched=300,
    total=672,
    max_abs_error=0.41,
    max_abs_error_index=(1, 3, 5),
)
REPORT = Report(
    challenge="gqa",
    file="gqa.py",
    seed=7,
    verdict="failed",
    outcomes=(
        Outcome("loads", "passed"),
        Outcome("values", "failed", "wrong", "causal", 2, MISMATCH, (Frame(34, "", ""),)),
    ),
    stdout="hello\n",
    elapsed_seconds=0.2126,
    diagnosis=Diagnosis(
        mistakes=(Mistake("no-scale", "", "", "The scores are not scaled.", ""),),
        first_line=Frame(34, "", ""),
        start=31,
        missing=True,
        case=2,
        last_reached="scores",
        first_missed="weights",
        layout="other axes",
        effective_mask=EffectiveMask("rows see too much", 0, ("##",), ("#.",)),
        cleared=("the mask",),
    ),
)


def test_advice_is_not_part_of_the_message() -> None:
    """Only an outcome with advice has the key."""
    outcome = Outcome("runs", "failed", "it used 10 s", advice="`--time-limit` raises the limit")
    report = Report("gqa", "gqa.py", 7, "timeout", (Outcome("loads", "passed"), outcome))
    passed, failed = to_object(report)["checks"]
    assert "advice" not in passed
    assert (failed["message"], failed["advice"]) == (outcome.message, outcome.advice)
    assert from_object(to_object(report)).outcomes[1] == outcome
    assert outcome.advised_message == "it used 10 s; `--time-limit` raises the limit"


def test_object_has_the_keys_of_the_contract() -> None:
    """Other programs read these keys of `check --json`."""
    found = json.loads(json.dumps(to_object(REPORT)))
    assert found["schema"] == SCHEMA == "attn-drill.report/1"
    assert found["verdict"] == "failed"
    assert found["elapsed_seconds"] == 0.213
    values = found["checks"][1]
    assert {key: values[key] for key in ("name", "case", "case_number", "status", "line")} == {
        "name": "values",
        "case": "causal",
        "case_number": 2,
        "status": "failed",
        "line": 34,
    }
    assert values["mismatch"]["max_abs_error_index"] == [1, 3, 5]
    assert found["diagnosis"]["mistakes"] == [
        {"id": "no-scale", "says": "The scores are not scaled."}
    ]
    assert found["diagnosis"]["effective_mask"] == {
        "says": "rows see too much",
        "batch_item": 0,
        "actual": ["##"],
        "expected": ["#."],
    }


def test_report_survives_the_way_through_json() -> None:
    """All that the object contains comes back, and a second conversion gives the same object."""
    found = json.loads(json.dumps(to_object(REPORT)))
    report = from_object(found)
    assert report.outcomes == REPORT.outcomes
    assert report.diagnosis == REPORT.diagnosis
    assert to_object(report) == to_object(REPORT)


def test_shares_of_a_class_survive() -> None:
    """Other reports do not have these keys."""
    assert "shares" not in to_object(REPORT)
    assert REPORT.diagnosis is not None
    assert "only_mistake" not in to_object(REPORT)["diagnosis"]
    only = replace(REPORT.diagnosis, is_only_mistake=True)
    report = replace(REPORT, diagnosis=only, shares={"values": 0.25, "masks": 1.0})
    read = from_object(json.loads(json.dumps(to_object(report))))
    assert (read.shares, read.diagnosis) == (report.shares, only)


def test_report_without_a_diagnosis_has_a_null() -> None:
    """A pass has no diagnosis, in the object and after reading the object."""
    found = to_object(Report("gqa", "gqa.py", None, "passed", ()))
    assert found["diagnosis"] is None
    assert from_object(found).diagnosis is None


def test_object_without_a_key_is_refused() -> None:
    """An object of another program raises KeyError."""
    found = to_object(REPORT)
    del found["checks"]
    with pytest.raises(KeyError):
        from_object(found)
