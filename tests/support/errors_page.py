"""The text of reference/errors.md, and the code that it suggests for each error."""

import re

from support import ROOT

PAGE = (ROOT / "reference" / "errors.md").read_text("utf-8")
# The cures, each with what a reader may be assumed to have.
CURES = [
    (head, code)
    for head, body in re.findall(r"^## (.+)\n([\s\S]*?)(?=^## |\Z)", PAGE, re.MULTILINE)
    for code in re.findall(r"^```python\n([\s\S]*?)^```", body, re.MULTILINE)
]
