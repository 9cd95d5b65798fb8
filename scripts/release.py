"""Check the files of a release: python scripts/release.py FOLDER [v1.2.3]

FOLDER has the wheel and the sdist; the first example of README.md is run with each, in an empty
environment. With a tag, the three files that name the version must name that of the tag. No
paragraph of a translated page may be left in English.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "_ext"))

from book_translation import unconfirmed  # noqa: E402

PLACES = {
    "pyproject.toml": r'^version = "(.*)"$',
    "CITATION.cff": r"^version: (.*)$",
    "CHANGELOG.md": r"^## (\S+ \(.*\))$",
}


def versions(root: Path) -> dict[str, str]:
    """Return {file: the version in it}; for the changelog its version and date."""
    return {
        name: re.search(pattern, (root / name).read_text("utf-8"), re.MULTILINE)[1]
        for name, pattern in PLACES.items()
    }


def problems(said: dict[str, str], tag: str = "") -> list[str]:
    """List the reasons why the version cannot be released, one sentence each."""
    number, changes = said["pyproject.toml"], said["CHANGELOG.md"]
    found = []
    if said["CITATION.cff"] != number or changes.split()[0] != number:
        found.append(f"the files name two versions: {said}")
    if tag and tag != f"v{number}":
        found.append(f"the tag is {tag}, the version {number}")
    if tag and not re.search(r"\(\d{4}-\d\d-\d\d\)$", changes):
        found.append(f"CHANGELOG.md gives no date: ## {number} (2026-01-31)")
    return found


def main(folder: str, tag: str = "") -> int:
    found = problems(versions(ROOT), tag)
    found += [f"a translation waits to be confirmed: {one}" for one in unconfirmed(ROOT)]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    program, printed = re.findall(r"```(?:python|text)\n(.*?)```", text, re.DOTALL)[:2]
    packages = [path for path in sorted(Path(folder).iterdir()) if path.suffix in (".whl", ".gz")]
    for package in packages:
        command = [Path(sys.executable).with_name("uv"), "run", "--quiet", "--isolated"]
        command += ["--no-project", "--with", package.resolve(), "python", "-I", "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.stdout != printed:
            found.append(
                f"README.md's example on {package.name} prints {done.stdout}{done.stderr}"
            )
    print(*(found or [f"{package.name} is right" for package in packages]), sep="\n")
    return bool(found) or len(packages) != 2


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
