"""Opens the fingers 60 mm above each place."""

RELEASE = 0.06
