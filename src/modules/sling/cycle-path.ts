export interface Step {
  readonly source: string;
  readonly target: string;
}

/** The shortest way from `start` back to itself along `steps`, both ends included; undefined when there is none. */
export function pathBack(start: string, steps: readonly Step[]): string[] | undefined {
  const onward = new Map<string, string[]>();
  for (const { source, target } of steps) {
    const targets = onward.get(source);
    if (targets === undefined) onward.set(source, [target]);
    else targets.push(target);
  }
  const from = new Map<string, string>();
  for (const queue = [start]; queue.length > 0;) {
    const at = queue.shift()!;
    for (const next of onward.get(at) ?? []) {
      if (next === start) return [...back(start, at, from), start];
      if (from.has(next)) continue;
      from.set(next, at);
      queue.push(next);
    }
  }
  return undefined;
}

function back(start: string, end: string, from: ReadonlyMap<string, string>): string[] {
  const path = [end];
  while (path[0] !== start) path.unshift(from.get(path[0]!)!);
  return path;
}
