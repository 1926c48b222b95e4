"""`pytest --nbval book/`: kernels of one thread."""

import os

# Many small computations: two threads that wait for each other on a busy machine take many times as long.
os.environ.setdefault("OMP_NUM_THREADS", "1")
