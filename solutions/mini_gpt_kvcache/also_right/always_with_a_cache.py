"""Use a cache in every call, also where none is given, and compare positions for the mask.

Without a second way through the attention, there is less to get wrong, but a training step keeps
a cache until its end. The comparison needs no triangle with an offset, because the positions of
keys and queries both count from the first token.
"""

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


class Norm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        variance = centred.pow(2).mean(-1, keepdim=True)
        return centred * torch.rsqrt(variance + self.eps) * self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{num_heads} heads do not divide d_model {d_model}")
        self.heads = num_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, layer, cache):
        seen = cache.length
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1))
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k, v = (part.transpose(1, 2) for part in (q, k, v))
        k, v = cache.update(layer, k, v)
        scores = torch.einsum("bhid,bhjd->bhij", q * q.shape[-1] ** -0.5, k)
        key = torch.arange(k.shape[-2], device=x.device)
        later = key > key[seen:, None]
        scores = torch.where(later, torch.finfo(scores.dtype).min, scores)
        weights = self.drop(scores.softmax(-1))
        mixed = torch.einsum("bhij,bhjd->bihd", weights, v).flatten(2)
        return self.out_proj(mixed)


class Feed(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        h = self.fc(x)
        return self.proj(h * 0.5 * (1 + torch.erf(h / 2**0.5)))


class Layer(nn.Module):
    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        self.ln_1, self.ln_2 = Norm(d_model), Norm(d_model)
        self.attn, self.mlp = Attention(d_model, num_heads, dropout), Feed(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, layer, cache):
        x = x + self.drop(self.attn(self.ln_1(x), layer, cache))
        return x + self.drop(self.mlp(self.ln_2(x)))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            self.blocks.append(Layer(d_model, num_heads, dropout))
        self.ln_f = Norm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if parameter.dim() == 2:
                    parameter.normal_(0.0, 0.02)
                elif name.endswith("bias"):
                    parameter.zero_()

    def forward(self, tokens, cache=None):
        cache = KVCache(len(self.blocks)) if cache is None else cache
        seen = cache.length
        length, most = seen + tokens.shape[1], self.pos_emb.num_embeddings
        if length > most:
            raise ValueError(f"got {length} tokens, at most {most} are possible")
        x = self.drop(self.tok_emb(tokens) + self.pos_emb.weight[seen:length])
        for index, block in enumerate(self.blocks):
            x = block(x, index, cache)
        return self.head(self.ln_f(x))


@torch.inference_mode()
def generate(model, tokens, max_new_tokens):
    most, length = model.pos_emb.num_embeddings, tokens.shape[1] + max_new_tokens
    if length > most:
        raise ValueError(f"{length} tokens do not fit into {most} positions")
    if max_new_tokens == 0:
        return tokens.clone()
    before = model.training
    model.eval()
    try:
        cache = KVCache(len(model.blocks))
        logits = model(tokens, cache)
        columns = [tokens, logits[:, -1:].argmax(-1)]
        while len(columns) <= max_new_tokens:
            logits = model(columns[-1], cache)
            columns.append(logits.argmax(-1))
        return torch.cat(columns, 1)
    finally:
        model.train(before)
