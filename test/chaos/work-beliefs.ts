import type { Claimant } from './history-work.js';
import type { Random } from './random.js';

/** A claim as its answer told it. */
export interface Held {
  readonly id: string;
  readonly claimant: Claimant;
  readonly fence: number;
}

const KEPT = 150;

/** What the writers believe of one city's work; it may be wrong, and what is asked for is refused then. */
export class Beliefs {
  readonly beads: string[] = [];
  readonly convoys: string[] = [];
  readonly closed: string[] = [];
  readonly messages: string[] = [];
  readonly runs: string[] = [];
  readonly edges: [issue: string, dependsOn: string][] = [];
  readonly held: Held[] = [];
  /** The newest revision that was answered, by bead. */
  readonly revisions = new Map<string, number>();

  /** Mostly one of the newest: those that somebody else is at, too. */
  bead(random: Random): string | undefined {
    return this.one(this.beads, random);
  }

  one<T>(list: readonly T[], random: Random): T | undefined {
    if (list.length === 0) return undefined;
    return random.pick(random.chance(0.7) ? list.slice(-12) : list);
  }

  some(random: Random, most: number): string[] {
    const found = Array.from({ length: random.int(1, most) }, () => this.bead(random)).filter((id) => id !== undefined);
    return [...new Set(found)];
  }

  keep<T>(list: T[], value: T): void {
    list.push(value);
    if (list.length > KEPT) list.shift();
  }
}
