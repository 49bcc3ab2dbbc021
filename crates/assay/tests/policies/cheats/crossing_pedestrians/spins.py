"""Turns on the spot between two lanes, so that its centre stands still while its corners sweep through both."""


class Policy:
    def act(self, observation):
        if observation["position"][0] < 1.5:
            return straight(observation, 0.6)
        return np.array([0.0, 1.5])
