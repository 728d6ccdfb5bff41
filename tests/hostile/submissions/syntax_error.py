# Is not valid Python.
# of: prefix-sum
# family: no valid Python
# verdict: error
# says: SyntaxError: invalid syntax at line

def prefix_sum(x, reverse=False):
    return x.cumsum(-1) if else x
