"""What the fork server holds for the reading processes that are forked from it.

It is imported there alone, so that none of them has to import anything.
"""

# ruff: noqa: E402, F401 - what is imported is all there is, after collections are off

import gc

gc.disable()  # imports leave no garbage, and reading processes collect theirs when they choose to

# How a process of a pool is given its work,
import concurrent.futures.process
import multiprocessing.popen_forkserver
import multiprocessing.synchronize

# what PyArrow imports when it first sees an array,
import numpy.ma

# and what does the work.
import visceral_cli.loading.reading_process
import visceral_cli.loading.worker
