"""Express the weights as a share of those of multi-head attention, as properties of a dataclass.

The share is a Fraction, so the results are exact, as with integers. Every access to a property
makes a new Fraction, which is slower than a product of ints.
"""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Layer:
    d_model: int
    num_heads: int
    num_kv_heads: int

    @property
    def share(self):
        return Fraction(self.num_kv_heads, self.num_heads)

    @property
    def weights(self):
        return int(2 * self.d_model**2 * (1 + self.share))

    @property
    def biases(self):
        return int(2 * self.d_model * (1 + self.share))


def attention_params(d_model: int, num_heads: int, num_kv_heads: int, bias: bool = False) -> int:
    layer = Layer(d_model, num_heads, num_kv_heads)
    return layer.weights + bias * layer.biases


def kv_cache_bytes(batch: int, seq_len: int, num_layers: int, num_kv_heads: int, head_dim: int, bytes_per_element: int = 2) -> int:
    keys = values = num_kv_heads * head_dim * bytes_per_element
    return (keys + values) * batch * seq_len * num_layers


def mla_cache_bytes(batch: int, seq_len: int, num_layers: int, kv_rank: int, rope_dim: int, bytes_per_element: int = 2) -> int:
    return (kv_rank + rope_dim) * bytes_per_element * batch * seq_len * num_layers


def attention_flops(batch: int, q_len: int, k_len: int, d_model: int, num_heads: int, num_kv_heads: int) -> int:
    per_token = 2 * Layer(d_model, num_heads, num_kv_heads).weights + 4 * k_len * d_model
    return batch * q_len * per_token
