"""Errors of record: every wrong use in wrong_records raises its error.

An entry whose name has no space is quoted in reference/errors.md, which test_error_index checks.
"""

from pathlib import Path

import pytest

from persample import recorder
from support.error_tables import check_errors
from support.wrong_records import ERRORS


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_wrong_use_gets_its_sentence_and_every_raise_is_reached():
    check_errors(ERRORS.values(), Path(recorder.__file__).parent.glob("*.py"))
