import { heldFrom, type Principal, type SessionCaller } from '../../../contract/principal.js';
import { problem, type ProblemError } from '../../../contract/problems.js';
import { BLOCKING, type BeadChange, type BeadRecord } from './bead-record.js';
import { isSaid, labelsAfter, UNSTAMPED } from './diff.js';
import { WAIT_TYPE } from './wait-states.js';
import type { Work } from './work.js';

/** What has one of these labels is no work (`beads.workable`). */
export const NO_WORK: readonly string[] = ['gc:session', 'gc:order-tracking', 'order-tracking'];

/** Takes a bead off all hooks: nobody is offered it, not even whoever has it under way (`is_held`, `workable`). */
export const isHold = (label: string): boolean => label.startsWith('hold:') || NO_WORK.includes(label);

/** The holds that drains set: they go with their unit. */
export const DRAIN_HOLD = 'hold:drain:';

/** A session lets nothing go that a drain has for itself, nor holds as drains do. @throws ProblemError forbidden for a change of labels that takes such a hold away, or sets one */
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

/** No session could take it away again. @throws ProblemError forbidden for a session that would set a hold as drains do */
export function requireNoDrainHold({ session }: Pick<Principal, 'session'>, added: readonly string[]): void {
  const hold = added.find((label) => label.startsWith(DRAIN_HOLD));
  if (session !== undefined && hold !== undefined)
    throw problem('forbidden', `only a drain holds beads for itself: sessions set no ${hold}`);
}

/** A session says of itself alone that it is at work: what has another's stamp is held by that one, and keeps its pool from ending it. @throws ProblemError forbidden */
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

/** Why a session may not change a bead: somebody else has it under way. */
const whyHeld = (session: SessionCaller, { id, status, assignee }: BeadRecord): string | undefined =>
  status === 'in_progress' ? heldFrom(session, id, assignee) : undefined;

/** The same, for whoever calls. */
export function heldByOther({ session }: Pick<Principal, 'session'>, bead: BeadRecord): ProblemError | undefined {
  const why = session && whyHeld(session, bead);
  return why === undefined ? undefined : problem('forbidden', why);
}

/** What a session may not do to work that somebody else has under way, as it is once nobody else writes. @throws ProblemError forbidden */
export function requireNotHeld(caller: Pick<Principal, 'session'>, bead: BeadRecord): void {
  const held = heldByOther(caller, bead);
  if (held !== undefined) throw held;
}

/** The same, and also to what is assigned to somebody else who has yet to begin it. @throws ProblemError forbidden */
export function requireNotOthers(caller: Pick<Principal, 'session'>, bead: BeadRecord): void {
  requireNotHeld(caller, bead);
  const { session } = caller;
  if (session && bead.status !== 'closed' && heldFrom(session, bead.id, bead.assignee) !== undefined)
    throw problem('forbidden', `bead ${bead.id} is assigned to ${bead.assignee}`);
}

/**
 * What a session may not do to the status of a bead: change that of what others have under way, open a gate of a run, begin or close a step that still waits or that
 * its run decides, begin what a drain holds, open a step again that others have closed with its outcome, end a run at a gate, as completed with such a step or a
 * gate before it, or with what others have under way in it, or block that by opening a bead again. Asked before the change, as what follows from it is part of it.
 *
 * @param outcome what the bead says by then of what has come of it
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
  // What comes after it would be skipped as well, its gates and checks too, and the run completed, or called off for all who work in it.
  if (run !== null && run !== id && isLeftOut(outcome))
    return `bead ${id} is a step of run ${run}, which decides itself what is skipped or canceled: sessions end it as passed or failed`;
  // Who has a bead may end it, whoever has begun and left a step of what was launched for it. A gate there goes on waiting.
  if (run !== id && bead.status === 'in_progress' && bead.assignee !== null) return undefined;
  const held = await work.heldWithin(id, session.names, endsAs(outcome) === 'pass');
  if (held === undefined) return undefined;
  return held.gate
    ? `run ${id} has yet to pass ${held.id}, which sessions neither open nor decide`
    : `bead ${held.id} is being worked on by ${held.assignee}`;
}

/** Why no session begins a bead that is open. */
export function whyDrained({ id, labels }: Pick<BeadRecord, 'id' | 'labels'>): string | undefined {
  const hold = labels.find((label) => label.startsWith(DRAIN_HOLD));
  return hold === undefined ? undefined : `bead ${id} is held by a drain, which has it for itself (${hold})`;
}

/** Why a session may not open these beads again: others go on with what waits for one of them. */
export async function whyHeldBehind(session: SessionCaller, work: Work, ids: readonly string[]): Promise<string | undefined> {
  const held = await work.heldBehind(ids, session.names);
  if (held === undefined) return undefined;
  const is = held.gate ? 'a gate that its run waits at' : `being worked on by ${held.assignee}`;
  return `bead ${held.id}, which waits for ${held.behind}, is ${is}`;
}

/** Of a run: a wait is a gate of none. */
const isGate = ({ issue_type: type, run_id: run }: Pick<BeadRecord, 'issue_type' | 'run_id'>): boolean =>
  type === WAIT_TYPE && run !== null;

const leftToOthers = ({ id, run_id: run }: Pick<BeadRecord, 'id' | 'run_id'>): string =>
  `bead ${id} is a gate of run ${run}, which sessions leave to whoever opens it`;

/** A gate of a run is opened by what its formula says, a human one by a person: sessions leave it as it is. @throws ProblemError forbidden */
export function requireNoGate({ session }: Pick<Principal, 'session'>, bead: BeadRecord): void {
  if (session === undefined || !isGate(bead)) return;
  throw problem('forbidden', leftToOthers(bead));
}

/** Why no session begins or closes a bead, or has it closed by what it launches: it is a gate of a run, or a step of one that waits for others. */
function notOnTurn(bead: Pick<BeadRecord, 'id' | 'issue_type' | 'run_id' | 'open_blockers'>): string | undefined {
  const { id, run_id: run, open_blockers: blockers } = bead;
  if (isGate(bead)) return leftToOthers(bead);
  if (run === null || run === id || blockers === 0) return undefined;
  return `bead ${id} is a step of run ${run} that waits for others: sessions neither begin nor close it`;
}

type Part = Pick<BeadRecord, 'id' | 'run_id'>;

/** Why no session changes one of these: it is a step that its run decides (a check, a retry, a loop, a drain, a scope), whatever its metadata say by now. */
async function whyDecided(work: Work, beads: readonly Part[]): Promise<string | undefined> {
  const steps = beads.filter(({ id, run_id: run }) => run !== null && run !== id).map(({ id }) => id);
  const id = steps.length === 0 ? undefined : await work.decidedAmong(steps);
  if (id === undefined) return undefined;
  const { run_id: run } = beads.find((bead) => bead.id === id)!;
  return `bead ${id} is a step of run ${run} that the run decides itself: sessions leave it as it is`;
}

/** @throws ProblemError forbidden for a session that would change what a run decides itself */
export async function requireUndecided({ session }: Pick<Principal, 'session'>, work: Work, bead: BeadRecord): Promise<void> {
  const why = session && (await whyDecided(work, [bead]));
  if (why) throw problem('forbidden', why);
}

/** Why no session ends one of these, itself or by what it launches: it is not on its turn, or a step that its run decides. */
export async function whyNotEnded(work: Work, beads: readonly Parameters<typeof notOnTurn>[0][]): Promise<string | undefined> {
  return beads.map((bead) => notOnTurn(bead)).find((why) => why !== undefined) ?? whyDecided(work, beads);
}

/** @throws ProblemError forbidden for a session that would end what is not on its turn, or what a run decides */
export async function requireOnTurn({ session }: Pick<Principal, 'session'>, work: Work, bead: BeadRecord): Promise<void> {
  const why = session && (await whyNotEnded(work, [bead]));
  if (why) throw problem('forbidden', why);
}

const OUTCOME = 'gc.outcome';

/** How a run ends whose root somebody closes, by what the root says then. */
export const endsAs = (said: string | undefined): 'pass' | 'fail' | 'skipped' | 'canceled' =>
  said === 'fail' || said === 'skipped' || said === 'canceled' ? said : 'pass';

/** What no session says of a step: that it is skipped, or canceled. */
const isLeftOut = (said: string | undefined): boolean => !['pass', 'fail'].includes(endsAs(said));

/** Of a run that goes on, a step that was closed with its outcome, and is not the session's. */
async function isSaidByOther({ names }: SessionCaller, work: Work, { id, run_id: run, assignee, metadata }: BeadRecord): Promise<boolean> {
  if (run === null || run === id || metadata[OUTCOME] === undefined || (assignee !== null && names.includes(assignee))) return false;
  return work.goesOn(run);
}

/**
 * What a step is closed with decides how its run goes on: a session says it as it closes the step, or of what it has under way itself. It changes it neither later, nor
 * ahead where somebody else closes the step, or the service does (a convoy that is complete, a run that is for it, a drain). Nor does it take over a closed one that is
 * not its own, which it could open again then. @throws ProblemError forbidden
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

/** As the step is closed, which asks by itself for what it ends as; of what the session has under way; or to say nothing any more of what it opens again or gives back. */
function maySayAhead({ names }: SessionCaller, key: string, before: BeadRecord, after: BeadRecord): boolean {
  if (after.status === 'closed') return true;
  if ((before.status === 'closed' || after.status === 'open') && before.status !== after.status && after.metadata[key] === undefined)
    return true;
  if (after.status !== 'in_progress' || after.assignee === null || !names.includes(after.assignee)) return false;
  return key !== OUTCOME || !isLeftOut(after.metadata[key]);
}

/**
 * Sessions leave what is part of a run what it is and where it is: a convoy ends with its members, a whole with its parts, and a gate is no session's to open.
 * Nor do they make a convoy of what a run ends with. @throws ProblemError forbidden for a change of `before` to `after`
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

/** An edge from `issue` to `target` is the order of a run, or waits for its gate. */
const isOrder = (issue: BeadRecord, target: BeadRecord): boolean =>
  isGate(target) || (target.run_id !== null && target.run_id === issue.run_id);

/** A session adds nothing to the order of a run, which it could not take away again. @throws ProblemError forbidden for a new edge that blocks */
export function requireNoOrder({ session }: Pick<Principal, 'session'>, issue: BeadRecord, target: BeadRecord): void {
  if (session === undefined || !isOrder(issue, target)) return;
  throw problem(
    'forbidden',
    `bead ${issue.id} does not wait for ${target.id} of run ${target.run_id}, whose order sessions leave as it is`,
  );
}

/**
 * Sessions leave the order of a run as its formula says it: what a step waits for in the run, and what waits for a gate, goes on waiting. `targets` are what
 * edges of `issue` lead to that go, or that block no more. @throws ProblemError forbidden
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
