import { problem, type ProblemError, type ProblemField } from '../../../contract/problems.js';
import type { BeadRecord } from '../../work/work/bead-record.js';
import type { SlingOrder } from './sling-order.js';

/** What keeps a bead from being worked on. */
export interface Obstacles {
  /** Ids of what it waits for. */
  readonly blockers: readonly string[];
  readonly deferred: boolean;
}

type Lift = 'force' | 'reassign';

export interface Objection {
  readonly about: 'status' | 'owner' | 'route';
  readonly field: ProblemField;
  /** The options of which one is enough to lift it; without any it stands. */
  readonly lifts: readonly Lift[];
}

/** The queue that a bead waits in. */
export const ROUTE = 'gc.routed_to';

/**
 * Everything that speaks against slinging `bead`, whatever the options. What is blocked or deferred may be slung: it waits on
 * its route until it is ready.
 */
export function objectionsTo(bead: BeadRecord, { target }: SlingOrder): Objection[] {
  const found: Objection[] = [];
  const object = (about: Objection['about'], lifts: readonly Lift[], location: string, message: string, value: unknown): void => {
    found.push({ about, lifts, field: { location, message, value } });
  };
  const { status, assignee: owner } = bead;
  const route = bead.metadata[ROUTE];
  if (status === 'closed') object('status', [], 'bead.status', 'is closed', status);
  if (owner !== null && !target.answersTo(owner)) object('owner', ['reassign', 'force'], 'bead.assignee', `is owned by ${owner}`, owner);
  if (route !== undefined && !target.answersTo(route)) object('route', ['force'], `bead.metadata.${ROUTE}`, `is routed to ${route}`, route);
  return found;
}

/** What the options of `order` do not lift. */
export function standing(objections: readonly Objection[], order: SlingOrder): Objection[] {
  return objections.filter(({ lifts }) => !lifts.some((option) => order[option]));
}

/** The refusal: every objection that stands, then where the bead is now, so that the caller can decide. */
export function refusal(bead: BeadRecord, stands: readonly Objection[], obstacles: Obstacles): ProblemError {
  const fields = stands.map(({ field }) => field);
  const facts = factsOf(bead, obstacles).filter((fact) => !fields.some((field) => field.location === fact.location));
  const why = fields.map((field) => field.message).join(' and ');
  return problem('sling_refused', `bead ${bead.id} ${why}; ${wayOut(stands)}`, { errors: [...fields, ...facts] });
}

function wayOut(stands: readonly Objection[]): string {
  if (stands.some(({ lifts }) => lifts.length === 0)) return 'reopen it first';
  return stands.every(({ lifts }) => lifts.includes('reassign')) ? 'pass reassign to take it away, or force' : 'pass force to override';
}

function factsOf(bead: BeadRecord, obstacles: Obstacles): ProblemField[] {
  const route = bead.metadata[ROUTE];
  return [
    { location: 'bead.state', message: 'current state', value: stateOf(bead, obstacles) },
    ...(bead.assignee === null ? [] : [{ location: 'bead.assignee', message: 'current owner', value: bead.assignee }]),
    ...(route === undefined ? [] : [{ location: `bead.metadata.${ROUTE}`, message: 'current route', value: route }]),
  ];
}

/** Finer than the status: what is open is blocked, deferred, ready, or of a kind that is never work. */
function stateOf(bead: BeadRecord, { blockers, deferred }: Obstacles): string {
  if (bead.status !== 'open') return bead.status;
  if (blockers.length > 0) return 'blocked';
  return deferred ? 'deferred' : bead.ready ? 'ready' : 'open';
}
