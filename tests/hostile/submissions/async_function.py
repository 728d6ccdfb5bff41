# Defines an async function, whose result must be awaited.
# of: prefix-sum
# family: defines something else
# verdict: failed error
# says: a coroutine


async def prefix_sum(x, reverse=False):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
