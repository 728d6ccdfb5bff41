# mistakes: latent-key-and-value
"""What is stored and what is multiplied, as named records in lists."""

from typing import NamedTuple


class Stored(NamedTuple):
    name: str
    width: int
    heads: int = 1

    @property
    def entries(self):
        return self.width * self.heads


class Product(NamedTuple):
    name: str
    rows: int
    inner: int
    columns: int
    times: int = 1

    @property
    def flops(self):
        return 2 * self.rows * self.inner * self.columns * self.times


class Dense(NamedTuple):
    name: str
    inputs: int
    outputs: int

    def size(self, bias):
        return self.inputs * self.outputs + (self.outputs if bias else 0)


def layers_of(d_model, num_heads, num_kv_heads):
    kv_dim = d_model * num_kv_heads // num_heads
    return [Dense("q", d_model, d_model), Dense("k", d_model, kv_dim), Dense("v", d_model, kv_dim), Dense("o", d_model, d_model)]


def bytes_of(stored, tokens, num_layers, bytes_per_element):
    return sum(one.entries for one in stored) * tokens * num_layers * bytes_per_element


def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    return sum(layer.size(bias) for layer in layers_of(d_model, num_heads, num_kv_heads))


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    stored = [Stored("k", head_dim, num_kv_heads), Stored("v", head_dim, num_kv_heads)]
    return bytes_of(stored, batch * seq_len, num_layers, bytes_per_element)


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    stored = [Stored("k latent", kv_rank), Stored("v latent", kv_rank), Stored("k rope", rope_dim)]  # first wrong
    return bytes_of(stored, batch * seq_len, num_layers, bytes_per_element)


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    head_dim = d_model // num_heads
    products = [Product(layer.name, q_len, layer.inputs, layer.outputs, batch) for layer in layers_of(d_model, num_heads, num_kv_heads)]
    products.append(Product("scores", q_len, head_dim, k_len, batch * num_heads))
    products.append(Product("context", q_len, k_len, head_dim, batch * num_heads))
    return sum(product.flops for product in products)
