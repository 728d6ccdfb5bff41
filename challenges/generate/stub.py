import torch


@torch.no_grad()
def generate(step, tokens, max_new_tokens, eos=None):
    """Continue every sequence with the most likely token, at most max_new_tokens times.

    step(tokens [B, n], cache) returns logits [B, n, V] and the next cache; the first cache is None.
    tokens [B, L] int64. A sequence that has produced eos gets only eos afterwards; generation ends
    when all sequences have.
    -> [B, L + m] int64, with the m new tokens at the end.
    """
    # 1. Begin with the prompt, without a cache, and with no sequence ended. -> nothing
    # 2. Call step with the prompt; later with the newest tokens and the last cache. -> [B, n, V]
    # 3. Take the most likely token at the last position. -> [B, 1]
    # 4. With eos: replace the token of a sequence that has ended by eos. -> [B, 1]
    # 5. With eos: note which sequences have ended now. -> [B, 1]
    # 6. Append the tokens to the sequences. -> [B, L + 1]
    # 7. Stop after max_new_tokens tokens, or when all sequences have ended. -> [B, L + m]
    raise NotImplementedError
