"""A small GPT that uses a given class for its KV cache, and its generation.

    k, v = cache.update(layer, new k, new v)          in every block
    token i of a call after P cached tokens is at position P + i and sees keys 0 .. P + i

The number of cached tokens is read before the first block, because the last block changes it.
A generation feeds the prompt once and then one token a step, so a step costs O(M² + P M) for each
block. Radford et al. 2019, "Language Models are Unsupervised Multitask Learners" (GPT-2).
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class KVCache:
    """The keys and values of all tokens so far, for every layer. Given: do not change it."""

    def __init__(self, num_layers):
        # No layer has tokens yet.
        self.keys = [None] * num_layers
        self.values = [None] * num_layers
        # The number of tokens that all layers hold.
        self.length = 0

    def update(self, layer, k, v):
        """Add k, v [B, H, n, D] of new tokens to a layer; return k, v of all its tokens."""
        # Put the new tokens after the old.
        if self.keys[layer] is not None:
            k = torch.cat([self.keys[layer], k], dim=2)
            v = torch.cat([self.values[layer], v], dim=2)
        self.keys[layer] = k
        self.values[layer] = v
        # Count them when the last layer has them too.
        if layer == len(self.keys) - 1:
            self.length = k.shape[2]
        return k, v


class Attention(nn.Module):
    """Causal self-attention with H heads, as block number `layer`: [B, n, M] -> [B, n, M]."""

    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, layer, cache, past_length):
        batch, length, d_model = x.shape
        q, k, v = self.qkv_proj(x).chunk(3, dim=-1)
        # view, then transpose: the features of one head are next to each other
        q = q.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        k = k.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        v = v.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)

        if cache is not None:
            # in: the new tokens only, neither scaled nor masked; out: all tokens
            k, v = cache.update(layer, k, v)  # [B, H, P + n, D]

        scores = q @ k.transpose(-2, -1)  # [B, H, n, P + n]
        scores = scores / math.sqrt(self.head_dim)
        # row i is at position P + i, so the triangle begins at column P
        causal = torch.ones(length, past_length + length, dtype=torch.bool, device=x.device)
        causal = causal.tril(diagonal=past_length)
        scores = scores.masked_fill(~causal, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        weights = self.dropout(weights)

        heads = weights @ v  # [B, H, n, D]
        merged = heads.transpose(1, 2).reshape(batch, length, d_model)
        return self.o_proj(merged)


class MLP(nn.Module):
    """Two layers with a GELU between them: [B, n, M] -> [B, n, M]."""

    def __init__(self, d_model):
        super().__init__()
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        hidden = F.gelu(self.fc(x))  # [B, n, 4M]
        return self.proj(hidden)


class GPTBlock(nn.Module):
    """Attention and an MLP, each on normalised inputs and with a residual."""

    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = Attention(d_model, num_heads, dropout)
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = MLP(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, layer, cache, past_length):
        attended = self.attn(self.ln_1(x), layer, cache, past_length)
        x = x + self.dropout(attended)
        changed = self.mlp(self.ln_2(x))
        return x + self.dropout(changed)


class MiniGPT(nn.Module):
    """V vocabulary, M d_model, H heads, and at most max_seq_len positions."""

    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.max_seq_len = max_seq_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            GPTBlock(d_model, num_heads, dropout) for _ in range(num_layers)
        )
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.apply(self.init_weights)

    def init_weights(self, module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, tokens, cache=None):
        """Return the logits [B, n, V] of new tokens [B, n], which the cache then holds too."""
        length = tokens.shape[1]
        # read once, before any block: the last block makes it larger
        past_length = 0 if cache is None else cache.length
        end = past_length + length
        if end > self.max_seq_len:
            raise ValueError(f"{end} tokens with the cache, but max_seq_len is {self.max_seq_len}")
        positions = torch.arange(past_length, end, device=tokens.device)
        x = self.tok_emb(tokens) + self.pos_emb(positions)  # [B, n, M]
        x = self.dropout(x)
        for layer, block in enumerate(self.blocks):
            x = block(x, layer, cache, past_length)
        x = self.ln_f(x)
        return self.head(x)


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    """Return tokens [B, L] followed by max_new_tokens greedy tokens."""
    total = tokens.shape[1] + max_new_tokens
    if total > model.max_seq_len:
        raise ValueError(f"{total} tokens in all, but max_seq_len is {model.max_seq_len}")
    was_training = model.training
    model.eval()
    cache = KVCache(len(model.blocks))
    fed = tokens
    for _ in range(max_new_tokens):
        logits = model(fed, cache)
        last = logits[:, -1]  # [B, V]
        new_token = last.argmax(dim=-1, keepdim=True)  # [B, 1]
        tokens = torch.cat([tokens, new_token], dim=1)
        # the cache has the keys and values of all tokens before
        fed = new_token
    model.train(was_training)
    return tokens
