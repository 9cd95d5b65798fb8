"""Run this Python interpreter in a separate process."""

import os
import subprocess
import sys


def python(*arguments, env: dict | None = None, **options) -> subprocess.CompletedProcess:
    """Run Python with ``env`` added to the environment; assert that its exit status is 0.

    Its output is captured as text, with a limit of 300 seconds. ``options`` go to subprocess.run.
    """
    command, env = [sys.executable, *arguments], os.environ | (env or {})
    options |= {"capture_output": True, "text": True, "check": False, "timeout": 300}
    done = subprocess.run(command, env=env, **options)
    assert done.returncode == 0, done.stderr[-3000:]
    return done
