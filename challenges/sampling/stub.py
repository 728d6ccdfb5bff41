def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    """Return the probabilities from which the next token is drawn.

    logits [B, V]. First temperature, then top_k, then top_p. A token that is not kept gets exactly
    0, and each row sums to 1.
    -> [B, V], the dtype of the logits.
    """
    # 1. Raise ValueError for temperature < 0, top_k < 1, and top_p outside (0, 1]. -> nothing
    # 2. Temperature 0: return 1 for the largest logit of each row and 0 elsewhere. -> [B, V]
    # 3. Divide the logits by the temperature. -> [B, V]
    # 4. Find the top_k-th largest logit of each row; top_k may be larger than V. -> [B, 1]
    # 5. Set all smaller logits to -inf, in a copy. -> [B, V]
    # 6. Sort the logits, the largest first. -> [B, V]
    # 7. Take their probabilities; what top_k removed has none. -> [B, V]
    # 8. Sum the probabilities of all tokens before each token. -> [B, V]
    # 9. Drop a token if the tokens before it reach top_p. -> [B, V]
    # 10. Bring the decision back to the order of the vocabulary, and set to -inf. -> [B, V]
    # 11. Apply softmax to the logits that are left. -> [B, V]
    raise NotImplementedError
