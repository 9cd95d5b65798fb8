"""Programs for several processes, which a page shows; here so that tests can run them."""
