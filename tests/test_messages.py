"""Messages that a page shows: complete, wrapped, and never for a program that works."""

import warnings

import pytest

from persample_book.messages import show_message


def test_a_message_is_printed_without_the_place_and_the_page_goes_on(capsys):
    with show_message():
        warnings.warn("first (Triggered internally at x.cpp:3.)", stacklevel=1)
        raise ValueError("second " + 20 * "word ")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "UserWarning: first"
    assert lines[1].startswith("ValueError: second word")
    assert max(map(len, lines)) <= 78


def test_a_program_that_no_longer_fails_is_noticed():
    with pytest.raises(RuntimeError, match="neither an error nor a warning"), show_message():
        pass
