import { heldFrom, type Principal, type SessionCaller } from '../../../contract/principal.js';
import { problem, type ProblemError } from '../../../contract/problems.js';
import { BLOCKING, type BeadChange, type BeadRecord } from './bead-record.js';
import { isSaid, labelsAfter, UNSTAMPED } from './diff.js';
import { WAIT_TYPE } from './wait-states.js';
import type { Work } from './work.js';

/** Beads with one of these labels are not work (`beads.workable`). */
export const NO_WORK: readonly string[] = ['gc:session', 'gc:order-tracking', 'order-tracking'];

/** A hold: a bead with such a label is offered on no hook, not even to the session that works on it (`is_held`, `workable`). */
export const isHold = (label: string): boolean => label.startsWith('hold:') || NO_WORK.includes(label);

/** Prefix of holds that drains set. They are removed when their unit of the drain ends. */
export const DRAIN_HOLD = 'hold:drain:';

/** Keeps sessions from removing a drain's hold, or setting one. @throws ProblemError forbidden */
export function requireHoldsKept(
  { session }: Pick<Principal, 'session'>,
  { id, labels }: Pick<BeadRecord, 'id' | 'labels'>,
  change: Pick<BeadChange, 'labels' | 'addLabels' | 'removeLabels'>,
): void {
  if (session === undefined) return;
  const after = labelsAfter(labels, change);
  const gone = labels.find((label) => label.startsWith(DRAIN_HOLD) && !after.has(label));
  if (gone !== undefined) throw problem('forbidden', `bead ${id} is held by a drain, which sessions leave to let it go (${gone})`);
  requireNoDrainHold(
    { session },
    [...after].filter((label) => !labels.includes(label)),
  );
}

/** Keeps sessions from setting a drain's hold, which no session could remove again. @throws ProblemError forbidden */
export function requireNoDrainHold({ session }: Pick<Principal, 'session'>, added: readonly string[]): void {
  const hold = added.find((label) => label.startsWith(DRAIN_HOLD));
  if (session !== undefined && hold !== undefined)
    throw problem('forbidden', `only a drain holds beads for itself: sessions set no ${hold}`);
}

/**
 * Keeps a session from stamping a bead with another session's name: the stamp says who works on it, and keeps the pool from ending that session.
 *
 * @throws ProblemError forbidden
 */
export function requireOwnStamps(
  { session }: Pick<Principal, 'session'>,
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): void {
  if (session === undefined) return;
  for (const key of Object.keys(UNSTAMPED)) {
    const { [key]: name = '' } = after;
    if (name !== '' && name !== before[key] && !session.names.includes(name))
      throw problem('forbidden', `metadata ${key} has to name ${session.id}: sessions say of no other that it is at work`);
  }
}

/** Why a session may not change a bead: another one works on it. */
const whyHeld = (session: SessionCaller, { id, status, assignee }: BeadRecord): string | undefined =>
  status === 'in_progress' ? heldFrom(session, id, assignee) : undefined;

/** The same for any caller; only sessions are refused. */
export function heldByOther({ session }: Pick<Principal, 'session'>, bead: BeadRecord): ProblemError | undefined {
  const why = session && whyHeld(session, bead);
  return why === undefined ? undefined : problem('forbidden', why);
}

/** Keeps a session from changing a bead that another one works on. Called under the city's work lock. @throws ProblemError forbidden */
export function requireNotHeld(caller: Pick<Principal, 'session'>, bead: BeadRecord): void {
  const held = heldByOther(caller, bead);
  if (held !== undefined) throw held;
}

/** The same, also for a bead that is assigned to another one who has not begun it. @throws ProblemError forbidden */
export function requireNotOthers(caller: Pick<Principal, 'session'>, bead: BeadRecord): void {
  requireNotHeld(caller, bead);
  const { session } = caller;
  if (session && bead.status !== 'closed' && heldFrom(session, bead.id, bead.assignee) !== undefined)
    throw problem('forbidden', `bead ${bead.id} is assigned to ${bead.assignee}`);
}

/**
 * Keeps a session from giving a bead a status that it may not. Called before the change, since what follows from it belongs to the same change. A session may not:
 *
 * - change the status of a bead that others work on, of a gate of a run, or of a step that its run decides;
 * - begin or close a step that still waits for others, or end it as skipped or canceled;
 * - begin a bead that a drain holds;
 * - open a step again that others have closed with an outcome;
 * - end a run at a gate, or while others work on a part of it; or end it as passed before a gate or a step that the run decides;
 * - open a bead again when others work on a bead that waits for it, or a run waits at a gate behind it.
 *
 * @param outcome the outcome that the bead will have
 * @throws ProblemError forbidden
 */
export async function requireMayBecome(
  { session }: Pick<Principal, 'session'>,
  work: Work,
  bead: BeadRecord,
  status: string | undefined,
  outcome?: string,
): Promise<void> {
  const why = session && status && (await whyNotBecome(session, work, bead, status, outcome));
  if (why) throw problem('forbidden', why);
}

/** Why a session may not give a bead a status; undefined where it may. */
export async function whyNotBecome(
  session: SessionCaller,
  work: Work,
  bead: BeadRecord,
  status: string,
  outcome = bead.metadata[OUTCOME],
): Promise<string | undefined> {
  if (status === bead.status) return undefined;
  const { id, run_id: run } = bead;
  const kept = whyHeld(session, bead) ?? (isGate(bead) ? leftToOthers(bead) : undefined);
  if (kept !== undefined) return kept;
  const decided = await whyDecided(work, [bead]);
  if (decided !== undefined) return decided;
  const drained = status === 'in_progress' ? whyDrained(bead) : undefined;
  if (drained !== undefined) return drained;
  if (bead.status === 'closed') {
    if (await isSaidByOther(session, work, bead))
      return `bead ${id} is a closed step of run ${run} that is not yours: sessions leave it with its outcome (${bead.metadata[OUTCOME]})`;
    return whyHeldBehind(session, work, [id]);
  }
  const waits = status === 'open' ? undefined : notOnTurn(bead);
  if (waits !== undefined || status !== 'closed') return waits;
  // All steps after it would be skipped as well, with their gates and checks, and the run completed or canceled for all who work in it.
  if (run !== null && run !== id && isLeftOut(outcome))
    return `bead ${id} is a step of run ${run}, which decides itself what is skipped or canceled: sessions end it as passed or failed`;
  // The assignee of a bead may end it, also when another session has begun and left a step of a run that was launched for it. A gate there goes on waiting.
  if (run !== id && bead.status === 'in_progress' && bead.assignee !== null) return undefined;
  const held = await work.heldWithin(id, session.names, endsAs(outcome) === 'pass');
  if (held === undefined) return undefined;
  return held.gate
    ? `run ${id} has yet to pass ${held.id}, which sessions neither open nor decide`
    : `bead ${held.id} is being worked on by ${held.assignee}`;
}

/** Why no session may begin an open bead: a drain holds it. */
export function whyDrained({ id, labels }: Pick<BeadRecord, 'id' | 'labels'>): string | undefined {
  const hold = labels.find((label) => label.startsWith(DRAIN_HOLD));
  return hold === undefined ? undefined : `bead ${id} is held by a drain, which has it for itself (${hold})`;
}

/** Why a session may not open these beads again: others work on a bead that waits for one of them, or a run waits at a gate behind one. */
export async function whyHeldBehind(session: SessionCaller, work: Work, ids: readonly string[]): Promise<string | undefined> {
  const held = await work.heldBehind(ids, session.names);
  if (held === undefined) return undefined;
  const is = held.gate ? 'a gate that its run waits at' : `being worked on by ${held.assignee}`;
  return `bead ${held.id}, which waits for ${held.behind}, is ${is}`;
}

/** A gate of a run. A wait has the same type, but no run. */
const isGate = ({ issue_type: type, run_id: run }: Pick<BeadRecord, 'issue_type' | 'run_id'>): boolean =>
  type === WAIT_TYPE && run !== null;

const leftToOthers = ({ id, run_id: run }: Pick<BeadRecord, 'id' | 'run_id'>): string =>
  `bead ${id} is a gate of run ${run}, which sessions leave to whoever opens it`;

/** Keeps sessions from changing a gate of a run: its formula says what opens it, and a person opens a human gate. @throws ProblemError forbidden */
export function requireNoGate({ session }: Pick<Principal, 'session'>, bead: BeadRecord): void {
  if (session === undefined || !isGate(bead)) return;
  throw problem('forbidden', leftToOthers(bead));
}

/** Why no session may begin or close a bead, itself or by a run that it launches: it is a gate of a run, or a step that waits for others. */
function notOnTurn(bead: Pick<BeadRecord, 'id' | 'issue_type' | 'run_id' | 'open_blockers'>): string | undefined {
  const { id, run_id: run, open_blockers: blockers } = bead;
  if (isGate(bead)) return leftToOthers(bead);
  if (run === null || run === id || blockers === 0) return undefined;
  return `bead ${id} is a step of run ${run} that waits for others: sessions neither begin nor close it`;
}

type Part = Pick<BeadRecord, 'id' | 'run_id'>;

/** Why no session may change one of these beads: its run decides it (a check, a retry, a loop, a drain, a scope), whatever its metadata say by now. */
async function whyDecided(work: Work, beads: readonly Part[]): Promise<string | undefined> {
  const steps = beads.filter(({ id, run_id: run }) => run !== null && run !== id).map(({ id }) => id);
  const [id] = steps.length === 0 ? [] : await work.decidedAmong(steps);
  if (id === undefined) return undefined;
  const { run_id: run } = beads.find((bead) => bead.id === id)!;
  return `bead ${id} is a step of run ${run} that the run decides itself: sessions leave it as it is`;
}

/** @throws ProblemError forbidden when a session would change a step that its run decides */
export async function requireUndecided({ session }: Pick<Principal, 'session'>, work: Work, bead: BeadRecord): Promise<void> {
  const why = session && (await whyDecided(work, [bead]));
  if (why) throw problem('forbidden', why);
}

/** Why no session may end one of these beads, itself or by a run that it launches: it still waits for others, its run decides it, or it is a gate of a run. */
export async function whyNotEnded(work: Work, beads: readonly Parameters<typeof notOnTurn>[0][]): Promise<string | undefined> {
  return beads.map((bead) => notOnTurn(bead)).find((why) => why !== undefined) ?? whyDecided(work, beads);
}

/** @throws ProblemError forbidden when a session would end a bead that still waits for others, that its run decides, or that is a gate of a run */
export async function requireOnTurn({ session }: Pick<Principal, 'session'>, work: Work, bead: BeadRecord): Promise<void> {
  const why = session && (await whyNotEnded(work, [bead]));
  if (why) throw problem('forbidden', why);
}

const OUTCOME = 'gc.outcome';

/** How a run ends when its root is closed, by the outcome in the root's metadata. */
export const endsAs = (said: string | undefined): 'pass' | 'fail' | 'skipped' | 'canceled' =>
  said === 'fail' || said === 'skipped' || said === 'canceled' ? said : 'pass';

/** Outcomes that no session may give a step: skipped and canceled. */
const isLeftOut = (said: string | undefined): boolean => !['pass', 'fail'].includes(endsAs(said));

/** Whether a bead is a step of an active run that was closed with an outcome, and is not assigned to the session. */
async function isSaidByOther({ names }: SessionCaller, work: Work, { id, run_id: run, assignee, metadata }: BeadRecord): Promise<boolean> {
  if (run === null || run === id || metadata[OUTCOME] === undefined || (assignee !== null && names.includes(assignee))) return false;
  return work.goesOn(run);
}

/**
 * Keeps a session from changing the outcome of a step, which decides how its run goes on. It may give the outcome as it closes the step, or while it works on it. It may
 * not change it later, nor give it in advance where others close the step, or the service does (a complete convoy, a run for it, a drain). And it may not take over
 * a closed step of another one, which it could then open again.
 *
 * @throws ProblemError forbidden
 */
export async function requireSaidKept(
  { session }: Pick<Principal, 'session'>,
  work: Work,
  before: BeadRecord,
  after: BeadRecord,
): Promise<void> {
  const { id, run_id: run } = before;
  if (session === undefined || run === null || run === id) return;
  const isClosed = before.status === 'closed' && after.status === 'closed';
  const changed = Object.keys({ ...before.metadata, ...after.metadata }).find(
    (key) => isSaid(key) && before.metadata[key] !== after.metadata[key] && (isClosed || !maySayAhead(session, key, before, after)),
  );
  const reason = before.metadata.close_reason;
  const step = `bead ${id} is ${isClosed ? 'a closed' : 'an open'} step of run ${run}${isClosed && reason !== undefined ? ` (${reason})` : ''}`;
  if (changed !== undefined && (await work.goesOn(run)))
    throw problem(
      'forbidden',
      isClosed
        ? `${step}, of which sessions change no outcome (${changed})`
        : `${step}: sessions say that it has passed or failed as they close it, or of what they have under way (${changed})`,
    );
  if (before.assignee !== after.assignee && isClosed && (await isSaidByOther(session, work, before)))
    throw problem('forbidden', `${step} that is not yours: sessions leave it with its outcome (${before.metadata[OUTCOME]})`);
}

/**
 * Whether a session may change `key` of a step that does not stay closed: as it closes the step (closing has its own checks), while it works on
 * it, or to remove the value as it opens the step again or gives it back.
 */
function maySayAhead({ names }: SessionCaller, key: string, before: BeadRecord, after: BeadRecord): boolean {
  if (after.status === 'closed') return true;
  if ((before.status === 'closed' || after.status === 'open') && before.status !== after.status && after.metadata[key] === undefined)
    return true;
  if (after.status !== 'in_progress' || after.assignee === null || !names.includes(after.assignee)) return false;
  return key !== OUTCOME || !isLeftOut(after.metadata[key]);
}

/**
 * Keeps sessions from changing type or parent of a part of a run: a convoy closes with its members and a parent with its parts, and no session opens a gate. Nor may they
 * make a convoy of a bead that has an active run.
 *
 * @throws ProblemError forbidden for a change of `before` to `after`
 */
export async function requireKindKept(
  { session }: Pick<Principal, 'session'>,
  work: Work,
  before: BeadRecord,
  after: Pick<BeadRecord, 'issue_type' | 'parent'>,
): Promise<void> {
  const { id, run_id: run, issue_type: was } = before;
  const becomes = after.issue_type === was ? undefined : after.issue_type;
  if (session === undefined || (becomes === undefined && after.parent === before.parent)) return;
  if (run !== null) throw problem('forbidden', `bead ${id} is part of run ${run}, of which sessions change neither type nor parent`);
  if (becomes === 'convoy' && (await work.hasLiveRun(id)))
    throw problem('forbidden', `bead ${id} has a run that goes on: sessions make no convoy of it, which would close by itself`);
}

/** Whether an edge from `issue` to `target` is part of a run's order, or waits for a gate of a run. */
const isOrder = (issue: BeadRecord, target: BeadRecord): boolean =>
  isGate(target) || (target.run_id !== null && target.run_id === issue.run_id);

/** Keeps sessions from adding a blocking edge to the order of a run, which they could not remove again. @throws ProblemError forbidden */
export function requireNoOrder({ session }: Pick<Principal, 'session'>, issue: BeadRecord, target: BeadRecord): void {
  if (session === undefined || !isOrder(issue, target)) return;
  throw problem(
    'forbidden',
    `bead ${issue.id} does not wait for ${target.id} of run ${target.run_id}, whose order sessions leave as it is`,
  );
}

/**
 * Keeps sessions from removing a blocking edge from the order of a run, or one that leads to a gate. `targets` are the targets of edges of `issue` that are removed, or that would
 * not block any more.
 *
 * @throws ProblemError forbidden
 */
export async function requireOrderKept(
  { session }: Pick<Principal, 'session'>,
  work: Work,
  issue: BeadRecord,
  targets: readonly BeadRecord[],
): Promise<void> {
  const ofRuns = targets.filter((target) => isOrder(issue, target));
  if (session === undefined || ofRuns.length === 0) return;
  const blocking = new Set(
    (await work.edges(issue.id, 'down')).filter(({ type }) => BLOCKING.includes(type)).map((edge) => edge.depends_on_id),
  );
  const target = ofRuns.find(({ id }) => blocking.has(id));
  if (target === undefined) return;
  throw problem('forbidden', `bead ${issue.id} waits for ${target.id} of run ${target.run_id}, whose order sessions leave as it is`);
}
