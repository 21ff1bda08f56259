"""`python -m tammes` is `tammes`."""

import sys

from tammes.cli.main import main

sys.exit(main())
