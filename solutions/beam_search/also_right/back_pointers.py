"""Store only the row and the token of each choice, and follow the rows back at the end.

No text is copied in a step: each step stores two short tensors. The texts do not exist until the
end, so the tokens of the best hypothesis so far cannot be shown while the search runs.
"""

import torch


def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    came_from, chosen = [], []
    best_score, best_end = float("-inf"), None
    number_ended = 0
    sums = torch.zeros(1, dtype=torch.float64)
    alive = torch.tensor([0])  # indices of the live hypotheses among those of the step before
    with torch.inference_mode():
        logits, cache = step(tokens, None)
        while True:
            log_probs = logits[:, -1].double().log_softmax(-1)
            size = log_probs.size(1)
            sums, flat = torch.topk((sums.unsqueeze(1) + log_probs).view(-1), num_beams)
            rows = torch.div(flat, size, rounding_mode="floor")
            words = torch.remainder(flat, size)
            came_from.append(alive[rows])
            chosen.append(words)
            made = len(chosen)
            going = torch.ones_like(words, dtype=torch.bool) if eos is None else words.ne(eos)
            number_ended += int((~going).sum())
            is_over = number_ended >= num_beams or made == max_new_tokens
            scores = sums / float(made) ** length_penalty
            if not is_over:
                scores = scores.masked_fill(going, float("-inf"))
            score, index = scores.max(dim=0)
            if score.item() > best_score:
                best_score, best_end = score.item(), (made, index.item())
            if is_over:
                break
            alive = going.nonzero().flatten()
            sums = sums[alive]
            logits, cache = step(words[alive].view(-1, 1), reorder(cache, rows[alive]))
    made, index = best_end
    path = []
    for place in reversed(range(made)):
        path.append(int(chosen[place][index]))
        index = int(came_from[place][index])
    return torch.cat([tokens[0], torch.tensor(path[::-1])]), best_score
