"""The error that bad input raises."""

__all__ = ["InputError"]


class InputError(ValueError):
    """A value from outside is unusable.

    The message is one line that names the value and the fix; the command line prints it as it
    stands and exits with status 2.
    """
