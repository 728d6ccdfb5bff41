"""Project q, k and v with three layers, write the products with einsum, and the norm by hand.

Three small projections need no split of a fused result, but they are three products instead of one
larger product. The hand-written norm makes five tensors of the size of x instead of one.
"""

import torch
from torch import nn


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

    def forward(self, x):
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1))
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        scores = torch.einsum("bihd,bjhd->bhij", q * q.shape[-1] ** -0.5, k)
        length = x.shape[1]
        position = torch.arange(length, device=x.device)
        later = position[None, :] > position[:, None]
        scores = torch.where(later, torch.finfo(scores.dtype).min, scores)
        weights = self.drop(scores.softmax(-1))
        return self.out_proj(torch.einsum("bhij,bjhd->bihd", weights, v).flatten(2))


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

    def forward(self, tokens):
        length, most = tokens.shape[1], self.pos_emb.num_embeddings
        if length > most:
            raise ValueError(f"got {length} tokens, at most {most} are possible")
        x = self.drop(self.tok_emb(tokens) + self.pos_emb.weight[:length])
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


def next_token_loss(logits, tokens):
    log_probabilities = logits.float().log_softmax(-1)[:, :-1]
    return -log_probabilities.gather(-1, tokens[:, 1:, None]).mean()


def train_step(model, optimizer, tokens, max_norm=1.0):
    optimizer.zero_grad()
    model.train()
    loss = next_token_loss(model(tokens), tokens)
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    total = torch.stack([g.norm() for g in gradients]).norm()
    if total > max_norm:
        for g in gradients:
            g.mul_(max_norm / total)
    optimizer.step()
    return loss.item()


@torch.inference_mode()
def generate(model, tokens, max_new_tokens):
    before = model.training
    model.eval()
    try:
        most = model.pos_emb.num_embeddings
        for _ in range(max_new_tokens):
            logits = model(tokens[:, max(0, tokens.shape[1] - most) :])
            tokens = torch.cat([tokens, logits[:, -1].max(-1, keepdim=True)[1]], 1)
        return tokens.clone()
    finally:
        model.train(before)
