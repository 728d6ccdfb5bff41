"""Marks and hidden folders for tests of the sandbox."""

import sys

import pytest

from attn_drill.packs import pack_reader
from attn_drill.sandbox import isolation

linux = pytest.mark.skipif(
    sys.platform != "linux",
    reason="only Linux has Landlock, seccomp and /proc; on other systems only limits hold",
)


HIDDEN = [
    pack_reader.PACKAGE,
    pack_reader.built_in_pack() / "challenges",
    pack_reader.built_in_pack() / "solutions",
]


needs_bubblewrap = pytest.mark.skipif(
    not isolation.bubblewrap_works(),
    reason="bubblewrap is not installed here, or this user may not start it",
)


needs_kernel = pytest.mark.skipif(
    sys.platform != "linux" or not (isolation._has_landlock() and isolation.has_seccomp()),
    reason="this kernel has no Landlock, or no seccomp",
)
