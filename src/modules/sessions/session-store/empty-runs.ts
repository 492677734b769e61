import { doubled } from '../../../platform/time/doubled.js';
import type { SessionRest } from '../../../contract/sessions.schemas.js';

/** Runs of a pool's members that came to nothing, since the last one that took some work. */
export interface EmptyRuns {
  /** In a row. */
  readonly count: number;
  readonly lastAt: number;
  /** How the last one has ended, as far as that is known. */
  readonly ended?: string | undefined;
  /** The configuration has changed since all of them. */
  readonly mended?: boolean | undefined;
}

/** Those of all its members. They are started together: `count` is the most that any of them has in a row. */
export interface IdleRuns extends EmptyRuns {
  readonly members?: ReadonlyMap<string, number>;
}

/**
 * For what another run would do no better: work of its pool, or of its own name, of which it took none, and the minimum of its pool, for which
 * it had nothing to do.
 */
export const EMPTY_FOR = ['pool', 'member', 'minimum'] as const;
export type EmptyFor = (typeof EMPTY_FOR)[number];

/** What ended runs say about the next ones. */
export interface EndedRuns {
  /** Runs that took none of the work that was there, by its route: an agent, or a member of its pool. */
  readonly emptyRuns: ReadonlyMap<string, EmptyRuns>;
  /** Runs that had nothing to do, whether there was work or not, by agent. */
  readonly idleRuns: ReadonlyMap<string, IdleRuns>;
}

/** A run that has ended. */
export interface EndedRun {
  readonly template: string;
  readonly member: string | null;
  /** Undefined: it was of some use, or of none that is known. */
  readonly empty: readonly EmptyFor[] | undefined;
  /** How, as far as that is known. */
  readonly ended?: string | undefined;
  /** The configuration has changed since. */
  readonly mended?: boolean | undefined;
  readonly at: number;
}

/** After a run that was empty nobody is started for the same work for so long, doubled with each more in a row, up to the other. */
const PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 600_000;

export function emptyPauseUntil({ count, lastAt }: EmptyRuns): number {
  return lastAt + doubled(count, PAUSE_MS, MAX_PAUSE_MS);
}

/** Routes whose work a run has left. The only member of a pool has its name, and its route. */
export function routesLeft({ template, member, empty = [] }: Pick<EndedRun, 'template' | 'member' | 'empty'>): string[] {
  const left = [...(empty.includes('pool') ? [template] : []), ...(empty.includes('member') && member !== null ? [member] : [])];
  return [...new Set(left)];
}

/** Runs in a row that came to nothing; `runs` has the newest first. */
export function endedRunsOf(runs: readonly EndedRun[]): EndedRuns {
  const routes = new Rows();
  const idle = new Map<string, IdleRuns>();
  const worked = new Set<string>();
  for (const run of runs) {
    const { template, member, empty, ended, mended, at } = run;
    if (empty === undefined) {
      routes.end(template);
      if (member !== null) routes.end(member);
      worked.add(template);
      continue;
    }
    for (const route of routesLeft(run)) routes.add(route, { lastAt: at, ended, mended });
    if (empty.includes('minimum') && !worked.has(template))
      idle.set(template, withIdleRun(idle.get(template), member, { lastAt: at, ended, mended }));
  }
  return { emptyRuns: routes.counts, idleRuns: idle };
}

/** With one more, of that member. */
export function withIdleRun(runs: IdleRuns | undefined, member: string | null, run: Omit<EmptyRuns, 'count'>): IdleRuns {
  const its = member ?? '';
  const members = new Map(runs?.members ?? []).set(its, (runs?.members?.get(its) ?? 0) + 1);
  const { lastAt, ended } = runs === undefined || run.lastAt > runs.lastAt ? run : runs;
  const mended = run.mended === true && (runs === undefined || runs.mended === true);
  return { count: Math.max(...members.values()), lastAt, ended, mended, members };
}

/** Counts what comes in a row, from its end. */
class Rows {
  readonly counts = new Map<string, EmptyRuns>();
  readonly #over = new Set<string>();

  end(name: string): void {
    this.#over.add(name);
  }

  add(name: string, run: Omit<EmptyRuns, 'count'>): void {
    if (this.#over.has(name)) return;
    const known = this.counts.get(name);
    this.counts.set(
      name,
      known === undefined ? { count: 1, ...run } : { ...known, count: known.count + 1, mended: known.mended && run.mended },
    );
  }
}

/** Ends that say more than that there was nothing to do. */
const WENT_WRONG: ReadonlyMap<string, string> = new Map([
  ['crashed', 'crashed'],
  ['auth-required', 'was not signed in'],
  ['provider-terminal-error', 'ended again and again before it had done anything'],
]);

/** The pause of a pool, or of a member of it, as people see it; undefined when it is over. */
function restAfterEmptyRuns(runs: EmptyRuns, now: number, why = 'took none of the work that was there'): SessionRest | undefined {
  const until = emptyPauseUntil(runs);
  if (until <= now) return undefined;
  const which = runs.count === 1 ? 'its last run' : `its last ${runs.count} runs`;
  const how = WENT_WRONG.get(runs.ended ?? '');
  const detail = `${which} ${why}${how === undefined ? '' : `; ${runs.count === 1 ? 'it' : 'the last one'} ${how}`}`;
  // One that counts although the configuration has changed counts after the next change, too.
  const endedBy: SessionRest['ended_by'] = runs.mended === true ? ['time', 'work'] : ['time', 'work', 'configuration'];
  return { reason: 'empty-runs', ended_by: endedBy, until: new Date(until).toISOString(), detail };
}

/** All pauses, by the names of agents and members. */
export function restsAfter({ emptyRuns, idleRuns }: EndedRuns, now: number): Map<string, SessionRest> {
  const found = (runs: ReadonlyMap<string, EmptyRuns>, why?: string): [string, SessionRest][] =>
    [...runs].flatMap(([name, its]) => {
      const rest = restAfterEmptyRuns(its, now, why);
      return rest === undefined ? [] : [[name, rest]];
    });
  return new Map([...found(idleRuns, 'had nothing to do'), ...found(emptyRuns)]);
}
