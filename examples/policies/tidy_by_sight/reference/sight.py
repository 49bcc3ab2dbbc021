"""Where coloured things lie, from the image of the camera above the table."""

import numpy as np

CAMERA = np.array([0.46, -0.15, 0.95])  # m; it looks straight down, the image's top edge points along x
FIELD_OF_VIEW = np.radians(34.0)
SIDE = 224
STRONG = 1.4  # how much brighter a colour's channel is than the others
LIT = 180  # tops are lit from above, sides are darker
MIN_PIXELS = 40
TURNS = np.radians(np.arange(90))


def find(image, channel, height):
    """The thing whose colour is mostly `channel` (0 red, 1 green, 2 blue) and whose top is `height` m above the table.

    Returns its middle (x, y), and the directions of its long and its short side, in m and world axes.
    """
    pixels = image.astype(float)
    others = np.maximum(*np.delete(pixels, channel, axis=2).transpose(2, 0, 1))
    rows, columns = np.nonzero((pixels[:, :, channel] > STRONG * others) & (pixels[:, :, channel] > LIT))
    if len(rows) < MIN_PIXELS:
        raise ValueError(f"nothing of colour {channel} is in sight")
    points = ground(rows, columns, height)
    return points.mean(axis=0), *sides(points)


def ground(rows, columns, height):
    """The places (x, y) that pixels show, on a plane above the table."""
    per_pixel = 2.0 * np.tan(FIELD_OF_VIEW / 2.0) * (CAMERA[2] - height) / SIDE
    ahead, left = SIDE / 2 - (rows + 0.5), SIDE / 2 - (columns + 0.5)
    return CAMERA[:2] + per_pixel * np.stack([ahead, left], axis=1)


def sides(points):
    """Directions of the long and the short side of the least rectangle around points."""
    least = None
    for turn in TURNS:
        axes = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
        extent = np.ptp(points @ axes.T, axis=0)
        area = np.prod(extent)
        if least is None or area < least[0]:
            least = (area, axes[np.argsort(-extent)])
    return least[1]
