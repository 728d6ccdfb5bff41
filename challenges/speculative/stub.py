def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    """Return the draft tokens that are accepted, and one drawn token after them.

    draft_tokens int64 [n], draft_probs [n, V], target_probs [n + 1, V], uniforms [n + 1] in [0, 1).
    Row i of both tables is the distribution from which draft token i was, or would be, drawn.
    -> int64 [m], 1 <= m <= n + 1.
    """
    # 1. Take the probability of every draft token in both tables. -> [n], [n]
    # 2. Accept token i if uniforms[i] is below their quotient. -> [n]
    # 3. Count the accepted tokens before the first refusal. -> int
    # 4. After a refusal: take the part of the target row above the draft row. -> [V]
    # 5. Divide it by its sum. -> [V]
    # 6. Without a refusal: take the last target row. -> [V]
    # 7. Draw the first token whose cumulative probability exceeds uniforms[n]. -> [1]
    # 8. Put it after the accepted tokens. -> [m]
    raise NotImplementedError
