# mistakes: scaled-keys-cached
"""Keys and values in one stacked tensor; the keys are scaled once before the cache and once after."""

import torch
from torch import nn


class KVCache:
    def __init__(self, num_layers):
        self.keys = [None] * num_layers
        self.values = [None] * num_layers
        self.length = 0

    def update(self, layer, k, v):
        if self.keys[layer] is not None:
            k = torch.cat([self.keys[layer], k], dim=2)
            v = torch.cat([self.values[layer], v], dim=2)
        self.keys[layer] = k
        self.values[layer] = v
        if layer == len(self.keys) - 1:
            self.length = k.shape[2]
        return k, v


class GPTAttention(nn.Module):
    def __init__(self, hidden_size, heads, dropout):
        super().__init__()
        assert hidden_size % heads == 0
        self.heads = heads
        self.scaling = (hidden_size // heads) ** -0.5
        self.c_attn = nn.Linear(hidden_size, 3 * hidden_size)
        self.c_proj = nn.Linear(hidden_size, hidden_size)
        self.attn_dropout = nn.Dropout(dropout)

    def forward(self, hidden, index, past_key_values=None):
        batch, new, width = hidden.size()
        stacked = self.c_attn(hidden).view(batch, new, 3, self.heads, -1)
        stacked = stacked.movedim(2, 0).transpose(2, 3)  # [3, B, H, L, D]
        query, key, value = stacked
        if past_key_values is not None:
            key, value = past_key_values.update(index, key * self.scaling, value)  # first wrong
        total = key.size(2)
        query_place = torch.arange(total - new, total, device=hidden.device)[:, None]
        key_place = torch.arange(total, device=hidden.device)[None, :]
        weights = torch.matmul(query, key.mT) * self.scaling
        weights = weights + torch.where(key_place > query_place, float("-inf"), 0.0).to(weights.dtype)
        weights = self.attn_dropout(weights.softmax(dim=-1))
        context = torch.matmul(weights, value).transpose(1, 2).contiguous().view(batch, new, width)
        return self.c_proj(context)


class GPTMLP(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.c_fc = nn.Linear(hidden_size, 4 * hidden_size)
        self.act = nn.GELU(approximate="tanh")
        self.c_proj = nn.Linear(4 * hidden_size, hidden_size)

    def forward(self, hidden):
        return self.c_proj(self.act(self.c_fc(hidden)))


class GPTLayer(nn.Module):
    def __init__(self, hidden_size, heads, dropout):
        super().__init__()
        self.ln_1 = nn.LayerNorm(hidden_size)
        self.attn = GPTAttention(hidden_size, heads, dropout)
        self.ln_2 = nn.LayerNorm(hidden_size)
        self.mlp = GPTMLP(hidden_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden, index, past_key_values=None):
        residual = hidden
        hidden = self.attn(self.ln_1(hidden), index, past_key_values=past_key_values)
        hidden = residual + self.dropout(hidden)
        residual = hidden
        hidden = self.dropout(self.mlp(self.ln_2(hidden)))
        return residual + hidden


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.n_positions = max_seq_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList([GPTLayer(d_model, num_heads, dropout) for _ in range(num_layers)])
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens, cache=None):
        past_length = 0 if cache is None else cache.length
        if past_length + tokens.size(-1) > self.n_positions:
            raise ValueError(f"more than {self.n_positions} positions")
        position_ids = torch.arange(past_length, past_length + tokens.size(-1), device=tokens.device)
        hidden = self.dropout(self.tok_emb(tokens) + self.pos_emb(position_ids.unsqueeze(0)))
        for index, layer in enumerate(self.blocks):
            hidden = layer(hidden, index, past_key_values=cache)
        return self.head(self.ln_f(hidden))


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    if tokens.size(-1) + max_new_tokens > model.n_positions:
        raise ValueError(f"{max_new_tokens} new tokens are too many")
    training = model.training
    model.eval()
    output, input_ids, cache = tokens, tokens, KVCache(len(model.blocks))
    for _ in range(max_new_tokens):
        logits = model(input_ids, cache)
        input_ids = logits[:, -1, :].argmax(-1)[:, None]
        output = torch.cat([output, input_ids], dim=-1)
    model.train(training)
    return output
