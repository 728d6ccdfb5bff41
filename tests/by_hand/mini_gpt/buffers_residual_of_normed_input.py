# mistakes: residual-of-normed-input
"""Names of BERT, a buffer of positions and one of hidden pairs; every sum has its own name."""

import torch
from torch import nn
from torch.nn import init


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.register_buffer("position_ids", torch.arange(max_seq_len), persistent=False)
        pairs = torch.ones(max_seq_len, max_seq_len, dtype=torch.bool)
        self.register_buffer("future", pairs.triu(diagonal=1), persistent=False)
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.emb_dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            self.blocks.append(TransformerLayer(d_model, num_heads, dropout))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        self.reset_parameters()

    def reset_parameters(self):
        matrices = [p for p in self.parameters() if p.ndim == 2]
        biases = [m.bias for m in self.modules() if isinstance(m, nn.Linear) and m is not self.head]
        for matrix in matrices:
            init.normal_(matrix, 0, 0.02)
        for bias in biases:
            init.zeros_(bias)

    def forward(self, tokens):
        max_seq_len = self.position_ids.numel()
        seq_len = tokens.size(1)
        if seq_len > max_seq_len:
            raise ValueError("sequence too long: %d > %d" % (seq_len, max_seq_len))
        embedded = self.tok_emb(tokens) + self.pos_emb(self.position_ids[:seq_len])
        hidden = self.emb_dropout(embedded)
        hidden_pairs = self.future[:seq_len, :seq_len]
        for layer in self.blocks:
            hidden = layer(hidden, hidden_pairs)
        return self.head(self.ln_f(hidden))


class TransformerLayer(nn.Module):
    def __init__(self, hidden_size, num_heads, dropout):
        super().__init__()
        self.attn = SelfAttention(hidden_size, num_heads, dropout)
        self.mlp = Intermediate(hidden_size, dropout)
        self.ln_1 = nn.LayerNorm(hidden_size)
        self.ln_2 = nn.LayerNorm(hidden_size)

    def forward(self, hidden, hidden_pairs):
        normed = self.ln_1(hidden)
        context = self.attn(normed, hidden_pairs)
        attended = normed + context  # first wrong
        return attended + self.mlp(self.ln_2(attended))


class SelfAttention(nn.Module):
    def __init__(self, hidden_size, num_heads, dropout):
        super().__init__()
        if hidden_size % num_heads != 0:
            raise ValueError("hidden size %d, heads %d" % (hidden_size, num_heads))
        self.num_attention_heads = num_heads
        self.attention_head_size = hidden_size // num_heads
        self.query = nn.Linear(hidden_size, hidden_size)
        self.key = nn.Linear(hidden_size, hidden_size)
        self.value = nn.Linear(hidden_size, hidden_size)
        self.dense = nn.Linear(hidden_size, hidden_size)
        self.probs_dropout = nn.Dropout(dropout)
        self.output_dropout = nn.Dropout(dropout)

    def transpose_for_scores(self, x):
        x = x.view(*x.shape[:2], self.num_attention_heads, self.attention_head_size)
        return x.permute(0, 2, 1, 3)

    def forward(self, hidden, hidden_pairs):
        query_layer = self.transpose_for_scores(self.query(hidden))
        key_layer = self.transpose_for_scores(self.key(hidden))
        value_layer = self.transpose_for_scores(self.value(hidden))
        attention_scores = torch.matmul(query_layer, key_layer.transpose(-1, -2))
        attention_scores = attention_scores * self.attention_head_size**-0.5
        attention_scores = attention_scores.masked_fill(hidden_pairs, float("-inf"))
        attention_probs = self.probs_dropout(attention_scores.softmax(dim=-1))
        context_layer = torch.matmul(attention_probs, value_layer)
        context_layer = context_layer.permute(0, 2, 1, 3).flatten(start_dim=2)
        return self.output_dropout(self.dense(context_layer))


class Intermediate(nn.Module):
    def __init__(self, hidden_size, dropout):
        super().__init__()
        self.fc = nn.Linear(hidden_size, 4 * hidden_size)
        self.intermediate_act_fn = nn.GELU()
        self.proj = nn.Linear(4 * hidden_size, hidden_size)
        self.output_dropout = nn.Dropout(dropout)

    def forward(self, hidden):
        intermediate = self.intermediate_act_fn(self.fc(hidden))
        return self.output_dropout(self.proj(intermediate))


def next_token_loss(logits, tokens):
    criterion = nn.CrossEntropyLoss(reduction="mean")
    scores = logits.narrow(1, 0, logits.size(1) - 1)
    labels = tokens.narrow(1, 1, tokens.size(1) - 1)
    return criterion(scores.permute(0, 2, 1), labels)


def train_step(model, optimizer, tokens, max_norm=1.0):
    model.train()
    optimizer.zero_grad()
    loss = next_token_loss(model(tokens), tokens)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


def generate(model, tokens, max_new_tokens):
    was_training = model.training
    model.eval()
    window = model.position_ids.numel()
    out = tokens.clone()
    with torch.no_grad():
        while out.size(1) < tokens.size(1) + max_new_tokens:
            start = max(out.size(1) - window, 0)
            scores = model(out[:, start:])
            best = scores[:, -1, :].argmax(dim=1)
            out = torch.cat((out, best.unsqueeze(1)), dim=1)
    model.train(was_training)
    return out
