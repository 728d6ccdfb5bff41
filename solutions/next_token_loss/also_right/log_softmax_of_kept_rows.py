"""Select the rows that count first, and apply log_softmax to these rows only.

No ignored target reaches gather, so you need not replace any index. The selection copies the logits
of the rows that count, and on a GPU it waits until their number is known.
"""

import torch


def next_token_loss(logits, tokens, ignore_index=-100):
    targets = tokens[:, 1:]
    counts = targets != ignore_index
    rows = logits[:, :-1][counts]
    if rows.dtype == torch.bfloat16:
        rows = rows.float()
    log_probs = torch.log_softmax(rows, dim=-1)
    chosen = log_probs[torch.arange(len(rows), device=rows.device), targets[counts]]
    return -chosen.mean()
