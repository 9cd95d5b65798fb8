"""A program in processes of its own: its answer, its last words, and nobody left behind."""

import os
import textwrap
import time

import numpy as np
import pytest

from persample_book import processes
from persample_book.devices import samples

# A worker that tells who it is, and then does as it is told; its parent waits for it or not.
WORKERS = """
    import multiprocessing, os, pathlib, signal, sys, time

    def work(rank, folder, what):
        (pathlib.Path(folder) / f"worker{rank}").write_text(str(os.getpid()))
        while rank == 1 and len(list(pathlib.Path(folder).glob("worker*"))) < 3:
            time.sleep(0.05)  # for the others to begin
        if rank == 1 and what == "raise":
            raise ValueError("a sample is missing")
        if rank == 1 and what == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            time.sleep(0.05)

    if __name__ == "__main__" and sys.argv[2] in ("leave", "hang"):
        if os.fork() == 0:
            os.close(1), os.close(2)
            work(0, *sys.argv[1:])
        while not (pathlib.Path(sys.argv[1]) / "worker0").exists():
            time.sleep(0.01)
        if sys.argv[2] == "hang":
            os.wait()
        print("null", flush=True)
        os._exit(0)
    if __name__ == "__main__":
        import torch.multiprocessing as mp
        mp.start_processes(work, tuple(sys.argv[1:]), nprocs=3, start_method="fork")
"""


def written(tmp_path, program):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    return path


def alive(pid):
    """Say whether a process runs; one that ended and was not collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def nobody_left(tmp_path, count):
    pids = [int(path.read_text()) for path in tmp_path.glob("worker*")]
    assert len(pids) == count
    end = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(alive, pids))


def test_the_last_line_is_the_answer_and_the_package_and_variables_are_there(tmp_path):
    program = """
        import json, os, persample, sys
        print("so far")
        print(json.dumps([sys.argv[1], os.environ["COLOUR"], persample.__file__]))
    """
    path = written(tmp_path, program)
    given, colour, where = processes.run(path, 2, variables={"COLOUR": "blue"})
    assert (given, colour) == ("2", "blue")
    assert where.startswith(str(processes.SOURCE))


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise ValueError('seven samples')", "ValueError: seven samples"),
        ("raise SystemExit(3)", "it said nothing"),
    ],
)
def test_a_program_that_fails_has_the_last_word(tmp_path, program, said):
    with pytest.raises(RuntimeError) as caught:
        processes.run(written(tmp_path, program))
    assert str(caught.value) == f"run: program.py failed: {said}"


@pytest.mark.parametrize(
    ("what", "said", "seconds", "workers"),
    [
        ("raise", "ValueError: a sample is missing", 60, 3),
        ("killed", "terminated with signal SIGKILL", 60, 3),
        ("hang", "had not ended after 2 seconds, and was ended with", 2, 1),
    ],
)
def test_a_worker_that_fails_or_hangs_ends_all(tmp_path, what, said, seconds, workers):
    pytest.importorskip("torch")
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=said) as caught:
        processes.run(written(tmp_path, WORKERS), tmp_path, what, seconds=seconds)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - began < seconds + 12
    nobody_left(tmp_path, workers)


def test_workers_that_outlive_their_program_are_ended(tmp_path):
    assert processes.run(written(tmp_path, WORKERS), tmp_path, "leave") is None
    nobody_left(tmp_path, 1)


def test_the_rows_by_hand_are_gradients():
    """What many devices are compared with is compared with differences of the loss."""
    p, found = samples.network(), samples.one_process(3)
    x, y = samples.batch(3)

    def loss(p, x, y):
        h = np.tanh(p["0.weight"] @ x + p["0.bias"])
        scores = p["2.weight"] @ h + p["2.bias"]
        return np.log(np.exp(scores).sum()) - scores[y]

    rng = np.random.default_rng(3)
    for i in range(3):
        way = {name: rng.normal(size=g.shape) for name, g in p.items()}
        moved = [loss({k: p[k] + s * 1e-6 * way[k] for k in p}, x[i], y[i]) for s in (1, -1)]
        slope = sum((found["rows"][k][i] * way[k]).sum() for k in p)
        assert slope == pytest.approx((moved[0] - moved[1]) / 2e-6, abs=1e-7)
    norms = np.sqrt(sum((g.reshape(3, -1) ** 2).sum(1) for g in found["rows"].values()))
    np.testing.assert_allclose(found["norms"], norms)
    assert sum(g.size for g in p.values()) == samples.NUMBERS


def test_the_eight_samples_have_their_rows():
    errors = samples.X @ samples.THETA - samples.Y
    np.testing.assert_array_equal(errors[:, None] * samples.X, samples.ROWS)
    assert np.linalg.norm(samples.clipped_rows(), axis=1).max() <= 1 + 1e-6
