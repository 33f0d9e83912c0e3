"""The error that bad input raises."""

__all__ = ["InputError", "printable"]


class InputError(ValueError):
    """A value from outside is unusable.

    The message is one line that names the value and the fix; the command line prints it as it
    stands and exits with status 2.
    """


def printable(text: str) -> str:
    """One line that a terminal shows and does not obey: what is not printable is spelt out, as ``\\x1b`` or ``\\n``.

    Names from files of others may hold codes that move the cursor or rewrite the screen.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
