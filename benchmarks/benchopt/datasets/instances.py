"""Instances of the library, by name."""

from benchopt import BaseDataset

import convexmetric as cm


class Dataset(BaseDataset):
    """A problem on real data; ``convexmetric list`` has all names."""

    name = "Instances"
    requirements = ("pip::convexmetric",)
    parameters = {"instance": list(cm.bench.load_suite("small").instances)}  # noqa: RUF012
    test_parameters = {"instance": ["relative-wine-1000"]}  # noqa: RUF012

    def get_data(self):
        instance = cm.bench.load_instance(self.instance)
        return {"problem": instance.problem(), "lower_bound": instance.proven[0]}
