"""Programs for several processes that a page shows, stored as files so that tests run them."""
