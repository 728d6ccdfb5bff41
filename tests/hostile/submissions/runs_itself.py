# Executes its own file recursively.
# of: prefix-sum
# family: exceptions
# verdict: error
# says: RecursionError
with open(__file__) as file:
    text = file.read()
exec(compile(text, __file__, "exec"))


def prefix_sum(x, reverse=False):
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
