# Mixes tabs and spaces in the indentation.
# of: prefix-sum
# family: no valid Python
# verdict: error
# says: TabError.* at line

def prefix_sum(x, reverse=False):
    if reverse:
        return x.flip(-1).cumsum(-1).flip(-1)
	return x.cumsum(-1)
