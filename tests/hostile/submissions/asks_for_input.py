# Waits for keyboard input.
# of: prefix-sum
# family: no keyboard
# verdict: error
# says: EOFError

def prefix_sum(x, reverse=False):
    input("Which dim? ")
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
