"""What `make tamper` is made of: spoiled outputs, altered asserts, and who notices."""
