"""Shared by the tests: cases, models, tolerances, tables of wrong calls. No tests."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
