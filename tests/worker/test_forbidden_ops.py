"""The library's attention is refused under every name, and honest code is not refused."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.support.grading import report_of
from tests.support.paths import ROOT
from trainer.grading.grader import Grader
from trainer.packs import pack_reader
from trainer.worker import forbidden_ops

MODULE = """
import torch
import torch.nn as nn
import torch.nn.functional as F
{head}

class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError
        self.h, self.g, self.d = num_heads, num_kv_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, self.g * self.d, bias=bias)
        self.v_proj = nn.Linear(d_model, self.g * self.d, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, m = x.shape
        q = self.q_proj(x).view(b, n, self.h, self.d).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.g, self.d).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.g, self.d).transpose(1, 2)
        k, v = (part.repeat_interleave(self.h // self.g, 1) for part in (k, v))
        {call}
        return self.o_proj(o.transpose(1, 2).reshape(b, n, m))
"""


BY_HAND = """s = q @ k.mT / self.d**0.5
        s = s if mask is None else s.masked_fill(~mask, float("-inf"))
        o = self.drop(s.softmax(-1)) @ v"""


def verdict(grader: Grader, call: str, head: str = "") -> str:
    """Return the verdict on the module whose `forward` computes `o` by `call`.

    Args:
        grader: the grader.
        call: the statements that compute `o`.
        head: statements at the start of the file.
    """
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    return report_of(grader, gqa, MODULE.format(head=head, call=call), "gqa.py", 11).verdict


@pytest.mark.parametrize(
    ("call", "head"),
    [
        pytest.param("o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)", "", id="F"),
        pytest.param(
            "o = torch._C._nn.scaled_dot_product_attention(q, k, v, mask)", "", id="_C._nn"
        ),
        pytest.param(
            "o = torch.ops.aten.scaled_dot_product_attention(q, k, v, mask)", "", id="ops.aten"
        ),
        pytest.param(
            "o = torch.ops.aten._scaled_dot_product_attention_math(q, k, v)[0]",
            "",
            id="the math kernel",
        ),
        pytest.param(
            "o = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)[0]",
            "",
            id="the flash kernel",
        ),
        pytest.param(
            "o = torch.ops.aten.scaled_dot_product_attention.default.decompose(q, k, v)",
            "",
            id="decomposed",
        ),
        pytest.param(
            "o = torch.vmap(lambda a, b, c: F.scaled_dot_product_attention(a, b, c))(q, k, v)",
            "",
            id="vmap",
        ),
        pytest.param(
            "o = fn(q, k, v)",
            'fn = getattr(F, "scaled_dot" + "_product_attention")',
            id="another name",
        ),
        pytest.param(
            "o = f(q, k, v)",
            "@torch.jit.script\ndef f(q, k, v):\n"
            "    return F.scaled_dot_product_attention(q, k, v)",
            id="jit.script",
        ),
        pytest.param(
            "try:\n            o = F.scaled_dot_product_attention(q, k, v)\n"
            f"        except Exception:\n            {BY_HAND.replace(chr(10), chr(10) + '    ')}",
            "",
            id="try, then by hand",
        ),
        pytest.param(
            "t = []\n        import threading\n        w = threading.Thread(target=lambda: "
            "t.append(F.scaled_dot_product_attention(q, k, v)))\n        w.start()\n"
            "        w.join()\n        o = t[0]",
            "",
            id="a thread",
        ),
        pytest.param(
            "o = flex_attention(q, k, v)",
            "from torch.nn.attention.flex_attention import flex_attention",
            id="flex_attention",
        ),
        pytest.param(
            "w = x.new_zeros(3 * m, m)\n"
            "        o = F.multi_head_attention_forward(x, x, x, m, self.h, w, None, None, None, "
            "False, 0.0, w[:m], None)[0]",
            "",
            id="F.multi_head_attention_forward",
        ),
        pytest.param(
            "o = fn(x, x, x, m, self.h, x.new_zeros(3 * m, m), None, None, None, False, 0.0, "
            "x.new_zeros(m, m), None)[0]",
            "from torch.nn.functional import multi_head_attention_forward as fn",
            id="imported by name",
        ),
        pytest.param(
            "o = nn.MultiheadAttention(m, self.h)(x, x, x)[0]", "", id="nn.MultiheadAttention"
        ),
        pytest.param(
            "o = nn.TransformerEncoderLayer(m, self.h)(x)", "", id="nn.TransformerEncoderLayer"
        ),
    ],
)
def test_library_attention_is_refused(grader: Grader, call: str, head: str) -> None:
    """The verdict is not-allowed if the library's attention runs, in whatever way it is called."""
    assert verdict(grader, call, head) == "not-allowed"


@pytest.mark.parametrize(
    ("call", "head"),
    [
        pytest.param(BY_HAND, "", id="by hand"),
        pytest.param(BY_HAND, "# like F.scaled_dot_product_attention, but by hand", id="a comment"),
        pytest.param(
            "o = scaled_dot_product_attention(self, q, k, v, mask)",
            "def scaled_dot_product_attention(self, q, k, v, mask):\n        "
            + BY_HAND
            + "\n        return o",
            id="the learner's own function",
        ),
        pytest.param(
            BY_HAND,
            "try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None",
            id="an optional import",
        ),
        pytest.param(
            BY_HAND,
            "assert nn.MultiheadAttention and F.scaled_dot_product_attention",
            id="named and not called",
        ),
        pytest.param(
            BY_HAND,
            "if __name__ == '__main__':\n"
            "    F.scaled_dot_product_attention(*[torch.ones(2, 2)] * 3)",
            id="only if run as a script",
        ),
    ],
)
def test_names_of_library_attention_are_accepted(grader: Grader, call: str, head: str) -> None:
    """Only code that runs in a call is judged, not the text of the file."""
    assert verdict(grader, call, head) == "passed"


def test_report_names_the_function_and_the_line(grader: Grader) -> None:
    """The message contains the refused function and the line of its call."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    source = MODULE.format(head="", call="o = F.scaled_dot_product_attention(q, k, v)")
    failure = next(
        outcome
        for outcome in report_of(grader, gqa, source, "gqa.py", 1).outcomes
        if outcome.check == "from scratch"
    )
    line = source.split("\n").index("        o = F.scaled_dot_product_attention(q, k, v)") + 1
    assert "F.scaled_dot_product_attention is called" in failure.message
    assert f"line {line}" in failure.message


NESTED = """def nest(t, layout=torch.strided):
    return torch.nested.as_nested_tensor(list(t.transpose(1, 2)), layout=layout).transpose(1, 2)"""


BACK = "torch.nested.to_padded_tensor({}.transpose(1, 2), 0.0).transpose(1, 2)"


OF_X = (
    "x, x, x, m, self.h, x.new_zeros(3 * m, m), None, None, None, False, 0.0, "
    "x.new_zeros(m, m), None"
)


SOURCE = "inspect.getsource(F.multi_head_attention_forward)"


FLASH = "torch.ops.aten._scaled_dot_product_flash_attention_for_cpu"


TRACED = "[torch.ones(1, 2, 48)] * 3"


@pytest.mark.parametrize(
    ("call", "head"),
    [
        pytest.param(
            "o = " + BACK.format("F.scaled_dot_product_attention(nest(q), nest(k), nest(v))"),
            NESTED,
            id="nested",
        ),
        pytest.param(
            "j = torch.jagged\n        o = "
            + BACK.format("F.scaled_dot_product_attention(nest(q, j), nest(k, j), nest(v, j))"),
            NESTED,
            id="nested, jagged",
        ),
        pytest.param(
            "o = torch.ops.aten._scaled_dot_product_attention_math(nest(q), nest(k), nest(v))[0]",
            NESTED,
            id="nested math",
        ),
        pytest.param("o = torch.ops.aten._safe_softmax(nest(q), -1)", NESTED, id="nested softmax"),
        pytest.param(
            "w = x.new_zeros(3 * m, m)\n        y = torch.nested.as_nested_tensor(list(x))\n"
            "        o = torch._native_multi_head_attention(y, y, y, m, self.h, w, w[:, 0], "
            "w[:m], w[0])[0]",
            "",
            id="nested native",
        ),
        pytest.param(
            "o = layer(torch.nested.as_nested_tensor(list(x)))",
            "layer = nn.TransformerEncoderLayer(48, 4).eval()",
            id="nested layer",
        ),
        pytest.param(
            "o = torch.vmap(torch.ops.aten._scaled_dot_product_attention_math)(q, k, v)[0]",
            "",
            id="vmap of the math kernel",
        ),
        pytest.param(
            f"o = {FLASH}_backward(q, q, k, v, q, q[..., 0], 0.0, False)[0]",
            "",
            id="the backward kernel",
        ),
        pytest.param(
            "with torch.autocast('cpu'):\n            o = F.scaled_dot_product_attention(q, k, v)",
            "",
            id="autocast",
        ),
        pytest.param(
            "o = torch.func.vjp(lambda a: F.scaled_dot_product_attention(a, k, v), q)[0]",
            "",
            id="vjp",
        ),
        pytest.param(
            f"o = torch._decomp.decomposition_table[{FLASH}.default](q, k, v)[0]",
            "",
            id="the decomposition",
        ),
        pytest.param(
            "o = f(q, k, v, lambda s, *a: s, (), 1.0, {})[0]",
            "from torch._higher_order_ops.flex_attention import math_attention as f",
            id="flex math",
        ),
        pytest.param(
            "from torch.nn.attention.flex_attention import flex_attention\n"
            "        o = flex_attention(q, k, v)",
            "",
            id="flex, imported in the call",
        ),
    ],
)
def test_every_kernel_and_function_is_refused(grader: Grader, call: str, head: str) -> None:
    """Other kinds of tensors, other dispatch keys and torch's Python code are refused too."""
    assert verdict(grader, call, head) == "not-allowed"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("call", "head"),
    [
        pytest.param("o = f(q, k, v)", "f = F.scaled_dot_product_attention", id="the function"),
        pytest.param("o = f(x, x, x)[0]", "f = nn.MultiheadAttention(48, 4)", id="an instance"),
        pytest.param(
            "o = f(x, x, x)[0]", "f = nn.MultiheadAttention(48, 4).forward", id="a bound method"
        ),
        pytest.param(
            f"o = f({OF_X})[0]",
            "import functools\nf = functools.partial(F.multi_head_attention_forward)",
            id="a partial",
        ),
        pytest.param("o = f(q, k, v)[0]", f"f = {FLASH}.default", id="an overload"),
        pytest.param("o = f(q, k, v)[0]", f"f = {FLASH}.default._op", id="its handle"),
        pytest.param(
            "o = f.call_boxed(torch._C._dispatch_keys(q), q, k, v)[0]",
            f"f = torch.library.get_kernel({FLASH}.default, 'CPU')",
            id="the kernel itself",
        ),
        pytest.param(
            "o = f(q, k, v)",
            "f = torch.jit.trace(lambda a, b, c: F.scaled_dot_product_attention(a, b, c), "
            "[torch.ones(1, 2, 3, 4)] * 3)",
            id="a trace",
        ),
        pytest.param(
            "o = f(x, x, x)[0]",
            f"f = torch.jit.trace(nn.MultiheadAttention(48, 4), {TRACED})",
            id="a trace of the module",
        ),
        pytest.param(
            "o = f(x, x, x)[0]",
            "f = torch.jit.script(nn.MultiheadAttention(48, 4))",
            id="a script of the module",
        ),
        pytest.param(
            "o = f(x)[0]",
            "from torch.fx.experimental.proxy_tensor import make_fx\n"
            "M = nn.MultiheadAttention(48, 4)\n"
            "f = make_fx(lambda x: M(x, x, x))(torch.ones(1, 2, 48))",
            id="a graph of plain operations",
        ),
        pytest.param(
            f"o = f({OF_X})[0]",
            "import types\n"
            "f = types.FunctionType(F.multi_head_attention_forward.__code__, vars(F))",
            id="a second function of its code",
        ),
        pytest.param(
            "f = types.FunctionType(c.replace(co_name='mine', co_filename='mine.py'), vars(F))\n"
            f"        o = f({OF_X})[0]",
            "import types\nc = F.multi_head_attention_forward.__code__",
            id="its code, changed and made a function later",
        ),
        pytest.param(
            f"f.__code__ = c\n        o = f({OF_X})[0]",
            "c = F.multi_head_attention_forward.__code__\ndef f(): ...",
            id="its code, put into a function",
        ),
        pytest.param(
            f"o = N['mine']({OF_X})[0]",
            "import inspect\nN = dict(vars(F))\n"
            f"exec({SOURCE}.replace('multi_head_attention_forward', 'mine'), N)",
            id="its text, under another name",
        ),
        pytest.param(
            "N = dict(vars(F))\n        exec(t, N)\n"
            f"        o = N['multi_head_attention_forward']({OF_X})[0]",
            f"import inspect\nt = compile({SOURCE}, 'mine.py', 'exec')",
            id="its text, compiled and executed later",
        ),
        pytest.param(
            f"o = N['mine']()({OF_X})[0]",
            "import inspect, textwrap\nN = dict(vars(F))\n"
            f"exec('def mine():\\n' + textwrap.indent({SOURCE}, '  ') "
            "+ '\\n  return multi_head_attention_forward', N)",
            id="its text inside another function",
        ),
        pytest.param(
            "exec(marshal.loads(open(F.__cached__, 'rb').read()[16:]), N)\n"
            f"        o = N['multi_head_attention_forward']({OF_X})[0]",
            "import marshal\nN = {'__name__': 'torch.nn.again', '__package__': 'torch.nn'}",
            id="its compiled file",
        ),
        pytest.param(
            "o = N['mine'](q, k, v, None, 1, 1, 1, q, q)",
            f"import inspect\nt = {SOURCE}\n"
            "t = t[t.index('    if need_weights:') : "
            "t.index('        # optionally average attention')]\n"
            "a = 'q, k, v, attn_mask, tgt_len, bsz, embed_dim, out_proj_weight, out_proj_bias, "
            "dropout_p=0.0, need_weights=True'\n"
            "N = {}\nexec('import math, torch\\nfrom torch.nn.functional import *\\n"
            "def mine(' + a + '):\\n' + t + '        return attn_output', N)",
            id="a part of its text",
        ),
        pytest.param(
            "o = q",
            "library = torch.library.Library('aten', 'IMPL')\n"
            "library.impl('_safe_softmax', lambda s, *a: s, 'CPU')",
            id="an override",
        ),
        pytest.param(
            "o = q",
            "torch._C._dispatch_library('IMPL', 'aten', '').impl('_safe_softmax', 'CPU', "
            "lambda s, *a: s, False)",
            id="a raw override",
        ),
    ],
)
def test_attention_kept_during_the_import_is_refused(grader: Grader, call: str, head: str) -> None:
    """A reference, a recording or a copy that the import has made is refused too."""
    assert verdict(grader, call, head) == "not-allowed"


@pytest.mark.parametrize(
    ("call", "head"),
    [
        pytest.param(
            "o = q", "ctypes.CDLL(torch.__path__[0] + '/lib/libtorch_cpu.so')", id="torch's library"
        ),
        pytest.param(
            "o = q",
            "import _ctypes\n_ctypes.dlopen(torch.__path__[0] + '/lib/libtorch_cpu.so', 1)",
            id="without ctypes",
        ),
        pytest.param(
            "o = q", "ctypes.CDLL(None)['_ZN2at9_ops4relu4callERKNS_6TensorE']", id="a C++ symbol"
        ),
        pytest.param("o = q", "ctypes.CDLL(None).dlsym(None, b'at')", id="dlsym"),
        pytest.param("o = q", "ctypes.pythonapi.PyFunction_New", id="Python's own functions"),
        pytest.param("ctypes.CFUNCTYPE(ctypes.c_int)(4096)\n        o = q", "", id="an address"),
        pytest.param("ctypes._CFuncPtr(4096)\n        o = q", "", id="an address without a type"),
        pytest.param(
            "u = U()\n        u.i = 4096\n        u.f()\n        o = q",
            "class U(ctypes.Union):\n"
            "    _fields_ = [('i', ctypes.c_size_t), ('f', ctypes.CFUNCTYPE(ctypes.c_int))]",
            id="an address in a union",
        ),
        pytest.param(
            "ctypes.c_long.from_address(id(q))\n        o = q", "", id="memory at an address"
        ),
        pytest.param(
            "ctypes.cast(4096, ctypes.CFUNCTYPE(ctypes.c_int))()\n        o = q", "", id="a cast"
        ),
    ],
)
def test_calls_by_address_are_refused(grader: Grader, call: str, head: str) -> None:
    """C code cannot call a kernel of torch without the dispatcher."""
    assert verdict(grader, call, "import ctypes\n" + head) == "not-allowed"


SELF_TEST = """
def mine(q, k, v):
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) @ v

x = torch.randn(2, 3, 4, 5)
"""


OWN = """def scaled_dot_product_attention(q, k, v, mask, drop):
    s = q @ k.mT / q.shape[-1] ** 0.5
    return drop((s if mask is None else s.masked_fill(~mask, float('-inf'))).softmax(-1)) @ v

def multi_head_attention_forward(*given):
    return scaled_dot_product_attention(*given)"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("call", "head"),
    [
        pytest.param(
            BY_HAND,
            SELF_TEST
            + "assert torch.allclose(mine(x, x, x), F.scaled_dot_product_attention(x, x, x), "
            "atol=1e-5)",
            id="F",
        ),
        pytest.param(
            BY_HAND,
            SELF_TEST + "assert torch.allclose(mine(x, x, x), "
            "torch.vmap(F.scaled_dot_product_attention)(x, x, x), atol=1e-5)",
            id="vmap",
        ),
        pytest.param(
            BY_HAND,
            "assert nn.MultiheadAttention(8, 2)(*[torch.randn(2, 3, 8)] * 3)[0].shape == (2, 3, 8)",
            id="nn.MultiheadAttention",
        ),
        pytest.param(
            BY_HAND,
            "assert nn.TransformerEncoderLayer(8, 2)(torch.randn(2, 3, 8)).shape == (2, 3, 8)",
            id="a layer",
        ),
        pytest.param(
            BY_HAND,
            "y = torch.ones(1, 2, 3, 4, requires_grad=True)\n"
            "F.scaled_dot_product_attention(y, y, y).sum().backward()",
            id="its gradient",
        ),
        pytest.param(
            BY_HAND,
            "torch.jit.trace(lambda a: F.scaled_dot_product_attention(a, a, a), "
            "[torch.ones(1, 2, 3, 4)])",
            id="a trace",
        ),
        pytest.param(
            BY_HAND,
            "def reference(x):\n    return nn.MultiheadAttention(8, 2)(x, x, x)[0]\n"
            "reference(torch.ones(1, 2, 8))",
            id="a function",
        ),
        pytest.param(
            "o = multi_head_attention_forward(q, k, v, mask, self.drop)",
            OWN,
            id="own functions of these names",
        ),
        pytest.param(
            BY_HAND,
            "class Reference(nn.MultiheadAttention):\n    pass\nReference(8, 2)",
            id="the learner's own class",
        ),
        pytest.param(
            BY_HAND, "import torch.onnx, torch.nn.attention.flex_attention, ctypes", id="imports"
        ),
        pytest.param(
            "torch.onnx.is_in_onnx_export()\n        " + BY_HAND, "", id="torch.onnx in the call"
        ),
        pytest.param(
            "print(ctypes.CDLL(None).getpid())\n        " + BY_HAND,
            "import ctypes",
            id="a call of the system's library",
        ),
    ],
)
def test_self_test_during_the_import_is_allowed(grader: Grader, call: str, head: str) -> None:
    """Attention of the library may run during the import, and own functions may have its names."""
    assert verdict(grader, call, head) == "passed"


OVERRIDDEN = """
import re, sys, torch
from trainer.worker import forbidden_ops
forbidden_ops.watch(print).begin()
other = re.compile("CUDA|XPU|HPU|MPS|MTIA|MAIA|PrivateUse|HIP|XLA|IPU|VE$|Lazy|Meta|Tracer")
for name in forbidden_ops.kernel_names():
    for line in torch._C._dispatch_dump_table(name).splitlines():
        key, _, kernel = line.partition(": ")
        if not kernel or other.search(key) or "backend fallback" in kernel:
            continue
        if "forbidden_ops.py" not in kernel:
            print(name, line)
print("checked", len(forbidden_ops.kernel_names()))
"""


@pytest.mark.thorough
def test_every_kernel_of_torch_is_overridden() -> None:
    """Kernels are overridden at every key that a tensor on this machine can have.

    The fallback of a whole key calls one of the overridden kernels.
    """
    done = subprocess.run(
        [sys.executable, "-c", OVERRIDDEN], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert re.fullmatch(r"checked (\d+)\n", done.stdout), done.stdout
    assert len(forbidden_ops.kernel_names()) > 25


def computes_attention(function: ast.AST) -> bool:
    """Return if a function calls a softmax and multiplies matrices."""
    calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    names = [
        call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls
    ]
    products = any(
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
        for node in ast.walk(function)
    )
    products |= any(name in ("matmul", "bmm", "baddbmm", "einsum", "mm") for name in names)
    return products and any("softmax" in name for name in names)


@pytest.mark.thorough
def test_python_attention_of_torch_is_listed() -> None:
    """A new version of torch may contain more such code. Then this test names the file."""
    root = Path(torch.__file__).parent
    unknown = []
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8", errors="replace")
        if "softmax" not in text:
            continue
        functions = [
            node
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef) and computes_attention(node)
        ]
        known = forbidden_ops._PYTHON.get(f"torch/{path.relative_to(root).as_posix()}", ())
        if known is not None:
            unknown += [
                (path.name, node.name)
                for node in functions
                if not any(name.split(".")[-1] == node.name for name in known)
            ]
    assert unknown == []


def test_kernels_of_a_forbidden_operation_have_all_its_forms() -> None:
    """The last part of the name counts. Other operations whose names contain it are left out."""
    kernels = forbidden_ops.kernels_of("torch.softmax")
    assert kernels == forbidden_ops.kernels_of("softmax")
    assert {"aten::softmax.int", "aten::_softmax", "aten::special_softmax"} <= set(kernels)
    assert not any("log_softmax" in kernel or "backward" in kernel for kernel in kernels)
    assert {"aten::cumsum", "aten::cumsum_", "aten::cumsum.out"} <= set(
        forbidden_ops.kernels_of("Tensor.cumsum")
    )
    assert forbidden_ops.kernels_of("torch.no_such_operation") == ()
