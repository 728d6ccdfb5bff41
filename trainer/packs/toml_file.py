"""Read a TOML file of a pack into a typed value."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from trainer.model.errors import PackError


def read_toml(path: Path, shape: Any) -> Any:
    """Read a TOML file into a msgspec type.

    Raises:
        PackError: if the file is missing, unreadable or not valid. The message names the file and
            the key.
    """
    try:
        with path.open("rb") as file:
            return msgspec.convert(tomllib.load(file), shape)
    except FileNotFoundError:
        raise PackError(
            f"{path} is missing. "
            "Add it. `attn-drill pack check` reports everything that a challenge lacks."
        ) from None
    except OSError as error:
        raise PackError(f"{path} cannot be read: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PackError(f"{path} is not valid TOML: {error}.") from None
    except msgspec.ValidationError as error:
        raise PackError(f"{path}: {error}.") from None
