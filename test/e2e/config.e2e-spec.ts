import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { expectRefusal } from '../support/refusal.js';
import { eventually, openStream, type OpenStream } from '../support/sse.js';

let stack: Stack;
let replicas: Api[];
let a: Api;
let b: Api;
let ledger: Ledger;
let stream: OpenStream;

const CITY = '/v0/city/desk';
const CONFIG = `${CITY}/config`;
/** Planted wherever the files may hold a secret; no answer and no event may ever show them. */
const SECRETS = ['planted-env-1', 'planted-key-2', 'planted-url-3', 'planted-agent-4', 'planted-patch-5', 'planted-broken-6'];
const seen: string[] = [];

const CITY_TOML = `# The front desk.
[workspace]
provider = "loopback" # the default
max_active_sessions = 4
env = { TOKEN = "planted-env-1" }

[providers.loopback]
base = "builtin:loopback"
env = { KEY = "planted-env-1" }

[upstreams.gateway]
base_url = "https://user:planted-url-3@models.example.org/v1"
auth_token = "planted-key-2"

[[patches.agent]]
name = "mayor"
env = { PATCHED = "planted-patch-5" }
`;

/** Remembers every answer, to be searched for secrets. */
function remembering(client: Api): Api {
  const keep = async (reply: Promise<Reply>): Promise<Reply> => {
    seen.push((await reply).text);
    return reply;
  };
  return {
    send: (...given) => keep(client.send(...given)),
    get: (...given) => keep(client.get(...given)),
    post: (...given) => keep(client.post(...given)),
    patch: (...given) => keep(client.patch(...given)),
    delete: (...given) => keep(client.delete(...given)),
  };
}

beforeAll(async () => {
  stack = await startStack();
  replicas = stack.urls.map((url) => remembering(api(url)));
  [a, b] = replicas as [Api, Api];
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'desk', provider: 'loopback' }), 'request.result.city.create');
  stream = await openStream(`${stack.urls[1]!}${CITY}/events/stream?after_seq=0`);
});
afterAll(async () => {
  await stream?.close();
  await ledger?.stream.close();
  await stack?.stop();
});

const at = (path: string): string => join(stack.citiesRoot, 'desk', path);
async function save(path: string, text: string): Promise<void> {
  await mkdir(join(at(path), '..'), { recursive: true });
  await writeFile(at('.saved'), text);
  await rename(at('.saved'), at(path));
}
/** Waits until both replicas answer what fits. */
const everywhere = (fits: (body: any) => boolean): Promise<unknown[]> =>
  Promise.all(
    replicas.map((replica) =>
      eventually(async () => {
        const { status, body } = await replica.get(CONFIG);
        return status === 200 && fits(body) ? body : undefined;
      }),
    ),
  );
const events = (type: string): any[] => stream.frames.filter((frame) => frame.data?.type === type).map((frame) => frame.data);
const revision = async (): Promise<number> => (await b.get(CONFIG)).body.revision;

describe('a changed file', () => {
  it('becomes what the city runs on every replica, with an event for each thing', async () => {
    expect((await a.get(CONFIG)).body).toMatchObject({ revision: 1, workspace: { name: 'desk', provider: 'loopback' } });
    await save('city.toml', CITY_TOML);
    // All of it at once: an agent without a prompt is an error, and files may be looked at in between.
    await save('.clerk/agent.toml', 'description = "Answers letters"\nenv = { PIN = "planted-agent-4" }\n');
    await save('.clerk/prompt.md', 'Answer letters.\n');
    await rename(at('.clerk'), at('agents/clerk'));
    const bodies = await everywhere(({ agents, patches }) => patches && agents.some((agent: { name: string }) => agent.name === 'clerk'));
    expect(bodies[0]).toMatchObject({
      workspace: { max_active_sessions: 4 },
      patches: { agent_count: 1, rig_count: 0, provider_count: 0 },
    });
    await stream.untilAll(
      () => events('agent.created').length > 0 && events('config.reloaded').at(-1)?.seq > events('agent.created')[0].seq,
    );
    expect(events('agent.created')).toMatchObject([{ subject: 'clerk', payload: { agent: 'clerk' } }]);
    expect(events('patch.set')).toMatchObject([{ subject: 'mayor', payload: { kind: 'agent', target: 'mayor' } }]);
    expect(events('provider.updated')).toMatchObject([{ subject: 'loopback', payload: { changed: ['env.KEY'] } }]);
    const reloads = events('config.reloaded');
    expect(reloads.map(({ payload }) => payload.revision)).toEqual(reloads.map((_, n) => n + 1));
    expect(reloads.slice(1).every(({ payload }) => payload.cause === 'files')).toBe(true);
    expect(reloads.flatMap(({ payload }) => payload.changed)).toEqual(
      expect.arrayContaining(['workspace.max_active_sessions', 'workspace.env.TOKEN', 'agents.clerk.description']),
    );
  });

  it('that cannot be used is told once, and the city runs on until it is mended', async () => {
    const before = await revision();
    const broken = CITY_TOML.replace('max_active_sessions = 4', 'max_active_sessions = "planted-broken-6"');
    await save('city.toml', broken);
    const [body] = (await everywhere(({ rejected }) => rejected !== undefined)) as any[];
    expect(body).toMatchObject({
      revision: before,
      workspace: { max_active_sessions: 4 },
      rejected: { errors: [expect.stringMatching(/^city\.toml:4: workspace\.max_active_sessions: /)], errors_total: 1 },
    });
    const refused = { ...(body as { rejected: object }).rejected, errors: [expect.stringMatching(/^city\.toml:4: /)] };
    expect((await b.get('/v0/city/desk/status')).body).toMatchObject({ config_rejected: refused });
    const fleet = (await b.get('/v0/overview')).body.items as { name: string }[];
    expect(fleet.find(({ name }) => name === 'desk')).toMatchObject({ config_error: refused.errors[0] });
    // The same error in a file that is otherwise another one is no news.
    await save('city.toml', `${broken}# still\n`);
    const reload = await a.post(`${CONFIG}/reload`);
    expectRefusal(reload, `${CONFIG}/reload`, {
      status: 422,
      detail: /city\.toml:4: workspace\.max_active_sessions/,
      fields: ['city.toml:4:workspace.max_active_sessions'],
    });
    expect((await b.get(`${CONFIG}/validate`)).body).toMatchObject({
      valid: false,
      errors: [expect.stringContaining('max_active_sessions')],
    });
    expect((await b.get(`${CONFIG}/diff`)).body).toMatchObject({
      from: before,
      to: 'files',
      differences: [],
      errors: [expect.any(String)],
    });
    await save('city.toml', CITY_TOML.replace('= 4', '= 5'));
    await everywhere(({ rejected, workspace }) => rejected === undefined && workspace.max_active_sessions === 5);
    expect((await b.get('/v0/city/desk/status')).body).not.toHaveProperty('config_rejected');
    await stream.untilAll(() => events('config.reloaded').some(({ payload }) => payload.revision === before + 1));
    expect(events('config.rejected')).toMatchObject([{ subject: 'desk', payload: { revision: before, errors_total: 1 } }]);
  });

  it('that is mended to what it was clears the error without a new revision', async () => {
    const before = await revision();
    const good = await readFile(at('city.toml'), 'utf8');
    await save('city.toml', '[workspace\n');
    await everywhere(({ rejected }) => rejected !== undefined);
    await save('city.toml', good);
    await everywhere(({ rejected }) => rejected === undefined);
    expect(await revision()).toBe(before);
  });
});

describe('reading', () => {
  it('answers with the revision as entity tag, the same on both replicas', async () => {
    for (const path of ['', '/explain', '/defaults', '/composed', '/revisions']) {
      const [one, two] = await Promise.all([a.get(CONFIG + path), b.get(CONFIG + path)]);
      expect(one!.status).toBe(200);
      expect(one!.headers.get('etag')).toBe(`"${await revision()}"`);
      expect(two!.headers.get('etag')).toBe(one!.headers.get('etag'));
      expect(Number(one!.headers.get('x-svc-index'))).toBeGreaterThan(0);
    }
  });

  it('explains where a value was written', async () => {
    const explain = async (path: string): Promise<any[]> => (await b.get(`${CONFIG}/explain?path=${encodeURIComponent(path)}`)).body.values;
    expect(await explain('workspace.max_active_sessions')).toEqual([
      { path: 'workspace.max_active_sessions', value: 5, file: 'city.toml', key: 'workspace.max_active_sessions' },
    ]);
    expect(await explain('agents.clerk.description')).toMatchObject([
      { value: 'Answers letters', file: 'agents/clerk/agent.toml', key: 'description' },
    ]);
    expect(await explain('agents.mayor.env')).toMatchObject([
      { value: '********', file: 'city.toml', key: 'patches.agent[0].env.PATCHED' },
    ]);
    expect(await explain('resolved_providers.loopback.command')).toMatchObject([{ file: 'builtin:loopback', key: 'command' }]);
    expect(await explain('workspace.name')).toMatchObject([{ value: 'desk', file: '.gc/site.toml', key: 'workspace_name' }]);
    expect(await explain('nothing.like.it')).toEqual([]);
    expect(await explain('__proto__')).toEqual([]);
    const { body } = await a.get(`${CONFIG}/explain?limit=1`);
    expect(body).toMatchObject({ agents: expect.any(Array), values: [{}], patches: { agents: 1, rigs: 0, providers: 0 } });
    expect(body.providers.codex.origin).toBe('builtin');
    expect(body.providers.loopback.origin).toBe('builtin+city');
    const all = new Map<string, unknown>();
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page: Reply = await a.get(`${CONFIG}/explain?limit=50${cursor === '' ? '' : `&cursor=${cursor}`}`);
      for (const value of page.body.values) all.set(value.path, value);
      cursor = page.body.next_cursor;
    }
    expect(all.size).toBe(body.values_total);
    expect((await a.get(`${CONFIG}/explain?cursor=1.5`)).status).toBe(400);
  });

  it('shows what a city without anything of its own would be', async () => {
    const { body } = await a.get(`${CONFIG}/defaults`);
    expect(body).toMatchObject({ workspace: { name: 'desk', prefix: 'de', suspended: false }, agents: [], rigs: [] });
    expect(Object.keys(body.providers).slice(0, 2)).toEqual(['claude', 'codex']);
    expect(Object.keys(body.providers).at(-1)).toBe('loopback');
  });

  it('lists revisions and compares them, with each other and with the files', async () => {
    const now = await revision();
    const { body } = await b.get(`${CONFIG}/revisions?limit=1`);
    expect(body).toMatchObject({ total: now, items: [{ revision: now, cause: 'files' }], next_cursor: String(now) });
    expect((await b.get(`${CONFIG}/revisions?cursor=${body.next_cursor}`)).body.items).toHaveLength(now - 1);
    expect((await a.get(`${CONFIG}/revisions/1`)).body).toMatchObject({ revision: 1, cause: 'start', changed: [] });
    expectRefusal(await a.get(`${CONFIG}/revisions/999`), `${CONFIG}/revisions/999`, { status: 404, detail: /^not_found: / });
    const diff = (await a.get(`${CONFIG}/diff?from=1&to=${now}`)).body;
    expect(diff.differences).toEqual(
      expect.arrayContaining([
        { path: 'workspace.max_active_sessions', after: 5 },
        { path: 'workspace.env.TOKEN', after: '********' },
      ]),
    );
    expect((await a.get(`${CONFIG}/diff`)).body).toMatchObject({ from: now, to: 'files', differences: [], total: 0 });
    expect((await a.get(`${CONFIG}/composed?revision=1`)).body).toMatchObject({ revision: 1, config: { workspace: { name: 'desk' } } });
  });
});

describe('candidates', () => {
  it('are composed with the files that are there, and nothing is written', async () => {
    const before = await readFile(at('city.toml'), 'utf8');
    const validate = async (files: Record<string, string | null>): Promise<any> => {
      const reply = await b.post(`${CONFIG}/validate`, { files });
      expect(reply.status).toBe(200);
      return reply.body;
    };
    expect(await validate({})).toMatchObject({ valid: true, errors: null });
    expect(await validate({ 'city.toml': `${before}\n[[patches.rigs]]\nname = "nowhere"\n` })).toMatchObject({
      valid: false,
      errors: [expect.stringMatching(/^city\.toml:\d+: patches\.rigs\[0\]\.name: there is no rig "nowhere"/)],
    });
    expect(await validate({ 'agents/clerk/prompt.md': null })).toMatchObject({
      valid: false,
      errors: [expect.stringContaining('no prompt')],
    });
    expect(await validate({ 'city.toml': '[workspace\n\n= ', '../outside.toml': 'x = 1' })).toMatchObject({ valid: false });
    expect(await validate({ '../outside.toml': 'x = 1', '/etc/x': null })).toMatchObject({
      valid: false,
      errors: ['../outside.toml: the path leads outside', '/etc/x: the path is absolute'],
    });
    // Guard: a draft under a name of its own is not what the city is made of, and nobody has looked into it.
    expect(await validate({ 'draft.toml': 'x = ', 'agents/clerk/prompt.md': 'Write.' })).toEqual({
      valid: true,
      errors: null,
      warnings: expect.arrayContaining(['draft.toml: the configuration is not made of this file: nothing in it was checked']),
    });
    expect(await validate({ 'draft.toml': 'x = ', 'city.toml': 'x = ' })).toMatchObject({ valid: false, warnings: null });
    expect(await validate({ './city.toml': 'x = ' })).toMatchObject({ valid: false, errors: [expect.stringMatching(/^city\.toml:1: /)] });
    for (const hostile of ['{"files":{"__proto__":"x = 1"}}', '{"files":{"city.toml":"a = \\"\\ud800\\""}}', '{"files":{"a\\u0000b":"x"}}'])
      expect((await b.send('POST', `${CONFIG}/validate`, hostile)).status).toBeLessThan(500);
    expect(await readFile(at('city.toml'), 'utf8')).toBe(before);
  });
});

describe('reload', () => {
  it('says what it changed', async () => {
    const before = await revision();
    expect((await a.post(`${CONFIG}/reload`)).body).toMatchObject({ outcome: 'no_change', revision: before, changed: [] });
    // No worker looks at the files of a city while one asks: whoever comes first, there is one revision.
    await save('city.toml', CITY_TOML.replace('= 4', '= 6'));
    const { body } = await b.post(`${CONFIG}/reload`);
    expect(body.revision).toBe(before + 1);
    if (body.outcome === 'applied') expect(body.changed).toEqual(['workspace.max_active_sessions']);
    await everywhere(({ workspace }) => workspace.max_active_sessions === 6);
    expect(await revision()).toBe(before + 1);
  });
});

// Last: it looks at everything that has been answered before.
it('never shows a secret', async () => {
  for (const path of ['', '/explain?limit=5000', '/composed', '/composed?revision=2', '/diff?from=1', '/revisions', '/validate'])
    await a.get(CONFIG + path);
  for (const path of ['/patches/agents', '/providers', '/provider/loopback', '/providers/public', '/agents', '/events?limit=100'])
    await b.get(CITY + path);
  seen.push(...stream.frames.map((frame) => JSON.stringify(frame.data)));
  expect(seen.length).toBeGreaterThan(50);
  for (const secret of SECRETS) expect(seen.filter((text) => text.includes(secret))).toEqual([]);
});
