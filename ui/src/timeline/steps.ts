import type { Bead, LoggedEvent } from '../api/types.js';
import { runsOf, stateOf, type Lane, type SpanTone } from './lanes.js';

interface Step {
  readonly id: string;
  readonly title: string;
  readonly status: string;
}

const END: Readonly<Record<string, SpanTone>> = { completed: 'good', failed: 'bad', canceled: 'quiet', skipped: 'quiet' };

/** A lane for each step of which the log knows something: while it waits, can begin, is worked on, and how it has ended. In the order in which they begin. */
export function stepLanes(steps: readonly Step[], events: readonly LoggedEvent[]): Lane[] {
  const changes = new Map<string, { at: number; bead: Bead }[]>();
  for (const { type, ts, payload } of events) {
    const { bead } = payload as { bead?: Bead };
    if (!type.startsWith('bead.') || bead?.revision === undefined) continue;
    const known = changes.get(bead.id);
    const change = { at: new Date(ts).getTime(), bead };
    if (known === undefined) changes.set(bead.id, [change]);
    else known.push(change);
  }
  const lanes = steps.flatMap((step) => {
    const known = changes.get(step.id);
    if (known === undefined) return [];
    const last = known.at(-1)!;
    const ended = last.bead.status === 'closed' ? last.at : undefined;
    const spans = runsOf(
      known.map(({ at, bead }) => ({ at, value: bead.status === 'closed' ? undefined : stateOf(bead) })),
      (state) =>
        state === 'in_progress'
          ? { label: 'is worked on', tone: ended === undefined ? 'accent' : (END[step.status] ?? 'good') }
          : state === 'blocked'
            ? { label: 'waits', tone: 'quiet' }
            : { label: 'can begin', tone: 'warn' },
      ended,
    );
    // Also where nobody has taken it up: how it has ended.
    if (ended !== undefined) spans.push({ from: ended, to: ended, label: step.status, tone: END[step.status] ?? 'good' });
    return [
      {
        name: step.title,
        spans,
        first: known[0]!.at,
        began: known.find(({ bead }) => bead.is_blocked !== true)?.at ?? Number.POSITIVE_INFINITY,
      },
    ];
  });
  return lanes.sort((a, b) => a.first - b.first || a.began - b.began).map(({ name, spans }) => ({ name, spans }));
}
