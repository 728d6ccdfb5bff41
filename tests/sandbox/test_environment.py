"""A worker's memory holds nothing of the person who grades: no environment, no arguments, no pack, no paths of it."""

from trainer.sandbox.environment import clean_environment


def test_only_known_variables_reach_a_launched_process() -> None:
    """What Python and the system's loader need stays; everything else goes, whatever its name."""
    given = {
        "PATH": "/bin",
        "LANG": "C",
        "HOME": "/home/ana",
        "API_KEY": "1",
        "SSH_AUTH_SOCK": "x",
        "PYTHONSTARTUP": "y",
    }
    assert clean_environment(given) == {
        "PATH": "/bin",
        "LANG": "C",
        "OMP_NUM_THREADS": "1",
    }
