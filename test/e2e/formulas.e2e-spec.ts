import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { startStack, type Stack } from '../support/app.js';
import { svc, type CliRun } from '../support/cli.js';
import { api, type Api, type Reply, type RequestHeaders } from '../support/http.js';
import { Ledger } from '../support/ledger.js';

/** Formulas through the client and over HTTP: what is saved at one replica is read at the other. */
let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;
const CITY = '/v0/city/alpha';
const SCOPE = 'scope_kind=city&scope_ref=alpha';

const GREET = `# Kept as it is
formula = "greet"
description = "Say hello"
[vars]
who = { required = true, pattern = "^[A-Z]" }
times = { default = "2", type = "int" }
[[steps]]
id = "say"
title = "Hello {{who}}"
[[steps]]
id = "again"
needs = ["say"]
loop = { range = "1..{times}", var = "n", body = [{ id = "nod", title = "Nod {n}" }] }
`;
const CHECKED = `formula = "checked"
[requires]
formula_compiler = ">=2.0.0"
[[steps]]
id = "prove"
title = "Prove {{convoy_id}}"
check = { max_attempts = 2, check = { mode = "exec", path = "../assets/green.sh" } }
`;

const run = (args: readonly string[], input?: string): Promise<CliRun> =>
  svc(args, { env: { SVC_API_URL: stack.urls[0]!, SVC_CITY: 'alpha' }, ...(input === undefined ? {} : { input }) });
async function ok(args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await run(args, input);
  expect([args, code, stderr]).toEqual([args, 0, '']);
  return stdout;
}
const inCity = (path: string): string => join(stack.citiesRoot, 'alpha', path);
async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(inCity(path)), { recursive: true });
  await writeFile(inCity(path), text);
}
const raw = (method: 'PUT' | 'POST', path: string, body: string, headers: RequestHeaders = {}): Promise<Reply> =>
  a.send(method, `${CITY}/formulas/${path}`, body, { 'Content-Type': 'application/octet-stream', ...headers });

beforeAll(async () => {
  stack = await startStack();
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
  await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
  await appendFile(inCity('city.toml'), '\n[[rigs]]\nname = "web"\nformulas_dir = "recipes"\n');
  await appendFile(inCity('.gc/site.toml'), '\n[[rig]]\nname = "web"\npath = "web"\n');
  await mkdir(inCity('web'));
  await put('assets/green.sh', 'true\n');
  await put('assets/how.md', 'How {{rig_name}} does it\n');
  await put('recipes/greet.toml', 'formula = "greet"\n[[steps]]\nid = "wave"\ntitle = "Wave"\ndescription_file = "../assets/how.md"\n');
  expect(await a.post(`${CITY}/config/reload`)).toMatchObject({ status: 200 });
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

describe('formulas', () => {
  it('are saved as they are, seen at the other replica, previewed and taken away again', async () => {
    expect(await ok(['formula', 'save', '-', '--name', 'greet'], GREET)).toBe('the formula greet is saved\n');
    expect(await readFile(inCity('formulas/greet.toml'), 'utf8')).toBe(GREET);
    expect(await ok(['formula', 'source', 'greet'])).toBe(GREET);
    const list = (await b.get(`${CITY}/formulas?${SCOPE}`)).body;
    expect(list).toMatchObject({ total: 2, partial: false });
    expect(list.items.map(({ name, source }: any) => [name, source.file])).toEqual([
      ['greet', 'formulas/greet.toml'],
      ['mol-do-work', expect.stringMatching(/formulas\/mol-do-work\.toml$/)],
    ]);
    expect(await ok(['formula', 'preview', 'greet', '--var', 'who=World', '--target', 'mayor'])).toBe(
      'greet\n├─ say: Hello World\n├─ again.iter1.nod: Nod 1  after say\n└─ again.iter2.nod: Nod 2  after again.iter1.nod\n',
    );
    expect(await ok(['formula', 'show', 'greet'])).toContain('Hello {{who}}');
    const { stderr } = await run(['formula', 'preview', 'greet', '--var', 'who=world', '--var', 'times=x']);
    expect(stderr).toMatch(/does not match \^\[A-Z\]/);
    expect(stderr).toMatch(/is not a whole number/);
    expect(await ok(['formula', 'delete', 'greet'])).toBe('the formula greet is deleted\n');
    expect((await b.get(`${CITY}/formulas/greet/source`)).status).toBe(404);
    expect(await b.get(`${CITY}/formulas/greet?${SCOPE}&target=mayor`)).toMatchObject({ status: 404, body: { code: 'formula-not-found' } });
  });

  it('of a rig lie over those of its city, which says what it shadows', async () => {
    await ok(['formula', 'save', '-', '--name', 'greet'], GREET);
    const { body } = await b.get(`${CITY}/formula/greet?scope_kind=rig&scope_ref=web&target=mayor`);
    expect(body).toMatchObject({
      source: { file: 'recipes/greet.toml' },
      shadows: [{ file: 'formulas/greet.toml', pack: '' }],
      steps: [{ title: 'Wave' }],
    });
    expect((await b.get(`${CITY}/formula/greet?${SCOPE}&target=mayor`)).body.shadows).toEqual([]);
  });

  it('keep to the revision that was seen', async () => {
    const { headers } = await a.get(`${CITY}/formulas?${SCOPE}`);
    const seen = headers.get('etag')!;
    expect(await raw('PUT', 'greet', GREET.replace('hello', 'hi'), { 'If-Match': seen })).toMatchObject({
      status: 200,
      body: { status: 'saved' },
    });
    expect(await raw('PUT', 'greet', GREET, { 'If-Match': seen })).toMatchObject({ status: 412 });
    expect(await readFile(inCity('formulas/greet.toml'), 'utf8')).toContain('Say hi');
  });

  it('are refused with everything that is wrong, and nothing is written', async () => {
    const bad = 'formula = "other"\nversion = 1\n[[steps]]\nid = "a"\ntitle = "{{x}}"\n';
    const refused = await raw('PUT', 'bad', bad);
    expect(refused).toMatchObject({
      status: 400,
      body: { code: 'invalid-request', detail: expect.stringMatching(/^invalid: formula validation failed: formulas\/bad\.toml:1/) },
    });
    expect(refused.body.errors.map(({ location }: any) => location)).toEqual([
      'formulas/bad.toml:1:formula',
      'formulas/bad.toml:2:version',
      'formulas/bad.toml:5:steps[0].title',
    ]);
    await expect(readFile(inCity('formulas/bad.toml'))).rejects.toThrow('ENOENT');
    expect((await raw('POST', 'bad/validate', bad)).body).toMatchObject({ valid: false, errors: { length: 3 } });
    expect((await raw('POST', 'greet/validate', GREET)).body).toEqual({ valid: true });
    expect((await raw('POST', 'feed/validate', GREET)).body.valid).toBe(false);
    expect((await raw('PUT', 'a.b', GREET)).status).toBe(400);
    expect(await a.send('PUT', `${CITY}/formulas/greet`, '"text"', { 'Content-Type': 'application/json' })).toMatchObject({ status: 415 });
    expect((await raw('PUT', 'greet', 'x'.repeat(1024 * 1024 + 1))).status).toBe(413);
  });

  it('say where they are meant, and for whom', async () => {
    const status = async (query: string): Promise<unknown[]> => {
      const { status: got, body } = await b.get(`${CITY}/formulas/greet?target=mayor&${query}`);
      return [got, body.code];
    };
    expect(await status('')).toEqual([400, 'invalid-request']);
    expect(await status('scope_kind=city')).toEqual([400, 'invalid-request']);
    expect(await status('scope_kind=moon&scope_ref=x')).toEqual([400, 'invalid-request']);
    expect(await status('scope_kind=rig&scope_ref=nowhere')).toEqual([404, 'scope-not-found']);
    expect(await b.get(`${CITY}/formulas/greet?${SCOPE}&target=nobody`)).toMatchObject({ status: 400, body: { code: 'invalid-request' } });
  });

  it('that cannot be used are in the list with what is wrong, and break nothing else', async () => {
    await put('formulas/broken.toml', 'formula = "broken\n');
    expect(await a.post(`${CITY}/config/reload`)).toMatchObject({ status: 200 });
    const { body } = await b.get(`${CITY}/formulas?${SCOPE}&limit=2`);
    expect(body).toMatchObject({ total: 3, partial: true, next_cursor: expect.any(String) });
    expect(body.items[0]).toMatchObject({ name: 'broken', errors: [expect.stringMatching(/^formulas\/broken\.toml:1: column 18/)] });
    expect((await b.get(`${CITY}/formulas?${SCOPE}&limit=2&cursor=${body.next_cursor}`)).body.items).toHaveLength(1);
    expect(await ok(['formula', 'list'])).toMatch(/broken +formulas\/broken\.toml +unusable: /);
    await ok(['formula', 'delete', 'broken']);
  });

  it('with a script need its file, and show the input that the run gives', async () => {
    expect(await ok(['formula', 'save', '-', '--name', 'checked'], CHECKED)).toContain('saved');
    const { body } = await b.post(`${CITY}/formulas/checked/preview`, { scope_kind: 'city', scope_ref: 'alpha', target: 'mayor' });
    expect(body).toMatchObject({
      compiler: '2',
      steps: [
        { id: 'checked.prove', kind: 'ralph', title: 'Prove preview-input-convoy:mayor', metadata: { 'gc.check_path': 'assets/green.sh' } },
      ],
    });
    expect((await raw('POST', 'checked/validate', CHECKED.replace('green', 'red'))).body.errors).toEqual([
      'formulas/checked.toml:7: steps[0].check.check.path: there is no such file in the city or its packs',
    ]);
  });

  it('are checked by the client without a server', async () => {
    await put('lone.toml', GREET.replace('{{who}}', '{{whom}}').replace('"greet"', '"lone"'));
    const { code, stdout } = await svc(['formula', 'validate', inCity('lone.toml')], { env: { SVC_API_URL: 'http://127.0.0.1:9' } });
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/lone\.toml:9: steps\[0\]\.title: nothing gives \{\{whom\}\} a value: declare it in vars\n$/),
    ]);
    expect(await ok(['formula', 'validate', inCity('formulas/checked.toml')])).toBe('checked can be used\n');
  });
});
