"""The only uses of private parts of torch. Each has a fall-back for versions without the part.

Everything else in attn-drill uses torch's public interface, so that any version from 2.6 on works.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.utils import _python_dispatch
from torch.utils._python_dispatch import TorchDispatchMode  # the documented way to import it


class DispatchMode(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's __init_subclass__ has no types
    """A dispatch mode of torch, under which torch does not import its compiler."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()  # type: ignore[no-untyped-call]  # as above

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # With True, torch would import dynamo, which takes 0.7 s, and nothing is compiled.
        return False


def storage_id(tensor: Tensor) -> int:
    """Return a number that tells the memory of a tensor from other memory that is in use.

    Tensors without values (device "meta") have no address, but each storage is an object of C++.
    """
    storage = tensor.untyped_storage()
    number: int = getattr(storage, "_cdata", 0) or storage.data_ptr()
    return number


def is_inside_transform(tensor: Tensor) -> bool:
    """Return whether a tensor belongs to vmap or another transform, and so has no memory."""
    functorch = getattr(torch._C, "_functorch", None)
    test: Any = getattr(functorch, "is_functorch_wrapped_tensor", None)
    return test is not None and bool(test(tensor))


def run_scripts_as_python() -> None:
    """Make `torch.jit.script` return its function unchanged from now on.

    A scripted function has no lines in Python, so its steps could not be recorded.
    """
    state: Any = getattr(torch.jit, "_state", None)
    if hasattr(state, "disable"):
        state.disable()


def unseen() -> AbstractContextManager[object]:
    """Return a context in which no mode counts or records the operations of this thread."""
    disable: Any = getattr(_python_dispatch, "_disable_current_modes", nullcontext)
    context: AbstractContextManager[object] = disable()
    return context
