def online_softmax(blocks):
    """Return the softmax over all entries of several blocks, of entries of any size.

    blocks: an iterable, which can be read only once, of one block or more. Each block has the
    shape [..., n_i] with n_i >= 1; the leading dims agree. Entries and whole blocks may be -inf; a
    row of -inf only gives zeros. The running maximum and sum are float32 or finer.
    -> [..., N] with N = the sum of all n_i, in the order of the blocks and in their dtype.
    """
    # 1. Start the largest entry so far of every row below any entry, and the sum at 0.
    #    -> [..., 1] or a number, each
    # 2. Take the blocks one after the other, keep each of them for the end, and compute in float32
    #    or finer. -> [..., n_i]
    # 3. Compute the largest entry so far, including this block. -> [..., 1]
    # 4. Choose the number to subtract: the largest entry, or 0 while it is -inf. -> [..., 1]
    # 5. Sum the block's exponentials, with this number subtracted. -> [..., 1]
    # 6. Compute the factor that moves the old sum to this number. -> [..., 1]
    # 7. Multiply the old sum by the factor, and add the block's sum. -> [..., 1]
    # 8. After the last block, join the blocks along the last axis. -> [..., N]
    # 9. Apply exp, with the number of the whole row subtracted. -> [..., N]
    # 10. Divide by the sum, but not by 0, and cast the result to the dtype of the blocks.
    #     -> [..., N]
    raise NotImplementedError
