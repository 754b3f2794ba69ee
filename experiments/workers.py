"""What every worker process needs: no signals of its own, no life without its parent, one thread."""

import multiprocessing
import os
import signal
import sys
import threading


def prepare_worker() -> None:
    """Prepare this worker process, before it does anything else."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers
    threading.Thread(target=_end_with_parent, daemon=True).start()


def use_one_thread() -> None:
    """Let torch, if it is there by now, use one thread: two beside another busy process are slower by far."""
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def _end_with_parent() -> None:
    """A killed parent cannot end its workers, and they would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
