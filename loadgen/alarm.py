"""Wakes a greenlet at a stamp of `perf_counter_ns`, to a tenth of a millisecond, without keeping a core.

Owns: how that is done. Knows nothing about what is due. The event loop's own timers are good to a
millisecond only (epoll waits in whole ones). Linux has timers that are files (timerfd_create(2)), which
the loop watches as it watches sockets; elsewhere the last 1.5 ms are waited out in short turns.
"""

from __future__ import annotations

import ctypes
import os
import time
from typing import Any, Self

import gevent
from gevent.event import Event

NS = 1_000_000_000
SPIN_NS = 1_500_000
_CLOCK_MONOTONIC = 1
"""What `perf_counter_ns` reads on Linux."""
_ABSOLUTE = 1
_READABLE = 1


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Itimerspec(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class Alarm:
    """For one greenlet at a time, in a `with`. `ring` wakes it early."""

    def __init__(self) -> None:
        self._rung = Event()
        self._woken = Event()
        self._fileno: int | None = None
        self._libc: Any = None

    def __enter__(self) -> Self:
        self._libc = ctypes.CDLL(None, use_errno=True)
        create = getattr(self._libc, "timerfd_create", None)
        # TFD_NONBLOCK and TFD_CLOEXEC are these two.
        fileno = create(_CLOCK_MONOTONIC, os.O_NONBLOCK | os.O_CLOEXEC) if create is not None else -1
        self._fileno = fileno if fileno >= 0 else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._fileno is not None:
            os.close(self._fileno)
            self._fileno = None

    def ring(self) -> None:
        """Wake now whoever waits, and all who will."""
        self._rung.set()
        self._woken.set()

    def wait_until(self, due_ns: int) -> bool:
        """Return at that stamp (True), or when it rings (False)."""
        if self._fileno is None:
            self._turn_until(due_ns)
        elif due_ns > time.perf_counter_ns() and not self._rung.is_set():
            self._watch_until(self._fileno, due_ns)
        return not self._rung.is_set()

    def _watch_until(self, fileno: int, due_ns: int) -> None:
        due = _Itimerspec(_Timespec(0, 0), _Timespec(*divmod(due_ns, NS)))
        self._libc.timerfd_settime(fileno, _ABSOLUTE, ctypes.byref(due), None)
        watcher = gevent.get_hub().loop.io(fileno, _READABLE)
        self._woken.clear()
        try:
            watcher.start(self._woken.set)
            self._woken.wait()
        finally:
            watcher.stop()
            watcher.close()

    def _turn_until(self, due_ns: int) -> None:
        while (left_ns := due_ns - time.perf_counter_ns()) > 0 and not self._rung.is_set():
            if left_ns > SPIN_NS:
                self._rung.wait((left_ns - SPIN_NS) / NS)
            else:
                gevent.sleep(0)
