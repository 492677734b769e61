import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startStack, type Stack } from '../support/app.js';
import { svc, type CliRun } from '../support/cli.js';
import { adminAt } from '../support/database.js';
import { api, type Api, type Reply } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually, openStream } from '../support/sse.js';

/** Runs through the client and over HTTP: launched at one replica, gone on with and ended at the other. */
let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;
const CITY = '/v0/city/alpha';
const SCOPE = 'scope_kind=city&scope_ref=alpha';

/** The first example of the reference, with fewer words. */
const RELEASE = `formula = "mol-release"
description = "Freeze one version, prove every shard, publish it."
[vars]
version = { required = true, pattern = '^v[0-9]+$' }
shards = { default = "2", type = "int" }
channel = { default = "stable", enum = ["stable", "beta"] }
[[steps]]
id = "freeze"
title = "Freeze {{version}}"
[[steps]]
id = "verify"
title = "Prove all shards"
needs = ["freeze"]
[[steps.children]]
id = "shard"
title = "One shard"
[steps.children.loop]
range = "1..{shards}"
var = "n"
[[steps.children.loop.body]]
id = "smoke"
title = "Smoke test shard {n} on {{version}}"
[[steps]]
id = "beta-note"
title = "Write the beta note"
needs = ["verify"]
condition = "{{channel}} == beta"
[[steps]]
id = "publish"
title = "Publish {{version}} to {{channel}}"
depends_on = ["verify", "beta-note"]
gate = { type = "human", id = "release-approval" }
`;
const GRAPH = `formula = "graph"
[requires]
formula_compiler = ">=2.0.0"
[[steps]]
id = "look"
title = "Look at {{convoy_id}}"
[[steps]]
id = "act"
title = "Act"
needs = ["look"]
`;
const PERHAPS = `formula = "perhaps"
[requires]
formula_compiler = ">=2.0.0"
[[steps]]
id = "each"
title = "Each"
drain = { formula = "graph" }
`;

const run = (args: readonly string[], input?: string): Promise<CliRun> =>
  svc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' }, ...(input === undefined ? {} : { input }) });
async function ok(args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await run(args, input);
  expect([args, code, stderr]).toEqual([args, 0, '']);
  return stdout;
}
const bead = async (title = 'work'): Promise<string> => (await a.post(`${CITY}/beads`, { title })).body.id;
const close = (id: string, at: Api = b): Promise<Reply> => at.post(`${CITY}/bead/${id}/close`, {});
const stepsOf = async (id: string): Promise<any[]> => (await b.get(`${CITY}/runs/${id}/steps`)).body.steps;
const step = async (id: string, ref: string): Promise<any> => (await stepsOf(id)).find((each) => each.ref.endsWith(`.${ref}`));
const runOf = async (id: string): Promise<any> => (await b.get(`${CITY}/runs/${id}`)).body;
const launch = (body: object, at: Api = a): Promise<Reply> => at.post(`${CITY}/sling`, { target: 'mayor', ...body });
const release = { formula: 'mol-release', vars: { version: 'v1' } };

beforeAll(async () => {
  stack = await startStack();
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
  const inCity = (path: string): string => join(stack.citiesRoot, 'alpha', path);
  await appendFile(inCity('city.toml'), '\n[[rigs]]\nname = "web"\n');
  await appendFile(inCity('.gc/site.toml'), '\n[[rig]]\nname = "web"\npath = "web"\n');
  await mkdir(inCity('web'));
  expect(await a.post(`${CITY}/config/reload`)).toMatchObject({ status: 200 });
  for (const [name, text] of Object.entries({ 'mol-release': RELEASE, graph: GRAPH, perhaps: PERHAPS }))
    await ok(['formula', 'save', '-', '--name', name], text);
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

describe('a tree', () => {
  it('is launched for a bead by the client, watched, held up at its gate, and done with its last step', async () => {
    const id = await bead('Release v1');
    const said = await ok(['sling', 'mayor', '--formula', 'mol-release', '--on', id, '--var', 'version=v1']);
    const [, root] = /\(run (\S+)\)/.exec(said)!;
    expect(said).toBe(`${id} with formula mol-release is slung to mayor (run ${root})\n`);
    const watched = run(['run', 'watch', root!]);
    expect(await ok(['run', 'show', root!])).toMatch(
      /status: +pending[^]*├─ ○ \S+ \[pending\] Freeze v1\n├─ · \S+ \[blocked\] Prove all shards \(after \S+\)\n│ {2}├─ · \S+ \[blocked\] Smoke test shard 1 on v1/,
    );
    expect(
      (await a.get(`${CITY}/beads/ready?limit=1000`)).body.items.filter((each: any) => each.metadata?.['gc.root_bead_id'] === root),
    ).toEqual([]);
    for (const ref of ['freeze', 'verify.shard.iter1.smoke', 'verify.shard.iter2.smoke'])
      expect((await close((await step(root!, ref)).id)).status).toBe(200);
    expect(await runOf(root!)).toMatchObject({ status: 'waiting', progress: { total: 6, closed: 4 }, source_id: id });
    expect((await a.get(`${CITY}/runs`)).body.status_counts).toMatchObject({ waiting: 1 });
    await close((await step(root!, 'gate-publish')).id);
    await close((await step(root!, 'publish')).id);
    expect(await runOf(root!)).toMatchObject({
      status: 'completed',
      formula: 'mol-release',
      target: 'mayor',
      scope: { kind: 'city', ref: 'alpha' },
    });
    const { code, stdout } = await watched;
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${root} \\[pending\\] mol-release\\n[^]*${root} \\[completed\\] mol-release\\n$`));
    await close(id);
    const { items } = (await a.get(`${CITY}/events?type=molecule.resolved`)).body;
    expect(items.filter((event: any) => event.subject === root)).toHaveLength(1);
    const runs = (await a.get(`${CITY}/formulas/mol-release/runs?${SCOPE}`)).body;
    expect(runs).toMatchObject({
      formula: 'mol-release',
      run_count: 1,
      recent_runs: [{ workflow_id: root, status: 'completed', target: 'mayor' }],
    });
    expect((await a.get(`${CITY}/formulas?${SCOPE}`)).body.items.find((each: any) => each.name === 'mol-release')).toMatchObject({
      run_count: 1,
    });
  });

  it('tells of its beads what a read of each answers', async () => {
    const { body } = await launch(release);
    const { items } = (await b.get(`${CITY}/events?type=bead.created&limit=1000`)).body;
    const told = items
      .map(({ payload }: any) => payload.bead)
      .filter((each: any) => each.metadata?.['gc.root_bead_id'] === body.workflow_id);
    const read = await Promise.all(told.map(async ({ id }: any) => (await b.get(`${CITY}/bead/${id}`)).body));
    expect(told).toEqual(read);
    expect(told).toHaveLength(6);
    expect(told).toContainEqual(expect.objectContaining({ ref: 'mol-release.publish', needs: [expect.any(String), expect.any(String)] }));
  });

  it('is made once for a bead, however often and wherever it is asked for', async () => {
    const id = await bead();
    const body = { ...release, attached_bead_id: id };
    const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => launch(body, n % 2 === 0 ? a : b)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 200));
    expect(new Set(answers.map(({ body: { workflow_id: root } }) => root)).size).toBe(1);
    expect(answers.filter(({ body: { changed } }) => changed)).toHaveLength(1);
    expect(answers[0]!.headers.get('location')).toBe(`/v0/city/alpha/runs/${answers[0]!.body.workflow_id}`);
    expect(answers[0]!.body).toMatchObject({
      mode: 'attached',
      attached_bead_id: id,
      formula: 'mol-release',
      run: { kind: 'sling', status: 'pending' },
    });
    expect(await launch({ ...body, vars: { version: 'v2' } })).toMatchObject({
      status: 409,
      body: { code: 'sling-source-workflow-conflict' },
    });
    expect(await launch({ ...body, vars: { version: 'v2' }, force: true })).toMatchObject({ status: 200, body: { changed: true } });
    expect(await runOf(answers[0]!.body.workflow_id)).toMatchObject({ status: 'canceled', last_error: { code: 'canceled' } });
    await close(id);
  });

  it('is rehearsed without a trace, and refused with all that is wrong', async () => {
    const before = (await a.get(`${CITY}/events?limit=1`)).headers.get('x-svc-index');
    const rehearsed = await launch({ ...release, dry_run: true });
    expect(rehearsed.body).toMatchObject({ status: 'would_sling', mode: 'standalone', workflow_id: expect.any(String) });
    expect(rehearsed.body.events).toHaveLength(7);
    expect(await launch({ formula: 'mol-release', vars: { version: 'x', channel: 'y', nope: '1' } })).toMatchObject({
      status: 400,
      body: { code: 'invalid-request', errors: [{}, {}, {}] },
    });
    const refusals: [object, number, string][] = [
      [{}, 400, 'invalid: bead or formula is required'],
      [{ ...release, bead: 'al-1' }, 400, 'invalid: bead and formula are mutually exclusive'],
      [{ attached_bead_id: 'al-1' }, 400, 'invalid: formula is required when attached_bead_id is provided'],
      [{ bead: 'al-1', attached_bead_id: 'al-1', formula: 'x' }, 400, 'invalid: bead and formula are mutually exclusive'],
      [{ ...release, no_formula: true }, 400, 'invalid: no_formula conflicts with formula/attached_bead_id'],
      [{ formula: 'nope' }, 404, 'not_found: formula nope not found'],
      [{ ...release, attached_bead_id: 'al-9999' }, 400, 'sling_missing_bead: bead al-9999 not found'],
      [{ formula: 'graph' }, 400, 'invalid: v2 formula "graph" requires a target convoy'],
      [
        { formula: 'graph', vars: { convoy_id: 'x' }, attached_bead_id: 'al-1' },
        400,
        expect.stringContaining('is reserved') as unknown as string,
      ],
      [{ formula: 'perhaps' }, 400, 'invalid: v2 formula "perhaps" requires a target convoy'],
    ];
    for (const [body, status, detail] of refusals) expect([body, await launch(body)]).toMatchObject([body, { status, body: { detail } }]);
    // Sessions that were sent work go on meanwhile.
    const { items } = (await a.get(`${CITY}/events?after_seq=${before}`)).body as { items: { type: string }[] };
    expect(items.filter(({ type }) => /^(bead|convoy|execution|molecule)\./.test(type))).toEqual([]);
  });

  it('is launched for each of several beads by the client, and told apart in the list', async () => {
    const [one, two] = [await bead(), await bead()];
    const said = await ok(['sling', 'mayor', one, two, '--formula', 'mol-release', '--var', 'version=v1', '--atomic']);
    const [, first, second] = new RegExp(`^BEAD .* RUN\\n${one} +slung +\\S+ +(\\S+)\\n${two} +slung +\\S+ +(\\S+)\\n$`).exec(said)!;
    expect([await runOf(first!), await runOf(second!)]).toMatchObject([{ source_id: one }, { source_id: two }]);
    expect(await ok(['run', 'list', '--limit', '0'])).toMatch(new RegExp(`^${first} .* ${one} `, 'm'));
    expect(await run(['sling', 'mayor', one, '--on', two, '--formula', 'mol-release'])).toMatchObject({
      code: 2,
      stderr: 'svc sling: name the beads either behind the target or with --on\n',
    });
    for (const id of [one, two]) await close(id);
  });

  it('is launched because its target works by it, unless the bead is to go alone', async () => {
    const [plain, worked] = [await bead(), await bead()];
    const agents = (await a.get(`${CITY}/agents`)).body.items.map((agent: any) => agent.name);
    const target = agents.find((name: string) => name === 'loopback');
    expect((await launch({ target, bead: plain, no_formula: true })).body).toMatchObject({ mode: 'direct', bead: plain });
    const slung = (await launch({ target, bead: worked })).body;
    expect(slung).toMatchObject({ mode: 'direct', bead: worked, formula: 'mol-do-work', workflow_id: expect.any(String) });
    expect((await stepsOf(slung.workflow_id))[0]).toMatchObject({ title: `Understand ${worked}` });
    expect((await launch({ target, bead: worked })).body).toMatchObject({ workflow_id: slung.workflow_id, changed: false });
    await close(worked);
    expect(await runOf(slung.workflow_id)).toMatchObject({ status: 'completed' });
  });
});

describe('a graph', () => {
  it('goes to its target step by step, and closes the bead when it has passed', async () => {
    const id = await bead();
    const { workflow_id: root } = (await launch({ formula: 'graph', attached_bead_id: id })).body;
    const claim = (): Promise<Reply> => b.post(`${CITY}/hook/claim`, { agent: 'mayor' });
    const first = (await claim()).body;
    expect(first.bead).toMatchObject({ title: expect.stringMatching(/^Look at al-\d+$/), status: 'in_progress' });
    expect(await runOf(root)).toMatchObject({ status: 'active', progress: { total: 2, active: 1, closed: 0 } });
    await close(first.bead.id);
    const second = (await claim()).body;
    expect(second.bead).toMatchObject({ title: 'Act' });
    const feed = (await a.get(`${CITY}/formulas/feed?${SCOPE}`)).body;
    expect(feed).toMatchObject({
      partial: false,
      items: [{ workflow_id: root, status: 'active', type: 'workflow', attached_bead_id: id }],
    });
    await close(second.bead.id);
    expect(await runOf(root)).toMatchObject({ status: 'completed' });
    expect((await a.get(`${CITY}/bead/${id}`)).body).toMatchObject({ status: 'closed' });
    const types = (await a.get(`${CITY}/events?limit=1000`)).body.items
      .filter((event: any) => event.run_id === root)
      .map((event: any) => event.type);
    for (const type of ['execution.work_associated', 'execution.step_defined', 'execution.step_started', 'execution.step_completed'])
      expect(types).toContain(type);
  });

  // Guard: a worker goes on with what is too much for one transaction.
  it('whose rounds find nothing to do is gone on with until it has passed', async () => {
    const loop = (n: number): string =>
      `[[steps]]\nid = "l${n}"\ntitle = "L"\n${n === 1 ? '' : `needs = ["l${n - 1}"]\n`}loop = { until = "step.status == completed", max = 1, body = [{ id = "s", title = "S", drain = { formula = "graph" } }] }\n`;
    const rounds = `formula = "rounds"\n[requires]\nformula_compiler = ">=2.0.0"\n${Array.from({ length: 12 }, (_, n) => loop(n + 1)).join('')}`;
    await ok(['formula', 'save', '-', '--name', 'rounds'], rounds);
    const { id } = (await a.post(`${CITY}/beads`, { title: 'Nothing', type: 'convoy' })).body;
    const { workflow_id: root } = (await launch({ formula: 'rounds', attached_bead_id: id })).body;
    expect(await runOf(root)).toMatchObject({ status: 'active' });
    await eventually(async () => (await runOf(root)).status !== 'active', 20_000);
    expect(await runOf(root)).toMatchObject({ status: 'completed', progress: { total: 24, closed: 24 } });
  });

  it('is shown whole, canceled once, and removed with all its beads', async () => {
    const { workflow_id: root } = (await launch({ formula: 'graph', attached_bead_id: await bead() })).body;
    const snapshot = await b.get(`${CITY}/workflow/${root}`);
    expect(snapshot.body).toMatchObject({
      workflow_id: root,
      scope_kind: 'city',
      scope_ref: 'alpha',
      partial: false,
      root_store_ref: 'city:alpha',
    });
    expect(snapshot.body.beads.map((each: any) => [each.kind, each.status])).toEqual([
      ['workflow', 'blocked'],
      ['task', 'pending'],
      ['task', 'blocked'],
    ]);
    expect(snapshot.body.deps).toHaveLength(2);
    expect(await b.get(`${CITY}/workflow/${root}?scope_kind=rig&scope_ref=web`)).toMatchObject({
      status: 404,
      body: { code: 'workflow-not-found' },
    });
    const ends = await Promise.all([a, b, a, b].map((at) => at.post(`${CITY}/runs/${root}/cancel`)));
    expect(ends.map(({ status }) => status).sort()).toEqual([200, 200, 200, 202]);
    expect(ends.find(({ status }) => status === 202)!.body).toEqual({ run_id: root, status: 'canceled', closed: 3 });
    expect(await ok(['run', 'cancel', root])).toBe(`run ${root} was canceled before\n`);
    expect(await runOf(root)).toMatchObject({ status: 'canceled' });
    const done = (await launch({ formula: 'graph', attached_bead_id: await bead() })).body.workflow_id;
    for (const each of await stepsOf(done)) await close(each.id);
    expect(await a.post(`${CITY}/runs/${done}/cancel`)).toMatchObject({ status: 409 });
    expect(await ok(['run', 'delete', root, '--beads'])).toBe(`run ${root}: 0 beads closed, 3 removed\n`);
    for (const path of [`workflow/${root}`, `runs/${root}`, `bead/${root}`, `molecule/${root}`])
      expect(await b.get(`${CITY}/${path}`)).toMatchObject({ status: 404 });
    expect(await a.delete(`${CITY}/workflow/${root}`)).toMatchObject({ status: 404 });
  });
});

describe('a cancellation', () => {
  it('asks the session that is at a step to end its turn', async () => {
    const made = (await a.post(`${CITY}/sessions`, { kind: 'agent', name: 'mayor', alias: 'walker' })).body;
    const session: string = made.session_id;
    await eventually(async () => (await a.get(`${CITY}/session/${session}`)).body.state === 'active');
    const { workflow_id: root } = (await launch({ formula: 'graph', attached_bead_id: await bead() })).body;
    const [first] = await stepsOf(root);
    expect(await b.post(`${CITY}/bead/${first.id}/claim`, { assignee: 'mayor', session_id: session })).toMatchObject({ status: 200 });
    expect(await b.post(`${CITY}/runs/${root}/cancel`)).toMatchObject({ status: 202, body: { closed: 3 } });
    const asked = await adminAt(
      stack.databaseUrl,
      `select c.kind from session_commands c join sessions s on s.pk = c.session_pk where s.id = $1`,
      [session],
    );
    expect(asked).toEqual([{ kind: 'interrupt' }]);
    expect((await a.get(`${CITY}/bead/${first.id}`)).body).toMatchObject({ status: 'closed', metadata: { 'gc.outcome': 'canceled' } });
  });
});

describe('a stream', () => {
  it('says of every change of a step what it means for those who follow the run', async () => {
    const { workflow_id: root } = (await launch({ formula: 'graph', attached_bead_id: await bead() })).body;
    const [first, second] = await stepsOf(root);
    const { snapshot_event_seq: seq } = (await a.get(`${CITY}/workflow/${root}`)).body;
    const stream = await openStream(`${stack.urls[1]}${CITY}/events/stream?after_seq=${seq}`);
    await close(first.id, a);
    const told = (await stream.until(({ data }) => data?.type === 'bead.updated' && data.subject === second.id)).data;
    expect(told.workflow).toMatchObject({
      ...{ workflow_id: root, root_bead_id: root, scope_kind: 'city', scope_ref: 'alpha', root_store_ref: 'city:alpha' },
      ...{ event_type: 'bead.updated', event_seq: told.seq, logical_node_id: second.id },
      bead: { id: second.id, title: 'Act', kind: 'task', status: 'pending', step_ref: 'graph.act' },
    });
    const closed = stream.frames.find(({ data }) => data?.type === 'bead.closed')!.data;
    expect(closed.workflow).toMatchObject({ bead: { id: first.id, status: 'completed' } });
    const other = await bead();
    const plain = (await stream.until(({ data }) => data?.type === 'bead.created' && data.subject === other)).data;
    expect(plain).not.toHaveProperty('workflow');
    await stream.close();
    await a.delete(`${CITY}/workflow/${root}?delete=true`);
  });
});

describe('molecules', () => {
  it('are made, listed and shown by the client', async () => {
    const id = (await ok(['molecule', 'create', 'mol-release', '--var', 'version=v7', '--title', 'Seven', '--label', 'x'])).trim();
    expect(await ok(['molecule', 'list'])).toMatch(new RegExp(`${id} +open +\\S+ +Seven`));
    expect(await ok(['molecule', 'show', id])).toMatch(/progress: +0 of 6 closed/);
    expect(await ok(['run', 'list'])).toContain(id);
    expect(await ok(['run', 'census'])).toMatch(/pending: +\d/);
    const source = await bead();
    const body = { formula: 'mol-release', vars: { version: 'v8' }, attached_bead_id: source };
    const made = await a.post(`${CITY}/molecules`, body);
    expect(made).toMatchObject({ status: 201, body: { created: true, steps: 6, issue_type: 'molecule' } });
    expect(await b.post(`${CITY}/molecules`, body)).toMatchObject({ status: 200, body: { created: false, id: made.body.id } });
    expect((await a.get(`${CITY}/bead/${source}`)).body.metadata).toEqual({ molecule_id: made.body.id });
    await ok(['run', 'delete', made.body.id, '--beads']);
  });
});

describe('lists of runs', () => {
  it('go from page to page, lane by lane', async () => {
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await a.get(`${CITY}/runs?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      seen.push(...body.runs.map((each: any) => each.run_id));
      cursor = body.next_cursor ?? '';
    } while (cursor !== '');
    const all = (await a.get(`${CITY}/runs?limit=500`)).body;
    expect(seen).toEqual(all.runs.map((each: any) => each.run_id));
    expect(new Set(seen).size).toBe(seen.length);
    const over = ['completed', 'failed', 'canceled', 'skipped'];
    const lanes = all.runs.map((each: any) => (over.includes(each.status) ? 2 : each.status === 'waiting' ? 1 : 0));
    expect(lanes).toEqual([...lanes].sort());
    expect(await a.get(`${CITY}/runs?cursor=nonsense`)).toMatchObject({ status: 400, body: { code: 'invalid-cursor' } });
  });
});
