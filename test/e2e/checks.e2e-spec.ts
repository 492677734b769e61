import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startStack, testRedisUrl, type Stack } from '../support/app.js';
import { svc } from '../support/cli.js';
import { adminAt } from '../support/database.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';

/** Checks of runs: the scripts run on any worker, and each says its word once. */
let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;
const workers: SupervisorProcess[] = [];
const CITY = '/v0/city/alpha';
const inCity = (path: string): string => join(stack.citiesRoot, 'alpha', path);

const AUDIT = `formula = "audit"
[requires]
formula_compiler = ">=2.0.0"
[[steps]]
id = "write"
title = "Write it"
timeout = "20m"
[steps.check]
max_attempts = 3
check = { mode = "exec", path = "../assets/green.sh", timeout = "20s" }
[[steps]]
id = "tell"
title = "Tell it"
needs = ["write"]
`;

/** The second example of the reference in other words, and a drain: all that a graph can be made of. */
const REVIEW = `formula = "review"
[requires]
formula_compiler = ">=2.0.0"
[vars]
focus = { default = "speed", enum = ["speed", "safety"] }
[[steps]]
id = "both"
title = "Read and prove"
needs = ["read", "prove"]
metadata = { "gc.kind" = "scope", "gc.scope_name" = "review", "gc.scope_role" = "body" }
[[steps]]
id = "read"
title = "Read {{convoy_id}} for {{focus}}"
metadata = { "gc.scope_ref" = "both", "gc.scope_role" = "member", "gc.on_fail" = "abort_scope" }
retry = { max_attempts = 3, on_exhausted = "hard_fail" }
[[steps]]
id = "prove"
title = "Make it green"
needs = ["read"]
timeout = "20m"
metadata = { "gc.scope_ref" = "both", "gc.scope_role" = "member", "gc.on_fail" = "abort_scope" }
check = { max_attempts = 2, check = { mode = "exec", path = "../assets/green.sh", timeout = "20s" } }
[[steps]]
id = "weigh"
title = "Weigh each part"
needs = ["both"]
drain = { formula = "weigh", member_access = "exclusive" }
[[steps]]
id = "files"
title = "List the files"
needs = ["both"]
on_complete = { for_each = "output.files", bond = "look", vars = { path = "{item.path}" } }
[[steps]]
id = "tidy"
title = "Tidy up"
needs = ["both"]
metadata = { "gc.kind" = "cleanup", "gc.scope_ref" = "both", "gc.scope_role" = "teardown" }
`;
const WEIGH = `formula = "weigh"
[requires]
formula_compiler = ">=2.0.0"
[vars]
focus = "anything"
[[steps]]
id = "put"
title = "Weigh {{issue}} for {{focus}}"
[[steps]]
id = "note"
title = "Note its weight"
needs = ["put"]
`;
const LOOK = `formula = "look"
type = "expansion"
[requires]
formula_compiler = ">=2.0.0"
[vars]
path = { required = true }
[[template]]
id = "{target}.open"
title = "Open {path}"
[[template]]
id = "{target}.close"
title = "Close {path}"
needs = ["{target}.open"]
`;

const client = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await svc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' } });
  expect([args, code, stderr]).toEqual([args, 0, expect.anything()]);
  return stdout;
};
/** What an agent says of a step that it has done, when that is more than that it has passed. */
const SAID: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'review.read.attempt.1': { 'gc.outcome': 'fail', 'gc.failure_class': 'transient' },
  'review.files': { 'gc.output_json': '{"files":[{"path":"x.ts"},{"path":"y.ts"}]}' },
};
/** An agent that takes what is on its hook through the client, one after the other, until a run is over. Answers what it was given. */
async function workThrough(run: string): Promise<string[]> {
  const given: string[] = [];
  for (;;) {
    const next = await eventually(async () => {
      const answer = JSON.parse(await client('hook', 'claim', '--agent', 'mayor', '--json'));
      if (answer.action === 'work') return answer.bead;
      return ['completed', 'failed'].includes((await runOf(run)).status) ? 'over' : undefined;
    });
    if (next === 'over') return given;
    given.push(next.title);
    const said = Object.entries({ 'gc.outcome': 'pass', ...SAID[next.ref] }).flatMap(([key, value]) => ['--metadata', `${key}=${value}`]);
    await client('bead', 'update', next.id, '--status', 'closed', ...said);
  }
}

const launch = async (): Promise<string> => {
  const source = (await a.post(`${CITY}/beads`, { title: 'work' })).body.id as string;
  const { status, body } = await a.post(`${CITY}/sling`, { target: 'mayor', formula: 'audit', attached_bead_id: source });
  expect([status, body]).toEqual([200, expect.anything()]);
  return body.workflow_id as string;
};
const stepsOf = async (run: string): Promise<any[]> => (await b.get(`${CITY}/runs/${run}/steps`)).body.steps;
const step = async (run: string, ref: string): Promise<any> => (await stepsOf(run)).find((each) => each.ref === `audit.${ref}`);
const runOf = async (run: string): Promise<any> => (await b.get(`${CITY}/runs/${run}`)).body;
const close = (id: string, metadata: Record<string, string> = {}): Promise<any> =>
  a.post(`${CITY}/bead/${id}/update`, { status: 'closed', metadata });
/** Closes a step once it is there. */
async function done(run: string, ref: string, metadata: Record<string, string> = {}): Promise<void> {
  const { id } = await eventually(() => step(run, ref));
  expect(await close(id, metadata)).toMatchObject({ status: 200 });
}
const script = (text: string): Promise<void> => writeFile(inCity('assets/green.sh'), text);

async function worker(): Promise<SupervisorProcess> {
  const started = spawnSupervisor({
    SVC_ROLE: 'worker',
    SVC_DATABASE_URL: stack.databaseUrl,
    SVC_CITIES_ROOT: stack.citiesRoot,
    SVC_DATA_DIR: stack.config.dataDir,
    SVC_PROVIDER_CHECK: 'off',
    SVC_RUNNER_ISOLATION: 'none',
    ...(testRedisUrl === undefined ? {} : { SVC_REDIS_URL: testRedisUrl }),
  });
  workers.push(started);
  await started.ready();
  return started;
}

beforeAll(async () => {
  stack = await startStack({ workers: 2 });
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
  await mkdir(inCity('assets'), { recursive: true });
  await mkdir(inCity('formulas'), { recursive: true });
  await script('true');
  for (const [name, text] of Object.entries({ audit: AUDIT, review: REVIEW, weigh: WEIGH, look: LOOK }))
    await writeFile(inCity(`formulas/${name}.toml`), text);
  // Nobody takes the steps but the test.
  expect(await a.post(`${CITY}/agent/mayor/suspend`)).toMatchObject({ status: 200 });
  expect(await a.post(`${CITY}/config/reload`)).toMatchObject({ status: 200 });
});
afterAll(async () => {
  for (const { child } of workers) child.kill('SIGKILL');
  await Promise.all(workers.map(({ exited }) => exited));
  await ledger?.stream.close();
  await stack?.stop();
});

describe('a check', () => {
  it('has what was done looked at by its script, and done again until that is content', async () => {
    await script(
      'echo "round $SVC_ITERATION of $SVC_STEP in $SVC_CITY: $SVC_OUTPUT_JSON"; echo red >&2; test "$SVC_ITERATION" = 2 || exit 3',
    );
    const run = await launch();
    await done(run, 'write.iteration.1', { 'gc.output_json': '{"score":1}' });
    expect(await eventually(async () => (await step(run, 'write')).check)).toEqual({
      iteration: 1,
      passed: false,
      reason: 'the script ended with 3',
      exit_code: 3,
      duration_ms: expect.any(Number),
      output: 'round 1 of audit.write in alpha: {"score":1}\nred\n',
    });
    const { code, stdout } = await svc(['run', 'show', run], { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' } });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/\[blocked\] Write it .*\(check 1: the script ended with 3: red\)/)]);
    await done(run, 'write.iteration.2');
    await eventually(async () => (await step(run, 'write')).status === 'completed');
    expect(await step(run, 'write')).toMatchObject({ check: { iteration: 2, passed: true, exit_code: 0 } });
    await done(run, 'tell');
    expect(await runOf(run)).toMatchObject({ status: 'completed' });
  });

  it('fails what it is part of when it is never content, and does not look at what has failed', async () => {
    await script('exit 1');
    const run = await launch();
    for (const n of [1, 2, 3]) await done(run, `write.iteration.${n}`);
    await eventually(async () => (await runOf(run)).status === 'failed');
    expect(await stepsOf(run)).toMatchObject([{ status: 'failed' }, { status: 'skipped' }, {}, {}, {}]);
    const failed = await launch();
    await done(failed, 'write.iteration.1');
    await done(failed, 'write.iteration.2', { 'gc.outcome': 'fail', 'gc.failure_class': 'hard' });
    expect(await runOf(failed)).toMatchObject({ status: 'failed' });
    expect((await step(failed, 'write')).check).toMatchObject({ iteration: 1 });
  });

  it('says that its script cannot be run, and tries nothing again', async () => {
    await script('true');
    const run = await launch();
    await rm(inCity('assets/green.sh'));
    await symlink('/etc/hostname', inCity('assets/green.sh'));
    await done(run, 'write.iteration.1');
    await eventually(async () => (await runOf(run)).status === 'failed');
    expect(await step(run, 'write')).toMatchObject({ check: { passed: false, reason: expect.stringContaining('there is no file') } });
    expect(await stepsOf(run)).toHaveLength(3);
    await rm(inCity('assets/green.sh'));
    await script('true');
    // Somebody may have noticed that it was gone: the formula cannot be used then.
    expect(await a.post(`${CITY}/config/reload`)).toMatchObject({ status: 200 });
  });

  it('is not waited for longer than its step allows', async () => {
    const run = await launch();
    const { id } = await eventually(() => step(run, 'write.iteration.1'));
    await a.post(`${CITY}/bead/${id}/update`, { status: 'in_progress', assignee: 'mayor' });
    await adminAt(stack.databaseUrl, `update run_steps set due_at = due_at - interval '1 h'`);
    await eventually(async () => (await step(run, 'write.iteration.2')) !== undefined);
    expect(await step(run, 'write.iteration.1')).toMatchObject({ status: 'failed' });
    expect(await b.post(`${CITY}/runs/${run}/cancel`)).toMatchObject({ status: 202 });
  });

  it('ends with its run: the script is killed, and what it would have said is not heard', async () => {
    await script('echo $$ > began; exec sleep 600');
    const run = await launch();
    await done(run, 'write.iteration.1');
    const pid = await eventually(() =>
      readFile(inCity('began'), 'utf8')
        .catch(() => undefined)
        .then((text) => text?.endsWith('\n') && text),
    );
    expect(await b.post(`${CITY}/runs/${run}/cancel`)).toMatchObject({ status: 202 });
    await eventually(() =>
      readFile(`/proc/${pid.trim()}/stat`, 'utf8').then(
        (text) => text.includes(') Z '),
        () => true,
      ),
    );
    expect((await step(run, 'write')).check).toBeUndefined();
    await rm(inCity('began'));
  });
});

describe('a graph of all that there is', () => {
  it('is worked through by an agent, tried again, checked, drained, fanned out and tidied up, to its end', async () => {
    await script('test "$SVC_ITERATION" = 2');
    const parts = [];
    for (const title of ['left', 'right']) parts.push((await a.post(`${CITY}/beads`, { title })).body.id as string);
    const convoy = (await client('convoy', 'create', 'The change', ...parts)).trim().split(/\s/)[0]!;
    const said = await client('sling', 'mayor', '--formula', 'review', '--on', convoy);
    const run = /\(run (\S+)\)/.exec(said)![1]!;
    const watched = client('run', 'watch', run);
    const given = await workThrough(run);
    expect(given.slice(0, 4)).toEqual([`Read ${convoy} for speed`, `Read ${convoy} for speed`, 'Make it green', 'Make it green']);
    expect(given.slice(4).sort()).toEqual(
      [
        ...['Close x.ts', 'Close y.ts', 'Open x.ts', 'Open y.ts', 'List the files', 'Note its weight', 'Note its weight', 'Tidy up'],
        ...parts.map((part) => `Weigh ${part} for speed`),
      ].sort(),
    );
    expect(await runOf(run)).toMatchObject({ status: 'completed' });
    for (const part of parts) expect((await a.get(`${CITY}/bead/${part}`)).body).toMatchObject({ status: 'closed' });
    expect((await a.get(`${CITY}/bead/${convoy}`)).body).toMatchObject({ status: 'closed' });
    const weighed = (await stepsOf(run)).find(({ ref }) => ref === 'review.weigh');
    expect(weighed.units).toEqual(
      parts.map((member, n) => ({ unit: n + 1, member, status: 'completed', reason: 'all of its steps have passed' })),
    );
    const shown = await client('run', 'show', run);
    expect(shown).toMatch(
      /✓ \S+ \[completed\] Weigh each part \(2 of 2 units over\)\n(│ {2}| {3})├─ ✓ \S+ \[completed[^\]]*\] Weigh \S+ for speed \(for \S+\)/,
    );
    expect(await watched).toMatch(new RegExp(`Weigh \\S+ for speed \\(for \\S+\\)[^]*\n${run} \\[completed\\] review\n$`));
  });
});

describe('a worker that is killed', () => {
  it('loses the script to another one, and the round is judged once', async () => {
    await Promise.all(stack.apps.slice(stack.urls.length).map((app) => app.stop()));
    await script('echo $SVC_NODE $$ >> looks; test -e free || exec sleep 600; test "$SVC_ITERATION" = 2');
    const first = await worker();
    const run = await launch();
    await done(run, 'write.iteration.1');
    const looks = (): Promise<string[]> =>
      readFile(inCity('looks'), 'utf8').then(
        (text) => text.trim().split('\n'),
        () => [],
      );
    await eventually(async () => (await looks()).length === 1);
    first.child.kill('SIGKILL');
    await first.exited;
    await writeFile(inCity('free'), '');
    await adminAt(stack.databaseUrl, `update run_checks set lease_until = now() - interval '1 s'`);
    await worker();
    await eventually(async () => (await step(run, 'write.iteration.2')) !== undefined);
    expect(await looks()).toHaveLength(2);
    await done(run, 'write.iteration.2');
    await done(run, 'tell');
    await eventually(async () => (await runOf(run)).status === 'completed');
    expect((await stepsOf(run)).map(({ ref }) => ref)).toEqual([
      'audit.write',
      'audit.tell',
      'audit.write.iteration.1',
      'audit.write.iteration.2',
    ]);
  });
});
