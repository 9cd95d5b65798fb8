/* A walk through five states, move by move, and what TD(0) learns from it. */
"use strict";
{
const STATES = ["A", "B", "C", "D", "E"];
const MOST = 3000;

/* The moves of a walk, from whole numbers only, so that each machine walks alike. */
function transitions(walk) {
  let [x, from] = [walk, 2];
  const draw = () => (x = (16807 * x) % 2147483647);
  for (let n = 0; n < 10; n++) draw();
  return Array.from({length: MOST}, () => {
    const to = from + (draw() > 1073741823 ? 1 : -1);
    const move = {from, to, ends: !(to in STATES), reward: Number(to === 5)};
    from = move.ends ? 2 : to;
    return move;
  });
}

/* The values after some moves, and their error. */
function learn(all, alpha) {
  const theta = STATES.map(() => 0.5);
  for (const {from, to, ends, reward} of all) theta[from] += alpha * (reward + (ends ? 0 : theta[to]) - theta[from]);
  return theta;
}
const off = (theta) => Math.sqrt(theta.reduce((sum, v, i) => sum + (v - (i + 1) / 6) ** 2, 0) / 5);

/* How many moves until some more of a kind have been made. */
function after({walk, moves}, kind, more = 1) {
  return transitions(walk).flatMap((move, n) => (n >= moves && kind(move) ? [n + 1] : []))[more - 1] ?? MOST;
}

live.walk = {STATES, MOST, transitions, after, learn, off};
}
