import { writeFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { hasBubblewrap } from '../support/bubblewrap.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { eventually } from '../support/sse.js';

/** What the command of an order reaches of its host: no more than the agents of its city do. */
let stack: Stack;
let a: Api;
let ledger: Ledger;

const COMMAND = (data: string, pid: number): string =>
  [
    `cat ${data}/admin.key || echo no key`,
    'cat ../quay/secret || echo no neighbour',
    `kill -0 ${pid} || echo no signal`,
    'cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep -c SVC_DATABASE_URL',
    'echo x >.gc/evil || echo no state',
    'test -n "$ORDER_DIR" && echo made >made && cat made',
    'test -e "$HOME/note" && echo kept; echo x >"$HOME/note"',
  ].join('; ');

(hasBubblewrap ? describe : describe.skip)('the command of an order', () => {
  beforeAll(async () => {
    stack = await startStack({ apis: 1, workers: 1, config: { isolation: 'bubblewrap' } });
    a = api(stack.urls[0]!);
    ledger = await Ledger.open(stack);
    for (const dir of ['port', 'quay'])
      await ledger.succeeded(await a.post('/v0/city', { dir, provider: 'loopback' }), 'request.result.city.create');
    await writeFile(join(stack.config.dataDir, 'admin.key'), 'the key');
    await writeFile(join(stack.citiesRoot, 'quay', 'secret'), 'of the neighbour');
    const file = join(stack.citiesRoot, 'port', 'orders', 'try.toml');
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, `[order]\ntrigger = "manual"\nexec = ${JSON.stringify(COMMAND(stack.config.dataDir, process.pid))}\n`);
    expect(await a.post('/v0/city/port/config/reload')).toMatchObject({ status: 200 });
  });
  afterAll(async () => {
    await ledger?.stream.close();
    await stack?.stop();
  });

  // Guard: commands of cities are started inside the walls.
  it('is behind the same walls as the agents of its city, and finds its home again', async () => {
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
    const walls = ['no key', 'no neighbour', 'no signal', '0', 'no state', 'made'];
    expect(await run()).toEqual(walls);
    expect(await run()).toEqual([...walls, 'kept']);
  });
});
