"""Why the claims hold: SymPy derivations (`proofs.symbolic`) and machine-checked proofs."""
