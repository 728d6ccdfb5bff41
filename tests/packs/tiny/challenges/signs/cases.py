"""Cases of outputs that are no tensors."""

import torch

from attn_drill.model.case import Case


def drive(signs, given):
    return {
        "sign": signs.sign_of(given.x),
        "count": signs.positive(given.x),
        "total": given.x.sum(),
    }


def cases(draw):
    for name, shift in (("mostly above 0", 1.0), ("mostly below 0", -1.0)):
        x = draw.uniform(3, 5, low=-1.5, high=0.5) + shift
        x[0, 0], x[0, 1] = torch.tensor([shift, 2.0 * shift])
        yield Case(
            name,
            inputs={"x": x},
            dims={"total": ""},
            sizes={},
            plain={"sign": "str", "count": "int"},
        )
