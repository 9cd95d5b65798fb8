"""Programs for several processes that a page shows, as files so that tests can run them."""
