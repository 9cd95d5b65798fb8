"""A program in processes of its own: its answer, its last words, and nobody left behind."""

import json
import os
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from persample_book import processes
from persample_book.devices import samples

# Workers of multiprocessing that tell who they are, and then do as they are told.
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
        while what != "end":
            time.sleep(0.05)
"""
START = """
    if __name__ == "__main__":
        import torch.multiprocessing as mp
        mp.start_processes(work, tuple(sys.argv[1:]), nprocs=3, start_method="fork")
        print("null")
"""


def written(tmp_path, *parts):
    path = tmp_path / "program.py"
    path.write_text("\n".join(map(textwrap.dedent, parts)))
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


def nobody_left(tmp_path, count=3):
    pids = [int(path.read_text()) for path in tmp_path.glob("worker*")]
    assert len(pids) == count
    end = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(alive, pids))


def test_the_last_line_is_the_answer(tmp_path):
    path = written(tmp_path, "import sys; print('so far'); print('[1, %s]' % sys.argv[1])")
    assert processes.run(path, 2) == [1, 2]


def test_variables_and_the_package_reach_the_program(tmp_path):
    path = written(
        tmp_path,
        """
        import json, os, persample
        print(json.dumps([os.environ["COLOUR"], persample.__file__]))
        """,
    )
    colour, where = processes.run(path, variables={"COLOUR": "blue"})
    assert colour == "blue"
    assert where.startswith(str(processes.SOURCE))


def test_a_program_that_fails_has_the_last_word(tmp_path):
    path = written(tmp_path, "raise ValueError('seven samples, four devices')")
    with pytest.raises(RuntimeError) as caught:
        processes.run(path)
    assert str(caught.value) == ("run: program.py failed: ValueError: seven samples, four devices")


def test_a_program_that_says_nothing_is_told_so(tmp_path):
    with pytest.raises(RuntimeError, match=r"^run: program\.py failed: it said nothing$"):
        processes.run(written(tmp_path, "raise SystemExit(3)"))


@pytest.mark.parametrize(
    ("what", "said"),
    [("raise", "ValueError: a sample is missing"), ("killed", "terminated with signal SIGKILL")],
)
def test_a_worker_that_fails_ends_all_with_a_sentence(tmp_path, what, said):
    pytest.importorskip("torch")
    path = written(tmp_path, WORKERS, START)
    with pytest.raises(RuntimeError, match=said) as caught:
        processes.run(path, tmp_path, what, seconds=60)
    assert "\n" not in str(caught.value)
    nobody_left(tmp_path)


def test_workers_that_hang_are_ended_in_time(tmp_path):
    pytest.importorskip("torch")
    path = written(tmp_path, WORKERS, START)
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=r"had not ended after 8 seconds, and was ended with"):
        processes.run(path, tmp_path, "hang", seconds=8)
    assert time.monotonic() - began < 20
    nobody_left(tmp_path)


def test_workers_that_outlive_their_program_are_ended(tmp_path):
    leave = """
        pid = os.fork()
        if pid == 0:
            os.close(1), os.close(2)
            work(0, sys.argv[1], "hang")
        while not (pathlib.Path(sys.argv[1]) / "worker0").exists():
            time.sleep(0.01)
        print("null")
        sys.stdout.flush()
        os._exit(0)
    """
    assert processes.run(written(tmp_path, WORKERS, leave), tmp_path) is None
    nobody_left(tmp_path, 1)


@pytest.mark.slow
def test_two_runs_side_by_side_do_not_disturb_each_other():
    pytest.importorskip("torch")
    with ThreadPoolExecutor() as both:
        first, second = both.map(processes.in_torch, (2, 2))
    assert json.dumps(first) == json.dumps(second)


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
