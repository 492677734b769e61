import { problem } from '../../../contract/problems.js';
import type { SessionCaller } from '../../../contract/principal.js';
import type { BeadRecord } from './bead-record.js';
import type { Work } from './work.js';

/**
 * A wait is a bead of type `gate` with the label `gc:wait`; its state and its registration are metadata. `pending` and
 * `ready` waits are open beads, all others are closed ones.
 */
export const WAIT_TYPE = 'gate';
export const WAIT_LABEL = 'gc:wait';

export type LiveWaitState = 'pending' | 'ready';
export type FinishedWaitState = 'closed' | 'failed' | 'expired' | 'canceled';

export function isWait({ issue_type, labels }: Pick<BeadRecord, 'issue_type' | 'labels'>): boolean {
  return issue_type === WAIT_TYPE && labels.includes(WAIT_LABEL);
}

export function isLive({ metadata }: Pick<BeadRecord, 'metadata'>): boolean {
  return metadata.state === 'pending' || metadata.state === 'ready';
}

/** Who is told that a wait is ready. */
const TOLD = ['session_id', 'registered_session'] as const;

/**
 * A session leaves the waits of others as they are, and makes none of a bead: what a wait says is told to whom its metadata name, in the name of the
 * service. @throws ProblemError forbidden for a change `before` and `after` which it is otherwise; nothing is before what is created.
 */
export function requireOwnWait(
  { names }: SessionCaller,
  before: BeadRecord | undefined,
  after: Pick<BeadRecord, 'issue_type' | 'labels' | 'metadata'>,
): void {
  const wasWait = before !== undefined && isWait(before);
  const waiter = wasWait ? before.metadata.session_id : undefined;
  if (waiter !== undefined && !names.includes(waiter)) throw problem('forbidden', `wait ${before!.id} belongs to ${waiter}`);
  if (!isWait(after) || (wasWait && TOLD.every((key) => before.metadata[key] === after.metadata[key]))) return;
  throw problem('forbidden', 'sessions may not make a bead a wait, or say whom it tells: they register waits');
}

/** The wait as it is once its time limit is minded: past `expires_at` it is expired, before anything else is decided about it. */
export async function expireWhenDue(work: Work, wait: BeadRecord): Promise<BeadRecord> {
  const { expires_at } = wait.metadata;
  if (!isLive(wait) || expires_at === undefined || expires_at > (await work.now()).toISOString()) return wait;
  return finishWait(work, wait, 'expired');
}

/**
 * The id of the nudge that tells the session of a ready wait: no other wait has it. Sessions may write metadata of beads, so what is
 * no number there counts as the first.
 */
export function nudgeOf({ id, metadata }: Pick<BeadRecord, 'id' | 'metadata'>): string {
  const [epoch, attempt] = [metadata.registered_epoch, metadata.delivery_attempt].map((n = '') => (/^\d{1,9}$/.test(n) ? n : '1'));
  return `wait-${id}-${epoch}-${attempt}`;
}

/** From pending to ready, with the id of the nudge that tells the session. */
export async function makeReady(work: Work, bead: BeadRecord): Promise<BeadRecord> {
  const ready_at = (await work.now()).toISOString();
  return work.update(bead.id, { metadata: { state: 'ready', ready_at, nudge_id: nudgeOf(bead) } });
}

/** Ends a wait: its bead closes. `more` goes into its metadata too. */
export async function finishWait(
  work: Work,
  { id }: BeadRecord,
  state: FinishedWaitState,
  more: Readonly<Record<string, string>> = {},
): Promise<BeadRecord> {
  const at = (await work.now()).toISOString();
  return work.update(id, { status: 'closed', metadata: { state, [`${state}_at`]: at, ...more } });
}
