import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { hasBubblewrap } from '../support/bubblewrap.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';

/** What the commands that a city's files name reach of their host: no more than the agents of the city do. */
let stack: Stack;
let a: Api;
let ledger: Ledger;

const PROBES = (data: string, pid: number): string =>
  [
    `cat ${data}/admin.key || echo no key`,
    'cat ../quay/secret || echo no neighbour',
    `kill -0 ${pid} || echo no signal`,
    'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep -c SVC_DATABASE_URL',
    'echo x >.gc/evil || echo no state',
  ].join('; ');
const COMMAND = ['test -n "$ORDER_DIR" && echo made >made && cat made', 'test -e "$HOME/note" && echo kept; echo x >"$HOME/note"'].join(
  '; ',
);
const WALLS = ['no key', 'no neighbour', 'no signal', '0', 'no state'];

(hasBubblewrap ? describe : describe.skip)('what a city has run', () => {
  let probes: string;
  beforeAll(async () => {
    stack = await startStack({ apis: 1, workers: 1, config: { isolation: 'bubblewrap' } });
    a = api(stack.urls[0]!);
    ledger = await Ledger.open(stack);
    for (const dir of ['port', 'quay'])
      await ledger.succeeded(await a.post('/v0/city', { dir, provider: 'loopback' }), 'request.result.city.create');
    await writeFile(join(stack.config.dataDir, 'admin.key'), 'the key');
    await writeFile(join(stack.citiesRoot, 'quay', 'secret'), 'of the neighbour');
    probes = PROBES(stack.config.dataDir, process.pid);
    const file = join(stack.citiesRoot, 'port', 'orders', 'try.toml');
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, `[order]\ntrigger = "manual"\nexec = ${JSON.stringify(`${probes}; ${COMMAND}`)}\n`);
    expect(await a.post('/v0/city/port/config/reload')).toMatchObject({ status: 200 });
  });
  afterAll(async () => {
    await ledger?.stream.close();
    await stack?.stop();
  });

  // Guard: commands of cities are started inside the walls.
  it('by an order is behind the same walls as its agents, and finds its home again', async () => {
    const run = async (): Promise<string[]> => {
      const { body } = await eventually(async () => {
        const answer = await a.post('/v0/city/port/order/try/run', {});
        return answer.status === 202 && answer;
      });
      const done = await eventually(async () => {
        const firing = (await a.get(`/v0/city/port/order/history/${body.tracking_id}`)).body;
        return firing.entry.state === 'done' && firing;
      });
      return done.output.split('\n').filter((line: string) => line !== '' && !line.includes(': '));
    };
    expect(await run()).toEqual([...WALLS, 'made']);
    expect(await run()).toEqual([...WALLS, 'made', 'kept']);
  });

  // Guard: whatever a command leaves running has its output open for ever.
  it('to learn how many sessions are wanted is, too, and has nobody wait for what it leaves running', async () => {
    const asked = `(${probes}) >asked 2>&1; setsid sleep 600 & echo 1`;
    await appendFile(
      join(stack.citiesRoot, 'port', 'pack.toml'),
      `\n[[agent]]\nname = "hand"\nprovider = "loopback"\nprompt_template = "prompt.md"\nscale_check = ${JSON.stringify(asked)}\n`,
    );
    await writeFile(join(stack.citiesRoot, 'port', 'prompt.md'), 'Good morning.');
    expect(await a.post('/v0/city/port/config/reload')).toMatchObject({ status: 200 });
    await eventually(async () =>
      (await a.get('/v0/city/port/agents?pool=hand')).body.items.some(({ running }: { running: boolean }) => running),
    );
    const wrote = await readFile(join(stack.citiesRoot, 'port', 'asked'), 'utf8');
    expect(wrote.split('\n').filter((line) => line !== '' && !line.includes(': '))).toEqual(WALLS);
    // The others are looked at meanwhile.
    const bead = await a.post('/v0/city/quay/beads', { title: 'work', assignee: 'mayor' });
    expect(bead.status).toBe(201);
    await eventually(async () => (await a.get('/v0/city/quay/sessions')).body.items.length > 0);
  });
});
