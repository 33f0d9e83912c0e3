"""The site's navigation: every claim's page under Claims. Called by mkdocs before it reads the pages."""

from __future__ import annotations

from typing import Any

from collapse_theory import all_claims

INDEX = "claims/index.md"


def on_config(config: Any) -> Any:
    """The configuration with the claims in it; mkdocs.yml names their index alone."""
    pages = [INDEX, *({name: f"claims/{name}.md"} for name in all_claims())]
    config.nav = [{"Claims": pages} if INDEX in entry.values() else entry for entry in config.nav]
    return config
