"""The floor: squared norms and clipped sums of a model's rows, by hand, and nothing else.

    python benchmarks/floor.py --save

Timed are the forward pass, the backward pass, the squared norms (B,) over all parameters and, for
a clipped sum, sum_i g_i min(1, C / |g_i|). whole_steps.py explains the method and its limits.

Before a model is timed, each layer's part of the floor is compared with a loop of single-sample
gradients, in float64. The times are in ordinary passes (forward, and a backward pass that fills
`.grad`, on the same batch). Threads are those of PyTorch; `OMP_NUM_THREADS=1` gives one.
"""

import common
from contenders import ordinary
from networks import MODELS
from whole_steps import WANTED, check, floor, head

RESULT = common.RESULTS / "floor.json"


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--only", default="", help="models whose name has this; nothing is stored")
    options = parser.parse_args()
    stored = head("norms and clipped sums by hand: ordinary passes, medians of ms")
    print(f"{'passes':28}", *(f"{name:>25}" for name in WANTED))
    for name, case in MODELS.items():
        if options.only not in name:
            continue
        check(case)
        calls = {wanted: floor(case, *WANTED[wanted]) for wanted in WANTED}
        times = common.medians({"ordinary pass": ordinary(case)} | calls, options.rounds)
        one = times["ordinary pass"]
        passes = {wanted: round(times[wanted] / one, 3) for wanted in WANTED}
        stored["cases"][name] = {"passes": passes, "ms": times}
        print(f"{name:28}", *(f"{ratio:25.2f}" for ratio in passes.values()))
        for less, more in (
            ("squared norms", "clipped sum"),
            ("clipped sum", "clipped sum, .grad too"),
        ):
            if passes[more] < 0.97 * passes[less]:
                raise SystemExit(
                    f"{name}: {more} before {less}: the machine is too busy to measure"
                )
    if options.save and not options.only:
        common.store(stored, RESULT)


if __name__ == "__main__":
    main()
