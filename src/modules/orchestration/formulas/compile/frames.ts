import type { Step } from './formula.js';
import type { Fragment, RecipeEdge, RecipeStep } from './recipe.js';
import type { Rounds } from './words.js';

/** Where steps come to stand: the recipe itself, or what a run repeats. */
export interface Frame {
  readonly rounds: Rounds;
  readonly ids: Map<string, string>;
  readonly scopes: Set<string>;
  readonly steps: RecipeStep[];
  readonly edges: Map<string, RecipeEdge>;
  readonly outer?: Frame;
  /** Steps outside that something inside waits for: then the whole waits for them. */
  readonly outside: Set<string>;
  /** Expansions around it. */
  readonly depth: number;
}

export function newFrame(rounds: Rounds, depth: number, outer?: Frame): Frame {
  return {
    rounds,
    ids: new Map(),
    scopes: new Set(),
    steps: [],
    edges: new Map(),
    outside: new Set(),
    depth,
    ...(outer === undefined ? {} : { outer }),
  };
}

/** The full id of a step in this frame; one of a frame around it is waited for by the whole. */
export function findIn(id: string, frame: Frame): string | undefined {
  const own = frame.ids.get(id);
  if (own !== undefined) return own;
  for (let at = frame.outer; at !== undefined; at = at.outer) {
    const full = at.ids.get(id);
    if (full === undefined) continue;
    frame.outside.add(full);
    return full;
  }
  return undefined;
}

/** The ids that steps of a frame may wait for. */
export function seenFrom(frame: Frame): Pick<ReadonlySet<string>, 'has'> {
  const has = (id: string, at: Frame | undefined): boolean => at !== undefined && (at.ids.has(id) || has(id, at.outer));
  return { has: (id) => has(id, frame) };
}

/** The full id without the step's own. */
export function pathOf({ id }: Step, frame: Frame): string {
  return frame.ids.get(id)!.slice(0, -id.length - 1);
}

export function fragmentOf({ steps, edges }: Frame): Fragment {
  return { steps, edges: [...edges.values()] };
}
