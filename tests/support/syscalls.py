"""A simulation of the seccomp filter."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from attn_drill.sandbox._system_calls import SECCOMP

ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | 38, 0x80000000  # 38 is ENOSYS


OWN = 4321


MACHINES = ["x86_64", "aarch64"]


def verdict_on(
    code: bytes,
    machine: str,
    number: int,
    arguments: Sequence[int] = (),
    architecture: int | None = None,
) -> int:
    """Return the filter's verdict on one call.

    Raises:
        AssertionError: if the filter contains an unexpected instruction.
    """
    padded = [*arguments, *[0] * (6 - len(arguments))]
    architecture = SECCOMP[machine][0] if architecture is None else architecture
    data = struct.pack(
        "<IIQ6Q", number, architecture, 0, *(value & (1 << 64) - 1 for value in padded)
    )
    accumulator, position = 0, 0
    while True:
        kind, jump_if_true, jump_if_false, value = struct.unpack_from("<HBBI", code, 8 * position)
        position += 1
        match kind:
            case 0x20:  # BPF_LD | BPF_W | BPF_ABS
                assert value % 4 == 0
                accumulator = struct.unpack_from("<I", data, value)[0]
            case 0x05:  # BPF_JMP | BPF_JA
                position += value
            case 0x15:  # BPF_JMP | BPF_JEQ | BPF_K
                position += jump_if_true if accumulator == value else jump_if_false
            case 0x35:  # BPF_JMP | BPF_JGE | BPF_K
                position += jump_if_true if accumulator >= value else jump_if_false
            case 0x06:  # BPF_RET | BPF_K
                return int(value)
            case _:
                raise AssertionError(f"instruction {kind:#x}")
