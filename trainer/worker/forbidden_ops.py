"""Refuse the library's own attention inside this process, and note each use.

Only code that runs during a call of the entry point is judged: a self-test at the end of the file
may compare with the library. So `watch` is called before the import of the learner's file, and
`Watch.begin` after the import. From `begin` on,

- the kernels raise. All kernels are taken from the dispatcher's registry, and each is overridden at
  every key for which torch has a kernel. So a kernel raises under every name: the functional form,
  `torch.ops.aten`, `torch._C._nn`, a graph of `torch.jit`, a nested tensor, `vmap`;
- torch's Python functions that compute attention with plain operations raise. Their code is
  replaced, not their name, so that references from before the call raise too;
- torch's Python text of an operation that only this challenge forbids raises too, for example
  `torch._refs.softmax`;
- copies of these functions raise, however they were made: all new functions are compared with
  torch's functions when the calls begin, and all code is compared when it is executed later.

Some actions cannot be seen in a call, so they are refused during the import as well: C code that is
called by ctypes, a kernel that is taken out of the dispatcher, an override of a kernel, a recording
of attention by a tracer. docs/security.md lists the remaining gaps.
"""

from __future__ import annotations

import _ctypes
import ctypes
import gc
import importlib.abc
import os
import re
import sys
import warnings
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache, partial
from importlib.machinery import ModuleSpec, PathFinder
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, NoReturn

import torch
from torch import _jit_internal
from torch.autograd import forward_ad
from torch.jit import frontend
from torch.utils import _python_dispatch as modes

from trainer.worker import code_likeness
from trainer.worker.execution import gradients, lay_out, overwrite

_ATTENTION = re.compile(
    r"attention|attn|sdp|multi_?head|transformer|_safe_softmax|flex", re.IGNORECASE
)
# Operations whose name matches by accident: none in this version of torch.
_NOT_ATTENTION = frozenset[str]()
# The dispatch keys at which a kernel computes values on this kind of machine. An alias key covers
# all keys that are derived from the alias.
_KEYS = (
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
    "CompositeImplicitAutogradNestedTensor",
    "Autograd",
    "AutogradCPU",
    "AutogradNestedTensor",
    "AutogradOther",
    "ADInplaceOrView",
    "AutocastCPU",
    "BackendSelect",
    "CPU",
    "Dense",
    "Functionalize",
    "FuncTorchBatched",
    "FuncTorchBatchedDecomposition",
    "FuncTorchVmapMode",
    "NestedTensor",
    "NestedTensorCPU",
    "PreDispatch",
    "Python",
    "Quantized",
    "QuantizedCPU",
    "Sparse",
    "SparseCPU",
    "SparseCsr",
    "SparseCsrCPU",
)
_OTHER_LAYOUTS = (
    "NestedTensor",
    "NestedTensorCPU",
    "QuantizedCPU",
    "SparseCPU",
    "SparseCsrCPU",
)
_WITHOUT_VALUES = ("Meta", "QuantizedMeta", "SparseMeta", "SparseCsrMeta", "NestedTensorMeta")
# Patterns of operation names, and the names that learners know. The first match counts.
_LEARNER_NAMES = (
    ("_safe_softmax", "the softmax inside F.scaled_dot_product_attention or flex_attention"),
    ("scaled_dot|fused_sdp", "F.scaled_dot_product_attention"),
    ("flash_att", "the flash attention kernel"),
    ("efficient_att", "the memory-efficient attention kernel"),
    ("multi_head", "nn.MultiheadAttention"),
    ("encoder_layer", "nn.TransformerEncoderLayer"),
)
_CLASSES = (
    "MultiheadAttention",
    "TransformerEncoderLayer",
    "TransformerDecoderLayer",
    "Transformer",
)
_METHODS = ("__init__", "forward", "_forward_impl")
# Torch's Python code that computes attention with plain operations: file -> the functions, or None
# for all functions of the file.
_PYTHON: dict[str, tuple[str, ...] | None] = {
    "torch/nn/functional.py": ("multi_head_attention_forward",),
    "torch/nn/modules/activation.py": tuple(f"MultiheadAttention.{name}" for name in _METHODS),
    "torch/nn/modules/transformer.py": tuple(
        f"{kind}.{name}" for kind in _CLASSES[1:] for name in _METHODS
    ),
    "torch/ao/nn/quantizable/modules/activation.py": tuple(
        f"MultiheadAttention.{name}" for name in _METHODS
    ),
    "torch/_higher_order_ops/flex_attention.py": (
        *("_math_attention_inner", "math_attention", "sdpa_dense", "sdpa_dense_backward"),
        *("flex_attention_autocast_cpu", "flex_attention_autograd", "trace_flex_attention"),
    ),
    "torch/nn/attention/flex_attention.py": ("flex_attention", "_flex_attention_hop_wrapper"),
    "torch/nn/attention/varlen.py": None,
    "torch/nested/_internal/sdpa.py": ("jagged_scaled_dot_product_attention",),
    "torch/_decomp/decompositions.py": ("scaled_dot_product_flash_attention_for_cpu",),
    "torch/_inductor/fx_passes/fuse_attention.py": None,
    "torch/onnx/ops/_impl.py": ("attention_23",),
    "torch/onnx/ops/__init__.py": None,
}
# The folders in which torch keeps the text of its operations in Python, under the same names.
_TEXTS = ("torch/_refs/", "torch/_decomp/", "torch/_prims/")
_MODULES_OF_TEXTS = tuple(folder.rstrip("/").replace("/", ".") for folder in _TEXTS)
# The functions that are long enough to distinguish a copy of their text from an honest answer:
# nobody writes the same two hundred steps again.
_LONG = (
    "multi_head_attention_forward",
    "_forward_impl",
    "math_attention",
    "_math_attention_inner",
    "sdpa_dense_backward",
    "attention_23",
)

# Packages whose purpose is attention, and modules with torch's own copies of attention in Python.
# For the submission, they look as if they were not installed.
_PACKAGES = frozenset(
    "flash_attn flash_attn_interface xformers transformers x_transformers torchtune vllm "
    "sageattention flashinfer natten local_attention performer_pytorch "
    "linear_attention_transformer fla timm keras".split()
)
_MODULES = ("torch._inductor.fx_passes", "torch.ao.nn.quantizable")
# The modules of the functions in `_PYTHON`. Some are loaded at their first use, at times by honest
# code.
_LOADED_LATE = frozenset(
    file.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for file in _PYTHON
)

# The file names of libraries of the system.
_ALLOWED_LIBRARIES = re.compile(r"(lib(c|m|System)([.-].*)?|msvcrt.*|kernel32.*)")
# The symbols of torch's C++ functions, of Python's own functions, and of functions that call a
# given address.
_REFUSED_SYMBOLS = re.compile(
    r"(_Z|aoti_|AOTI|at_|c10|torch|TH[CPD]|_?_?dl|__libc_dl|_?Py)"
    r"|(qsort|qsort_r|bsearch|lfind|lsearch|tsearch|tfind|twalk|atexit|on_exit|pthread_create"
    r"|thrd_create|makecontext|clone|__clone2?|signal|sigaction|ftw|nftw|call_once|pthread_once)$"
)
# The entry of `forbids` that stands for automatic differentiation in every form.
AUTOGRAD = "torch.autograd"
_BY_CTYPES = "C code by ctypes"
_COPY = "a second copy of torch's attention"
_OVERRIDE = "an override of torch's own attention kernels"


class NotAllowedError(RuntimeError):
    """The submission used the library's attention, or an operation that its challenge forbids."""


Refuse = Callable[[str], NoReturn]


def kernel_names() -> list[str]:
    """Return the names of all operations of torch that compute attention, with their overloads."""
    names = torch._C._dispatch_get_all_op_names()
    return sorted(name for name in names if _ATTENTION.search(name) and name not in _NOT_ATTENTION)


@cache
def kernels_of(operation: str) -> tuple[str, ...]:
    """Return the kernels of an operation that a challenge forbids.

    These are all overloads, the in-place form, and the forms that torch calls inside, for example
    `_softmax` and `special_softmax` for "torch.softmax".

    Args:
        operation: the name that learners know. Its last part counts: "torch.cumsum", "cumsum". A
            `*` stands for any text: "torch.*softmax*".
    """
    wanted = operation.rpartition(".")[2]
    return tuple(
        sorted(
            name
            for name in torch._C._dispatch_get_all_op_names()
            if name.startswith("aten::")
            and (fnmatchcase(_bare(name), wanted) or name.removeprefix("aten::") == wanted)
        )
    )


def known_names(operations: Sequence[str]) -> dict[str, str]:
    """Return the names that learners know of all kernels of these operations, by kernel.

    Args:
        operations: the operations that a challenge forbids.
    """
    return {
        kernel: f"torch.{_bare(kernel)}" if "*" in operation else operation
        for operation in operations
        for kernel in kernels_of(operation)
    }


def is_forbidden_by(name: str, forbids: Sequence[str]) -> bool:
    """Return if a challenge forbids a function that is allowed elsewhere.

    Args:
        name: the name that learners know, as `Watch` notes it.
        forbids: the operations that the challenge forbids.
    """
    patterns = [operation.rpartition(".")[2] for operation in forbids]
    return (name == _AUTOGRAD_WORDS and AUTOGRAD in forbids) or any(
        fnmatchcase(name.rpartition(".")[2], pattern) for pattern in patterns
    )


def _bare(kernel: str) -> str:
    """Return the name of a kernel without overload and without marks of inner forms."""
    name = kernel.removeprefix("aten::").partition(".")[0].rstrip("_").lstrip("_")
    return name.removeprefix("special_").removeprefix("native_")


def _registrations() -> list[tuple[str, str]]:
    """Return each kernel with each key at which it must be overridden.

    These are the keys at which torch has a kernel. The key CPU is added if torch has no kernel for
    it, not even a computed kernel.
    """
    found = []
    for name in kernel_names():
        keys = [key for key in _KEYS if torch._C._dispatch_has_kernel_for_dispatch_key(name, key)]
        if not torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, "CPU"):
            keys.append("CPU")
        found += [(name, key) for key in keys]
    return found


def _learner_name(kernel: str) -> str:
    """Return the name under which learners know a kernel."""
    return next(
        (name for pattern, name in _LEARNER_NAMES if re.search(pattern, kernel)),
        f"torch.ops.{kernel.replace('::', '.')}",
    )


@cache
def _file_of(path: str) -> str:
    """Return the file of `_PYTHON` with this path; "" if there is none."""
    path = path.replace("\\", "/")
    return next((file for file in _PYTHON if path.endswith(f"/{file}")), "")


def _is_of_torch(code: CodeType) -> bool:
    """Return if code is a function of torch that computes attention, by its file and name."""
    if not (file := _file_of(code.co_filename)):
        return False
    names = _PYTHON[file]
    return code.co_qualname != "<module>" if names is None else code.co_qualname in names


def _name_of(code: CodeType) -> str:
    """Return the name under which learners know a Python function of torch."""
    file, name = _file_of(code.co_filename), code.co_qualname
    if file == "torch/nested/_internal/sdpa.py":
        return "F.scaled_dot_product_attention"
    if file == "torch/nn/functional.py":
        return f"F.{name}"
    kind = name.partition(".")[0]
    if kind in _CLASSES:
        return f"nn.{kind}"
    return "flex_attention" if "flex" in file else f"torch's {name}"


def _functions_of(files: Collection[str]) -> list[FunctionType]:
    """Return the functions of these files in this process, also functions inside a decorator."""
    return [
        found
        for found in gc.get_objects()
        if type(found) is FunctionType and found.__code__.co_filename in files
    ]


def _files_of_attention() -> set[str]:
    """Return the paths of the files of `_PYTHON`."""
    root = os.path.dirname(os.path.dirname(torch.__file__))
    return {os.path.join(root, *file.split("/")) for file in _PYTHON}


def _files_of_texts() -> set[str]:
    """Return the paths of the loaded files of torch that hold operations as Python text."""
    paths = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    return {path for path in paths if isinstance(path, str) and _is_in_texts(path)}


@cache
def _is_in_texts(path: str) -> bool:
    """Return if a file of torch holds operations as Python text."""
    path = path.replace("\\", "/")
    return path.startswith(_TORCH.replace("\\", "/")) and any(part in path for part in _TEXTS)


@dataclass(frozen=True)
class _Library:
    """The attention in torch.

    Attributes:
        registrations: each kernel with each key at which it is overridden.
        kernels: the names of the kernels.
        functions: the Python functions that compute attention.
        originals: the functions that are long enough to recognise a copy.
        texts: torch's operations as Python text, of attention and of everything else.
    """

    registrations: Sequence[tuple[str, str]]
    kernels: frozenset[str]
    functions: Sequence[FunctionType]
    originals: code_likeness.Originals
    texts: Sequence[FunctionType]


@cache
def prepare() -> _Library:
    """Find the kernels and functions to refuse. Call this before `gc.freeze`.

    The search takes 50 ms, so the fork server makes it once for all its workers.
    """
    registrations = _registrations()
    files_of_texts = _files_of_texts()
    found = _functions_of(_files_of_attention() | files_of_texts)  # visits each object once
    functions = [function for function in found if _is_of_torch(function.__code__)]
    texts = [function for function in found if function.__code__.co_filename in files_of_texts]
    originals = code_likeness.Originals(
        function.__code__ for function in functions if function.__name__ in _LONG
    )
    return _Library(
        registrations, frozenset(name for name, _ in registrations), functions, originals, texts
    )


def is_prepared() -> bool:
    """Return if `prepare` was called in this process, or in its parent before the fork."""
    return prepare.cache_info().currsize > 0


class Watch:
    """The refusals in this process. They are permanent.

    Args:
        note: called with the name of the refused function, before the exception is raised.
        forbids: the names of further operations that the challenge forbids.
    """

    def __init__(self, note: Callable[[str], None], forbids: Sequence[str] = ()) -> None:
        self._note = note
        self._forbids = tuple(forbids)
        self._names = known_names(forbids)
        self._forbids_autograd = AUTOGRAD in forbids
        self.kernels = prepare().kernels | self._names.keys()
        self._begun = False
        self._quiet = False
        self._recordings = 0
        # Code that is no copy and contains no copy, by `id`. The same code is met again when a file
        # is imported again, and when a part of torch is loaded.
        self._known: dict[int, CodeType] = {}
        # The files of torch's modules that are being loaded for the first time.
        self._loading: set[str] = set()
        self._tracing: Any = None

    def refuse(self, name: str) -> NoReturn:
        """Note the name of a refused function and raise an exception.

        Raises:
            NotAllowedError: always.
        """
        if not self._quiet:
            self._note(name)
        if is_forbidden_by(name, self._forbids):
            raise NotAllowedError(f"{name} is not allowed here: this challenge forbids it")
        raise NotAllowedError(f"{name} is not allowed here: attention must be written from scratch")

    def begin(self) -> None:
        """Refuse the library's attention from now on.

        Call this after the import of the learner's file, before the first call into the file.
        """
        if self._begun:
            return
        self._begun = True
        keep_for_good(_override_kernels(self.refuse, self._names))
        # A fork copies each page of memory that it touches, so look at the texts only if needed.
        possible = prepare().texts if self._names else ()
        texts = [text for text in possible if self._text_name(text.__code__)]
        self._replace_code([*prepare().functions, *texts, *self._new_functions()])
        if self._forbids_autograd:
            self._replace_autograd()

    def _replace_autograd(self) -> None:
        """Make torch's Python functions for gradients raise when a submission calls them.

        `without_autograd` stops what does not go through these functions.
        """
        for function in (torch.autograd.grad, torch.autograd.backward, forward_ad.make_dual):
            code = function.__code__
            usual = FunctionType(
                code, function.__globals__, function.__name__, function.__defaults__
            )
            usual.__kwdefaults__ = function.__kwdefaults__
            function.__code__ = _passing_code(partial(_unless_grader, self.refuse, usual), code)
            function.__defaults__ = function.__kwdefaults__ = None

    def name_of(self, kernel: str) -> str:
        """Return words for a kernel that is taken out of the dispatcher."""
        return self._names.get(kernel, "a kernel of torch's attention")

    def refuse_after_import(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that does the same, but refuses when the calls have begun."""

        def passed(*args: Any, **kwargs: Any) -> Any:
            if self._begun:
                self.refuse(_AUTOGRAD_WORDS)
            return call(*args, **kwargs)

        return passed

    @contextmanager
    def without_notes(self) -> Iterator[None]:
        """While active, do not note refusals.

        A counted run imports the file again. The file's self-test may be refused then, which must
        not count.
        """
        self._quiet = True
        try:
            yield
        finally:
            self._quiet = False

    def _new_functions(self) -> list[FunctionType]:
        """Return the unfrozen functions that are torch's attention or contain a copy of it."""
        new = [found for found in gc.get_objects() if type(found) is FunctionType]
        return [function for function in new if self._is_copy(function.__code__)]

    def _is_copy(self, code: CodeType) -> bool:
        waiting, innocent = [code], dict[int, CodeType]()
        while waiting:
            part = waiting.pop()
            if self._known.get(id(part)) is part:
                continue
            if _is_of_torch(part) or self._text_name(part) or prepare().originals.is_copy(part):
                return True
            innocent[id(part)] = part
            waiting += code_likeness.nested_in(part)
        self._known |= innocent
        return False

    def _replace_code(
        self, functions: Sequence[FunctionType]
    ) -> list[tuple[FunctionType, CodeType]]:
        """Make functions raise when called. Return the functions with their former code."""
        before = []
        for function in functions:
            code = function.__code__
            before.append((function, code))
            name = self._text_name(code) or (_name_of(code) if _is_of_torch(code) else _COPY)
            function.__code__ = _refusing_code(self.refuse, name, code)
        return before

    def _text_name(self, code: CodeType) -> str:
        """Return the name of the forbidden operation whose text of torch this is; "" if none."""
        if not self._names or not _is_in_texts(code.co_filename):
            return ""
        for operation in self._forbids:
            if fnmatchcase(_bare(code.co_name), operation.rpartition(".")[2]):
                return f"torch.{_bare(code.co_name)}" if "*" in operation else operation
        return ""

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Check an action that Python is about to do. This is an audit hook (PEP 578)."""
        if event == "ctypes.dlopen":
            library = arguments[0]
            if library is not None and not _ALLOWED_LIBRARIES.fullmatch(
                os.path.basename(os.fsdecode(library))
            ):
                self.refuse(_BY_CTYPES)
        elif event == "ctypes.dlsym":
            if _REFUSED_SYMBOLS.match(
                os.fsdecode(arguments[1]) if isinstance(arguments[1], str | bytes) else "_Z"
            ):
                self.refuse(_BY_CTYPES)
        elif event in ("ctypes.call_function", "ctypes.cdata", "ctypes.dlsym/handle"):
            self.refuse(_BY_CTYPES)
        elif self._begun:
            self._check_code(event, arguments)

    def _check_code(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Refuse to execute a copy of torch's attention, or to make a function from a copy."""
        if event == "exec":
            code = arguments[0]
            if not isinstance(code, CodeType):
                return
            if code.co_name == "<module>" and code.co_filename in self._loading:
                return
        elif event == "function.__new__":
            code = arguments[0]
        elif event == "object.__setattr__" and len(arguments) > 2 and arguments[1] == "__code__":
            code = arguments[2]
        else:
            return
        if isinstance(code, CodeType) and self._is_copy(code):
            self.refuse(_COPY)

    @contextmanager
    def loading(self, path: str) -> Iterator[None]:
        """While active, allow to execute a file of torch. Refuse its attention afterwards."""
        self._loading.add(path)
        try:
            yield
        finally:
            self._loading.discard(path)
            if self._begun:
                self._replace_code(
                    [function for function in self._new_functions() if not _is_refusing(function)]
                )

    def start_recording(self, *, kernels: bool) -> None:
        """Refuse attention while a tracer records, also during the import.

        The recorded graph would consist of plain operations, which cannot be refused later.

        Args:
            kernels: if kernels are refused too, because the tracer would record their parts.
        """
        self._recordings += 1
        if self._begun or self._recordings > 1:
            return
        library = _override_kernels(self.refuse, self._names) if kernels else None
        self._tracing = library, self._replace_code(prepare().functions)

    def end_recording(self) -> None:
        """Allow attention again after a recording, if the calls have not begun."""
        self._recordings -= 1
        if self._recordings > 0 or self._tracing is None:
            return
        (_library, functions), self._tracing = self._tracing, None
        if not self._begun:
            for function, code in functions:
                function.__code__ = code


def watch(note: Callable[[str], None], forbids: Sequence[str] = ()) -> Watch:
    """Install the guards that must be active before the import of the learner's file.

    `Watch.begin` turns the other refusals on.

    Args:
        note: called with the name of each refused function.
        forbids: the names of further operations that the challenge forbids.
    """
    watched = Watch(note, forbids)
    sys.meta_path[:0] = [_NotInstalled(), _LoadedLate(watched)]
    _guard_kernels(watched)
    _guard_tracers(watched)
    _guard_ctypes(watched.refuse)
    if AUTOGRAD in forbids:
        _guard_recording(watched)
    gc.freeze = _keep_in_sight
    sys.addaudithook(watched.hook)
    return watched


def _keep_in_sight() -> None:
    """Do nothing in place of `gc.freeze`: frozen functions could not be checked later."""


def _refusing_code(refuse: Refuse, name: str, instead_of: CodeType) -> CodeType:
    """Return code that refuses every call, for a function with the given code's free variables."""

    def refused() -> NoReturn:
        refuse(name)

    template = _template.__code__
    constants = tuple(refused if constant == _HOLE else constant for constant in template.co_consts)
    return template.replace(
        co_consts=constants, co_freevars=instead_of.co_freevars, co_name=instead_of.co_name
    )


def _is_refusing(function: FunctionType) -> bool:
    return function.__code__.co_code == _template.__code__.co_code


def _passing_code(call: Callable[..., Any], instead_of: CodeType) -> CodeType:
    """Return code that passes its arguments to `call`."""
    template = _passing_template.__code__
    constants = tuple(call if constant == _HOLE else constant for constant in template.co_consts)
    return template.replace(
        co_consts=constants, co_freevars=instead_of.co_freevars, co_name=instead_of.co_name
    )


def _passing_template(*args: Any, **kwargs: Any) -> Any:
    call: Any = "the function that refuses"
    return call(*args, **kwargs)


def _unless_grader(refuse: Refuse, usual: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call torch's function for the grader, and refuse the call of a submission."""
    if _is_call_of_grader():
        return usual(*args, **kwargs)
    return refuse(_AUTOGRAD_WORDS)


@contextmanager
def without_autograd(forbids: Sequence[str]) -> Iterator[None]:
    """While active, operations record no gradients if a challenge forbids it.

    This holds in every mode: the keys of the dispatcher that record are left out. So gradients
    cannot be had from torch's engine either, which C code starts.

    Args:
        forbids: the operations that the challenge forbids.
    """
    if AUTOGRAD not in forbids:
        yield
        return
    with torch._C._AutoDispatchBelowAutograd():
        yield


def _guard_recording(watched: Watch) -> None:
    """Refuse to turn the recording of gradients on again while `without_autograd` is active."""
    for owner, names in _SWITCHES:
        for name in names:
            setattr(owner, name, watched.refuse_after_import(getattr(owner, name)))


# Functions of torch's C code that change the keys of the dispatcher, or nest a differentiation.
_SWITCHES: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (
        torch._C,
        (
            "ExcludeDispatchKeyGuard",
            "_ExcludeDispatchKeyGuard",
            "_ForceDispatchKeyGuard",
            "_IncludeDispatchKeyGuard",
            "_PreserveDispatchKeyGuard",
            "_RestorePythonTLSSnapshot",
            "_SetExcludeDispatchKeyGuard",
            "_dispatch_tls_set_dispatch_key_excluded",
            "_dispatch_tls_set_dispatch_key_included",
        ),
    ),
    (
        torch._C._functorch,
        (
            "_func_increment_nesting",
            "_grad_increment_nesting",
            "_jvp_increment_nesting",
        ),
    ),
)

_HOLE = "the function that refuses"
_AUTOGRAD_WORDS = "torch's automatic differentiation"


def _template(*args: Any, **kwargs: Any) -> Any:
    refused: Any = "the function that refuses"
    return refused()


def _refusing(refuse: Refuse, name: str) -> Callable[..., NoReturn]:
    def refused(*args: Any, **kwargs: Any) -> NoReturn:
        refuse(name)

    return refused


def _override_kernels(refuse: Refuse, further: Mapping[str, str]) -> Any:
    """Override every kernel at every key. The overrides last as long as the returned library.

    Args:
        refuse: refuses a call.
        further: the names of kernels that only this challenge forbids, as learners know them.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that a kernel is overridden
        library = _new_library("IMPL", "aten", "", __file__, 1)
        refusing = {name: _refusing(refuse, _learner_name(name)) for name in prepare().kernels}
        for name, key in prepare().registrations:
            _implement(library, name.removeprefix("aten::"), key, refusing[name], False)
        _override_further(library, refuse, further)
    return library


def _override_further(library: Any, refuse: Refuse, further: Mapping[str, str]) -> None:
    """Override the kernels that only this challenge forbids.

    The grader itself may need them, for example in the backward pass of an allowed operation. Its
    calls reach torch's kernel. The grader has no tensors of other layouts, so their kernels refuse
    every call.
    """
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    for name, known in further.items():
        operation = name.removeprefix("aten::")
        if name in prepare().kernels:
            continue  # refused in every challenge
        for key in ("CPU", "AutogradCPU"):
            if (
                has_kernel(name, "CompositeImplicitAutograd")
                if key == "AutogradCPU"
                else torch._C._dispatch_has_computed_kernel_for_dispatch_key(name, key)
            ):
                refused = _refusing_learner(refuse, known, _kernel_of(name, key))
                _implement(library, operation, key, refused, True)
        for key in _OTHER_LAYOUTS:
            if has_kernel(name, key):
                _implement(library, operation, key, _refusing(refuse, known), False)


def _refusing_learner(refuse: Refuse, name: str, kernel: Any) -> Callable[..., Any]:
    """Return a kernel that calls `kernel` for the grader, and refuses all other calls."""

    def refused(keys: Any, *args: Any, **kwargs: Any) -> Any:
        if _is_call_of_grader():
            return kernel.call_boxed(keys, *args, **kwargs)
        return refuse(name)

    return refused


def _is_call_of_grader() -> bool:
    """Return if the grader made the call, and not code of a submission or of `drive`.

    The innermost frame outside of torch and of this file decides. Code is compared by identity,
    because a submission can give its code any file name.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code in _CODE_OF_GRADER and frame.f_code is _CODE_OF_GRADER[frame.f_code]:
            return True
        if frame.f_code.co_filename != __file__ and not frame.f_code.co_filename.startswith(_TORCH):
            return False
        frame = frame.f_back
    return False


def keep_for_good(library: Any) -> None:
    """Add a hidden reference to a library, so that no code can drop it and end its overrides."""
    _add_reference(ctypes.py_object(library))


_new_library: Any = torch._C._dispatch_library
_kernel_of: Any = torch._C._dispatch_get_computed_kernel_for_dispatch_key
_TORCH = os.path.dirname(torch.__file__) + os.sep
_CODE_OF_GRADER = {
    function.__code__: function.__code__ for function in (gradients, lay_out, overwrite)
}
_implement: Any = torch._C._DispatchModule.impl
_add_reference = ctypes.pythonapi.Py_IncRef


def _guard_kernels(watched: Watch) -> None:
    """Refuse to take a forbidden kernel out of the dispatcher, or to override a kernel.

    Torch registers kernels itself at the first use of some of its parts. Its kernels for tensors
    without values are registered. Its other kernels are ignored without a refusal.
    """
    # Libraries of other namespaces. The list keeps them alive, so that no `id` is used again.
    elsewhere: list[Any] = []

    def library(kind: Any, namespace: str, *rest: Any) -> Any:
        made = _new_library(kind, namespace, *rest)
        if namespace != "aten":
            elsewhere.append(made)
        return made

    def impl(self: Any, operation: str, key: Any, function: Any, *rest: Any) -> Any:
        name = operation if "::" in operation else f"aten::{operation}"
        if (
            name not in watched.kernels
            or any(self is other for other in elsewhere)
            or str(key) in _WITHOUT_VALUES
        ):
            return _implement(self, operation, key, function, *rest)
        if "/torch/" not in getattr(getattr(function, "__code__", None), "co_filename", "").replace(
            "\\", "/"
        ):
            watched.refuse(_OVERRIDE)
        return self

    taken = torch._C._dispatch_get_computed_kernel_for_dispatch_key

    def kernel_of(operation: Any, *rest: Any) -> Any:
        if str(operation).removesuffix(".default") in watched.kernels:
            watched.refuse(watched.name_of(str(operation).removesuffix(".default")))
        return taken(operation, *rest)

    # torch's stubs declare every argument of these functions.
    torch._C._dispatch_library = library  # type: ignore[assignment]
    torch._C._DispatchModule.impl = impl  # type: ignore[assignment,method-assign]
    torch._C._dispatch_get_computed_kernel_for_dispatch_key = kernel_of  # type: ignore[assignment]


def _guard_tracers(watched: Watch) -> None:
    """Refuse to record torch's attention with a tracer, or to compile its text for `torch.jit`."""
    for owner, names in _TRACERS:
        for name in names:
            setattr(owner, name, _recording(watched, getattr(owner, name)))

    push, pop = torch._C._push_on_torch_dispatch_stack, torch._C._pop_torch_dispatch_stack

    def pushed(mode: Any) -> Any:
        if _records(mode):
            watched.start_recording(kernels=True)
        return push(mode)

    def popped(*key: Any) -> Any:
        mode = pop(*key)
        if _records(mode):
            watched.end_recording()
        return mode

    for module in (torch._C, modes):
        module._push_on_torch_dispatch_stack = pushed  # type: ignore[attr-defined]
        module._pop_torch_dispatch_stack = popped  # type: ignore[attr-defined]

    parse: Any = vars(frontend)["parse_def"]

    def parse_def(function: Any) -> Any:
        if isinstance(code := getattr(function, "__code__", None), CodeType) and watched._is_copy(
            code
        ):
            watched.refuse(_name_of(code) if _is_of_torch(code) else _COPY)
        return parse(function)

    for module in (frontend, _jit_internal):
        vars(module)["parse_def"] = parse_def


_TRACERS: tuple[tuple[Any, tuple[str, ...]], ...] = (
    (
        torch._C,
        (
            "_create_function_from_trace",
            "_create_function_from_trace_with_dict",
            "_create_graph_by_tracing",
        ),
    ),
    (torch._C.ScriptModule, ("_create_method_from_trace", "_create_method_from_trace_with_dict")),
)


def _records(mode: Any) -> bool:
    """Return if a dispatch mode is torch's own tracer (`make_fx`, `torch.export`)."""
    return any(kind.__name__ == "ProxyTorchDispatchMode" for kind in type(mode).__mro__)


def _recording(watched: Watch, trace: Callable[..., Any]) -> Callable[..., Any]:
    """Return a tracer of `torch.jit` that refuses torch's Python functions.

    Kernels need no refusal here, because they stay single operations of the graph.
    """

    def traced(*args: Any, **kwargs: Any) -> Any:
        watched.start_recording(kernels=False)
        try:
            return trace(*args, **kwargs)
        finally:
            watched.end_recording()

    return traced


def _guard_ctypes(refuse: Refuse) -> None:
    """Refuse ctypes functions that are made from an address: no audit event reports their calls."""
    raw: Any = _ctypes.CFuncPtr
    # The pointer and its target, by the `id` of the pointer, because pointers have no hash.
    made: dict[int, tuple[weakref.ref[Any], bytes]] = {}

    class FunctionPointer(raw):  # type: ignore[misc]  # the base is known at run time only
        """A function of a library, or a Python function for C code. It is never a bare address."""

        _flags_ = _ctypes.FUNCFLAG_CDECL
        _restype_ = ctypes.c_int

        def __new__(cls, *args: Any, **kwargs: Any) -> Any:
            if args and not isinstance(args[0], tuple) and not callable(args[0]):
                refuse(_BY_CTYPES)
            pointer = super().__new__(cls, *args, **kwargs)
            if args:
                pointer_id = id(pointer)
                made[pointer_id] = (
                    weakref.ref(pointer, partial(_forget, made, pointer_id)),
                    _target(pointer),
                )
            return pointer

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            pointer, target = made.get(id(self), (_nothing, b""))
            # A pointer that was not made above came from memory: from a field of a structure, a
            # buffer, a result or a cast.
            if pointer() is not self or target != _target(self):
                refuse(_BY_CTYPES)
            return super().__call__(*args, **kwargs)

    for name in ("memmove", "memset", "_cast", "_string_at", "_wstring_at", "_memoryview_at"):
        if (function := getattr(ctypes, name, None)) is not None and isinstance(function, raw):
            # The type of the function itself could make functions from an address.
            setattr(ctypes, name, _passed_on(function))
    module: Any = ctypes
    module._CFuncPtr = _ctypes.CFuncPtr = FunctionPointer  # type: ignore[misc]
    module._c_functype_cache.clear()
    module.pythonapi = ctypes.PyDLL(None)


def _nothing() -> None:
    return None


def _target(pointer: Any) -> bytes:
    """Return the bytes of the address to which a pointer points."""
    return bytes(memoryview(pointer).cast("B"))


def _forget(made: dict[int, Any], pointer_id: int, _: Any) -> None:
    made.pop(pointer_id, None)


def _passed_on(function: Any) -> Callable[..., Any]:
    def passed(*args: Any) -> Any:
        return function(*args)

    return passed


class _NotInstalled(importlib.abc.MetaPathFinder):
    """A finder that comes first and reports attention packages as missing."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> None:
        """Return None, so that the next finder looks for the module.

        Raises:
            ModuleNotFoundError: if the module belongs to an attention package.
        """
        if fullname.partition(".")[0] in _PACKAGES or fullname.startswith(_MODULES):
            raise ModuleNotFoundError(
                f"No module named {fullname!r} for a submission: attention must be written from "
                "scratch",
                name=fullname,
            )


class _LoadedLate(importlib.abc.MetaPathFinder):
    """A finder for torch's own modules that compute attention, or operations as Python text.

    The functions of such a module that are not allowed are refused after it is loaded.
    """

    def __init__(self, watched: Watch) -> None:
        self._watched = watched

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> ModuleSpec | None:
        """Return the spec of such a module; None for all other modules."""
        if (fullname not in _LOADED_LATE and not fullname.startswith(_MODULES_OF_TEXTS)) or (
            spec := PathFinder.find_spec(fullname, path, target)
        ) is None:
            return None
        is_watched = spec.origin and (_file_of(spec.origin) or _is_in_texts(spec.origin))
        if spec.loader is not None and is_watched:
            execute = spec.loader.exec_module

            def execute_and_refuse(module: ModuleType) -> None:
                with self._watched.loading(str(spec.origin)):
                    execute(module)

            # Replace the method of this loader only.
            spec.loader.exec_module = execute_and_refuse  # type: ignore[method-assign]
        return spec
