"""Reads metrics as a Prometheus server does, and prints each sample as `name label=value ...`: value."""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

samples = {}
with open(sys.argv[1]) as file:
    for family in text_string_to_metric_families(file.read()):
        assert family.documentation, f"{family.name} is not described"
        for sample in family.samples:
            labels = [f"{name}={value}" for name, value in sorted(sample.labels.items())]
            samples[" ".join([sample.name, *labels])] = sample.value
json.dump(samples, sys.stdout)
