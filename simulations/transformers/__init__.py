"""Transformers on propositional logic: why a model fails on symbols that it has not seen, and which repair works.

    python -m simulations.transformers smoke --out results/smoke

Read in this order: `model`, `interventions`, `training`, `evaluation`, `experiment` (one run), `studies` (the settings),
`execution` (many runs in a folder), `tables` and `views` (CSV, figures, pages).
"""
