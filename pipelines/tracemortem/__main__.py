"""`python -m tracemortem` is the command tracemortem."""

import sys

from tracemortem.cli import main

sys.exit(main())
