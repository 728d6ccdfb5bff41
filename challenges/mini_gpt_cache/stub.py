import torch
from torch import nn


class MiniGPT(nn.Module):
    """The small GPT, with a cache of keys and values.

    V vocabulary, B batch, L new tokens, P cached tokens, M d_model, H heads, D = M / H head dim.
    Layers and names as in mini-gpt: tok_emb, pos_emb, blocks (ln_1, attn.qkv_proj, attn.o_proj,
    ln_2, mlp.fc, mlp.proj), ln_f, head.
    """

    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        # 1. Make the layers of the small GPT. -> Embedding(V, M), ModuleList, Linear(M, V)
        # 2. Refuse M if H does not divide it. -> ValueError
        raise NotImplementedError

    def forward(self, tokens, cache=None):
        """Return the logits [B, L, V] of the new tokens [B, L], and the cache with these tokens.

        cache: None, or a list of one (k, v) for each block, each [B, H, P, D], as it was returned.
        The returned cache has keys and values [B, H, P + L, D]; the given cache does not change.
        """
        # 1. Take the number of cached tokens, and refuse more than max_seq_len in all. -> int
        # 2. Add the embeddings of tokens and positions P to P + L - 1. -> [B, L, M]
        # 3. In every block, join the past keys and values with the new. -> [B, H, P + L, D]
        # 4. Hide later keys: query i is at position P + i. -> [B, H, L, P + L]
        # 5. Apply the last norm and the head; return the cache too. -> [B, L, V]
        raise NotImplementedError


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    """Return the tokens [B, L] followed by the most likely next tokens, one at a time.

    The model gets the prompt once, then one new token a step with the cache of the step before. It
    runs in eval mode and without gradients; its mode afterwards is its mode before.
    -> int64 [B, L + max_new_tokens].
    """
    # 1. Refuse a prompt that is too long for so many new tokens. -> ValueError
    # 2. Remember the mode, and switch to eval mode. -> bool
    # 3. Feed the prompt, then each new token, with the cache. -> [B, V]
    # 4. Append the most likely token, and repeat. -> [B, L + 1]
    # 5. Restore the mode. -> [B, L + max_new_tokens]
    raise NotImplementedError
