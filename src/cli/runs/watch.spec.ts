import { afterEach, describe, expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { json, testServer, type TestServer } from '../testing/server.js';
import type { Run, Step } from './view.js';
import { LimitedRequest } from '../../client/limit.js';
import type { CityContext } from '../command.js';
import { drawingOn, moved } from './watch.command.js';

const run = (status: Run['status']): Run =>
  ({ run_id: 'al-1', title: 'R', status, scope: { kind: 'city', ref: 'alpha' }, progress: { total: 2, active: 0, closed: 0 } }) as Run;
const step = (id: string, status: Step['status']): Step => ({ id, title: id, status, kind: 'step', ref: id, needs: [] }) as unknown as Step;
const at = (status: Run['status'], ...states: Step['status'][]) => ({
  run: run(status),
  steps: states.map((each, n) => step(`s${n + 1}`, each)),
});
const TREE = 'al-1 [pending] R\n├─ ○ s1 [pending] s1\n└─ ○ s2 [pending] s2\n';

describe('a run that is watched', () => {
  it('is drawn over itself on a terminal', async () => {
    const io = fakeIo({ interactive: true, width: 80, height: 24 });
    const draw = drawingOn(io);
    await draw(at('pending', 'pending', 'pending'));
    await draw(at('active', 'completed', 'pending'));
    expect(io.stdout).toBe(`${TREE}\u001b[3A\u001b[Jal-1 [active] R\n├─ ✓ s1 [completed] s1\n└─ ○ s2 [pending] s2\n`);
  });

  it('is a line a change where it has no room, and from when it has outgrown the terminal', async () => {
    const low = fakeIo({ interactive: true, width: 80, height: 3 });
    const draw = drawingOn(low);
    await draw(at('pending', 'pending', 'pending'));
    await draw(at('active', 'completed', 'pending'));
    expect(low.stdout).toBe(`${TREE}s1 [completed] s1\n`);
    const grown = fakeIo({ interactive: true, width: 80, height: 4 });
    const growing = drawingOn(grown);
    await growing(at('pending', 'pending', 'pending'));
    await growing(at('active', 'completed', 'pending', 'pending'));
    await growing(at('completed', 'completed', 'completed', 'pending'));
    expect(grown.stdout).not.toContain('\u001b');
    expect(grown.stdout.slice(TREE.length)).toBe(
      'al-1 [active] R\n├─ ✓ s1 [completed] s1\n├─ ○ s2 [pending] s2\n└─ ○ s3 [pending] s3\ns2 [completed] s2\nal-1 [completed] R\n',
    );
  });

  it('is drawn over itself also with a title that is longer than the terminal is wide', async () => {
    const io = fakeIo({ interactive: true, width: 20, height: 24 });
    const draw = drawingOn(io);
    const long = { ...at('active', 'pending'), run: { ...run('active'), title: 'A title of many words' } };
    await draw(long);
    await draw(long);
    const tree = 'al-1 [active] A tit…\n└─ ○ s1 [pending] s1\n';
    expect(io.stdout).toBe(`${tree}\u001b[2A\u001b[J${tree}`);
  });

  it('waits for an answer for longer than the service may take for it', async () => {
    let asked: { limitMs: number | undefined; wait: string } | undefined;
    const GET = (_path: string, { params, signal }: { params: { query: { wait: string } }; signal: AbortSignal }) => {
      asked = { limitMs: new LimitedRequest('http://127.0.0.1/', { signal }).limit?.ms, wait: params.query.wait };
      return Promise.resolve({ data: { items: [] }, response: new Response('{}') });
    };
    await moved({ api: { http: { GET } }, city: 'alpha' } as unknown as CityContext<never>, '7');
    // It adds up to a sixteenth, and looks before and after.
    expect(asked!.limitMs).toBeGreaterThan(1_000 * parseInt(asked!.wait, 10) * (17 / 16) + 5_000);
  });
});

describe('a run of a busy city', () => {
  let server: TestServer;
  afterEach(() => server.close());

  it('is read once for what happens together', async () => {
    let status: Run['status'] = 'active';
    server = await testServer({
      '/v0/city/alpha/runs/al-1': (_request, response) => json(response, run(status), { 'x-svc-index': '1' }),
      '/v0/city/alpha/runs/al-1/steps': (_request, response) => json(response, { steps: [] }),
      '/v0/city/alpha/molecules': (_request, response) => {
        json(response, { items: [] });
        setTimeout(() => (status = 'completed'), 50);
      },
    });
    const io = fakeIo({ env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' } });
    expect(await runCli(['run', 'watch', 'al-1'], io)).toBe(0);
    expect(server.requests.filter(({ line }) => line === 'GET /v0/city/alpha/runs/al-1')).toHaveLength(2);
  });
});

describe('a watch that somebody stops', () => {
  let server: TestServer;
  afterEach(() => server.close());

  it('does not end like the run, and prints no run as if it had ended', async () => {
    const io = fakeIo();
    server = await testServer({
      '/v0/city/alpha/runs/al-1': (_request, response) => json(response, run('active'), { 'x-svc-index': '1' }),
      '/v0/city/alpha/runs/al-1/steps': (_request, response) => json(response, { steps: [step('s1', 'active')] }),
      '/v0/city/alpha/molecules': (_request, response) => json(response, { items: [] }),
    });
    const out = (text: string): Promise<void> => {
      io.interrupt();
      return io.out(text);
    };
    const watched = { ...io, env: { SVC_API_URL: server.url, SVC_CITY: 'alpha' }, out };
    expect(await runCli(['run', 'watch', 'al-1', '--json'], watched)).toBe(130);
    expect(io.stdout.trim().split('\n')).toEqual([JSON.stringify(step('s1', 'active'))]);
  });
});
