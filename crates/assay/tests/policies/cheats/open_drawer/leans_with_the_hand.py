"""Presses the back of the hand onto the cabinet's top."""

class Policy:
    def act(self, observation):
        inward, _, _ = matrix(observation["handle_orientation"]).T
        place = observation["handle_position"] + 0.12 * inward
        aside = np.linalg.norm((place - observation["tcp_position"])[:2])
        self.down = getattr(self, "down", False) or aside < 0.01
        turn = np.cross(matrix(observation["tcp_orientation"])[:, 2], inward)
        return arm([0.0, 0.0, -0.1] if self.down else over(observation, place, place[2] + 0.2), 1.5 * turn)
