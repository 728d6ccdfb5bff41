"""The pipes between the grader and one worker, seen from the worker: requests in, replies out.

They are pipes and not sockets, because a pipe can carry only bytes, in order. A socket could also
carry descriptors.
"""

from __future__ import annotations

import os
import select
import struct

from attn_drill.worker.protocol import message

HEAD_BYTES = 9  # one byte for the kind, eight bytes for the length
_CHUNK = 1 << 20


def payload_bytes(head: bytes | bytearray) -> int:
    """Return the length of the payload that follows the head of a message."""
    length: int = struct.unpack_from("<Q", head, 1)[0]
    return length


class Channel:
    """A worker's ends of its two pipes."""

    def __init__(self, requests: int, replies: int) -> None:
        self._requests, self._replies = requests, replies

    def receive(self) -> bytes:
        """Return the payload of the next message.

        Raises:
            ConnectionError: if the grader has closed the pipe.
        """
        return self._read(payload_bytes(self._read(HEAD_BYTES)))

    def send(self, kind: bytes, payload: bytes) -> None:
        """Send a whole message, even if the submission has made the descriptor non-blocking."""
        write_all(self._replies, message(kind, payload))

    def _read(self, count: int) -> bytes:
        received = bytearray()
        while len(received) < count:
            part = os.read(self._requests, min(count - len(received), _CHUNK))
            if not part:
                raise ConnectionError("the grader closed the pipe")
            received += part
        return bytes(received)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes. Wait while the pipe is full."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
