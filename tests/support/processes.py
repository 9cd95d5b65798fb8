"""Run Python in a process of its own."""

import os
import subprocess
import sys


def python(*arguments, env: dict | None = None, **options) -> subprocess.CompletedProcess:
    """Run Python with these arguments, ``env`` added to the environment; it must exit with 0."""
    command, env = [sys.executable, *arguments], os.environ | (env or {})
    options |= {"capture_output": True, "text": True, "check": False, "timeout": 300}
    done = subprocess.run(command, env=env, **options)
    assert done.returncode == 0, done.stderr[-3000:]
    return done
