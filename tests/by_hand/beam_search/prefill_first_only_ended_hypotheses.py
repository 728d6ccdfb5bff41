# mistakes: only-ended-hypotheses
# diagnosis: line elsewhere
"""The prompt before the loop; live hypotheses join the list of results at the end."""

import torch


def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    with torch.no_grad():
        logits, cache = step(tokens, None)
        texts, totals, results = tokens, logits.new_zeros(1).float(), []
        for count in range(1, max_new_tokens + 1):
            wide = logits[:, -1].float()
            normed = wide - wide.logsumexp(dim=1, keepdim=True)
            vocabulary = normed.size(1)
            totals, places = (normed + totals.unsqueeze(1)).reshape(-1).topk(num_beams)
            origin, token = places.div(vocabulary, rounding_mode="floor"), places % vocabulary
            texts = torch.hstack([texts[origin], token.view(-1, 1)])
            is_open = token.ne(-1 if eos is None else eos)
            for total, text in zip(totals[~is_open], texts[~is_open], strict=True):
                results.append((float(total) / count**length_penalty, text))
            texts, totals = texts[is_open], totals[is_open]
            if len(results) >= num_beams or count == max_new_tokens:
                break
            cache = reorder(cache, origin[is_open])
            logits, cache = step(token[is_open].view(-1, 1), cache)
        if len(results) == 0:  # first wrong
            for total, text in zip(totals, texts, strict=True):
                results.append((float(total) / count**length_penalty, text))
    score, text = max(results, key=lambda result: result[0])
    return text, score
