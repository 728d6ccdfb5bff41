def online_softmax(blocks):
    """Return the softmax over all entries of several blocks, of entries of any size.

    blocks: an iterable, which can be read only once, of one block or more. Each block has the
    shape [..., n_i] with n_i >= 1; the leading dims agree, the entries are finite.
    -> [..., N] with N = the sum of all n_i, in the order of the blocks and in their dtype.
    """
    # 1. Start the largest entry so far of every row below any entry, and the sum at 0.
    #    -> [..., 1] or a number, each
    # 2. Take the blocks one after the other, and keep each of them for the end. -> [..., n_i]
    # 3. Compute the largest entry so far, including this block. -> [..., 1]
    # 4. Sum the block's exponentials, with the new largest entry subtracted. -> [..., 1]
    # 5. Compute the factor that moves the old sum to the new largest entry. -> [..., 1]
    # 6. Multiply the old sum by the factor, and add the block's sum. -> [..., 1]
    # 7. After the last block, join the blocks along the last axis. -> [..., N]
    # 8. Apply exp, with the largest entry of the whole row subtracted. -> [..., N]
    # 9. Divide by the sum. -> [..., N]
    raise NotImplementedError
