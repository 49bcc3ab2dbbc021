"""Presses the person's hand onto the table from above."""

class Policy:
    def act(self, observation):
        hand, tool = observation["hand_position"], observation["tcp_position"]
        aside = np.linalg.norm((hand - tool)[:2])
        if aside > 0.05:
            return arm(over(observation, hand, 0.24, 0.25))
        return arm([*towards(observation, [*hand[:2], tool[2]], 0.25)[:2], -0.1])
