"""What the C library does with memory that this process frees."""

import ctypes

# Names of parameters in glibc's malloc.h.
M_TRIM_THRESHOLD = -1
M_MMAP_MAX = -4


def keep_freed_memory() -> bool:
    """Let the C library of this process keep freed memory, instead of returning it to the system.

    By default glibc returns each tensor of more than 32 MiB as soon as it is freed, and the free end of its
    heap. The next step then gets fresh pages, which the system fills with zeros one by one: a step of a large
    SignNet spends up to half of its time on that. Call this once, before a training. The process keeps its
    largest use of memory until it ends. It is what the environment variables `MALLOC_MMAP_MAX_=0` and
    `MALLOC_TRIM_THRESHOLD_` do at the start of a process.

    Returns:
        Whether the C library is one with these settings, as on Linux; elsewhere nothing changes.

    Source: mallopt(3).

    Example:
        >>> keep_freed_memory() in (True, False)
        True
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(M_MMAP_MAX, 0)) and bool(mallopt(M_TRIM_THRESHOLD, -1))
