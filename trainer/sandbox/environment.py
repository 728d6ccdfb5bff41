"""Start Python processes whose memory holds nothing about the person who started them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Python, the system's loader and torch's libraries need these; no other variable reaches a worker.
_KEPT = frozenset(
    "PATH LANG LC_ALL LC_CTYPE TMPDIR LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONPATH PYTHONHOME "
    "PYTHONUSERBASE PYTHONNOUSERSITE PYTHONUTF8 PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX "
    "OPENBLAS_CORETYPE OPENBLAS_L2_SIZE MKL_ENABLE_INSTRUCTIONS ATEN_CPU_CAPABILITY".split()
)
# One thread: a process with threads forks badly.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a process may have from which workers are forked."""
    return {name: value for name, value in environment.items() if name in _KEPT} | ONE_THREAD


def command() -> list[str]:
    """Return the start of a command line that runs a module of this package from `ROOT`."""
    return [sys.executable, "-m"]
