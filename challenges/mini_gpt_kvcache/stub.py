import torch
from torch import nn


class KVCache:
    """The keys and values of all tokens so far, for every layer. Given: do not change it."""

    def __init__(self, num_layers):
        # No layer has tokens yet. -> list of None
        self.keys = [None] * num_layers
        self.values = [None] * num_layers
        # The number of tokens that all layers hold. -> int
        self.length = 0

    def update(self, layer, k, v):
        """Add k, v [B, H, n, D] of new tokens to a layer; return k, v of all its tokens."""
        # Put the new tokens after the old. -> [B, H, length + n, D]
        if self.keys[layer] is not None:
            k = torch.cat([self.keys[layer], k], dim=2)
            v = torch.cat([self.values[layer], v], dim=2)
        self.keys[layer] = k
        self.values[layer] = v
        # Count them when the last layer has them too. -> int
        if layer == len(self.keys) - 1:
            self.length = k.shape[2]
        return k, v


class MiniGPT(nn.Module):
    """The small GPT, which can use a KVCache.

    V vocabulary, B batch, n new tokens, P cached tokens, M d_model, H heads, D = M / H head dim.
    Layers and names as in mini-gpt: tok_emb, pos_emb, blocks (ln_1, attn.qkv_proj, attn.o_proj,
    ln_2, mlp.fc, mlp.proj), ln_f, head.
    """

    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        # 1. Make the layers of the small GPT. -> Embedding(V, M), ModuleList, Linear(M, V)
        # 2. Refuse M if H does not divide it. -> ValueError
        raise NotImplementedError

    def forward(self, tokens, cache=None):
        """Return the logits [B, n, V] of new tokens [B, n].

        cache: None, or a KVCache with P = cache.length tokens. The call adds the n tokens to it.
        """
        # 1. Take the number of cached tokens, and refuse more than max_seq_len in all. -> int
        # 2. Add the embeddings of tokens and positions P to P + n - 1. -> [B, n, M]
        # 3. In every block, update the cache, and use all keys and values. -> [B, H, P + n, D]
        # 4. Hide later keys: query i is at position P + i. -> [B, H, n, P + n]
        # 5. Apply the last norm and the head. -> [B, n, V]
        raise NotImplementedError


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    """Return the tokens [B, L] followed by the most likely next tokens, one at a time.

    With one KVCache, the model gets the prompt once, then one new token a step. It runs in eval
    mode and without gradients; its mode afterwards is its mode before.
    -> int64 [B, L + max_new_tokens].
    """
    # 1. Refuse a prompt that is too long for so many new tokens. -> ValueError
    # 2. Remember the mode, and switch to eval mode. -> bool
    # 3. Make a cache; feed the prompt, then each new token. -> [B, V]
    # 4. Append the most likely token, and repeat. -> [B, L + 1]
    # 5. Restore the mode. -> [B, L + max_new_tokens]
    raise NotImplementedError
