"""``python -m collapse_theory.cli``."""

import sys

from . import main

sys.exit(main())
