# mistakes: beams-shrink-with-the-ended
"""The loop of a tutorial on image captions: k counts the open places."""

import torch


def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    k = num_beams
    seqs, totals = tokens, torch.zeros(1, 1)
    complete, complete_scores = [], []
    cache, feed, length = None, tokens, 0
    while True:
        length += 1
        logits, cache = step(feed, cache)
        scores = totals + logits[:, -1].float().log_softmax(dim=1)
        top, words = scores.view(-1).topk(k)  # first wrong
        parents, following = words // scores.size(1), words % scores.size(1)
        seqs = torch.cat([seqs[parents], following.unsqueeze(1)], dim=1)
        going = [i for i, word in enumerate(following.tolist()) if eos is None or word != eos]
        over = [i for i in range(len(following)) if i not in going]
        for i in over:
            complete.append(seqs[i])
            complete_scores.append(top[i].item() / length**length_penalty)
        k -= len(over)
        if k == 0 or length == max_new_tokens:
            for i in going:
                complete.append(seqs[i])
                complete_scores.append(top[i].item() / length**length_penalty)
            break
        seqs, totals = seqs[going], top[going].unsqueeze(1)
        feed, cache = following[going].unsqueeze(1), reorder(cache, parents[going])
    best = max(range(len(complete)), key=complete_scores.__getitem__)
    return complete[best], complete_scores[best]
