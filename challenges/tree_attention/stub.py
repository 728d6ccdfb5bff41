def tree_mask(parents):
    """Return the attention mask of a tree: a node sees itself and all its ancestors.

    parents int64 [N], N >= 1: the index of the parent of each node, smaller than the node's own
    index, or -1 for a root. There may be several roots.
    -> bool [N, N], rows are queries, columns are keys, True = may attend, on the device of parents.
    """
    # 1. Number the nodes. -> [N]
    # 2. Start with a mask in which no node sees anything. -> [N, N]
    # 3. Start with every node itself, and go up generation by generation. -> [N]
    # 4. Compare the ancestors of this generation with all nodes. -> [N, N]
    # 5. Join the result with the mask. -> [N, N]
    # 6. Find the parent of each of these ancestors, but beware of the index -1. -> [N]
    # 7. Keep -1 where there is no ancestor any more. -> [N]
    raise NotImplementedError
