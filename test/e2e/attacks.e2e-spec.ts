import { appendFile, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { placesOf, withMember, type Kind, type Place } from '../support/attack-places.js';
import { putKey } from '../support/callers.js';
import { makeAgents } from '../support/config-examples-agents.js';
import { FORMULA } from '../support/config-examples-formulas.js';
import { ORDER } from '../support/config-examples-orders.js';
import { contract, type DocumentedOperation } from '../support/contract.js';
import { DEEP } from '../support/depth.js';
import { api, type Api, type RequestHeaders } from '../support/http.js';
import { putSession } from '../support/session-examples.js';
import { shown, type Shown } from '../support/shown.js';
import { eventually } from '../support/sse.js';
import { watchState, type Witness } from '../support/unchanged.js';
import { fittingBody } from '../support/fitting-body.js';
import { makeWork, workPath, type WorkExamples } from '../support/work-examples.js';

/**
 * Every operation of the document, with every kind of key, and in every place for an id one of another city: the answer is that to
 * an id of nothing. A new operation is attacked as soon as it is documented.
 */
const { document, operations } = contract();
const isRead = (o: DocumentedOperation): boolean => o.method === 'GET';
const GUARDED = operations.filter((o) => o.definition.security?.length !== 0);
const PLACES = new Map(GUARDED.map((o) => [o.id, placesOf(o, document)]));
const isStream = (o: DocumentedOperation): boolean => o.definition.responses[200]?.content?.['text/event-stream'] !== undefined;
/** What the document says that a key needs. */
const needOf = ({ definition }: DocumentedOperation): string =>
  (definition.security as readonly { apiKey?: readonly string[] }[])[0]!.apiKey![0]!;

const MINE = 'mine';
/** The name of the other city and of one of everything that has a name in it. Nothing has the second one. */
const [FOREIGN, NOTHING] = ['covert', 'absent'];
const SECRET = 'classified';
const PROMPT = 'agents/mayor/prompt.template.md';
const own = { cities: [MINE] };
const KEYS = {
  expired: { scope: 'write', expired: true },
  revoked: { scope: 'write', revoked: true },
  read: { scope: 'read', ...own },
  operate: { scope: 'read', rights: ['operate'], ...own },
  configure: { scope: 'read', rights: ['configure'], ...own },
  commands: { scope: 'read', rights: ['commands'], ...own },
  elsewhere: { scope: 'write', cities: ['nowhere'] },
  limited: { scope: 'write', ...own },
  unlimited: { scope: 'write' },
} as const;
const DEAD = ['none', 'wrong', 'expired', 'revoked'] as const;
const LIVE = ['read', 'operate', 'configure', 'commands', 'elsewhere', 'session', 'unlimited'] as const;
type Caller = (typeof DEAD)[number] | (typeof LIVE)[number] | 'limited';
/** Undefined where what a caller may do is not said by rights. */
const RIGHTS_OF: Readonly<Partial<Record<Caller, readonly string[]>>> = {
  read: [],
  operate: ['operate'],
  configure: ['configure'],
  commands: ['commands'],
};

let stack: Stack;
let witness: Witness;
let root: Api;
/** Of the own city, for the two requests that are compared: what the first one changes, the second one does not see. */
let mine: readonly [WorkExamples, WorkExamples];
let theirs: WorkExamples;
/** Of nothing, and otherwise like those of the other city. */
let nobodys: WorkExamples;
let head: number;
let revision: number;
let etag: string;
let key: string;
const authorization = new Map<Caller, string | undefined>([['none', undefined]]);
const connections = new Agent({ keepAlive: true, maxSockets: 8 });

beforeAll(async () => {
  stack = await startStack({ apis: 1, config: { auth: 'keys' } });
  for (const [name, options] of Object.entries(KEYS))
    authorization.set(name as Caller, `Bearer ${await putKey(stack.databaseUrl, name, options)}`);
  authorization.set(
    'wrong',
    authorization.get('unlimited')!.replace(/.{3}$/, (end) => (end === '000' ? '111' : '000')),
  );
  root = api(stack.urls[0]!, { Authorization: authorization.get('unlimited') }, connections);
  for (const dir of [MINE, FOREIGN]) expect((await root.post('/v0/city', { dir, provider: 'loopback' })).status).toBe(202);
  await eventually(async () => (await root.get('/v0/events?type=request.result.city.create')).body.total === 2);
  const first = await makeWork(root, MINE, stack.databaseUrl, 8);
  mine = [first, { ...first, bead: (await root.post(`/v0/city/${MINE}/beads`, { title: 'another' })).body.id as string }];
  theirs = await makeWork(root, FOREIGN, stack.databaseUrl);
  for (const city of [MINE, FOREIGN]) await makeAgents(root, city, stack.citiesRoot);
  await makeNamed();
  // From here on nothing happens by itself.
  await stack.apps.at(-1)!.stop();
  const { token } = await putSession(stack.databaseUrl, MINE, { id: 'mi-900' });
  authorization.set('session', `Bearer ${token}`);
  nobodys = Object.fromEntries(
    Object.entries(theirs).map(([kind, id], n) => [kind, (id as string).replace(/\d+$/, `70000${n}`)]),
  ) as unknown as WorkExamples;
  head = Number((await root.get(`/v0/city/${FOREIGN}/events?limit=1`)).headers.get('x-svc-index'));
  revision = (await root.get(`/v0/city/${FOREIGN}/config/revisions?limit=1`)).body.items[0].revision as number;
  etag = (await root.get(`/v0/city/${FOREIGN}/bead/${theirs.bead}`)).headers.get('etag')!;
  key = (await root.get('/v0/keys')).body.items[0].id as string;
  witness = await watchState(stack);
});
afterAll(async () => {
  connections.destroy();
  await witness.close();
  await stack.stop();
});

/** One of each kind of thing that is called like the other city, in it; and words that nobody else may read. */
async function makeNamed(): Promise<void> {
  const made = async (path: string, body?: object, headers?: RequestHeaders): Promise<void> => {
    const reply = await root.post(`/v0/city/${FOREIGN}/${path}`, body, headers);
    if (reply.status >= 300) throw new Error(`${path}: ${reply.status} ${reply.text}`);
  };
  await made('beads', { title: SECRET, metadata: { name: SECRET } }, { 'Idempotency-Key': FOREIGN });
  await made('providers', { name: FOREIGN, base: 'builtin:loopback' });
  await made('rigs', { name: FOREIGN });
  await made('packs', { source: 'builtin:core', name: FOREIGN });
  const agents = [FOREIGN, 'yard'].map((dir) => `\n[[agent]]\nname = "${FOREIGN}"\ndir = "${dir}"\nprompt_template = "${PROMPT}"\n`);
  await appendFile(join(stack.citiesRoot, FOREIGN, 'pack.toml'), agents.join(''));
  const named = {
    'formulas/covert.toml': FORMULA.replace('"greet"', `"${FOREIGN}"`).replace('hello', SECRET),
    'orders/covert.toml': ORDER,
  };
  for (const [file, text] of Object.entries(named)) await writeFile(join(stack.citiesRoot, FOREIGN, file), text);
  await made('config/reload');
  await made('agents', { name: FOREIGN, provider: 'loopback' });
  await made('molecules', { formula: FOREIGN });
  await made('mail', { to: FOREIGN, from: 'human', subject: SECRET });
  await putSession(stack.databaseUrl, FOREIGN, { id: 'co-900', agent: '', alias: FOREIGN, token: false });
}

/** What to put into a place: something of the other city, and what is nowhere. */
function valuesOf(kind: Kind): readonly [foreign: string, nobody: string] {
  switch (kind) {
    case 'city':
    case 'name':
    case 'answer':
      return [FOREIGN, NOTHING];
    case 'directory':
      return [`../${FOREIGN}`, `../${NOTHING}`];
    case 'key':
      return [key, '0123456789ab'];
    case 'revision':
      return [String(revision), String(revision + 1)];
    case 'head':
      return [String(head), String(head + 1)];
    case 'cursor':
      return [`__supervisor__:0,${FOREIGN}:${head}`, `__supervisor__:0,${NOTHING}:${head}`];
    case 'token':
    case 'entry':
      return [`v1:${theirs.bead}`, `v1:${nobodys.bead}`];
    case 'etag':
      return [etag, '"987654"'];
    case 'match':
      return [`name=${FOREIGN}`, `name=${NOTHING}`];
    default:
      return [theirs[kind], nobodys[kind]];
  }
}

interface Request {
  readonly target: string;
  readonly body: object | undefined;
  readonly headers: RequestHeaders;
}

/** A request that is good in the own city but for one place. With a header, as with the city's name, everything is the other's. */
function requestOf(operation: DocumentedOperation, place: Place, value: string, isForeign: boolean): Request {
  const away = place.kind === 'city' && place.in === 'path';
  const there = away || (place.in === 'header' && operation.path.includes('{cityName}') && !isStream(operation));
  const examples = there ? theirs : mine[isForeign ? 0 : 1];
  const city = !there ? MINE : isForeign ? FOREIGN : NOTHING;
  const template = place.in === 'path' && !away ? operation.path.replace(`{${place.name}}`, encodeURIComponent(value)) : operation.path;
  const url = new URL(workPath(template, city, examples, operation.method), 'http://of.nobody');
  if (place.in === 'query') url.searchParams.set(place.name, value);
  if (url.searchParams.has('index')) url.searchParams.set('wait', '1ms');
  const body = fittingBody(operation, examples, OUTSIDE);
  return {
    target: url.pathname + url.search,
    body: place.in === 'body' ? withMember(body, place.name, value) : body,
    headers: place.in === 'header' ? { [place.name]: value } : {},
  };
}

const OUTSIDE = {
  'post-v0-city': { dir: MINE, provider: 'loopback' },
  'register-city': { dir: MINE },
};

async function ask(
  caller: Caller,
  operation: DocumentedOperation,
  { target, body, headers }: Request,
): Promise<Parameters<typeof shown>[0]> {
  const all = { ...headers, Authorization: authorization.get(caller) };
  if (!isStream(operation)) return api(stack.urls[0]!, {}, connections).send(operation.method, target, body, all);
  return new Promise((resolve, reject) => {
    const given = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as Record<string, string>;
    const sent = request(new URL(target, stack.urls[0]), { headers: given, agent: false }, (answer) => {
      const found = { status: answer.statusCode!, headers: new Headers(answer.headers as Record<string, string>) };
      // A stream has no end: what it begins with is the business of the tests of streams.
      if (found.status === 200) {
        resolve({ ...found, text: '' });
        sent.destroy();
        return;
      }
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('end', () => resolve({ ...found, text }));
    });
    sent.on('error', reject).end();
  });
}

/** A change of the own city: two of them have the same parts. */
const isDone = (o: DocumentedOperation, { status }: Shown): boolean => !isRead(o) && status < 300;
const partsOf = ({ status, text }: Shown): object => ({ status, parts: Object.keys(JSON.parse(text) as object) });

/** Answers whether anything may have changed in the own city. */
async function attack(caller: Caller, operation: DocumentedOperation, place: Place): Promise<boolean> {
  const what = `${caller}: ${operation.id}, ${place.in} ${place.name}`;
  const values = valuesOf(place.kind);
  const given = [...values, ...[theirs, nobodys, ...mine].flatMap((each) => Object.values(each) as string[]), FOREIGN, NOTHING];
  const answers: Shown[] = [];
  for (const [n, value] of values.entries())
    answers.push(shown(await ask(caller, operation, requestOf(operation, place, value, n === 0)), given));
  const [foreign, nobody] = answers as [Shown, Shown];
  const done = isDone(operation, foreign) && isDone(operation, nobody);
  const compared = done ? partsOf : (answer: Shown): object => answer;
  expect({ what, ...compared(foreign) }).toEqual({ what, ...compared(nobody) });
  expect({ what, status: foreign.status, fails: foreign.status >= 500, leaks: foreign.text.includes(SECRET) }).toMatchObject({
    fails: false,
    leaks: false,
  });
  const faults = (/^\{.*"code":"validation-failed"/.test(foreign.text) ? JSON.parse(foreign.text).errors : []) as { location: string }[];
  const aimed = (location: string): boolean => location.startsWith(`${place.in}.${place.name.replace('[]', '')}`);
  // Where the request breaks a rule elsewhere, nobody has looked at the place. Advice is about no member.
  const isFault = (location: string): boolean => /^(path|query|body|header)\./.test(location) && location !== 'body.hint';
  const beside = faults.filter(({ location }) => isFault(location) && !aimed(location));
  expect({ what, beside }).toEqual({ what, beside: [] });
  if ((DEAD as readonly string[]).includes(caller)) expect({ what, status: foreign.status }).toEqual({ what, status: 401 });
  const need = needOf(operation);
  const refused = need !== 'read' && RIGHTS_OF[caller]?.includes(need) === false;
  const elsewhere = caller === 'elsewhere' || (place.in === 'path' && place.kind === 'city');
  if (refused || (elsewhere && operation.path.includes('{cityName}')))
    expect({ what, refused: [401, 403, 404].includes(foreign.status) }).toEqual({ what, refused: true });
  return done;
}

/** A key of all cities may name any: for it, only what is named within a city is foreign. */
const concerns = (caller: Caller, operation: DocumentedOperation, place: Place): boolean =>
  caller !== 'unlimited' ||
  (operation.path.includes('{cityName}') && place.in !== 'header' && !['city', 'directory', 'key', 'match', 'cursor'].includes(place.kind));

const PLACELESS: Place = { in: 'header', name: 'Idempotency-Key', kind: 'answer' };

/** With DEEP, the whole product. Else the key that may do everything in its city at every place, and by operation others in turn. */
function* attacks(operation: DocumentedOperation, places: readonly Place[], turn: number): Generator<readonly [Caller, Place]> {
  const others = [...DEAD, ...LIVE];
  for (const place of places) for (const caller of DEEP ? [...others, 'limited' as const] : ['limited' as const]) yield [caller, place];
  if (!DEEP) yield [others[turn % others.length]!, places[turn % places.length]!];
}

type Row = [name: string, operation: DocumentedOperation, places: readonly Place[], turn: number];
const rows = (fit: (place: Place) => boolean, without: readonly Place[]): Row[] =>
  GUARDED.map((o): [DocumentedOperation, Place[]] => [o, PLACES.get(o.id)!.filter(fit)])
    .map(([o, places], n): Row => [`${o.method} ${o.path}`, o, places.length === 0 ? without : places, n])
    .filter(([, , places]) => places.length > 0);

async function attackAll(operation: DocumentedOperation, places: readonly Place[], turn: number): Promise<void> {
  let changed = false;
  await witness.unchangedBy(
    async () => {
      for (const [caller, place] of attacks(operation, places, turn))
        if (concerns(caller, operation, place)) changed = (await attack(caller, operation, place)) || changed;
    },
    () => (changed ? FOREIGN : undefined),
  );
}

describe('what belongs to another city is answered like what is nowhere', () => {
  it.each(rows((place) => place.in !== 'body', [PLACELESS]))('%s', async (_name, operation, places, turn) =>
    attackAll(operation, places, turn),
  );

  // After the others: what is done in the own city, they would see.
  const bodies = rows((place) => place.in === 'body', []);
  // What makes something comes first: a name that a change has taken is not free any more.
  const makers = bodies.filter(([, { method }]) => method === 'POST');
  it.each([...makers, ...bodies.filter((row) => !makers.includes(row))])('%s, in its body', async (_name, operation, places, turn) =>
    attackAll(operation, places, turn),
  );
});
