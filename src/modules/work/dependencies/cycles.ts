import type { Step } from './dependencies.repository.js';

/** The shortest way from `start` to `end` along `steps`, both ends included; undefined when there is none. */
export function shortestPath(steps: readonly Step[], start: string, end: string): string[] | undefined {
  const next = new Map<string, string[]>();
  for (const { via, id } of steps) {
    const known = next.get(via);
    if (known === undefined) next.set(via, [id]);
    else known.push(id);
  }
  const cameFrom = new Map<string, string | undefined>([[start, undefined]]);
  for (const at of cameFrom.keys()) {
    if (at === end) return wayTo(at, cameFrom);
    for (const id of next.get(at) ?? []) if (!cameFrom.has(id)) cameFrom.set(id, at);
  }
  return undefined;
}

function wayTo(end: string, cameFrom: ReadonlyMap<string, string | undefined>): string[] {
  const path: string[] = [];
  for (let at: string | undefined = end; at !== undefined; at = cameFrom.get(at)) path.push(at);
  return path.reverse();
}

const SHOWN = 20;

/** `a → b → a`; of a very long cycle only its beginning and its end. */
export function formatCycle(cycle: readonly string[]): string {
  const shown = cycle.length <= SHOWN ? cycle : [...cycle.slice(0, SHOWN - 2), '…', ...cycle.slice(-2)];
  return shown.join(' → ');
}
