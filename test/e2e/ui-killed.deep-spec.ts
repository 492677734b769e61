import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { CHROMIUM, live, Watched } from '../support/browser.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { pageIsBuilt } from '../support/page.js';
import { eventually } from '../support/sse.js';
import { spawnSupervisor, type SupervisorProcess } from '../support/supervisor-process.js';
import { WireProxy } from '../support/wire-proxy.js';

const described = CHROMIUM === undefined ? describe.skip : describe;
const KILLS = 6;
const TALL = 20_000;

described('a page whose server is killed', () => {
  let stack: Stack;
  let a: Api;
  let watched: Watched;
  let proxy: WireProxy;
  let server: SupervisorProcess;
  const city = '/v0/city/alpha';

  const start = async (): Promise<string> => {
    server = spawnSupervisor({
      SVC_ROLE: 'api',
      SVC_DATABASE_URL: stack.databaseUrl,
      SVC_DATA_DIR: stack.config.dataDir,
      ...(stack.config.redisUrl === undefined ? {} : { SVC_REDIS_URL: stack.config.redisUrl }),
    });
    return server.ready();
  };

  beforeAll(async () => {
    await pageIsBuilt();
    stack = await startStack({ apis: 1, workers: 1 });
    a = api(stack.urls[0]!);
    const ledger = await Ledger.open(stack);
    await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
    await ledger.stream.close();
    for (let n = 0; n < 30; n++) await a.post(`${city}/beads`, { title: `Bead ${n}` });
    watched = await Watched.start();
    proxy = await WireProxy.open(await start());
  });
  afterAll(async () => {
    server?.child.kill('SIGKILL');
    await watched?.stop();
    await proxy?.close();
    await stack?.stop();
  });

  it(`has each list as the service has it after each of ${KILLS} kills`, async () => {
    const context = await watched.context({ height: TALL });
    const page = await watched.open(`${proxy.url}/ui/c/alpha/beads`, { context });
    for (let nth = 0; nth < KILLS; nth++) {
      const going = server;
      const changes = (async (): Promise<void> => {
        for (let n = 0; n < 10; n++) await a.post(`${city}/beads`, { title: `Kill ${nth}, bead ${n}` });
      })();
      going.child.kill('SIGKILL');
      await going.exited;
      await changes;
      await a.post(`${city}/beads`, { title: `Between ${nth}` });
      proxy.lead(await start());
      await live(page);
      await a.post(`${city}/beads`, { title: `After ${nth}` });
      await page.locator('[data-bead]').getByText(`After ${nth}`).waitFor();
      await eventually(async () => {
        const { items } = (await a.get(`${city}/beads?limit=1000`)).body as { items: { id: string; revision: number }[] };
        const found = await page.evaluate<string[]>(
          `[...document.querySelectorAll('[data-bead]')].map((row) => row.dataset.bead + '@' + row.dataset.revision)`,
        );
        return found.join() === items.map(({ id, revision }) => `${id}@${revision}`).join() || undefined;
      });
    }
    await context.close();
    watched.forgive(/ERR_|Failed to load resource/);
    expect(watched.complaints).toEqual([]);
  });
});
