# mistakes: normalised-scores-carried-on
"""Every hypothesis is a tuple (score, row, text) of tensors."""

import torch
import torch.nn.functional as F


@torch.inference_mode()
def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    live, over = [(torch.tensor(0.0), tokens[0])], []
    feed, past = tokens, None
    for m in range(1, max_new_tokens + 1):
        logits, past = step(feed, past)
        table = F.log_softmax(logits[:, -1, :].float(), dim=-1)
        running = torch.stack([score for score, _ in live])
        best, index = (running[:, None] + table).flatten().topk(num_beams)
        best = best / m**length_penalty  # first wrong
        width = table.shape[1]
        kept = []
        for score, place in zip(best, index.tolist(), strict=True):
            text = torch.cat([live[place // width][1], torch.tensor([place % width])])
            kept.append((score, place // width, text))
        over += [(score, text) for score, _, text in kept if eos is not None and text[-1] == eos]
        going = [hyp for hyp in kept if eos is None or hyp[2][-1] != eos]
        live = [(score, text) for score, _, text in going]
        if m == max_new_tokens or len(over) >= num_beams:
            break
        past = reorder(past, torch.tensor([row for _, row, _ in going]))
        feed = torch.stack([text[-1:] for _, text in live])
    score, text = max(over + live, key=lambda pair: pair[0].item())
    return text, score.item()
