"""A policy for {{ spec.id }} {{ spec.version }} that does nothing yet: send it as a zip archive with this file in it."""

import numpy as np

# What `observation` contains, by key:
{% for array in observation %}#   {{ array.name }}: {{ array.dtype }} {{ array.shape }}, {{ array.unit }}: {{ array.description }}
{% endfor %}
# What an action is: {{ spec.action_dim }} numbers, {{ spec.control_hz }} times per simulated second.
{% for number in action %}#   {{ loop.index0 }}: {{ number }}
{% endfor %}
LOW = np.array([{% for number in spec.action %}{{ number.low }}{% if !loop.last %}, {% endif %}{% endfor %}])
HIGH = np.array([{% for number in spec.action %}{{ number.high }}{% if !loop.last %}, {% endif %}{% endfor %}])


class Policy:
    def reset(self, *, seed, scenario, instruction):
        self.rng = np.random.default_rng(seed)

    def act(self, observation):
        return np.clip(np.zeros({{ spec.action_dim }}), LOW, HIGH)
