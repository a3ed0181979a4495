"""How do files get into a folder that somebody may be reading? Each is replaced in one step."""

import os
from collections.abc import Mapping
from pathlib import Path


def put(files: Mapping[str, bytes], out: Path) -> None:
    """Write files into the folder `out`, which is there; name -> content.

    raises   OSError where they cannot be written; then none of them is replaced

    All are written under other names first: whoever opens one gets it whole, the old one or the new one.
    """
    fresh = {name: out / f".{name}.{os.getpid()}.tmp" for name in files}
    try:
        for name, content in files.items():
            fresh[name].write_bytes(content)
        for name, path in fresh.items():
            path.replace(out / name)
    finally:
        for path in fresh.values():
            path.unlink(missing_ok=True)
