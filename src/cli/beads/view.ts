import type { Schemas } from '../api.js';
import { age, moment } from '../duration.js';
import { harmlessLine } from '../harmless.js';
import type { Io } from '../io.js';
import { restLine } from '../sessions/rest.js';
import { stateOf as stateOfSession, type Session } from '../sessions/view.js';
import { block, facts, table } from '../table.js';

export type Bead = Schemas['Bead'];
export type Dependency = Schemas['BeadDependency'];

/** The instant that stands for "until somebody says otherwise". */
export const INDEFINITELY = '9999-12-31T23:59:59Z';
const FOR_EVER = Date.parse('9999-12-31T00:00:00Z');

/** `open, blocked`: the status, and why an open bead is not ready. */
export function stateOf(bead: Bead, now = Date.now()): string {
  if (bead.status !== 'open') return bead.status;
  if (bead.is_blocked === true) return 'open, blocked';
  return bead.defer_until !== undefined && Date.parse(bead.defer_until) > now ? 'open, deferred' : 'open';
}

export function beadTable(beads: readonly Bead[], io: Io): string {
  const rows = beads.map((bead) => [
    bead.id,
    stateOf(bead),
    String(bead.priority ?? ''),
    bead.issue_type,
    bead.rig ?? '',
    bead.assignee ?? '',
    age(bead.created_at),
    ...(io.wide === true ? [bead.parent ?? '', (bead.labels ?? []).join(','), bead.updated_at ?? '', String(bead.revision ?? '')] : []),
    bead.title,
  ]);
  const wide = io.wide === true ? ['PARENT', 'LABELS', 'UPDATED', 'REVISION'] : [];
  return table(['ID', 'STATUS', 'P', 'TYPE', 'RIG', 'ASSIGNEE', 'AGE', ...wide, 'TITLE'], rows, io);
}

const deferred = (instant: string): string => (Date.parse(instant) >= FOR_EVER ? 'indefinitely' : moment(instant));

/** `fence 3, until …`: the newest claim, and whether somebody has it. */
function claimOf({ fence, attempts, lease_until: until }: NonNullable<Bead['claim']>): string {
  const count = attempts === undefined ? '' : `, attempt ${attempts}`;
  return `fence ${fence}${count}, ${until === undefined ? 'ended' : `leased until ${moment(until)}`}`;
}

/** `session al-7, asleep (exited), rests until …`: what the session does that has it. */
function holderOf(session: Session): string {
  const { id, rest } = session;
  const resting = rest === undefined ? '' : `, ${restLine(rest, id)}${rest.detail === undefined ? '' : `: ${harmlessLine(rest.detail)}`}`;
  return `session ${id}, ${stateOfSession(session)}${resting}`;
}

/** Everything of one bead for a reader; `edges` are those of both directions, `blockers` the ids it waits for, `holder` the session that has it. */
export function beadDetails(bead: Bead, edges: readonly Dependency[], blockers: readonly string[], io: Io, holder?: Session): string {
  const metadata = Object.entries(bead.metadata ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = [
    facts([
      ['id', bead.id],
      ['title', bead.title],
      ['status', stateOf(bead)],
      ['blocked by', blockers.join(', ')],
      ['type', bead.issue_type],
      ['priority', bead.priority],
      ['rig', bead.rig],
      ['assignee', bead.assignee],
      ['claim', bead.claim === undefined ? undefined : claimOf(bead.claim)],
      ['holder', holder === undefined ? undefined : holderOf(holder)],
      ['from', bead.from],
      ['parent', bead.parent],
      ['labels', (bead.labels ?? []).join(', ')],
      ['deferred until', bead.defer_until === undefined ? undefined : deferred(bead.defer_until)],
      ['created', moment(bead.created_at)],
      ['updated', bead.updated_at === undefined ? undefined : moment(bead.updated_at)],
      ['closed', bead.closed_at === undefined ? undefined : moment(bead.closed_at)],
      ['revision', bead.revision],
    ]),
  ];
  if (metadata.length > 0) parts.push(`metadata:\n${block(metadata.map(([key, value]) => `${key}: ${value}`).join('\n'))}`);
  if (bead.description !== undefined && bead.description !== '') parts.push(`description:\n${block(bead.description)}`);
  if (edges.length > 0) parts.push(dependencyTable(bead.id, edges, io));
  return parts.join('\n');
}

/** The edges of a bead: what it depends on first, then what depends on it. */
export function dependencyTable(id: string, edges: readonly Dependency[], io: Io): string {
  const down = edges.filter((edge) => edge.issue_id === id);
  const rows = [...down, ...edges.filter((edge) => edge.issue_id !== id)].map((edge) => {
    const on = edge.issue_id === id;
    return [
      on ? 'depends on' : 'needed by',
      on ? edge.depends_on_id : edge.issue_id,
      edge.type,
      edge.blocking ? (edge.satisfied ? 'satisfied' : 'blocks') : '',
      edge.status ?? 'missing',
      edge.title ?? '',
    ];
  });
  return table(['EDGE', 'ID', 'TYPE', 'BLOCKING', 'STATUS', 'TITLE'], rows, io);
}
