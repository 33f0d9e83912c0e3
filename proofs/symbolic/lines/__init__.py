"""Lines that several derivations share, from the loss to bounds on steps and runs."""
