import torch
from torch import nn


class MiniGPT(nn.Module):
    """A GPT-2 of any size. V vocabulary, B batch, L length, M d_model, H heads.

    Layers: tok_emb Embedding(V, M), pos_emb Embedding(max_seq_len, M), blocks ModuleList, ln_f
    LayerNorm(M), head Linear(M, V) without bias.
    A block: ln_1, attn.qkv_proj Linear(M, 3M), attn.o_proj Linear(M, M), ln_2, mlp.fc
    Linear(M, 4M), mlp.proj Linear(4M, M). All its layers have biases.
    """

    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        # 1. Make the two embeddings and the dropout of their sum. -> Embedding(V, M), ...
        # 2. Make num_layers blocks; a block refuses M if H does not divide it. -> ModuleList
        # 3. Make the last norm and the head. -> LayerNorm(M), Linear(M, V)
        # 4. Draw all weights of Linear and Embedding with std 0.02; set all biases to 0. -> None
        raise NotImplementedError

    def forward(self, tokens):
        """Return the logits [B, L, V] of tokens int64 [B, L]."""
        # 1. Refuse more than max_seq_len tokens. -> ValueError
        # 2. Add the embeddings of tokens and positions, then the dropout. -> [B, L, M]
        # 3. Pass the sum through all blocks, each causal and pre-norm. -> [B, L, M]
        # 4. Apply the last norm and the head. -> [B, L, V]
        raise NotImplementedError


def next_token_loss(logits, tokens):
    """Return the mean cross-entropy of the next tokens, a scalar.

    logits [B, L, V], tokens int64 [B, L], L >= 2.
    """
    # 1. Leave out the logits and the token that have no partner. -> [B, L-1, V], [B, L-1]
    # 2. Take the mean cross-entropy over all pairs. -> scalar
    raise NotImplementedError


def train_step(model, optimizer, tokens, max_norm=1.0):
    """Make one step of the optimizer on tokens int64 [B, L].

    The total norm of the gradients is clipped to max_norm.
    -> float, the loss before the step.
    """
    # 1. Set the training mode and clear the old gradients. -> None
    # 2. Compute the loss. -> scalar
    # 3. Compute the gradients and clip them. -> None
    # 4. Make the step, and return the loss as a number. -> float
    raise NotImplementedError


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    """Return the tokens [B, L] followed by the most likely next tokens, one at a time.

    The model sees the last max_seq_len tokens only. It runs in eval mode and without gradients;
    its mode afterwards is its mode before.
    -> int64 [B, L + max_new_tokens].
    """
    # 1. Remember the mode, and switch to eval mode. -> bool
    # 2. Crop the context, and take the logits of its last position. -> [B, V]
    # 3. Append the most likely token, and repeat. -> [B, L + 1]
    # 4. Restore the mode. -> [B, L + max_new_tokens]
    raise NotImplementedError
