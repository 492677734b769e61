import { parseDuration } from '../../../../contract/duration.js';
import type { Where } from './formula.js';
import { inside, type Issues } from './issues.js';
import type { Budget } from './limits.js';
import { localsIn, withVars } from './placeholders.js';

const HOUR = 3_600_000;

/** Placeholders that a run replaces, by where they may stand. */
export type Rounds = 'none' | 'iteration' | 'item';
const ROUND = /^(?:iteration|index|item(?:\..+)?)$/;

/** Texts as beads get them: no placeholder is left that nobody replaces. */
export class Words {
  /** Names that the run gives its values. */
  readonly atRun = new Set<string>();

  constructor(
    private readonly value: (name: string) => string | undefined,
    /** Whether a name may stay: the run knows it, or a preview lacks it. */
    private readonly stays: (name: string) => 'run' | 'missing' | undefined,
    private readonly issues: Issues,
    private readonly budget: Budget,
  ) {}

  /** @param strict whether `{name}` is a mistake as well: in titles and labels it is never meant as text */
  of(text: string, where: Where, key: string, strict = false, rounds: Rounds = 'none'): string {
    const unknown = new Set<string>();
    const result = withVars(text, (name) => {
      const value = this.value(name);
      if (value !== undefined) return value;
      const stays = this.stays(name);
      if (stays === 'run') this.atRun.add(name);
      else if (stays === undefined) unknown.add(name);
      return undefined;
    });
    if (unknown.size > 0)
      this.issues.error(inside(where, key), `nothing gives {{${[...unknown].join('}}, {{')}}} a value: declare it in vars`);
    const locals = strict ? localsIn(text).filter((name) => rounds === 'none' || !ROUND.test(name)) : [];
    if (locals.length > 0) this.issues.error(inside(where, key), `nothing gives {${locals.join('}, {')}} a value here`);
    this.budget.spend('characters', result.length);
    return result;
  }

  /** Whole milliseconds of a duration that may have come from a variable. @param most what it is at most */
  duration(text: string | undefined, where: Where, key: string, most = Infinity): number | undefined {
    if (text === undefined) return undefined;
    const ms = parseDuration(this.of(text, where, key));
    if (ms === undefined || ms <= 0) this.issues.error(inside(where, key), 'must be a positive duration such as 90s or 1h30m');
    else if (ms > most) this.issues.error(inside(where, key), `must be at most ${most / HOUR}h`);
    else return Math.ceil(ms);
    return undefined;
  }
}
