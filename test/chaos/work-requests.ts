import type { Beliefs } from './work-beliefs.js';
import type { Change, ChangeKind, Claimant } from './history-work.js';
import type { Random } from './random.js';

/** What to ask of a city's work next: the request, and what the history notes about it. */
export interface Request {
  readonly method: 'POST' | 'PATCH' | 'DELETE';
  /** Under `/v0/city/{name}`. */
  readonly path: string;
  readonly body?: object;
  readonly key?: string;
  readonly change: Pick<
    Change,
    'kind' | 'subject' | 'others' | 'type' | 'assignee' | 'metadata' | 'claimant' | 'fence' | 'expected' | 'marker'
  >;
}

const ROUTE = 'mayor';
const CLAIMANTS: readonly Claimant[] = [
  { agent: 'mayor-1' },
  { agent: 'mayor-2' },
  { agent: 'mayor-3' },
  { agent: ROUTE, session: 's-1' },
  { agent: ROUTE, session: 's-2' },
  { agent: ROUTE, session: 's-3' },
];
const EDGE_TYPES = ['blocks', 'blocks', 'waits-for', 'conditional-blocks', 'parent-child', 'related'] as const;

/** Of every claim: a shorter one would end earlier than what was told before. */
const LEASE = '1.5s';

type Make = (random: Random, beliefs: Beliefs, marker: string) => Request | undefined;

/** By how often each is drawn. */
const MAKES: readonly [number, Make][] = [
  [10, createBead],
  [8, addEdge],
  [5, removeEdge],
  [12, claimNext],
  [8, claimOne],
  [7, heartbeat],
  [6, release],
  [12, update],
  [3, assign],
  [12, close],
  [6, reopen],
  [2, remove],
  [5, createConvoy],
  [4, changeConvoy],
  [2, closeConvoy],
  [6, launchRun],
  [1, cancelRun],
  [6, sendMail],
  [9, mark],
];
const SUM = MAKES.reduce((sum, [weight]) => sum + weight, 0);

export function draw(random: Random, beliefs: Beliefs, marker: string): Request {
  let at = random.next() * SUM;
  const make = MAKES.find(([weight]) => (at -= weight) < 0)?.[1] ?? createBead;
  return make(random, beliefs, marker) ?? createBead(random, beliefs, marker);
}

function keyOf(random: Random, marker: string): { key?: string } {
  return random.chance(0.6) ? { key: `k-${marker}` } : {};
}

function onBead(kind: ChangeKind, method: Request['method'], end: string, subject: string, marker: string, body?: object): Request {
  return { method, path: `/bead/${subject}${end}`, ...(body === undefined ? {} : { body }), change: { kind, subject, marker } };
}

function createBead(random: Random, beliefs: Beliefs, marker: string): Request {
  const parent = random.chance(0.15) ? beliefs.one([...beliefs.beads, ...beliefs.convoys], random) : undefined;
  const body = {
    title: marker,
    description: `é"\\ ${marker}`,
    ...(random.chance(0.7) ? { metadata: { 'gc.routed_to': ROUTE } } : {}),
    ...(random.chance(0.3) ? { labels: ['b', 'a', 'b'], priority: random.int(0, 4) } : {}),
    ...(random.chance(0.1) ? { assignee: 'mayor-1' } : {}),
    ...(parent === undefined ? {} : { parent }),
  };
  return { method: 'POST', path: '/beads', body, ...keyOf(random, marker), change: { kind: 'bead.create', marker } };
}

function addEdge(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const [subject, other] = [beliefs.bead(random), beliefs.bead(random)];
  if (subject === undefined || other === undefined || subject === other) return undefined;
  const type = random.pick(EDGE_TYPES);
  const request = onBead('edge.add', 'POST', '/dependencies', subject, marker, { depends_on_id: other, type });
  return { ...request, change: { ...request.change, others: [other], type } };
}

function removeEdge(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const edge = beliefs.one(beliefs.edges, random);
  if (edge === undefined) return undefined;
  const request = onBead('edge.remove', 'DELETE', `/dependencies/${edge[1]}`, edge[0], marker);
  return { ...request, change: { ...request.change, others: [edge[1]] } };
}

function claimNext(random: Random, _beliefs: Beliefs, marker: string): Request {
  const claimant = random.pick(CLAIMANTS);
  const body = { ...claimant, lease: LEASE };
  return { method: 'POST', path: '/hook/claim', body, change: { kind: 'hook.claim', claimant, marker } };
}

function claimOne(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const subject = beliefs.bead(random);
  if (subject === undefined) return undefined;
  const claimant = random.pick(CLAIMANTS);
  const { agent: assignee, session: session_id } = claimant;
  const body = {
    assignee,
    lease: LEASE,
    ...(session_id === undefined ? {} : { session_id }),
    ...(random.chance(0.2) ? { force: true } : {}),
  };
  const request = onBead('bead.claim', 'POST', '/claim', subject, marker, body);
  return { ...request, change: { ...request.change, claimant } };
}

function heartbeat(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  return ofClaim('bead.heartbeat', '/heartbeat', random, beliefs, marker);
}

function release(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  return ofClaim('bead.release', '/release', random, beliefs, marker);
}

function ofClaim(kind: ChangeKind, end: string, random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const held = beliefs.one(beliefs.held, random);
  if (held === undefined) return undefined;
  const { id, claimant, fence } = held;
  const request = onBead(kind, 'POST', end, id, marker, { assignee: claimant.agent, fence });
  return { ...request, change: { ...request.change, claimant, fence } };
}

/** One key of a few, so that many write to one bead and each keeps what the others have written. */
function update(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const subject = beliefs.bead(random);
  if (subject === undefined) return undefined;
  // Of a step it is how the run goes on; of anything else it says nothing.
  const outcome: Record<string, string> = random.chance(0.3) ? { 'gc.outcome': random.pick(['pass', 'pass', 'fail']) } : {};
  const metadata = { [`chaos.${random.int(1, 5)}`]: marker, ...outcome };
  const expected = random.chance(0.4) ? beliefs.revisions.get(subject) : undefined;
  const request = onBead('bead.update', 'PATCH', '', subject, marker, { metadata });
  return { ...request, change: { ...request.change, metadata, ...(expected === undefined ? {} : { expected }) } };
}

function assign(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const subject = beliefs.bead(random);
  if (subject === undefined) return undefined;
  const assignee = random.pick(['', 'mayor-2', 'somebody']);
  const request = onBead('bead.assign', 'POST', '/assign', subject, marker, { assignee });
  return { ...request, change: { ...request.change, assignee } };
}

function close(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const subject = random.chance(0.1) ? beliefs.one(beliefs.convoys, random) : beliefs.bead(random);
  if (subject === undefined) return undefined;
  if (random.chance(0.2)) return onBead('bead.close', 'DELETE', '', subject, marker);
  return onBead('bead.close', 'POST', '/close', subject, marker, random.chance(0.5) ? { reason: marker } : undefined);
}

function reopen(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const subject = beliefs.one(beliefs.closed, random);
  return subject === undefined ? undefined : onBead('bead.reopen', 'POST', '/reopen', subject, marker);
}

function remove(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const subject = beliefs.bead(random);
  return subject === undefined ? undefined : onBead('bead.remove', 'DELETE', '?hard=true&force=true', subject, marker);
}

function createConvoy(random: Random, beliefs: Beliefs, marker: string): Request {
  const items = random.chance(0.1) ? [] : beliefs.some(random, 4);
  const body = {
    title: marker,
    items,
    ...(random.chance(0.5) ? { notify: random.pick(['human', ROUTE]) } : {}),
    ...(random.chance(0.1) ? { owned: true } : {}),
  };
  const change = { kind: 'convoy.create', others: items, marker } as const;
  return { method: 'POST', path: '/convoys', body, ...keyOf(random, marker), change };
}

function changeConvoy(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const subject = beliefs.one(beliefs.convoys, random);
  const items = beliefs.some(random, 2);
  if (subject === undefined || items.length === 0) return undefined;
  const end = random.chance(0.6) ? 'add' : 'remove';
  const change = { kind: `convoy.${end}`, subject, others: items, marker } as const;
  return { method: 'POST', path: `/convoy/${subject}/${end}`, body: { items }, change };
}

function closeConvoy(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const subject = beliefs.one(beliefs.convoys, random);
  if (subject === undefined) return undefined;
  return { method: 'POST', path: `/convoy/${subject}/close`, change: { kind: 'convoy.close', subject, marker } };
}

/** The formula that runs are launched of, as it is saved in every city that is worked on. */
export const FORMULA = 'chaos-run';

function launchRun(random: Random, _beliefs: Beliefs, marker: string): Request {
  const body = { formula: FORMULA, target: ROUTE, title: marker };
  return { method: 'POST', path: '/molecules', body, ...keyOf(random, marker), change: { kind: 'run.launch', marker } };
}

function cancelRun(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const subject = beliefs.one(beliefs.runs, random);
  return subject === undefined
    ? undefined
    : { method: 'POST', path: `/runs/${subject}/cancel`, change: { kind: 'run.cancel', subject, marker } };
}

function sendMail(random: Random, beliefs: Beliefs, marker: string): Request {
  const subject = random.chance(0.3) ? beliefs.one(beliefs.messages, random) : undefined;
  const key = keyOf(random, marker);
  const letter = { subject: marker, body: 'é', from: random.pick(['human', ROUTE]) };
  if (subject !== undefined)
    return { method: 'POST', path: `/mail/${subject}/reply`, body: letter, ...key, change: { kind: 'mail.reply', subject, marker } };
  const to = random.pick(['human', ROUTE]);
  const cc = random.chance(0.2) ? { cc: ['human', ROUTE] } : {};
  return { method: 'POST', path: '/mail', body: { to, ...cc, ...letter }, ...key, change: { kind: 'mail.send', marker } };
}

function mark(random: Random, beliefs: Beliefs, marker: string): Request | undefined {
  const subject = beliefs.one(beliefs.messages, random);
  if (subject === undefined) return undefined;
  const at = random.next();
  if (at < 0.12) return { method: 'DELETE', path: `/mail/${subject}`, change: { kind: 'mail.delete', subject, marker } };
  const [end, kind] =
    at < 0.5
      ? (['read', 'mail.read'] as const)
      : at < 0.75
        ? (['mark-unread', 'mail.unread'] as const)
        : (['archive', 'mail.archive'] as const);
  return { method: 'POST', path: `/mail/${subject}/${end}`, change: { kind, subject, marker } };
}
