import type { BeadView, Change, Claimant } from './history-work.js';
import type { Violations } from './violations.js';
import { same, type Replay, type WorkEvent } from './work-replay.js';

interface Answer {
  readonly action?: string;
  readonly claimed?: boolean;
  readonly reason?: string;
  readonly bead?: BeadView;
  readonly fence: number;
  readonly lease_until: string;
}

interface Claim {
  readonly change: Change;
  readonly answer: Answer & { readonly bead: BeadView };
  readonly fresh: boolean;
  /** The event that shows the claimed bead. */
  readonly event: WorkEvent;
}

const nameOf = ({ agent, session }: Claimant): string => (session === undefined ? agent : `${agent} (${session})`);
const isHeld = (bead: BeadView): boolean => bead.status === 'in_progress' && bead.assignee !== undefined;
const micros = (text: string): bigint =>
  BigInt(Date.parse(text)) * 1_000n + BigInt((/\.\d{3}(\d{1,3})/.exec(text)?.[1] ?? '').padEnd(3, '0'));

/** Under one fence a bead is one claimant's; it changes hands only when it was given back, given away, or its lease has ended. */
export function checkClaims(
  city: string,
  changes: readonly Change[],
  events: readonly WorkEvent[],
  replay: Replay,
  violations: Violations,
): void {
  const byBead = new Map<string, WorkEvent[]>();
  for (const event of events) {
    if (event.payload.bead === undefined) continue;
    const own = byBead.get(event.subject);
    if (own === undefined) byBead.set(event.subject, [event]);
    else own.push(event);
  }
  const claims = claimsOf(city, changes, replay, violations);
  const beats = changes.filter((c) => c.kind === 'bead.heartbeat' && c.outcome === 'acknowledged');
  for (const [fence, held] of groupBy(claims, (c) => `${c.answer.bead.id} under ${c.answer.fence}`)) {
    const claimants = new Set(held.map((c) => nameOf(c.change.claimant!)));
    const fresh = held.filter((c) => c.fresh);
    const entries = held.map((c) => c.change);
    if (claimants.size > 1) violations.add('one claimant', `${city}: ${fence} is held by ${[...claimants].join(' and ')}`, ...entries);
    if (fresh.length > 1) violations.add('one claimant', `${city}: ${fence} was claimed ${fresh.length} times`, ...entries);
    leases(city, held, beats, byBead.get(held[0]!.answer.bead.id) ?? [], violations);
  }
  fences(city, claims, violations);
  for (const own of byBead.values()) hands(city, own, violations);
  rejections(city, changes, events, violations);
  reopenings(city, events, violations);
}

function claimsOf(city: string, changes: readonly Change[], replay: Replay, violations: Violations): Claim[] {
  const claims: Claim[] = [];
  for (const change of changes) {
    if (change.claimant === undefined || change.outcome !== 'acknowledged' || !change.kind.endsWith('.claim')) continue;
    const answer = JSON.parse(change.body!) as Answer;
    const { bead } = answer;
    if (bead === undefined) continue;
    const event = replay.states.get(`${bead.id}@${bead.revision}`);
    if (event === undefined || !same(event.payload.bead, bead) || event.seq > (change.index ?? Infinity))
      violations.add('work kept', `${city}: a claim of ${bead.id} at revision ${bead.revision}, of which no event tells`, change, event);
    else {
      const fresh = answer.claimed ?? answer.reason !== 'existing_assignment';
      claims.push({ change, answer: { ...answer, bead }, fresh, event });
    }
  }
  return claims;
}

/** Each claim of a bead, in the order of the log (a repeat after what it repeats), has a higher fence than the one before. */
function fences(city: string, claims: readonly Claim[], violations: Violations): void {
  for (const own of groupBy(claims, (c) => c.answer.bead.id).values()) {
    const ordered = [...own].sort(
      (a, b) => a.event.seq - b.event.seq || a.answer.fence - b.answer.fence || Number(b.fresh) - Number(a.fresh),
    );
    for (const [i, claim] of ordered.entries()) {
      const before = ordered[i - 1];
      if (before === undefined || before.answer.fence < claim.answer.fence) continue;
      if (before.answer.fence > claim.answer.fence || claim.fresh)
        violations.add(
          'one claimant',
          `${city}: ${claim.answer.bead.id} was claimed under the fence of an earlier claim`,
          before.change,
          claim.change,
        );
    }
  }
}

/** A claim whose lease is still running, as its claimant was told, is ended by nobody but its claimant or by hand. */
function leases(
  city: string,
  held: readonly Claim[],
  beats: readonly Change[],
  events: readonly WorkEvent[],
  violations: Violations,
): void {
  const { id } = held[0]!.answer.bead;
  const { fence } = held[0]!.answer;
  const { assignee, metadata } = held[0]!.answer.bead;
  const began = Math.min(...held.map((c) => c.event.seq));
  const end = events.find(({ seq, payload: { bead } }) => {
    return (
      seq > began && (!isHeld(bead!) || bead!.assignee !== assignee || bead!.metadata?.['gc.session_id'] !== metadata?.['gc.session_id'])
    );
  });
  if (end === undefined || !(end.actor === 'reconciler' || end.actor.startsWith('mayor'))) return;
  const told = [
    ...held.map((c) => ({ change: c.change, until: c.answer.lease_until })),
    ...beats
      .filter((beat) => beat.subject === id && beat.fence === fence)
      .map((change) => ({ change, until: (JSON.parse(change.body!) as Answer).lease_until })),
  ];
  const alive = told.find(({ until }) => micros(until) > micros(end.ts));
  if (alive !== undefined)
    violations.add('lease kept', `${city}: ${id} was taken away at ${end.ts}, held until ${alive.until}`, end, alive.change);
}

/** A claim takes nothing from whoever holds it, and a hook offers nothing that is blocked. */
function hands(city: string, events: readonly WorkEvent[], violations: Violations): void {
  for (const [i, event] of events.entries()) {
    const [before, after] = [events[i - 1]?.payload.bead, event.payload.bead!];
    if (before === undefined || !isHeld(after) || event.actor !== after.assignee) continue;
    if (isHeld(before) && before.assignee !== after.assignee)
      violations.add(
        'one claimant',
        `${city}: ${after.id} at ${event.seq} was taken by ${after.assignee} from ${before.assignee}`,
        event,
        before,
      );
    if (before.status === 'closed')
      violations.add('one claimant', `${city}: ${after.id} at ${event.seq} was claimed when it was closed`, event);
  }
}

/** Whoever was told that a bead is another's is on record, once an attempt. */
function rejections(city: string, changes: readonly Change[], events: readonly WorkEvent[], violations: Violations): void {
  const recorded = new Map<string, number>();
  for (const { type, payload } of events) {
    if (type !== 'bead.claim_rejected') continue;
    const key = `${payload.bead_id} ${payload.attempted_claimant}`;
    recorded.set(key, (recorded.get(key) ?? 0) + 1);
  }
  const attempts = changes.filter((c) => c.kind === 'bead.claim');
  const tried = groupBy(attempts, (c) => `${c.subject} ${c.claimant!.agent}`);
  for (const [key, own] of tried) {
    const told = own.filter((c) => c.outcome === 'refused' && c.body?.includes('"Owned By Another"'));
    const most = own.filter((c) => c.outcome !== 'acknowledged').length;
    const count = recorded.get(key) ?? 0;
    if (count < told.length || count > most)
      violations.add(
        'one claimant',
        `${city}: ${count} rejections of ${key} are on record, ${told.length} to ${most} were told`,
        ...told.slice(0, 3),
      );
  }
  for (const key of recorded.keys()) if (!tried.has(key)) violations.add('one claimant', `${city}: a rejection of nobody: ${key}`);
}

/** What the reconciler takes back it reports, each once. */
function reopenings(city: string, events: readonly WorkEvent[], violations: Violations): void {
  const open = new Set<string>();
  for (const event of events) {
    if (event.type === 'bead.updated' && event.actor === 'reconciler' && event.payload.bead?.status === 'open') open.add(event.subject);
    if (event.type === 'bead.dead_assignee_reopened' && !open.delete(event.subject))
      violations.add('one claimant', `${city}: ${event.subject} was told as reopened at ${event.seq}, and was not`, event);
  }
  for (const id of open) violations.add('one claimant', `${city}: ${id} was taken back and not told`);
}

function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const name = key(item);
    const own = groups.get(name);
    if (own === undefined) groups.set(name, [item]);
    else own.push(item);
  }
  return groups;
}
