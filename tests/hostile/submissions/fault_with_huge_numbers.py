# Prints a forged fault report with a line number of five thousand digits, then hangs.
# of: prefix-sum
# family: odd output
# verdict: timeout
# says: still running
# seconds: 0.5
import time

print('Fatal Python error: x\n  File "gqa.py", line ' + '9' * 5000 + ' in f')


def prefix_sum(x, reverse=False):
    while True:
        time.sleep(1)
