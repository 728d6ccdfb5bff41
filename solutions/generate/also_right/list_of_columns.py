"""Collect the new columns in a list, and join them once at the end.

A cat in every step copies all earlier tokens again, but a single cat copies them once. Until then,
no tensor holds the whole sequences, so you cannot look anything up in them.
"""

import torch


def generate(step, tokens, max_new_tokens, eos=None):
    columns = [tokens]
    done = None
    past = None
    with torch.inference_mode():
        while len(columns) <= max_new_tokens:
            scores, past = step(columns[-1], past)
            column = torch.argmax(scores[:, -1, :], dim=1).unsqueeze(1)
            if eos is not None and done is not None:
                column = column.masked_fill(done, eos)
            columns.append(column)
            if eos is None:
                continue
            done = column == eos
            if torch.all(done):
                break
    return torch.cat(columns, dim=1)
