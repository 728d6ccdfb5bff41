import torch


@torch.no_grad()
def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    """Search for the continuation of one prompt with the best score.

    step(tokens [n, t], cache) returns logits [n, t, V] and the next cache; the first cache is None.
    reorder(cache, rows [n] int64) returns a cache with these rows of the given cache.
    tokens [1, L] int64. A hypothesis scores the sum of the log probabilities of its new tokens,
    divided by their number ** length_penalty. Each step keeps the num_beams best continuations of
    the live hypotheses; those that end in eos are set aside.
    -> (tokens [L + m] int64, score float) of the best hypothesis, ended or live
    """
    # 1. Begin with one live hypothesis: the prompt, with the sum 0 and without a cache. -> nothing
    # 2. Call step with the prompt; later with the newest token of each live one. -> [n, t, V]
    # 3. Compute the log probabilities at the last position, in float32 or finer. -> [n, V]
    # 4. Add to each of them the sum of its hypothesis. -> [n, V]
    # 5. Keep the num_beams largest sums of all rows together. -> [num_beams]
    # 6. For each kept one, find the row that it continues, and its newest token. -> [num_beams]
    # 7. Put together the tokens of the kept ones. -> [num_beams, L + made]
    # 8. Set those that end in eos aside, with their scores; the others stay live. -> [n, L + made]
    # 9. Stop if num_beams have ended, or after max_new_tokens tokens. -> nothing
    # 10. Reorder the cache: row i must hold the history of live hypothesis i. -> a cache
    # 11. Return the best of all that have ended and of those that are live. -> [L + m], float
    raise NotImplementedError
