# mistakes: ended-sequences-filled-with-their-last-token
# diagnosis: line elsewhere
"""The result has its full size from the beginning; a loop over its columns."""

import torch


def generate(step, tokens, max_new_tokens, eos=None):
    rows, begin = tokens.shape
    result = torch.zeros(rows, begin + max_new_tokens, dtype=tokens.dtype)
    result[:, :begin] = tokens
    done = torch.full((rows,), False)
    state = None
    for column in range(begin, begin + max_new_tokens):
        given = result[:, :begin] if state is None else result[:, column - 1 : column]
        scores, state = step(given, state)
        choice = scores[:, -1, :].max(dim=1).indices
        if eos is not None:
            choice = torch.where(done, tokens[:, -1], choice)  # first wrong
            done |= choice == eos
        result[:, column] = choice
        if eos is not None and done.all():
            return result[:, : column + 1]
    return result
