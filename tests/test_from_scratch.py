"""The library's attention is refused under every name, and nothing else is."""

import pytest

from trainer.content import packs
from trainer.grading.grader import Grader

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
        k = self.k_proj(x).view(b, n, self.g, self.d).transpose(1, 2).repeat_interleave(self.h // self.g, 1)
        v = self.v_proj(x).view(b, n, self.g, self.d).transpose(1, 2).repeat_interleave(self.h // self.g, 1)
        {call}
        return self.o_proj(o.transpose(1, 2).reshape(b, n, m))
"""
BY_HAND = """s = q @ k.mT / self.d**0.5
        s = s if mask is None else s.masked_fill(~mask, float("-inf"))
        o = self.drop(s.softmax(-1)) @ v"""


def verdict(grader: Grader, call: str, head: str = "") -> str:
    """Grade the module with this way to get `o`."""
    gqa = packs.find_challenge(packs.built_in_pack(), "gqa")
    return grader.grade(gqa, MODULE.format(head=head, call=call), "gqa.py", 11).verdict


@pytest.mark.parametrize(
    ("call", "head"),
    [
        pytest.param("o = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)", "", id="F"),
        pytest.param("o = torch._C._nn.scaled_dot_product_attention(q, k, v, mask)", "", id="_C._nn"),
        pytest.param("o = torch.ops.aten.scaled_dot_product_attention(q, k, v, mask)", "", id="ops.aten"),
        pytest.param("o = torch.ops.aten._scaled_dot_product_attention_math(q, k, v)[0]", "", id="the math kernel"),
        pytest.param("o = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)[0]", "", id="the flash kernel"),
        pytest.param("o = torch.ops.aten.scaled_dot_product_attention.default.decompose(q, k, v)", "", id="decomposed"),
        pytest.param("o = torch.vmap(lambda a, b, c: F.scaled_dot_product_attention(a, b, c))(q, k, v)", "", id="vmap"),
        pytest.param("o = fn(q, k, v)", 'fn = getattr(F, "scaled_dot" + "_product_attention")', id="another name"),
        pytest.param("o = f(q, k, v)", "@torch.jit.script\ndef f(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v)", id="jit.script"),
        pytest.param(
            f"try:\n            o = F.scaled_dot_product_attention(q, k, v)\n        except Exception:\n            {BY_HAND.replace(chr(10), chr(10) + '    ')}",
            "",
            id="try, then by hand",
        ),
        pytest.param(
            "t = []\n        import threading\n        w = threading.Thread(target=lambda: t.append(F.scaled_dot_product_attention(q, k, v)))\n        w.start()\n        w.join()\n        o = t[0]",
            "",
            id="a thread",
        ),
        pytest.param("o = flex_attention(q, k, v)", "from torch.nn.attention.flex_attention import flex_attention", id="flex_attention"),
        pytest.param(
            "w = x.new_zeros(3 * m, m)\n        o = F.multi_head_attention_forward(x, x, x, m, self.h, w, None, None, None, False, 0.0, w[:m], None)[0]",
            "",
            id="F.multi_head_attention_forward",
        ),
        pytest.param(
            "o = fn(x, x, x, m, self.h, x.new_zeros(3 * m, m), None, None, None, False, 0.0, x.new_zeros(m, m), None)[0]",
            "from torch.nn.functional import multi_head_attention_forward as fn",
            id="bound before",
        ),
        pytest.param("o = nn.MultiheadAttention(m, self.h)(x, x, x)[0]", "", id="nn.MultiheadAttention"),
        pytest.param("o = nn.TransformerEncoderLayer(m, self.h)(x)", "", id="nn.TransformerEncoderLayer"),
    ],
)
def test_refused(grader: Grader, call: str, head: str) -> None:
    """What runs is judged: the verdict is not-allowed however it is reached."""
    assert verdict(grader, call, head) == "not-allowed"


@pytest.mark.parametrize(
    ("call", "head"),
    [
        pytest.param(BY_HAND, "", id="by hand"),
        pytest.param(BY_HAND, "# like F.scaled_dot_product_attention, but by hand", id="a comment"),
        pytest.param(
            "o = scaled_dot_product_attention(self, q, k, v, mask)",
            "def scaled_dot_product_attention(self, q, k, v, mask):\n        " + BY_HAND + "\n        return o",
            id="a function of one's own",
        ),
        pytest.param(BY_HAND, "try:\n    import flash_attn\nexcept ImportError:\n    flash_attn = None", id="an optional import"),
        pytest.param(BY_HAND, "assert nn.MultiheadAttention and F.scaled_dot_product_attention", id="named and not called"),
        pytest.param(BY_HAND, "if __name__ == '__main__':\n    F.scaled_dot_product_attention(*[torch.ones(2, 2)] * 3)", id="only as a script"),
    ],
)
def test_accepted(grader: Grader, call: str, head: str) -> None:
    """Words in the file are not judged."""
    assert verdict(grader, call, head) == "passed"


def test_the_report_names_the_function_and_the_line(grader: Grader) -> None:
    """The learner reads what is not allowed, and where it stands."""
    gqa = packs.find_challenge(packs.built_in_pack(), "gqa")
    source = MODULE.format(head="", call="o = F.scaled_dot_product_attention(q, k, v)")
    failure = next(one for one in grader.grade(gqa, source, "gqa.py", 1).outcomes if one.check == "from scratch")
    line = source.split("\n").index("        o = F.scaled_dot_product_attention(q, k, v)") + 1
    assert "F.scaled_dot_product_attention is called" in failure.message
    assert f"line {line}" in failure.message
