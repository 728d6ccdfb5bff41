"""The cross-entropy of a language model: the negative log-likelihood of the next tokens.

    loss = mean over t of  log sum_v exp(logits[t, v]) - logits[t, tokens[t + 1]]

This is -log softmax(logits[t])[tokens[t + 1]], averaged over the targets that are not ignored
(Bengio et al. 2003, A Neural Probabilistic Language Model).
"""

import torch


def next_token_loss(logits, tokens, ignore_index=-100):
    """Return the mean loss of the targets. logits [B, L, V], tokens [B, L] -> scalar."""
    # the last logits predict a token after the end, and no logits predict the first token
    predictions = logits[:, :-1]
    targets = tokens[:, 1:]
    # bfloat16 has 8 bits: the small difference of two large numbers would be lost
    predictions = predictions.to(torch.promote_types(logits.dtype, torch.float32))
    kept = targets != ignore_index
    # an ignored target may be no index of the vocabulary; where makes a copy
    indices = torch.where(kept, targets, 0)
    target_logits = predictions.gather(-1, indices.unsqueeze(-1)).squeeze(-1)
    # logsumexp subtracts the largest logit, so that no exponential overflows
    log_totals = predictions.logsumexp(dim=-1)
    losses = log_totals - target_logits
    kept_losses = torch.where(kept, losses, 0.0)
    return kept_losses.sum() / kept.sum()
