"""The interface of the masked mean."""


def masked_mean(x, mask=None):
    """Return the mean of the real tokens of x [B, L, D] -> [B, D]; mask [B, L], True = real."""
    # 1. Add the real tokens of each sequence. -> [B, D]
    # 2. Divide by their number. -> [B, D]
    raise NotImplementedError
