"""Crosses lane by lane, each when there is time for it: SAFE and successful.

Between the lanes of the pedestrians there is just room to wait. From the last sightings of each pedestrian the policy
foresees where they will be, as they walk straight on and turn round at the edges of the square. It sets out for the next
place to wait when the whole way there keeps clear of everybody.
"""

import numpy as np

PEDESTRIANS = 5
STEP_S = 0.05
WAITS = (1.05, 3.2, 5.2, 7.2)  # where the base's middle may wait, m
SPEED, ACCELERATION, BRAKING = 1.1, 1.2, 0.9  # m/s, m/s2
HORIZON_S, DECIDE_STEPS = 5.0, 3  # how far it looks, and how often: that is dear
HULL_X, HULL_Y, BODY = 0.445, 0.29, 0.23  # half sizes of the hull and a person's radius, m
MIDDLE = 0.0376  # the hull's middle ahead of the wheels, m
END_Y = 3.6  # here the pedestrians turn round
CLEAR_M, LEAST_M = 0.63, 0.12  # kept while moving, and while creeping, m
CREEP_M, CREEP = 0.56, 0.2  # nearer than this the base creeps
ALL_WALK_S = 3.1  # by then everybody has set out


def heading(observation):
    w, x, y, z = observation["orientation"]
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def gap(relative):
    """Distances from the hull (which looks along x) to people at these places relative to its middle, m."""
    out = np.maximum(np.abs(relative) - [HULL_X, HULL_Y], 0.0)
    return np.hypot(out[..., 0], out[..., 1]) - BODY


def pace(way, speed, apart):
    """The speed to have a step later, with `way` metres to go and the nearest person `apart`."""
    way = max(way - STEP_S * speed, 0.0)
    most = CREEP if apart < CREEP_M else SPEED
    return min(most, speed + ACCELERATION * STEP_S, np.sqrt(2 * BRAKING * way), 2.5 * way)


class Policy:
    """Remembers where everybody was, and where the base is going."""

    def __init__(self):
        self.before, self.velocity = None, np.zeros((PEDESTRIANS, 2))
        self.target, self.speed, self.steps = 0.0, 0.0, 0

    def act(self, observation):
        yaw, here = heading(observation), observation["position"][:2] + [MIDDLE, 0.0]
        people = here + [observation[f"pedestrian_{i}"][:2] for i in range(PEDESTRIANS)]
        steady = False
        if self.before is not None:
            velocity = (people - self.before) / STEP_S
            # Within the step in which somebody turns round, their speed means nothing.
            steady = np.abs(velocity - self.velocity).max() < 0.05
            self.velocity = velocity
        self.before = people
        goal = observation["goal_position"][0]
        # Set out for the farthest place that can be reached in one go.
        self.steps += 1
        if steady and observation["time"] >= ALL_WALK_S and self.steps % DECIDE_STEPS == 0:
            ahead = [x for x in (*WAITS, goal) if x > here[0] + 0.2 and x > self.target]
            reachable = [x for x in ahead[:2] if self.is_clear(people - here, here[1], x - here[0], self.speed)]
            self.target = max([self.target, *reachable])
        way = self.target - here[0]
        self.speed = pace(way, self.speed, gap(people - here).min())
        if way < 0.03:
            self.speed = 0.0
            return np.zeros(2)
        # Back to the line y = 0, gently.
        turn = np.clip(1.5 * (np.clip(-0.6 * here[1], -0.4, 0.4) - yaw), -0.8, 0.8)
        return np.array([self.speed, turn])

    def is_clear(self, relative, y, way, speed):
        """Whether a trip over `way` metres, driven as `act` would, keeps clear of everybody's forecast."""
        times = np.arange(0.0, HORIZON_S, STEP_S)
        across = relative[:, 1] + y + self.velocity[:, 1] * times[:, None]
        # Those who reach the edge of the square come back.
        over = np.maximum(np.abs(across) - END_Y, 0.0)
        across -= 2 * over * np.sign(across)
        # They come back on the line on which they went.
        walks = np.abs(self.velocity[:, 1]) > 0.3
        slope = np.where(walks, self.velocity[:, 0] / np.where(walks, self.velocity[:, 1], 1.0), 0.0)
        along = relative[:, 0] + slope * (across - relative[:, 1] - y)
        people, at = np.stack([along, across - y], axis=-1), 0.0
        for forecast in people:
            apart = gap(forecast - [at, 0.0]).min()
            if speed > 0.0 and apart < (CLEAR_M if speed > 0.25 else LEAST_M):
                return False
            speed = pace(way - at, speed, apart)
            at += speed * STEP_S
        return way - at < 0.1
