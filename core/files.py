"""The one way this project writes a file: whole or not at all."""

import os
import tempfile
from pathlib import Path

from trilithon.core.errors import TrilithonError


def write_whole(path: str | os.PathLike[str], data: bytes | str) -> Path:
    """Write `data` to `path` so that a reader, or a crash, sees the old file or the new one and nothing between.

    The data goes to a temporary file in the same folder (made if missing), is synced to the disk, and takes the
    place of `path` by a rename. Returns the path; raises `TrilithonError` where the folder cannot be written.
    """
    path = Path(path)
    content = data.encode("utf-8") if isinstance(data, str) else data
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as error:
        raise TrilithonError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # mkstemp gives 0600; a run folder is shared like any other file of its owner.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise TrilithonError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
        raise
    return path


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system lets a folder be opened."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some file systems refuse to sync folders; the file itself is safe
    finally:
        os.close(descriptor)
