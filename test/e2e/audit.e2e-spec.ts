import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { startSvc, svc } from '../support/cli.js';
import { makeAgents } from '../support/config-examples-agents.js';
import { contract, type DocumentedOperation } from '../support/contract.js';
import { adminAt } from '../support/database.js';
import { DEEP } from '../support/depth.js';
import { api, type Api, type Reply } from '../support/http.js';
import { eventually, openStream, sleep } from '../support/sse.js';
import { spawnSupervisor } from '../support/supervisor-process.js';
import { fittingBody } from '../support/fitting-body.js';
import { makeBatch, makeWork, workEverything, workPath, type WorkExamples } from '../support/work-examples.js';

const MUTATIONS = contract().operations.filter((o) => o.method !== 'GET');
/** What succeeds and changes nothing (there, no session runs): it has its record from outside of a transaction. */
const WITHOUT_EFFECT = ['/config/validate', '/rig/made/restart', '/formulas/greet/validate', '/formulas/greet/preview'];
const REFUSE_OTHERS = `
  create function refuse_others() returns trigger language plpgsql as $$
  begin
    if current_query() like 'insert into audit_records as a%' then raise exception 'not now'; end if;
    return new;
  end $$;
  create trigger refuse_others before insert on audit_records for each row execute function refuse_others()`;

interface Told {
  readonly request_id: string;
  readonly [member: string]: unknown;
}

let stack: Stack;
let examples: WorkExamples;
const keys = new Map<string, { readonly id: string; readonly token: string }>();
const as = (name: string, replica = 0): Api => api(stack.urls[replica]!, { Authorization: `Bearer ${keys.get(name)!.token}` });
const sql = <R extends object>(text: string, values: unknown[] = []): Promise<R[]> =>
  adminAt<R & Record<string, unknown>>(stack.databaseUrl, text, values);
const idOf = (reply: Reply): string => reply.headers.get('x-svc-request-id')!;

async function key(name: string, more: { rights?: string[]; cities?: string[]; scope?: 'read' } = {}): Promise<void> {
  const id = createHash('md5').update(name).digest('hex').slice(0, 12);
  const token = `svc_${id}_${createHash('md5').update(`secret of ${name}`).digest('hex')}`;
  await sql('insert into api_keys (id, name, hash, scope, cities, rights) values ($1, $2, $3, $4, $5, $6)', [
    id,
    name,
    createHash('sha256').update(token).digest(),
    more.rights === undefined ? (more.scope ?? 'write') : 'read',
    more.cities ?? null,
    more.rights ?? [],
  ]);
  keys.set(name, { id, token });
}

/** All that the API tells of requests, of which each is told once. */
async function told(ids: readonly string[]): Promise<Map<string, Told>> {
  const found = new Map<string, Told>();
  for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
    const { body } = await as('root').get(`/v0/audit?limit=1000${cursor === undefined ? '' : `&cursor=${cursor}`}`);
    for (const item of body.items as Told[]) {
      expect({ id: item.request_id, again: found.has(item.request_id) }).toEqual({ id: item.request_id, again: false });
      if (ids.includes(item.request_id)) found.set(item.request_id, item);
    }
    cursor = body.next_cursor as string | undefined;
  }
  return found;
}

beforeAll(async () => {
  stack = await startStack({ config: { auth: 'keys' } });
  await key('root');
  await key('plain', { scope: 'read' });
  await key('auditor', { rights: ['audit'] });
  await key('local', { rights: ['operate', 'audit'], cities: ['mine'] });
  await key('blind', { rights: ['operate', 'configure', 'commands'] });
  for (const dir of ['mine', 'other']) expect((await as('root').post('/v0/city', { dir, provider: 'loopback' })).status).toBe(202);
  await eventually(async () => (await as('root').get('/v0/cities')).body.items.every((c: { running: boolean }) => c.running));
  examples = await makeWork(as('root'), 'other', stack.databaseUrl);
  await makeBatch(stack.databaseUrl, 'mine');
  for (const city of ['mine', 'other']) await makeAgents(as('root'), city, stack.citiesRoot);
});
afterAll(() => stack.stop());

describe('every operation of the document that may change something', () => {
  const bodyOf = (o: DocumentedOperation): object | undefined => fittingBody(o, examples);

  // Guard: the record of a request is written whatever becomes of it.
  it('leaves one record, as it was answered', async () => {
    // The city itself goes last.
    const last = /unregister|-stop$/;
    const ordered = [...MUTATIONS].sort((a, b) => Number(last.test(a.id)) - Number(last.test(b.id)));
    const sent: { operation: DocumentedOperation; replica: number; reply: Reply; stranger: Reply }[] = [];
    for (const [n, operation] of ordered.entries()) {
      const path = workPath(operation.path, 'other', examples, operation.method);
      const stranger = await api(stack.urls[n % 2]!).send(operation.method, path, bodyOf(operation));
      const reply = await as('root', n % 2).send(operation.method, path, bodyOf(operation));
      sent.push({ operation, replica: n % 2, reply, stranger });
    }
    expect(sent.filter(({ reply }) => reply.status < 300).length).toBeGreaterThan(30);
    const ids = sent.flatMap(({ reply, stranger }) => [idOf(reply), idOf(stranger)]);
    let found = new Map<string, Told>();
    // Of so many that nobody knows some are counted together; of a key's all are there.
    await eventually(async () => {
      found = await told(ids);
      return sent.every(({ reply }) => found.has(idOf(reply)));
    });
    for (const { operation, reply } of sent) {
      const { id, method, path } = operation;
      const outcome = reply.status < 400 ? 'accepted' : reply.status < 500 ? 'refused' : 'failed';
      expect(found.get(idOf(reply))).toMatchObject({
        ...{ operation: id, method, path, count: 1, actor: 'root', key_id: keys.get('root')!.id, address: '127.0.0.1' },
        ...{ status: reply.status, outcome, code: reply.body?.code ?? null, reason: null },
        ...(path.includes('{cityName}') ? { city: 'other' } : {}),
      });
      if (reply.status === 202 && reply.body.request_id !== undefined)
        expect(found.get(idOf(reply))!.operation_request_id).toBe(reply.body.request_id);
    }
    const strangers = sent.flatMap(({ operation, stranger }) => {
      expect(stranger.status).toBe(401);
      const record = found.get(idOf(stranger));
      return record === undefined ? [] : [{ operation, record }];
    });
    expect(strangers.length).toBeGreaterThan(30);
    for (const { operation, record } of strangers)
      expect(record).toMatchObject({
        ...{ operation: operation.id, actor: null, key_id: null, status: 401, code: 'unauthorized' },
        reason: 'unauthorized: an API key is required: Authorization: Bearer svc_…',
      });
  });

  // Guard: a change and its record are one transaction.
  it('has the record of a change in its transaction: nothing else is needed for it', async () => {
    const sent: { method: string; path: string; reply: Reply }[] = [];
    const recording: Api = {
      ...as('root'),
      send: async (method, path, body, headers) => {
        const reply = await as('root').send(method, path, body, headers);
        if (method !== 'GET' && reply.status < 300) sent.push({ method, path, reply });
        return reply;
      },
    };
    await sql(REFUSE_OTHERS);
    try {
      expect(await workEverything(recording, 'mine', stack.urls[0]!)).toEqual([]);
      const changes = sent.filter(({ path }) => !WITHOUT_EFFECT.some((end) => path.endsWith(end)));
      expect(changes.length).toBeGreaterThan(50);
      const rows = await sql<{ request_id: string }>('select request_id from audit_records');
      const recorded = new Set(rows.map((row) => row.request_id));
      expect(changes.filter(({ reply }) => !recorded.has(idOf(reply))).map(({ method, path }) => `${method} ${path}`)).toEqual([]);
    } finally {
      await sql('drop trigger refuse_others on audit_records');
    }
    // What could not be stored meanwhile waits for it.
    await eventually(async () => (await told(sent.map(({ reply }) => idOf(reply)))).size === sent.length);
  });
});

describe('records', () => {
  it('are there when the process is killed between the commit and the answer', async () => {
    const kill = async (failpoint: string, path: string, body: object): Promise<void> => {
      const server = spawnSupervisor({
        ...{ SVC_ROLE: 'api', SVC_DATABASE_URL: stack.databaseUrl, SVC_DATA_DIR: stack.config.dataDir, SVC_AUTH: 'keys' },
        SVC_TEST_FAILPOINTS: `${failpoint}=kill`,
        ...(stack.config.redisUrl === undefined ? {} : { SVC_REDIS_URL: stack.config.redisUrl }),
      });
      const client = api(await server.ready(), { Authorization: `Bearer ${keys.get('root')!.token}` });
      await expect(client.post(path, body)).rejects.toThrow();
      expect((await server.exited).signal).toBe('SIGKILL');
    };
    await kill('bead.after_flush', '/v0/city/mine/beads', { title: 'the last' });
    expect(await sql("select 1 from beads where title = 'the last'")).toHaveLength(1);
    const { body } = await as('auditor').get('/v0/audit?city=mine&operation=create-bead&limit=1');
    expect(body.items).toMatchObject([{ actor: 'root', outcome: 'accepted', status: 201 }]);
    expect(Date.now() - Date.parse(body.items[0].time)).toBeLessThan(120_000);
    if (!DEEP) return;
    await kill('config.after_commit', '/v0/city/mine/agents', { name: 'survivor', provider: 'loopback' });
    const made = await as('auditor').get('/v0/audit?city=mine&operation=create-agent&limit=1');
    expect(made.body.items).toMatchObject([{ actor: 'root', outcome: 'accepted', status: 201 }]);
  });

  it('tell of the city that was made, and of each key what is its own', async () => {
    const { body } = await as('auditor').get('/v0/audit?city=mine&operation=post-v0-city');
    expect(body.items).toMatchObject([
      { city: 'mine', path: '/v0/city', status: 202, operation_request_id: expect.stringMatching(/^req-/) },
    ]);
    const { operation_request_id: id } = body.items[0];
    expect((await as('auditor').get(`/v0/audit?request_id=${id}`)).body.items).toEqual(body.items);
    expect((await as('auditor').get('/v0/audit?city=other&limit=1')).body.items).toHaveLength(1);
    const local = (await as('local').get('/v0/audit?limit=1000')).body.items as { city: string }[];
    expect(new Set(local.map(({ city }) => city))).toEqual(new Set(['mine']));
    expect((await as('local').get('/v0/audit?city=other')).body.items).toEqual([]);
  });

  // Guard: who did what is read with the right to.
  it('are for those who may read them', async () => {
    for (const [name, status] of [
      ['plain', 403],
      ['blind', 403],
      ['auditor', 200],
      ['local', 200],
      ['root', 200],
    ] as const) {
      expect({ name, status: (await as(name).get('/v0/audit')).status }).toEqual({ name, status });
      if (status === 403) expect({ name, status: (await as(name).get('/v0/audit/stream')).status }).toEqual({ name, status });
    }
    expect((await as('auditor').post('/v0/city/mine/beads', { title: 'x' })).status).toBe(403);
  });

  it('have no positions but those that were handed out', async () => {
    const { body } = await as('auditor').get('/v0/audit?limit=1');
    expect((await as('auditor', 1).get(`/v0/audit?cursor=${body.next_cursor}`)).status).toBe(200);
    for (const cursor of ['x', 'al:', `${body.next_cursor}x`, body.next_cursor.replace('al:', 'as:')])
      expect((await as('auditor').get(`/v0/audit?cursor=${cursor}`)).body.code).toBe('invalid-cursor');
    expect((await as('auditor').get(`/v0/audit/stream?after=${body.next_cursor}`)).body.code).toBe('invalid-cursor');
    expect((await as('auditor').get('/v0/audit?since=yesterday')).body.code).toBe('invalid-request');
  });

  it('never have bodies or secrets', async () => {
    const secret = 'a-word-that-nobody-else-says';
    const made = await as('root').post('/v0/keys', { name: 'shown once' });
    expect((await as('root').post('/v0/city/mine/beads', { title: secret, metadata: { secret } })).status).toBe(201);
    await api(stack.urls[0]!, { Authorization: `Bearer ${secret}` }).post(`/v0/city/mine/beads?token=${secret}`, { title: secret });
    const all = (await sql<{ text: string }>('select a::text as text from audit_records a')).map(({ text }) => text).join('\n');
    expect([all.includes(secret), all.includes(made.body.key.slice(17))]).toEqual([false, false]);
  });
});

describe('the stream', () => {
  it('tells each once, also to who resumes at another replica', async () => {
    const headers = { Authorization: `Bearer ${keys.get('local')!.token}` };
    const first = await openStream(`${stack.urls[0]}/v0/audit/stream?operation=create-bead&outcome=accepted`, { headers });
    await first.until((f) => f.event === 'heartbeat');
    const makes = async (titles: string[]): Promise<string[]> =>
      Promise.all(
        titles.map(async (title, n) => {
          await as('root', n % 2).post('/v0/city/other/beads', { title });
          return idOf(await as('root', n % 2).post('/v0/city/mine/beads', { title }));
        }),
      );
    const ids = await makes(['a', 'b', 'c', 'd']);
    const seen = (frames: readonly { event?: string | undefined; data: Told }[]): string[] =>
      frames.filter((f) => f.event === 'audit').map((f) => f.data.request_id);
    // A record of an earlier request may be written after the stream has begun: it is told as well, and once.
    const has = (frames: readonly Told[], wanted: readonly string[]): boolean =>
      wanted.every((id) => frames.some(({ request_id }) => request_id === id));
    const told = (frames: typeof first.frames): Told[] => frames.filter((f) => f.event === 'audit').map((f) => f.data);
    await first.until(() => has(told(first.frames), ids));
    expect(
      seen(first.frames)
        .filter((id) => ids.includes(id))
        .sort(),
    ).toEqual([...ids].sort());
    expect(told(first.frames).filter(({ city }) => city !== 'mine')).toEqual([]);
    const at = first.frames.filter((f) => f.event === 'audit')[1]!.id!;
    const before = seen(first.frames).slice(0, 2);
    await first.close();
    const more = await makes(['e', 'f']);
    const second = await openStream(`${stack.urls[1]}/v0/audit/stream?operation=create-bead&outcome=accepted`, {
      headers: { ...headers, 'Last-Event-ID': at },
    });
    const all = [...ids, ...more];
    await second.until(() =>
      has(
        told(second.frames),
        all.filter((id) => !before.includes(id)),
      ),
    );
    const both = [...before, ...seen(second.frames)];
    expect(both.filter((id) => all.includes(id)).sort()).toEqual([...all].sort());
    expect(new Set(both).size).toBe(both.length);
    await second.close();
  });
});

describe('svc audit', () => {
  const env = (name: string): Record<string, string> => ({ SVC_API_URL: stack.urls[0]!, SVC_API_KEY: keys.get(name)!.token });

  it('shows who did what, lists it as lines, and follows it', async () => {
    const following = startSvc(['audit', '--city', 'mine', '--follow', '--operation', 'create-bead'], { env: env('auditor') });
    const line = /plain +[0-9a-f]{12} +127\.0\.0\.1 +403 forbidden +create-bead +mine/;
    // It tells what is done once it is open.
    const refused = await eventually(async () => {
      const reply = await as('plain').post('/v0/city/mine/beads', { title: 'no' });
      expect(reply.status).toBe(403);
      await sleep(200);
      return line.test(following.stdout()) ? reply : undefined;
    });
    following.interrupt();
    expect((await following.exited).code).toBe(130);
    const shown = await svc(['audit', '--city', 'mine', '--key', 'plain', '--since', '1h'], { env: env('auditor') });
    expect(shown.stdout).toMatch(/^TIME +WHO +KEY +FROM +RESULT +OPERATION +OF\n/);
    expect(shown.stdout).toMatch(/plain +[0-9a-f]{12} +127\.0\.0\.1 +403 forbidden +create-bead +mine\n/);
    const lines = await svc(['audit', '--no-city', '--request', idOf(refused), '--json'], { env: env('auditor') });
    expect(JSON.parse(lines.stdout)).toMatchObject({ actor: 'plain', outcome: 'refused', request_id: idOf(refused) });
    const not = await svc(['audit', '--no-city'], { env: env('plain') });
    expect([not.code, not.stderr]).toEqual([4, 'svc audit: forbidden: the API key lacks the right "audit"\n']);
  });
});
