# Defines its function only if the file is run as a program.
# of: prefix-sum
# family: defines something else
# verdict: failed
# says: defines no prefix_sum

if __name__ == "__main__":

    def prefix_sum(x, reverse=False):
        return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
