def next_token_loss(logits, tokens, ignore_index=-100):
    """Return the mean cross-entropy of the next tokens.

    logits [B, L, V], tokens [B, L] int64, L >= 2. The logits at position t predict token t + 1.
    Targets equal to ignore_index do not count; at least one target counts.
    -> a scalar, in the dtype of the logits or in float32.
    """
    # 1. Drop the logits that predict nothing; compute in float32 or finer. -> [B, L - 1, V]
    # 2. Drop the token that nothing predicts. -> [B, L - 1]
    # 3. Mark the targets that count. -> [B, L - 1]
    # 4. Replace the other targets by an index that exists, in a copy. -> [B, L - 1]
    # 5. Take the logit of each target. -> [B, L - 1]
    # 6. Take the logarithm of the sum of exponentials, without overflow. -> [B, L - 1]
    # 7. Subtract: this is the loss of each target. -> [B, L - 1]
    # 8. Average over the targets that count. -> scalar
    raise NotImplementedError
