import type { Step } from './dependencies.repository.js';

/** The shortest way from `start` to `end` along `steps`, both ends included; undefined when there is none. */
export function shortestPath(steps: readonly Step[], start: string, end: string): string[] | undefined {
  return search(nextOf(steps), start, end);
}

/** Of those of `ids` that are part of a cycle the shortest one: `[id, …, id]`. */
export function shortestCycles(steps: readonly Step[], ids: readonly string[]): Map<string, string[]> {
  const turned = (all: readonly Step[]): Step[] => all.map(({ id, via }) => ({ id: via, via: id }));
  // Without cycles nothing is left to search in, however much was walked.
  const next = nextOf(turned(leadingOn(turned(leadingOn(steps)))));
  const cycles = new Map<string, string[]>();
  for (const id of ids) {
    const first = next.get(id);
    if (first === undefined) continue;
    // From what is no bead: the way has to leave `id` before it comes back there.
    next.set(START, first);
    const way = search(next, START, id);
    if (way !== undefined) cycles.set(id, [id, ...way.slice(1)]);
  }
  return cycles;
}

const START = '';

/** The steps from where one can go on for ever. */
function leadingOn(steps: readonly Step[]): Step[] {
  const left = new Map<string, number>();
  const into = Map.groupBy(steps, ({ id }) => id);
  for (const { via } of steps) left.set(via, (left.get(via) ?? 0) + 1);
  const ends = [...into.keys()].filter((id) => !left.has(id));
  for (const end of ends)
    for (const { via } of into.get(end) ?? []) {
      left.set(via, left.get(via)! - 1);
      if (left.get(via) === 0) ends.push(via);
    }
  return steps.filter(({ id }) => (left.get(id) ?? 0) > 0);
}

type Next = ReadonlyMap<string, readonly string[]>;

function nextOf(steps: readonly Step[]): Map<string, string[]> {
  const next = new Map<string, string[]>();
  for (const { via, id } of steps) {
    const known = next.get(via);
    if (known === undefined) next.set(via, [id]);
    else known.push(id);
  }
  return next;
}

function search(next: Next, start: string, end: string): string[] | undefined {
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
