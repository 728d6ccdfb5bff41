# Prints and raises escape sequences that would redraw the terminal.
# of: prefix-sum
# family: odd output
# verdict: error
# diagnosis: yes
print('\x1b[2J\x1b[1;1HPASSED')


def prefix_sum(x, reverse=False):
    raise RuntimeError('\x1b[2J\x1b]0;PASSED\x07 markup [bold]x[/bold]')
