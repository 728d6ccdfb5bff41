"""Stations as whoever grades a class sees them: started when they are needed, kept for the next submission, replaced when they are lost."""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import struct
import threading
import time

from trainer.classroom.orders import (
    Answer,
    Expect,
    NotGraded,
    Order,
    packed,
    unpacked_answer,
    unpacked_order,
)
from trainer.grading.child import GradingProcess
from trainer.grading.wire import framed

_TRIES = 2
_PATIENCE_SECONDS = 300.0  # for importing torch, a diagnosis, a machine that stands still
_TIMES_THE_LIMIT = 60  # the limit counts CPU time, and many submissions may share a core
_END_SECONDS = 2.0
_MOST_ANSWER_BYTES = 1 << 28


class StationLostError(Exception):
    """The process died, or did not answer in any time that could be explained."""


class _EndedError(Exception):
    """No station is started any more."""


class Station:
    """A grading process on this machine."""

    def __init__(self, packs: tuple[str, ...]) -> None:
        self._process = GradingProcess("trainer.classroom.station", *packs)

    def ask(self, order: Order) -> Answer:
        """Send an order and wait for its answer.

        Raises:
            StationLostError: where none comes; the station is of no use any more.
        """
        patience = _PATIENCE_SECONDS + _TIMES_THE_LIMIT * getattr(order, "seconds", 0.0)
        try:
            self._process.send(framed(packed(order)))
            return unpacked_answer(self._read(time.monotonic() + patience))
        except (OSError, ValueError, EOFError) as error:
            raise StationLostError(
                self._process.last_words() or str(error) or type(error).__name__
            ) from None

    def _read(self, deadline: float) -> bytes:
        (length,) = struct.unpack("<I", self._read_exactly(4, deadline))
        if length > _MOST_ANSWER_BYTES:
            raise ValueError(f"an answer of {length} bytes")
        return self._read_exactly(length, deadline)

    def _read_exactly(self, count: int, deadline: float) -> bytes:
        descriptor, received = self._process.answers.fileno(), bytearray()
        while len(received) < count:
            if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the grading process does not answer")
            part = os.read(descriptor, count - len(received))
            if not part:
                raise EOFError("the grading process ended")
            received += part
        return bytes(received)

    def close(self) -> None:
        """End it, and its workers with it."""
        with contextlib.suppress(OSError, ValueError):
            self._process.answers.close()
        self._process.close(_END_SECONDS)


class _Idle:
    """Stations that wait for their next order, by the packs that they hide."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stations: dict[tuple[str, ...], list[Station]] = {}
        self._at_work: set[Station] = set()
        self._closed = False

    def open(self) -> None:
        with self._lock:
            self._closed = False

    def take(self, packs: tuple[str, ...]) -> Station:
        with self._lock:
            if self._closed:
                raise _EndedError
            waiting = self._stations.setdefault(packs, [])
            station = waiting.pop() if waiting else Station(packs)
            self._at_work.add(station)
        return station

    def give_back(self, packs: tuple[str, ...], station: Station) -> None:
        with self._lock:
            if station in self._at_work:  # else all were closed meanwhile
                self._at_work.discard(station)
                self._stations[packs].append(station)

    def drop(self, station: Station) -> None:
        with self._lock:
            self._at_work.discard(station)
        station.close()

    def close(self) -> None:
        with self._lock:
            all_of_them = [
                *self._at_work,
                *(one for some in self._stations.values() for one in some),
            ]
            self._at_work, self._stations, self._closed = set(), {}, True
        for station in all_of_them:
            station.close()


_idle = _Idle()
atexit.register(_idle.close)


def answer(order: bytes) -> bytes:
    """Have an order carried out by a station of this process: bytes in, bytes out, so that it can be asked on any machine.

    A station that is lost is replaced and asked once more; an order that loses two of them has no answer but that.
    """
    wanted = unpacked_order(order)
    lost = ""
    with contextlib.suppress(_EndedError):
        for _ in range(_TRIES):
            station = _idle.take(wanted.packs)
            try:
                found = station.ask(wanted)
            except StationLostError as error:
                lost = str(error)
                _idle.drop(station)
            except BaseException:
                _idle.drop(station)
                raise
            else:
                _idle.give_back(wanted.packs, station)
                return packed(found)
    what = "Telling what is expected" if isinstance(wanted, Expect) else f"Grading {wanted.file}"
    return packed(
        NotGraded(
            f"{what} ended the grading process {_TRIES} times ({lost}). Look at the file, and grade it alone with `attn-drill check`."
        )
    )


def open_stations() -> None:
    """Have stations started on demand, from now on and from the beginning."""
    _idle.open()


def close_stations() -> None:
    """End all stations of this process, also those at work; none is started any more."""
    _idle.close()
