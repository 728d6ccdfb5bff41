# Takes memory in many small objects.
# of: prefix-sum
# family: memory
# verdict: memory
# memory: 96

def prefix_sum(x, reverse=False):
    hoard = []
    while True:
        hoard.append(b"x" * 3000 + str(len(hoard)).encode())
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
