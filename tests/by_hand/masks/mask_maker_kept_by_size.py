# mistakes: padding-cached
# diagnosis: no line
"""An object that makes the masks and remembers them; the four functions ask it."""

import torch


class MaskMaker:
    def __init__(self):
        self.of_keys = {}

    def keys(self, lengths, size):
        fresh = torch.arange(size, device=lengths.device).lt(lengths.reshape(-1, 1))
        return self.of_keys.setdefault((lengths.shape[0], size), fresh)  # first wrong

    def triangle(self, rows, columns):
        row = torch.arange(rows).reshape(rows, 1)
        return torch.arange(columns).sub(row).le(columns - rows)


maker = MaskMaker()


def padding_mask(lengths, max_len):
    return maker.keys(lengths, max_len)[:, None, None, :]


def causal_mask(q_len, k_len):
    return maker.triangle(q_len, k_len)[None, None, :, :]


def decoder_mask(lengths, max_len):
    keys = maker.keys(lengths, max_len)
    triangle = maker.triangle(max_len, max_len).to(lengths.device)
    return (keys[:, None, :] & triangle).unsqueeze(1)


def cross_attention_mask(src_lengths, tgt_len, src_len):
    keys = maker.keys(src_lengths, src_len)
    return keys[:, None, None, :].expand(-1, 1, tgt_len, src_len)
