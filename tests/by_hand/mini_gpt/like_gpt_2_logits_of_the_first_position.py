# mistakes: logits-of-the-first-position
"""GPT-2 as in the transformers library: a config object, _split_heads and _merge_heads."""

import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class GPT2Config:
    vocab_size: int
    n_embd: int
    n_head: int
    n_layer: int
    n_positions: int
    pdrop: float = 0.0
    initializer_range: float = 0.02


class NewGELUActivation(nn.Module):
    def forward(self, input):
        cubed = torch.pow(input, 3.0)
        return 0.5 * input * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (input + 0.044715 * cubed)))


class GPT2Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed_dim = config.n_embd
        self.num_heads = config.n_head
        self.head_dim = self.embed_dim // self.num_heads
        if self.head_dim * self.num_heads != self.embed_dim:
            raise ValueError(
                f"`embed_dim` must be divisible by num_heads "
                f"(got `embed_dim`: {self.embed_dim} and `num_heads`: {self.num_heads})."
            )
        self.c_attn = nn.Linear(self.embed_dim, 3 * self.embed_dim)
        self.c_proj = nn.Linear(self.embed_dim, self.embed_dim)
        self.attn_dropout = nn.Dropout(config.pdrop)
        self.resid_dropout = nn.Dropout(config.pdrop)

    def _split_heads(self, tensor):
        new_shape = tensor.size()[:-1] + (self.num_heads, self.head_dim)
        return tensor.view(new_shape).permute(0, 2, 1, 3)

    def _merge_heads(self, tensor):
        tensor = tensor.permute(0, 2, 1, 3).contiguous()
        return tensor.view(tensor.size()[:-2] + (self.embed_dim,))

    def _attn(self, query, key, value):
        attn_weights = torch.matmul(query, key.transpose(-1, -2))
        attn_weights = attn_weights / (value.size(-1) ** 0.5)

        length = query.size(-2)
        causal_mask = torch.tril(torch.ones((length, length), dtype=torch.bool, device=query.device))
        mask_value = torch.full([], torch.finfo(attn_weights.dtype).min, dtype=attn_weights.dtype)
        attn_weights = torch.where(causal_mask, attn_weights, mask_value.to(query.device))

        attn_weights = nn.functional.softmax(attn_weights, dim=-1)
        attn_weights = self.attn_dropout(attn_weights)
        return torch.matmul(attn_weights, value)

    def forward(self, hidden_states):
        query, key, value = self.c_attn(hidden_states).split(self.embed_dim, dim=2)
        query = self._split_heads(query)
        key = self._split_heads(key)
        value = self._split_heads(value)
        attn_output = self._merge_heads(self._attn(query, key, value))
        return self.resid_dropout(self.c_proj(attn_output))


class GPT2MLP(nn.Module):
    def __init__(self, intermediate_size, config):
        super().__init__()
        self.c_fc = nn.Linear(config.n_embd, intermediate_size)
        self.c_proj = nn.Linear(intermediate_size, config.n_embd)
        self.act = NewGELUActivation()
        self.dropout = nn.Dropout(config.pdrop)

    def forward(self, hidden_states):
        hidden_states = self.c_fc(hidden_states)
        hidden_states = self.act(hidden_states)
        hidden_states = self.c_proj(hidden_states)
        return self.dropout(hidden_states)


class GPT2Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.ln_1 = nn.LayerNorm(config.n_embd, eps=1e-5)
        self.attn = GPT2Attention(config)
        self.ln_2 = nn.LayerNorm(config.n_embd, eps=1e-5)
        self.mlp = GPT2MLP(4 * config.n_embd, config)

    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = self.ln_1(hidden_states)
        hidden_states = residual + self.attn(hidden_states)
        residual = hidden_states
        hidden_states = self.ln_2(hidden_states)
        return residual + self.mlp(hidden_states)


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        config = GPT2Config(vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout)
        self.config = config
        self.tok_emb = nn.Embedding(config.vocab_size, config.n_embd)
        self.pos_emb = nn.Embedding(config.n_positions, config.n_embd)
        self.drop = nn.Dropout(config.pdrop)
        self.blocks = nn.ModuleList([GPT2Block(config) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd, eps=1e-5)
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.post_init()

    def post_init(self):
        for module in self.modules():
            if isinstance(module, nn.Linear):
                module.weight.data.normal_(mean=0.0, std=self.config.initializer_range)
                if module.bias is not None:
                    module.bias.data.zero_()
            elif isinstance(module, nn.Embedding):
                module.weight.data.normal_(mean=0.0, std=self.config.initializer_range)
            elif isinstance(module, nn.LayerNorm):
                module.bias.data.zero_()
                module.weight.data.fill_(1.0)

    def forward(self, tokens):
        input_shape = tokens.size()
        if input_shape[-1] > self.config.n_positions:
            raise ValueError(f"{input_shape[-1]} > n_positions {self.config.n_positions}")
        position_ids = torch.arange(0, input_shape[-1], dtype=torch.long, device=tokens.device)
        position_ids = position_ids.unsqueeze(0).view(-1, input_shape[-1])
        hidden_states = self.tok_emb(tokens) + self.pos_emb(position_ids)
        hidden_states = self.drop(hidden_states)
        for block in self.blocks:
            hidden_states = block(hidden_states)
        hidden_states = self.ln_f(hidden_states)
        lm_logits = self.head(hidden_states)
        return lm_logits


def next_token_loss(logits, tokens):
    # Shift so that tokens < n predict n
    shift_logits = logits[..., :-1, :].contiguous()
    shift_labels = tokens[..., 1:].contiguous()
    loss_fct = nn.CrossEntropyLoss()
    return loss_fct(shift_logits.view(-1, shift_logits.size(-1)), shift_labels.view(-1))


def train_step(model, optimizer, tokens, max_norm=1.0):
    model.train()
    lm_logits = model(tokens)
    loss = next_token_loss(lm_logits, tokens)
    model.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.detach().cpu().item()


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    training = model.training
    model.eval()
    input_ids = tokens
    for _ in range(max_new_tokens):
        model_inputs = input_ids[:, -model.config.n_positions :]
        lm_logits = model(model_inputs)
        next_token_logits = lm_logits[:, 0, :]  # first wrong
        next_tokens = torch.argmax(next_token_logits, dim=-1)
        input_ids = torch.cat([input_ids, next_tokens[:, None]], dim=-1)
    if training:
        model.train()
    return input_ids
