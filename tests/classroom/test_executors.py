"""A class's grading: results on disk, what is left to do, stations that are lost, the seam to executors."""

import pytest

from trainer.classroom.executors import executor_for
from trainer.model.errors import DrillError


@pytest.mark.parametrize(
    "where",
    [
        "",
        "dask",
        "dask://",
        "dask://host",
        "dask://host:port",
        "dask://host:123456",
        "ray://a:1",
        "dask://a/b:80",
    ],
)
def test_an_executor_that_is_none(where: str) -> None:
    """One sentence with what was said and what can be said."""
    with pytest.raises(DrillError, match="local or dask://HOST:PORT"), executor_for(where, 1):
        pass
