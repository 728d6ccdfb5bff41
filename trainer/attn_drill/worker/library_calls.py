"""Refuse the library's own attention, and the operations that a challenge forbids.

This judges honest code. A function mode of torch sees every public function of torch under every
alias: from before the call, inside `vmap`, compiled, or inside a layer of `torch.nn`. It is active
only while code of the submission runs in a call, so a self-test at the end of the file may compare
with the library. Whoever wants to hide a call can hide it; docs/security.md says so.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from torch.overrides import TorchFunctionMode, get_overridable_functions

# Patterns of the functions of torch that compute attention, and the words for them. The first
# match counts. The kernels have names of their own where no function of Python calls them, for
# example in a scripted function.
_ATTENTION = {
    "*scaled_dot_product*": "F.scaled_dot_product_attention",
    "multi_head_attention_forward": "nn.MultiheadAttention",
    "_native_multi_head_attention": "nn.MultiheadAttention",
    "_transformer_encoder_layer_fwd": "nn.TransformerEncoderLayer",
    "*flex_attention*": "flex_attention",
    "*flash_attention*": "the flash attention kernel",
    "*efficient_attention*": "the memory-efficient attention kernel",
    "varlen_attn": "varlen_attn",
}
# The entry of `forbids` that stands for automatic differentiation. All forms of it, for example
# `torch.func.vjp` and `functional.jacobian`, go through one of these functions.
AUTOGRAD = "torch.autograd"
_AUTOGRAD_NAMES = ("grad", "backward", "make_dual", "get_grad_fn")
_AUTOGRAD_WORDS = "automatic differentiation (torch.autograd)"
# The entry of `forbids` that stands for the whole library: a file must not import it.
TORCH = "torch"
# Packages whose purpose is attention. For the submission, they look as if not installed.
_PACKAGES = (
    "flash_attn flash_attn_interface xformers transformers x_transformers torchtune vllm "
    "sageattention flashinfer natten local_attention performer_pytorch "
    "linear_attention_transformer fla timm keras"
).split()


class NotAllowedError(RuntimeError):
    """The submission used the library's attention, or an operation that its challenge forbids."""


class LibraryCalls(TorchFunctionMode):
    """Refuse the library's attention, and what a challenge forbids, in code that runs while active.

    Args:
        note: called with the words for a refused function, and True if only this challenge forbids
            it, before the exception is raised. So an `except` in the submission hides nothing.
    """

    def __init__(self, forbids: Sequence[str], note: Callable[[str, bool], None]) -> None:
        super().__init__()
        self._forbids, self._note = tuple(forbids), note
        self._refusals: dict[str, tuple[str, bool]] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the function of torch, or refuse it.

        Raises:
            NotAllowedError: if the function is refused.
        """
        name = getattr(func, "__name__", "")
        if name == "__get__":
            name = f"get_{func.__self__.__name__}"  # an attribute of a tensor is read
        if name not in self._refusals:
            self._refusals[name] = refused(name, self._forbids)
        words, is_by_challenge = self._refusals[name]
        if words:
            self._note(words, is_by_challenge)
            reason = (
                "this challenge forbids it"
                if is_by_challenge
                else "attention must be written from scratch"
            )
            raise NotAllowedError(f"{words} is not allowed here: {reason}")
        return func(*args, **(kwargs or {}))


def refused(name: str, forbids: Sequence[str]) -> tuple[str, bool]:
    """Return the words for a function that must not be called, and True if `forbids` names it.

    Args:
        name: torch's name of the function, for example `softmax` or `_softmax.default`.
        forbids: the operations that the challenge forbids. Only the last part of a name counts:
            "torch.cumsum". A `*` stands for any text: "torch.*softmax*".

    Returns:
        ("", False) if the function is allowed.

    >>> refused("scaled_dot_product_attention", ())
    ('F.scaled_dot_product_attention', False)
    >>> refused("_softmax.default", ("torch.*softmax*",))
    ('torch.softmax', True)
    >>> refused("softmax", ())
    ('', False)
    """
    plain = name.partition(".")[0]
    for pattern, words in _ATTENTION.items():
        if fnmatchcase(plain, pattern):
            return words, False
    bare = bare_name(plain)
    for operation in forbids:
        if operation == AUTOGRAD:
            if bare in _AUTOGRAD_NAMES:
                return _AUTOGRAD_WORDS, True
        elif fnmatchcase(bare, operation.rpartition(".")[2]):
            return (f"torch.{bare}" if "*" in operation else operation), True
    return "", False


def is_known(operation: str) -> bool:
    """Return whether torch has a function that this entry of `forbids` names."""
    functions = [function for some in get_overridable_functions().values() for function in some]
    names = {getattr(function, "__name__", "") for function in functions}
    return operation in (AUTOGRAD, TORCH) or any(refused(name, (operation,))[1] for name in names)


def imports_of_torch(source: str) -> list[int]:
    """Return the lines that import torch.

    >>> imports_of_torch("import numpy as np\\nfrom torch import nn\\n")
    [2]
    """
    lines: list[int] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            continue
        if any(module.partition(".")[0] == TORCH for module in modules):
            lines.append(node.lineno)
    return lines


def bare_name(name: str) -> str:
    """Return the name of an operation without the marks of its in-place and inner forms.

    >>> bare_name("cumsum_"), bare_name("_softmax"), bare_name("special_logsumexp")
    ('cumsum', 'softmax', 'logsumexp')
    """
    bare = name.rstrip("_").lstrip("_")
    return bare.removeprefix("special_").removeprefix("native_")


def hide_packages() -> None:
    """Make `import flash_attn`, and similar imports, fail in this process and in its forks."""
    for name in _PACKAGES:
        sys.modules[name] = None  # type: ignore[assignment]  # Python's way to block an import
