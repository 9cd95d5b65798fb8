"""Programs in a process of their own."""

import os
import subprocess
import sys


def python(*arguments, env: dict | None = None, **options) -> subprocess.CompletedProcess:
    """Run Python with these arguments and more variables; it must succeed."""
    command, env = [sys.executable, *arguments], os.environ | (env or {})
    options |= {"capture_output": True, "text": True, "check": False, "timeout": 300}
    done = subprocess.run(command, env=env, **options)
    assert done.returncode == 0, done.stderr[-3000:]
    return done
