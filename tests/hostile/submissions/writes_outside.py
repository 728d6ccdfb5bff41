# Tries to write to every place where a program can usually write.
# of: prefix-sum
# family: writes outside
# verdict: error
# says: PermissionError|Read-only|No such file
# without: not run, it writes outside its folder
# must not exist: /tmp/attn-drill-escaped
# must not exist: /var/tmp/attn-drill-escaped
# must not exist: /dev/shm/attn-drill-escaped
# must not exist: /run/attn-drill-escaped
# must not exist: /root/attn-drill-escaped
# must not exist: /home/attn-drill-escaped
# must not exist: /attn-drill-escaped
import os


def prefix_sum(x, reverse=False):
    trouble = None
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run", "/root", "/home", "/", os.path.dirname(os.getcwd())):
        try:
            with open(f"{folder}/attn-drill-escaped", "w") as file:
                file.write("x")
        except OSError as error:
            trouble = error
    raise trouble
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
