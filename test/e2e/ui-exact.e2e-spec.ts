import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { CHROMIUM, live, Watched } from '../support/browser.js';
import { DEEP } from '../support/depth.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { pageIsBuilt } from '../support/page.js';
import { eventually } from '../support/sse.js';
import { WireProxy } from '../support/wire-proxy.js';

const described = CHROMIUM === undefined ? describe.skip : describe;
const SEEDS = DEEP ? 50 : 3;
const BEADS = 40;
/** So high that every row is drawn: what the page has is what can be read in it. */
const TALL = 20_000;

/** Numbers that are the same for a seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_507) + 0x9e3779b9) | 0;
    return (state >>> 0) % below;
  };
}

interface Told {
  readonly id: string;
  readonly revision: string;
  readonly text: string;
}

described('lists of the page, whatever happens to the network and to the service', () => {
  let stack: Stack;
  let a: Api;
  let watched: Watched;
  let proxy: WireProxy;
  const city = '/v0/city/alpha';

  beforeAll(async () => {
    await pageIsBuilt();
    stack = await startStack({ apis: 2, workers: 1 });
    a = api(stack.urls[1]!);
    const ledger = await Ledger.open(stack);
    await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
    await ledger.stream.close();
    for (let n = 0; n < BEADS; n++) await a.post(`${city}/beads`, { title: `Bead ${n}` });
    watched = await Watched.start();
    proxy = await WireProxy.open(stack.urls[0]!);
  });
  afterAll(async () => {
    await watched?.stop();
    await proxy?.close();
    await stack?.stop();
  });

  const shown = (page: Page): Promise<Told[]> =>
    page.evaluate<Told[]>(
      `[...document.querySelectorAll('[data-bead]')].map((row) => ({ id: row.dataset.bead, revision: row.dataset.revision, text: row.innerText }))`,
    );

  /** Row by row and revision by revision what the service has. */
  async function isExact(page: Page, what: string): Promise<void> {
    let last: unknown;
    await eventually(async () => {
      const { items, total } = (await a.get(`${city}/beads?limit=1000`)).body as {
        items: { id: string; revision: number; title: string; assignee?: string }[];
        total: number;
      };
      const rows = await shown(page);
      const wanted = items.map(({ id, revision }) => `${id}@${revision}`);
      const found = rows.map(({ id, revision }) => `${id}@${revision}`);
      const texts = items.every(({ title }, n) => rows[n]?.text.includes(title) === true);
      const counted = await page.locator('[data-total]').textContent();
      last = { what, wanted, found, counted };
      return (wanted.join() === found.join() && texts && counted === String(total)) || undefined;
    }).catch(() => expect(last).toBe('exact'));
  }

  async function change(random: (below: number) => number, nth: number): Promise<void> {
    const { items } = (await a.get(`${city}/beads?limit=1000`)).body as { items: { id: string }[] };
    const { id } = items[random(items.length)]!;
    const kind = random(6);
    if (kind === 0) await a.post(`${city}/beads`, { title: `New ${nth}` });
    else if (kind === 1 && items.length > BEADS / 2) await a.post(`${city}/bead/${id}/close`, {});
    else if (kind === 2 && items.length > BEADS / 2) await a.delete(`${city}/bead/${id}`);
    else await a.post(`${city}/bead/${id}/update`, { title: `Changed ${nth} ${random(1_000)}` });
  }

  it(`are the service's after cut, silent and refused connections and another replica (${SEEDS} seeds)`, async () => {
    const context = await watched.context({ height: TALL });
    const page = await watched.open(`${proxy.url}/ui/c/alpha/beads`, { context });
    await isExact(page, 'at the beginning');
    const first = DEEP ? 1 : (Math.floor(Date.now() / 3_600_000) % 1_000) + 1;
    for (let seed = first; seed < first + SEEDS; seed++) {
      const random = numbers(seed);
      const faults: string[] = [];
      for (let nth = 0; nth < 12; nth++) {
        await change(random, nth);
        const fault = random(6);
        faults.push(['cut', 'lead', 'refuse', 'silence', '', ''][fault]!);
        if (fault === 0) proxy.cut();
        else if (fault === 1) proxy.lead(stack.urls[random(2)]!);
        else if (fault === 2) proxy.refuse();
        else if (fault === 3) proxy.silence();
      }
      proxy.restore();
      // Somebody looks again: as a machine that wakes, it does not wait for its turn.
      await page.evaluate("dispatchEvent(new Event('online'))");
      await isExact(page, `seed ${seed}: ${faults.join(' ')}`);
    }
    await context.close();
    watched.forgive(/ERR_|Failed to load resource/);
    expect(watched.complaints).toEqual([]);
  });

  it('notice that nothing comes any more, by themselves', async () => {
    const context = await watched.context({ height: TALL });
    const page = await watched.open(`${proxy.url}/ui/c/alpha/beads`, { context });
    await isExact(page, 'before');
    // The service has told how long a silence may be.
    await eventually(async () => (await page.locator('[data-connection="Live"]').count()) > 0 || undefined);
    proxy.silence();
    await a.post(`${city}/beads`, { title: 'Made in the silence' });
    await page.locator('[data-connection="Reconnecting"], [data-connection="Connecting"]').first().waitFor({ state: 'attached' });
    proxy.restore();
    await live(page);
    await isExact(page, 'after a silence');
    await context.close();
    watched.forgive(/ERR_|Failed to load resource/);
  });

  it('are the same in two tabs, of which one was hidden meanwhile', async () => {
    const context = await watched.context({ height: TALL });
    const [one, other] = [
      await watched.open(`${proxy.url}/ui/c/alpha/beads`, { context }),
      await watched.open(`${proxy.url}/ui/c/alpha/beads`, { context }),
    ];
    await other.bringToFront();
    proxy.cut();
    await a.post(`${city}/beads`, { title: 'For two tabs' });
    await isExact(other, 'in front');
    await one.bringToFront();
    await isExact(one, 'behind');
    await context.close();
    watched.forgive(/ERR_|Failed to load resource/);
  });
});
