"""A check of a program that may run for ever."""

import functools
import signal


class Endless(BaseException):
    """A program runs for longer than any right one."""


def accepts(check, program, seconds):
    """Whether a check finds a program right, and in time of the processor."""
    inside = late = False

    def ring(*_):
        nonlocal late
        late = True
        if inside:
            raise Endless

    # The program is stopped, never the check in the middle of something, such
    # as putting back a setting of NumPy's.
    @functools.wraps(program)
    def timed(*args, **options):
        nonlocal inside
        inside = True
        try:
            if late:
                raise Endless
            return program(*args, **options)
        finally:
            inside = False

    kept = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        return check(timed).right is True
    except Endless:
        return False
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, kept)
