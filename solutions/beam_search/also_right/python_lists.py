"""Keep the hypotheses as Python lists, and sort all candidates, as most blog posts do.

Every step reads like the definition, and a hypothesis is easy to print. The candidates of each
hypothesis come to the CPU one by one, so the device waits for Python in every step.
"""

import torch
import torch.nn.functional as F


@torch.no_grad()
def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    prompt_length = tokens.shape[1]
    beams = [(tokens[0].tolist(), 0.0)]
    finished = []
    logits, cache = step(tokens, None)
    for made in range(1, max_new_tokens + 1):
        candidates = []
        for row, (text, total) in enumerate(beams):
            log_probs = F.log_softmax(logits[row, -1].float(), dim=-1)
            best = log_probs.topk(num_beams)
            for log_prob, token in zip(best.values.tolist(), best.indices.tolist(), strict=True):
                candidates.append((total + log_prob, row, text + [token]))
        candidates.sort(key=lambda candidate: candidate[0], reverse=True)
        beams, parents = [], []
        for total, row, text in candidates[:num_beams]:
            if eos is not None and text[-1] == eos:
                finished.append((text, total))
            else:
                beams.append((text, total))
                parents.append(row)
        if len(finished) >= num_beams or made == max_new_tokens:
            break
        cache = reorder(cache, torch.tensor(parents))
        logits, cache = step(torch.tensor([text[-1:] for text, _ in beams]), cache)

    def score(hypothesis):
        text, total = hypothesis
        return total / (len(text) - prompt_length) ** length_penalty

    best = max(finished + beams, key=score)
    return torch.tensor(best[0]), score(best)
