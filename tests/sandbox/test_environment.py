"""The environment of launched processes."""

from attn_drill.sandbox.environment import clean_environment


def test_only_known_variables_reach_a_launched_process() -> None:
    """Only variables that Python and the system's loader need stay."""
    environment = {
        "PATH": "/bin",
        "LANG": "C",
        "HOME": "/home/ana",
        "API_KEY": "1",
        "SSH_AUTH_SOCK": "x",
        "PYTHONSTARTUP": "y",
    }
    assert clean_environment(environment) == {
        "PATH": "/bin",
        "LANG": "C",
        "OMP_NUM_THREADS": "1",
    }
