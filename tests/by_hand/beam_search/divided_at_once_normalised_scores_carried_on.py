# mistakes: normalised-scores-carried-on
"""Texts, scores, rows and tokens are filtered together in each step."""

import torch
import torch.nn.functional as F


@torch.inference_mode()
def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    text, score, feed, past, over = tokens, torch.zeros(1), tokens, None, []
    for m in range(1, max_new_tokens + 1):
        logits, past = step(feed, past)
        table = F.log_softmax(logits[:, -1, :].float(), dim=-1)
        total = score.unsqueeze(1) + table  # first wrong
        best, index = total.flatten().topk(num_beams)
        row, token = index // table.shape[1], index % table.shape[1]
        text = torch.cat([text[row], token.unsqueeze(1)], dim=1)
        score = best / m**length_penalty
        is_last = token == eos if eos is not None else token < 0
        over += list(zip(score[is_last].tolist(), text[is_last], strict=True))
        text, score, row, token = (part[~is_last] for part in (text, score, row, token))
        if m == max_new_tokens or len(over) >= num_beams:
            break
        past = reorder(past, row)
        feed = token.unsqueeze(1)
    over += list(zip(score.tolist(), text, strict=True))
    best_score, best = max(over, key=lambda pair: pair[0])
    return best, best_score
