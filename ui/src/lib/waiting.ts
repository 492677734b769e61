import type { Ask, InboxItem, Schemas } from '../api/types.js';
import { counted } from './counted.js';
import { isMuted, kindOf, type Mute, type One, type WaitingKind } from './mutes.js';

/** Beads and mail that wait for people, the oldest first, and how much there is. */
export interface InboxPage {
  readonly items: readonly InboxItem[];
  readonly counts: Schemas['InboxCounts'];
}

/** Everything that waits for a person, without what is muted. */
export interface Waiting {
  readonly asks: readonly Ask[];
  readonly items: readonly InboxItem[];
  /** What is there, and muted. */
  readonly muted: readonly One[];
  readonly counts: Readonly<Record<WaitingKind, number>>;
  readonly count: number;
}

interface Asked {
  readonly rows: readonly Ask[];
  readonly total: number;
}

export function waitingOf({ rows, total }: Asked, page: InboxPage | undefined, mutes: readonly Mute[]): Waiting {
  const covered = new Set(mutes.map(({ covers }) => covers));
  const all = page?.items ?? [];
  const muted = [...rows, ...all].filter((one) => isMuted(one, covered));
  const totals = { question: total, bead: page?.counts.bead ?? 0, mail: page?.counts.mail ?? 0 };
  // A kind that is muted is so beyond what was read of it.
  const left = (kind: WaitingKind): number =>
    covered.has(`kind:${kind}`) ? 0 : Math.max(0, totals[kind] - muted.filter((one) => kindOf(one) === kind).length);
  const counts = { question: left('question'), bead: left('bead'), mail: left('mail') };
  return {
    asks: rows.filter((one) => !isMuted(one, covered)),
    items: all.filter((one) => !isMuted(one, covered)),
    muted,
    counts,
    count: counts.question + counts.bead + counts.mail,
  };
}

const NAMES: readonly (readonly [kind: WaitingKind, one: string, many: string])[] = [
  ['question', 'question', 'questions'],
  ['bead', 'bead', 'beads'],
  ['mail', 'message', 'messages'],
];

/** `2 questions and 1 bead wait for you` */
export function countWords(counts: Waiting['counts']): string {
  const parts = NAMES.flatMap(([kind, one, many]) => (counts[kind] === 0 ? [] : [counted(counts[kind], one, many)]));
  if (parts.length === 0) return 'Nothing waits for you';
  const all = parts.length === 1 ? parts[0]! : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)!}`;
  return `${all} ${Object.values(counts).reduce((sum, n) => sum + n, 0) === 1 ? 'waits' : 'wait'} for you`;
}
