"""A report as JSON text, and the object for exit codes that have no verdict."""

from __future__ import annotations

import json

from attn_drill.model.report import SCHEMA, Report, to_object


def to_json(report: Report) -> str:
    """Return one line of JSON. It is ASCII, so that escape sequences in it cannot act."""
    return json.dumps(to_object(report), allow_nan=False)


def error_to_json(sentence: str) -> str:
    """Return the object for exit codes 2 and 3, which have no verdict."""
    return json.dumps({"schema": SCHEMA, "verdict": None, "error": sentence})
