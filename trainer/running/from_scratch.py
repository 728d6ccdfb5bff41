"""Make the library's own attention unusable inside this process, and note who calls it.

The kernels themselves are overridden, so every name under which they can be reached leads here: the functional form,
`torch.ops.aten`, `torch._C._nn`, nested in `torch.jit` or `vmap`. `nn.MultiheadAttention` and the transformer layers,
which partly run on plain kernels, are overridden as classes and functions.
"""

from __future__ import annotations

import ctypes
import importlib.abc
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch
import torch.nn.functional as F
from torch import nn

_KERNELS = {
    "scaled_dot_product_attention": "F.scaled_dot_product_attention",
    "_scaled_dot_product_attention_math": "F.scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention": "F.scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention_for_cpu": "F.scaled_dot_product_attention",
    "_scaled_dot_product_efficient_attention": "F.scaled_dot_product_attention",
    "_scaled_dot_product_fused_attention_overrideable": "F.scaled_dot_product_attention",
    "_flash_attention_forward": "the flash attention kernel",
    "_efficient_attention_forward": "the memory-efficient attention kernel",
    "_fused_sdp_choice": "F.scaled_dot_product_attention",
    "_safe_softmax": "the softmax inside F.scaled_dot_product_attention or flex_attention",
    "_native_multi_head_attention": "nn.MultiheadAttention",
    "_triton_multi_head_attention": "nn.MultiheadAttention",
    "_transformer_encoder_layer_fwd": "nn.TransformerEncoderLayer",
}
_CLASSES = ("MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer")

# Packages whose purpose is attention, and torch's own copies of it in Python: to the submission they are not installed.
_PACKAGES = frozenset(
    "flash_attn flash_attn_interface xformers transformers x_transformers torchtune vllm sageattention "
    "flashinfer natten local_attention performer_pytorch linear_attention_transformer fla timm keras".split()
)
_MODULES = ("torch.onnx.ops", "torch._inductor.fx_passes", "torch.ao.nn.quantizable")
# Executed once at import; executed again they would give back what is overridden below.
_TORCH_FILES = ("torch/nn/functional.py", "torch/nn/modules/activation.py", "torch/nn/modules/transformer.py")


class NotAllowedError(RuntimeError):
    """Raised in the place of a library attention."""


def forbid(note: Callable[[str], None]) -> None:
    """Override everything; `note(name)` is called before the exception is raised. Cannot be undone in this process."""

    def refuse(name: str) -> NoReturn:
        note(name)
        raise NotAllowedError(f"{name} is not allowed here: attention is to be written from scratch")

    _override_kernels(refuse)
    for name in _CLASSES:
        for kind in _with_subclasses(getattr(nn, name)):
            for method in ("__init__", "forward", "_forward_impl"):
                if method in vars(kind):
                    setattr(kind, method, _refusing(refuse, f"nn.{name}"))
    # By its code, so that names that were bound to the function before lead here too.
    F.multi_head_attention_forward.__globals__["_attn_drill_refuse"] = refuse
    F.multi_head_attention_forward.__code__ = _multi_head_attention_forward.__code__
    sys.meta_path.insert(0, _NotInstalled())
    sys.addaudithook(_once_only(refuse))
    _guard_kernels(refuse)


def _with_subclasses(kind: type) -> list[type]:
    """The class and all that torch derives from it (a quantizable copy, say)."""
    children: list[type] = kind.__subclasses__()
    return [kind, *(other for child in children for other in _with_subclasses(child))]


def _refusing(refuse: Callable[[str], NoReturn], name: str) -> Callable[..., NoReturn]:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(name)

    return refused


def _multi_head_attention_forward(*args: Any, **kwargs: Any) -> Any:
    _attn_drill_refuse("F.multi_head_attention_forward")  # type: ignore[name-defined]  # noqa: F821  # lives in F's globals


def _override_kernels(refuse: Callable[[str], NoReturn]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that a kernel is overridden
        library = torch._C._dispatch_library("IMPL", "aten", "", __file__, 1)
        for kernel, name in _KERNELS.items():
            for key in ("CPU", "AutogradCPU"):
                library.impl(kernel, key, _refusing(refuse, name), False)  # type: ignore[call-arg]  # the stub lacks the last one
    # Dropping the library would restore the kernels: give it a reference that nobody can find and drop.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))


class _Guarded:
    """A library of overrides that passes everything on but an override of what is refused: it would put the kernel back."""

    def __init__(self, library: Any, refuse: Callable[[str], NoReturn]) -> None:
        self._library, self._refuse = library, refuse

    def impl(self, operation: str, *rest: Any) -> Any:
        """Register an override; torch itself does so when vmap is first used."""
        if operation.removeprefix("aten::").partition(".")[0] in _KERNELS:
            self._refuse("an override of torch's own attention kernels")
        return self._library.impl(operation, *rest)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)


def _guard_kernels(refuse: Callable[[str], NoReturn]) -> None:
    """From here on, libraries of overrides for torch's own operations are guarded."""
    original = torch._C._dispatch_library

    def guarded(kind: Any, name: str, *rest: Any) -> Any:
        library = original(kind, name, *rest)
        return _Guarded(library, refuse) if name == "aten" else library

    torch._C._dispatch_library = guarded  # type: ignore[assignment]  # its stub spells out every argument


def _once_only(refuse: Callable[[str], NoReturn]) -> Callable[[str, tuple[Any, ...]], None]:
    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "exec" and getattr(arguments[0], "co_filename", "").replace("\\", "/").endswith(_TORCH_FILES):
            refuse("a second copy of torch's attention")

    return hook


class _NotInstalled(importlib.abc.MetaPathFinder):
    """Finds attention packages first, and says that they are not there."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> None:
        """Refuse the packages of the list; leave all others to the next finder."""
        if fullname.partition(".")[0] in _PACKAGES or fullname.startswith(_MODULES):
            raise ModuleNotFoundError(f"No module named {fullname!r} for a submission: attention is to be written from scratch", name=fullname)
