"""A place in an interview that only keeps the events that it is told."""

from typing import Any

from attn_drill.session._session_record import Sitting

OPENING = "Stage 1 of 2, warm-up.\n\nThe clock starts when you press Enter."


def sitting(events: list[tuple[str, dict[str, Any]]] | None = None) -> Sitting:
    """Return the first of two problems, with half an hour left.

    Args:
        events: gets the name and the values of each event.
    """
    kept = [] if events is None else events

    def record(kind: type, **values: Any) -> None:
        kept.append((kind.__name__, values))

    return Sitting(1, 2, 1800.0, OPENING, record)
