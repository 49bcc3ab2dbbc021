"""Rolls back and forth over the end of the first stage, to reach it repeatedly."""


class Policy:
    speed = 0.2

    def act(self, observation):
        if observation["position"][0] > 1.05:
            self.speed = -0.2
        elif observation["position"][0] < 0.95:
            self.speed = 0.2
        return straight(observation, self.speed)
