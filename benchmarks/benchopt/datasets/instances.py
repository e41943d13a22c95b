"""Instances of the library, by name."""

from benchopt import BaseDataset

import convexmetric as cm


class Dataset(BaseDataset):
    """A problem on real data; ``convexmetric list`` has all names."""

    name = "Instances"
    requirements = ("pip::convexmetric",)
    parameters = {  # noqa: RUF012
        "instance": [
            "ranking-auc-wine-c1",
            "ranking-map-wine-c100",
            "relative-wine-1000",
            "triplets-wine-10x10-1e-2",
            "pairs-wine-1000",
        ]
    }
    test_parameters = {"instance": ["relative-wine-1000"]}  # noqa: RUF012

    def get_data(self):
        instance = cm.bench.load_instance(self.instance)
        return {"problem": instance.problem(), "lower_bound": instance.lower_bound}
