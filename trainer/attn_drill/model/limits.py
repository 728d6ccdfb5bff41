"""The limits of a submission, which commands, messages, assignments and workers use."""

from __future__ import annotations

from dataclasses import dataclass

SLEEP_FACTOR = 4  # a worker may wait for this many times its limit of CPU seconds


@dataclass(frozen=True)
class Limits:
    """The limits of one run of a worker."""

    # CPU seconds of all threads of the worker. Other load on the machine does not count.
    seconds: float = 10.0
    memory_mib: int = 2048  # beyond the memory of torch itself

    @property
    def memory_bytes(self) -> int:
        """The limit of memory, as the kernel takes it."""
        return self.memory_mib << 20


DEFAULT = Limits()
