"""Tips the bowl over at 0.1 rad/s."""


class Policy:
    def act(self, observation):
        return arm(np.zeros(3), (0.1, 0.0, 0.0))
