/* TD(0) on a few states: the largest value, step by step, and where it settles. */
"use strict";
{
const [LOW, HIGH] = [0.1, 1e6]; // where the axis begins and ends

/* Two values that change together: a step turns v into v - alpha (A v - b). Each reward is 1.
   Of Baird's seven states six have the same value. */
const PROBLEMS = [
  {name: "1\u21921", start: [1, 0], A: (g) => [[1 - g, 0], [0, 1 - g]], b: [1, 0]},
  {name: "1\u21922", start: [1, 0], A: (g) => [[1 - 2 * g, 0], [0, 1 - 2 * g]], b: [1, 0]},
  {name: "1\u21922\u2192end", start: [1, 2], A: (g) => [[2.5 - g, 0], [0, 2.5 - g]], b: [1.5, 3]},
  {name: "Baird\u2019s", start: [3, 12], A: (g) => [[10 / 7, (2 - 12 * g) / 7], [12 / 7, (5 - 17 * g) / 7]], b: [12 / 7, 17 / 7]},
];

/* The largest value before each step and after the last; it ends where it leaves the axis. */
function run({start, b}, A, alpha, steps) {
  let v = start;
  const curve = [Math.max(...v)];
  while (curve.length <= steps && curve.at(-1) <= HIGH) {
    v = v.map((old, i) => old - alpha * (A[i][0] * v[0] + A[i][1] * v[1] - b[i]));
    curve.push(Math.max(...v.map(Math.abs)));
  }
  return curve;
}

/* The spectral radius of I - alpha A, from its trace and determinant. */
function radius(A, alpha) {
  const [[p, q], [r, s]] = A.map((row, i) => row.map((a, j) => (i === j ? 1 : 0) - alpha * a));
  const [half, determinant] = [(p + s) / 2, p * s - q * r];
  const under = ((p - s) / 2) ** 2 + q * r;
  return under < 0 ? Math.sqrt(determinant) : Math.abs(half) + Math.sqrt(under);
}

/* Where the largest value comes to rest, or null if it grows or is still more than 1 % away. */
function settled({b: [x, y]}, A, alpha, curve) {
  const [[p, q], [r, s]] = A;
  const end = Math.max(...[s * x - q * y, p * y - r * x].map((v) => Math.abs(v / (p * s - q * r))));
  return radius(A, alpha) < 1 && Math.abs(curve.at(-1) - end) <= 0.01 * end ? end : null;
}

live.states = {PROBLEMS, LOW, HIGH, run, radius, settled};
}
