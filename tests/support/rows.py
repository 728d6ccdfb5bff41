"""A table of a parametrised test: each row has a name."""

from typing import Any

import pytest


def each_row(arguments: str, table: dict[str, Any]) -> pytest.MarkDecorator:
    """Return the mark that runs a test with each row of a table.

    Args:
        arguments: the names of the test's arguments, with commas between them.
        table: the values by the id of the row. A row with marks is a `pytest.param`.
    """
    return pytest.mark.parametrize(arguments, table.values(), ids=table)
