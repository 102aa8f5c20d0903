"""Processes of tests, with an end to waiting."""

import os
import subprocess
import time


def wait_for(processes, seconds=None):
    """Their exit statuses; who is late is killed."""
    end = time.monotonic() + (seconds or float(os.environ.get("SBN_TEST_LIMIT", 250)))
    for process in processes:
        try:
            process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return [process.returncode for process in processes]
