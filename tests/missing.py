"""Which frameworks are not installed, and which modules cannot be loaded without them."""

import ast
import importlib.util
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = [ROOT / folder for folder in ("tests", "scripts", "src")]  # where modules are looked for
MISSING = [name for name in ("torch", "jax") if importlib.util.find_spec(name) is None]


@cache
def loaded(path: Path) -> list[tuple[str, Path | None]]:
    """Return what a module loads, whatever happens: names, and the folder of relative ones."""
    found: list = []
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            home = path.parents[node.level - 1] if node.level else None
            module = f"{node.module}." if node.module else ""
            found += [(f"{module}{alias.name}", home) for alias in node.names]
    return found


@cache
def files(name: str, home: Path | None) -> list[Path]:
    """Return our own files among a module, the packages around it, and a module of that name."""
    parts, found = name.split("."), []
    for folder in [home] if home else SOURCES:
        for n in range(1, len(parts) + 1):
            module = folder.joinpath(*parts[:n])
            found += filter(Path.exists, (module.with_suffix(".py"), module / "__init__.py"))
    return found


@cache
def needs(path: Path) -> frozenset[str]:
    """Return the frameworks that a module loads, itself or by what it imports."""
    found, seen, waiting = set(), set(), [path]
    while waiting:
        one = waiting.pop()
        seen.add(one)
        for name, home in loaded(one):
            found.add(name.partition(".")[0] if home is None else "")
            waiting += [other for other in files(name, home) if other not in seen]
    return frozenset(found & {"torch", "jax"})


def left_out(frameworks: list[str], folder: str) -> list[str]:
    """Return the modules of a folder that need one of these, by their path in it."""
    if not frameworks:
        return []
    paths = sorted((ROOT / folder).rglob("*.py"))
    return [str(path.relative_to(ROOT / folder)) for path in paths if needs(path) & {*frameworks}]
