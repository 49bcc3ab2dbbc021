"""Holds the bowl and shakes it 25 times a second: over 50 ms the velocity hardly changes."""


class Policy:
    sign = 1.0

    def act(self, observation):
        self.sign = -self.sign
        return arm([0.0, 0.6 * self.sign, 0.0])
