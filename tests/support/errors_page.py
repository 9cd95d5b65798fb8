"""The text of reference/errors.md (PAGE), and the code that it suggests (CURES)."""

import re

from support import ROOT

PAGE = (ROOT / "reference" / "errors.md").read_text("utf-8")
# (heading of the section, source) of each block of Python.
CURES = [
    (head, code)
    for head, body in re.findall(r"^## (.+)\n([\s\S]*?)(?=^## |\Z)", PAGE, re.MULTILINE)
    for code in re.findall(r"^```python\n([\s\S]*?)^```", body, re.MULTILINE)
]
