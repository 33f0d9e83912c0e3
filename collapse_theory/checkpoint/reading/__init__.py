"""Tensors and token texts of a checkpoint, row by row, whatever its format; nothing of the checkpoint is run."""
