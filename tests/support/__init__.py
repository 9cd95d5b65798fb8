"""What the tests share: cases, models, tolerances, tables of wrong calls. No tests."""
