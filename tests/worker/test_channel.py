"""The pipes between the grader and a worker."""

import os
import threading
from collections.abc import Iterator

import pytest

from attn_drill.worker.protocol import (
    HEAD_BYTES,
    NOTE,
    REPLY,
    Channel,
    message,
    payload_bytes,
    write_all,
)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Yield a pipe's descriptors to read from and to write to; close both at the end."""
    reading, writing = os.pipe()
    yield reading, writing
    for descriptor in (reading, writing):
        try:
            os.close(descriptor)
        except OSError:
            continue  # the test has closed it


def test_messages_arrive_in_order(pipe: tuple[int, int]) -> None:
    """Each call of `receive` returns the payload of one message, also an empty one."""
    reading, writing = pipe
    sender, receiver = Channel(-1, writing), Channel(reading, -1)
    for payload in (b"first", b"", b"third"):
        sender.send(NOTE, payload)
    assert [receiver.receive() for _ in range(3)] == [b"first", b"", b"third"]


def test_the_head_of_a_message_contains_its_length() -> None:
    """The length counts the payload without the head."""
    whole = message(REPLY, b"x" * 300)
    assert payload_bytes(whole) == 300
    assert len(whole) == HEAD_BYTES + 300


@pytest.mark.parametrize("sent", [0, HEAD_BYTES - 1, HEAD_BYTES + 2])
def test_a_closed_pipe_is_an_error(pipe: tuple[int, int], sent: int) -> None:
    """The grader may close the pipe before, in or after the head of a message."""
    reading, writing = pipe
    os.write(writing, message(REPLY, b"payload")[:sent])
    os.close(writing)
    with pytest.raises(ConnectionError, match="closed the pipe"):
        Channel(reading, -1).receive()


def test_a_non_blocking_pipe_gets_the_whole_message(pipe: tuple[int, int]) -> None:
    """If a submission has made the descriptor non-blocking, `send` waits for space in the pipe."""
    reading, writing = pipe
    os.set_blocking(writing, False)
    payload = os.urandom(4 << 20)  # more than a pipe holds
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(Channel(reading, -1).receive()))
    reader.start()
    Channel(-1, writing).send(REPLY, payload)
    reader.join()
    assert received == [payload]


def test_writing_to_a_pipe_without_a_reader_is_an_error(pipe: tuple[int, int]) -> None:
    """`write_all` does not wait for a reader that is gone."""
    reading, writing = pipe
    os.close(reading)
    with pytest.raises(BrokenPipeError):
        write_all(writing, b"x")
