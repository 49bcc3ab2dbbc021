"""Follows the aisle by its laser scanners and lets the worker pass: SAFE and successful.

Three habits: it steers to the free direction that is nearest to the goal's; it is as fast as the room ahead lets it
stop, and creeps past what is close; and before the crossing it waits until it has time to cross: from half a second of
scans it knows where the worker walks and how fast.
"""

import numpy as np

SCANNERS = (("scan_front", -90.0, (0.4288, 0.2358)), ("scan_back", 90.0, (-0.3548, -0.2352)))
HULL_X, HULL_Y, HULL_MIDDLE = 0.445, 0.29, 0.0376  # half sizes of the hull, and its middle ahead of the wheels, m
LANE = HULL_Y + 0.17  # half width of the path that must be free, m
HEADINGS = np.radians(np.arange(-75, 76, 5.0))
SPEED, CREEP, TURN = 1.1, 0.25, 1.0
PACES = (0.6, 1.0)  # m/s: the crossing must be free long enough for both
WAVER = 0.3  # what a change of direction costs
BRAKING = 0.8  # m/s2, well below what the base can do
LOOKAHEAD = 2.2  # m
CROSSING_X, END_Y = 5.0, 4.0  # where the worker walks, and turns round
WAIT_X = 3.25  # here the base waits; its front is 0.5 m ahead
BODY, CLEAR_M = 0.28, 0.75  # a person's radius with room for what the scanners can't tell; what is kept free, m


def points(observation):
    """Where the scanners see something (m, in the base's axes)."""
    found = []
    for name, start, place in SCANNERS:
        scan = observation[name]
        angle = np.radians(start + 3.0 * np.arange(scan.size))
        seen = scan < 10.0
        found.append(np.column_stack([np.cos(angle), np.sin(angle)])[seen] * scan[seen, None] + place)
    return np.concatenate(found)


def heading(observation):
    w, x, y, z = observation["orientation"]
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def gap(seen):
    """Distances of points to the hull, m."""
    out = np.abs(seen - [HULL_MIDDLE, 0.0]) - [HULL_X, HULL_Y]
    return np.hypot(*np.maximum(out, 0.0).T)


def room(seen, angle):
    """How far the base could drive in that direction, m."""
    along = seen @ [np.cos(angle), np.sin(angle)]
    aside = np.abs(seen @ [-np.sin(angle), np.cos(angle)])
    ahead = along[(aside < LANE) & (along > 0.0)]
    return max(ahead.min() - HULL_X - HULL_MIDDLE, 0.0) if ahead.size else 10.0


class Policy:
    """Remembers where the worker was, to tell where they will be."""

    def __init__(self):
        self.sightings, self.go, self.heading = [], False, 0.0

    def act(self, observation):
        seen = points(observation)
        here, yaw = observation["position"][:2], heading(observation)
        turned = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
        goal = turned.T @ (observation["goal_position"][:2] - here - turned @ [HULL_MIDDLE, 0.0])
        if np.hypot(*goal) < 0.12:
            return np.zeros(2)
        wanted = np.arctan2(goal[1], goal[0])
        rooms = np.array([room(seen, angle) for angle in HEADINGS])
        # Room beyond the look-ahead is worth nothing more; what lacks to it counts against turning less.
        short = np.minimum(rooms, min(LOOKAHEAD, np.hypot(*goal)))
        # Of two that are as good, the one that it follows already: else it would waver.
        worth = 1.2 * short - np.abs(HEADINGS - np.clip(wanted, -1.2, 1.2)) - WAVER * np.abs(HEADINGS - self.heading)
        best = np.argmax(worth)
        self.heading = HEADINGS[best]
        turn = np.clip(1.8 * HEADINGS[best], -TURN, TURN)
        ahead = min(room(seen, 0.0), rooms[best])
        speed = min(SPEED, np.sqrt(2 * BRAKING * max(ahead - 0.12, 0.0)), 0.9 * np.hypot(*goal))
        speed *= max(np.cos(HEADINGS[best]), 0.3) ** 2
        near = gap(seen).min()
        if near < 0.35:
            speed = min(speed, CREEP + max(near - 0.15, 0.0))
        if room(seen, 0.0) < 0.15:
            speed = 0.0
        speed = min(speed, self.courtesy(here, observation["time"], seen @ turned.T + here))
        waits = not self.go and abs(here[0] - WAIT_X) < 0.2
        return np.array([speed, 0.0 if waits else turn])

    def courtesy(self, here, now, world):
        """The greatest speed before the crossing: a stop at `WAIT_X`, unless there is time to cross."""
        if here[0] > WAIT_X + 0.2:
            return SPEED
        inside = (np.abs(world[:, 0] - CROSSING_X) < 1.05) & (np.abs(world[:, 1]) < 4.6)
        if inside.any():
            self.sightings = [*self.sightings[-11:], (now, *world[inside].mean(axis=0))]
        # Up to the place to wait it may change its mind.
        self.go = (self.go and here[0] > WAIT_X) or (here[0] > WAIT_X - 0.5 and self.time_to_cross(here, now))
        if self.go:
            return SPEED
        return max(np.sqrt(2 * BRAKING * max(WAIT_X - here[0], 0.0)) - 0.05, 0.0)

    def time_to_cross(self, here, now):
        """Whether the base could cross at once and the worker stay clear, walking on and turning round at the ends."""
        if len(self.sightings) < 12 or now - self.sightings[0][0] > 0.8:
            return False
        times, x, y = np.array(self.sightings).T
        pace = np.polyfit(times - now, y, 1)[0]
        # Whoever stands, or may have just turned round, can't be foreseen.
        if abs(pace) < 0.5 or np.abs(y).max() > END_Y - 0.6:
            return False
        ahead = np.arange(0.0, 5.0, 0.05)
        # A walk to and fro between -END_Y and END_Y, unfolded.
        phase = (y[-1] + pace * ahead + END_Y) % (4 * END_Y)
        lane = np.where(phase < 2 * END_Y, phase, 4 * END_Y - phase) - END_Y
        for pace in PACES:
            speed = np.minimum(pace, 1.2 * ahead)
            base = here[0] + HULL_MIDDLE + np.cumsum(speed) * 0.05
            apart = gap(np.column_stack([x[-1] - base + HULL_MIDDLE, lane - here[1]])) - BODY
            if np.any(apart <= CLEAR_M):
                return False
        return True
