"""Lifts one object and throws it."""

_act = Policy.act


def _throws(self, observation):
    action = _act(self, observation)
    if observation["cube_position"][2] > 0.10:
        self.thrown = True
    if getattr(self, "thrown", False):
        self.since_thrown = getattr(self, "since_thrown", observation["time"])
        return arm([0.0, 0.24, 0.0], gripper=-1.0 if observation["time"] < self.since_thrown + 0.6 else 1.0)
    return action


Policy.act = _throws
