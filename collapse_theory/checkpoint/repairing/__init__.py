"""A copy of a checkpoint whose unused rows are new: chosen, drawn, written, read back."""
