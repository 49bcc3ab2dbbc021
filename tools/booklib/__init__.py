"""Code of `tools/check-book`: building the book, and checking its links and code blocks. Runs in vendor/dev-venv."""
