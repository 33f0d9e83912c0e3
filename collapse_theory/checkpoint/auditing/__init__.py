"""Which rows of a checkpoint are unused, how they lie, and what that is a sign of."""
