"""The environment and the command line of processes that must know nothing about the user."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
ROOT = PACKAGE.parent  # from which Python imports the package

# Python, the system's loader and torch's libraries need these variables. No other variable reaches
# a worker.
_KEPT = frozenset(
    "PATH LANG LC_ALL LC_CTYPE TMPDIR LD_LIBRARY_PATH DYLD_LIBRARY_PATH PYTHONPATH PYTHONHOME "
    "PYTHONUSERBASE PYTHONNOUSERSITE PYTHONUTF8 PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX "
    "OPENBLAS_CORETYPE OPENBLAS_L2_SIZE MKL_ENABLE_INSTRUCTIONS ATEN_CPU_CAPABILITY".split()
)
# One thread, because a process with several threads cannot be forked safely.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
# torch's profiler reads this variable at its first use. Without the variable, it prints log lines.
QUIET = {"KINETO_LOG_LEVEL": "99"}


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the allowed variables for a process from which workers are forked."""
    return {name: value for name, value in environment.items() if name in _KEPT} | ONE_THREAD
