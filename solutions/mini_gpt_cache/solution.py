"""A small GPT with a KV cache, and its generation.

    k = [past k, new k],  v = [past v, new v]         in every block
    token i of a chunk after P cached tokens is at position P + i and sees keys 0 .. P + i

The cache is a list of one (k, v) for each block, each [B, H, P + L, D]. A generation feeds the
prompt once and then one token a step, so a step costs O(M² + P M) for each block.
Radford et al. 2019, "Language Models are Unsupervised Multitask Learners" (GPT-2).
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    """Causal self-attention with H heads: [B, L, M] -> [B, L, M] and the keys and values."""

    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model {d_model} is not divisible by num_heads {num_heads}")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, past, past_length):
        batch, length, d_model = x.shape
        q, k, v = self.qkv_proj(x).chunk(3, dim=-1)
        # view, then transpose: the features of one head are next to each other
        q = q.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        k = k.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        v = v.view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)

        if past is not None:
            past_k, past_v = past
            # new tensors: the past is left as it is, so an earlier cache can be used again
            k = torch.cat([past_k, k], dim=2)  # [B, H, P + L, D]
            v = torch.cat([past_v, v], dim=2)
        present = (k, v)

        scores = q @ k.transpose(-2, -1)  # [B, H, L, P + L]
        scores = scores / math.sqrt(self.head_dim)
        # row i is at position P + i, so the triangle begins at column P
        causal = torch.ones(length, past_length + length, dtype=torch.bool, device=x.device)
        causal = causal.tril(diagonal=past_length)
        scores = scores.masked_fill(~causal, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        weights = self.dropout(weights)

        heads = weights @ v  # [B, H, L, D]
        merged = heads.transpose(1, 2).reshape(batch, length, d_model)
        return self.o_proj(merged), present


class MLP(nn.Module):
    """Two layers with a GELU between them: [B, L, M] -> [B, L, M]."""

    def __init__(self, d_model):
        super().__init__()
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        hidden = F.gelu(self.fc(x))  # [B, L, 4M]
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

    def forward(self, x, past, past_length):
        attended, present = self.attn(self.ln_1(x), past, past_length)
        x = x + self.dropout(attended)
        changed = self.mlp(self.ln_2(x))
        return x + self.dropout(changed), present


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
        """Return the logits [B, L, V] of new tokens [B, L], and the cache with these tokens."""
        length = tokens.shape[1]
        # read once, before any block: all blocks continue at the same position
        past_length = 0 if cache is None else cache[0][0].shape[2]
        end = past_length + length
        if end > self.max_seq_len:
            raise ValueError(f"{end} tokens with the cache, but max_seq_len is {self.max_seq_len}")
        positions = torch.arange(past_length, end, device=tokens.device)
        x = self.tok_emb(tokens) + self.pos_emb(positions)  # [B, L, M]
        x = self.dropout(x)
        new_cache = []
        for index, block in enumerate(self.blocks):
            past = None if cache is None else cache[index]
            x, present = block(x, past, past_length)
            new_cache.append(present)
        x = self.ln_f(x)
        return self.head(x), new_cache


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    """Return tokens [B, L] followed by max_new_tokens greedy tokens."""
    total = tokens.shape[1] + max_new_tokens
    if total > model.max_seq_len:
        raise ValueError(f"{total} tokens in all, but max_seq_len is {model.max_seq_len}")
    was_training = model.training
    model.eval()
    cache = None
    fed = tokens
    for _ in range(max_new_tokens):
        logits, cache = model(fed, cache)
        last = logits[:, -1]  # [B, V]
        new_token = last.argmax(dim=-1, keepdim=True)  # [B, 1]
        tokens = torch.cat([tokens, new_token], dim=1)
        # the cache has the keys and values of all tokens before
        fed = new_token
    model.train(was_training)
    return tokens
