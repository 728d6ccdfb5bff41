# Right; reads and writes in its own folder in all usual ways.
# of: prefix-sum
# family: right: its own folder
# verdict: passed
import inspect, os, pathlib, shutil, sqlite3, tempfile, zipfile

import torch


def prefix_sum(x, reverse=False):
    name = tempfile.mkstemp(suffix=".pt")[1]
    torch.save(x.detach(), name)
    assert torch.equal(torch.load(name), x.detach())
    shutil.copyfile(name, "copy.pt")
    pathlib.Path("deep", "er").mkdir(parents=True, exist_ok=True)
    with sqlite3.connect("deep/er/kept.db") as database:
        database.execute("create table if not exists kept (x)")
    database.close()
    with zipfile.ZipFile("all.zip", "w") as archive:
        archive.write("copy.pt")
    os.rename("all.zip", "deep/all.zip")
    assert inspect.getsource(prefix_sum)
    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
