"""What a quantity saved per run comes to in 1,000 runs, with an interval."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from visceral_cli.analysis.figures import Projection

_RUNS = 1000
_MIN_RUNS = 20
_BATCHES = 10
_T_QUANTILE = 2.262
"""97.5 % point of Student's t with 9 degrees of freedom: ten batches."""


def project(saved: Sequence[float] | npt.NDArray[np.float64]) -> Projection:
    """Project what each run saved, in order of the runs' start, runs without savings included.

    The interval holds the mean in about 95 % of cases. It is built on the means of ten batches of
    consecutive runs, since runs near in time resemble each other, and is never narrower than if
    they did not. A low end below 0 is raised to 0.
    """
    each = np.asarray(saved, dtype=np.float64)
    count = len(each)
    if not count:
        return Projection(0.0, None, None, 0)
    mean = _RUNS * float(each.mean())
    if count < _MIN_RUNS:
        return Projection(mean, None, None, count)
    edges = [count * nth // _BATCHES for nth in range(_BATCHES + 1)]
    batches = [float(each[first:end].mean()) for first, end in itertools.pairwise(edges)]
    of_batches = _RUNS * float(np.std(batches, ddof=1)) / math.sqrt(_BATCHES)
    of_runs = _RUNS * float(np.std(each, ddof=1)) / math.sqrt(count)
    margin = _T_QUANTILE * max(of_batches, of_runs)
    return Projection(mean, max(0.0, mean - margin), mean + margin, count)
