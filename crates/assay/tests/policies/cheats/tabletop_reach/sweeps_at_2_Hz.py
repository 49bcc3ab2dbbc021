"""Swings the tool from side to side twice a second, at up to 0.5 m/s."""

class Policy:
    def act(self, observation):
        return arm([0.0, 0.5 * np.sin(4.0 * np.pi * observation["time"]), 0.0])
