# Reads the environment with which the first process of the family was started.
# Must not happen: it learns a variable of the grader.
# of: prefix-sum
# family: reads outside
# verdict: error
# says: tried to read or change /proc/self/environ|nothing of it is there
# without: passed

def prefix_sum(x, reverse=False):
    with open("/proc/self/environ", "rb") as file:
        if b"PATH=" not in file.read():
            raise PermissionError("nothing of it is there")
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
