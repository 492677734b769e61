/** Many short turns are as good as none for who comes in between. */
const LEAST_MS = 50;
const MOST_MS = 1_000;

/** How long a city is its other writers' after a run has had it for so long: half of the time, so that a run of thousands of rounds does not take hours. Each process keeps the rest of its own turns: another one may take a turn in it, with another run. */
export function restAfter(tookMs: number): number {
  return Math.min(Math.max(tookMs, LEAST_MS), MOST_MS);
}
