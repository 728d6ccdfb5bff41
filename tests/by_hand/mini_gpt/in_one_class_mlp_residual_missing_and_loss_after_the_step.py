# mistakes: mlp-residual-missing, loss-after-the-step
"""One class with a method for each part; the loss is computed again for the log."""

import torch
import torch.nn as nn
import torch.nn.functional as F

STD = 0.02


def linear(n_in, n_out, bias=True):
    layer = nn.Linear(n_in, n_out, bias=bias)
    nn.init.normal_(layer.weight, std=STD)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def embedding(n, dim):
    table = nn.Embedding(n, dim)
    nn.init.normal_(table.weight, std=STD)
    return table


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model has to be a multiple of num_heads")
        self.h, self.dk = num_heads, d_model // num_heads
        self.max_len = max_seq_len
        self.p = dropout
        self.tok_emb = embedding(vocab_size, d_model)
        self.pos_emb = embedding(max_seq_len, d_model)
        self.blocks = nn.ModuleList([self.new_block(d_model) for _ in range(num_layers)])
        self.ln_f = nn.LayerNorm(d_model)
        self.head = linear(d_model, vocab_size, bias=False)

    @staticmethod
    def new_block(d):
        block = nn.Module()
        block.ln_1 = nn.LayerNorm(d)
        block.attn = nn.Module()
        block.attn.wq = linear(d, d)
        block.attn.wk = linear(d, d)
        block.attn.wv = linear(d, d)
        block.attn.wo = linear(d, d)
        block.ln_2 = nn.LayerNorm(d)
        block.mlp = nn.Module()
        block.mlp.fc = linear(d, 4 * d)
        block.mlp.proj = linear(4 * d, d)
        return block

    def dropout(self, t):
        return F.dropout(t, p=self.p, training=self.training)

    def heads(self, t):
        # [B, L, M] -> [B, H, L, D]
        return t.reshape(t.shape[0], t.shape[1], self.h, self.dk).swapaxes(1, 2)

    def attention(self, w, x):
        B, L, M = x.shape
        Q = self.heads(w.wq(x))
        K = self.heads(w.wk(x))
        V = self.heads(w.wv(x))
        S = Q.matmul(K.transpose(2, 3)).div(self.dk**0.5)
        allowed = torch.tril(torch.ones(L, L, device=x.device))
        S = S.masked_fill(allowed == 0, -1e9)
        A = self.dropout(F.softmax(S, dim=3))
        O = A.matmul(V).swapaxes(1, 2).reshape(B, L, M)
        return self.dropout(w.wo(O))

    def feed_forward(self, w, x):
        hidden = F.gelu(w.fc(x))
        return self.dropout(w.proj(hidden))

    def embed(self, tokens):
        L = tokens.shape[1]
        if L > self.max_len:
            raise ValueError("text of %d tokens is longer than %d" % (L, self.max_len))
        x = self.tok_emb(tokens)
        x += self.pos_emb(torch.arange(L, device=tokens.device))
        return self.dropout(x)

    def forward(self, tokens):
        x = self.embed(tokens)
        for w in self.blocks:
            x = x + self.attention(w.attn, w.ln_1(x))
            x = self.feed_forward(w.mlp, w.ln_2(x))  # first wrong
        x = self.ln_f(x)
        return self.head(x)


def next_token_loss(logits, tokens):
    V = logits.shape[2]
    pred = logits[:, :-1, :].reshape(-1, V)
    target = tokens[:, 1:].reshape(-1)
    return F.cross_entropy(pred, target)


def train_step(model, optimizer, tokens, max_norm=1.0):
    model.train()
    optimizer.zero_grad()
    next_token_loss(model(tokens), tokens).backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    # for the log
    with torch.no_grad():
        loss = next_token_loss(model(tokens), tokens)  # also wrong
    return loss.item()


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    mode = model.training
    model.eval()
    for _ in range(max_new_tokens):
        y = model(tokens[:, -model.max_len:])
        nxt = y[:, -1].argmax(1)
        tokens = torch.cat([tokens, nxt[:, None]], 1)
    model.train(mode)
    return tokens
