"""Opens the fingers 60 mm above each target."""

RELEASE = 0.06
