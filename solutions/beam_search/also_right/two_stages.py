"""Take the best tokens of each hypothesis first, then the best of these candidates.

No hypothesis can have more than num_beams of the kept continuations, so the second topk sees n * K
numbers instead of n * V. With a large vocabulary on several devices, each one sends only K numbers.
"""

import torch


def best_continuations(sums, logits, number):
    wide = logits[:, -1].float()
    values, words = wide.topk(number, dim=-1)
    totals = sums.view(-1, 1) + (values - torch.logsumexp(wide, dim=-1, keepdim=True))
    totals, places = totals.reshape(-1).sort(descending=True)
    places = places[:number]
    return totals[:number], places // number, words.reshape(-1)[places]


@torch.inference_mode()
def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    never = -1 if eos is None else eos
    live, sums = [tokens.squeeze(0)], torch.zeros(1)
    results = []

    def note(sums, texts, made):
        for total, text in zip(sums.tolist(), texts, strict=True):
            results.append((total / made**length_penalty, len(results), text))

    logits, cache = step(tokens, None)
    for made in range(1, max_new_tokens):
        sums, rows, words = best_continuations(sums, logits, num_beams)
        texts = [torch.cat([live[row], word.view(1)]) for row, word in zip(rows, words)]
        is_live = words != never
        note(sums[~is_live], [t for t, go in zip(texts, is_live) if not go], made)
        live = [text for text, go in zip(texts, is_live) if go]
        sums = sums[is_live]
        if len(results) >= num_beams:
            note(sums, live, made)
            break
        cache = reorder(cache, rows[is_live])
        logits, cache = step(words[is_live][:, None], cache)
    else:
        sums, rows, words = best_continuations(sums, logits, num_beams)
        texts = [torch.cat([live[row], word.view(1)]) for row, word in zip(rows, words)]
        note(sums, texts, max_new_tokens)
    score, _, best = max(results)
    return best, score
