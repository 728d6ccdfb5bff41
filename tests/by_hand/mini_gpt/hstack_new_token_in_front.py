# mistakes: new-token-in-front
"""Generation with hstack, whose operands are in the wrong order."""

import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        if width % heads:
            raise ValueError(f"{heads} heads do not divide {width}")
        self.heads = heads
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.out_proj = nn.Linear(width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.q_proj, self.k_proj, self.v_proj))
        energy = torch.einsum("bihd,bjhd->bhij", q, k)
        energy = energy * q.shape[-1] ** -0.5
        place = torch.arange(x.shape[1], device=x.device)
        energy = torch.where(place[:, None] >= place, energy, torch.finfo(energy.dtype).min)
        share = self.drop(energy.softmax(-1))
        return self.out_proj(torch.einsum("bhij,bjhd->bihd", share, v).flatten(2))


class Wide(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, 4 * width)
        self.proj = nn.Linear(4 * width, width)

    def forward(self, x):
        return self.proj(nn.functional.gelu(self.fc(x)))


class Layer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.mlp = Heads(width, heads, dropout), Wide(width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        for norm, part in ((self.ln_1, self.attn), (self.ln_2, self.mlp)):
            x = x + self.drop(part(norm(x)))
        return x


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Layer(d_model, num_heads, dropout) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        with torch.no_grad():
            for name, value in self.named_parameters():
                if value.dim() > 1:
                    value.copy_(torch.randn(value.shape) * 0.02)
                elif name.endswith("bias"):
                    value.zero_()

    @property
    def limit(self):
        return self.pos_emb.num_embeddings

    def forward(self, tokens):
        if tokens.shape[1] > self.limit:
            raise ValueError(f"at most {self.limit} tokens")
        x = self.tok_emb(tokens) + self.pos_emb.weight[: tokens.shape[1]]
        x = self.drop(x)
        for layer in self.blocks:
            x = layer(x)
        return self.head(self.ln_f(x))


def next_token_loss(logits, tokens):
    log_p = logits[:, :-1].log_softmax(-1)
    right = log_p.gather(-1, tokens[:, 1:, None])
    return -right.mean()


def train_step(model, optimizer, tokens, max_norm=1.0):
    model.train(True)
    for parameter in model.parameters():
        parameter.grad = None
    loss = next_token_loss(model(tokens), tokens)
    loss.backward()
    nn.utils.clip_grad_norm_(list(model.parameters()), max_norm=max_norm)
    optimizer.step()
    return loss.detach().item()


@torch.inference_mode()
def generate(model, tokens, max_new_tokens):
    was = model.training
    model.train(False)
    for _ in range(max_new_tokens):
        seen = tokens.narrow(1, max(tokens.shape[1] - model.limit, 0), min(tokens.shape[1], model.limit))
        scores = model(seen).select(1, -1)
        new = scores.max(dim=-1, keepdim=True).indices
        tokens = torch.hstack((new, tokens))  # first wrong
    model.train(was)
    return tokens
