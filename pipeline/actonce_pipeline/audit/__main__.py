"""The entry point of the audit, see `actonce_pipeline.audit.job`.

    python -m actonce_pipeline.audit RECORDS ...
    spark-submit pipeline/actonce_pipeline/audit/__main__.py RECORDS ...

`actonce audit package` packs this file as audit.py.
"""

import sys
from pathlib import Path

if not __package__:  # spark-submit runs this file, not the package's module
    sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from actonce_pipeline.audit.job import main

if __name__ == "__main__":
    sys.exit(main())
