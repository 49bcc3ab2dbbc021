"""Swings the bowl and throws the balls out."""


class Policy:
    def act(self, observation):
        return arm([0.3, 0.6, 0.6], (-2.5, 0.0, 0.0))
