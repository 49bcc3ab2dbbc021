"""Sets down as the reference does, but 30 mm too low, so that what it holds is pressed down."""

RELEASE = -0.03
