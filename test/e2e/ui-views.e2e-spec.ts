import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { barriers, CHROMIUM, live, readIn, Watched } from '../support/browser.js';
import { DEEP } from '../support/depth.js';
import { api, outcome, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { pageIsBuilt } from '../support/page.js';
import { eventually } from '../support/sse.js';
import { uiCity, type UiCity } from '../support/ui-city.js';
import { uiViews, type UiView } from '../support/ui-views.js';

const described = CHROMIUM === undefined ? describe.skip : describe;
const LOOKS = ([1440, 390] as const).flatMap((width) => (['light', 'dark'] as const).map((theme) => ({ width, theme })));

/** Of each view all looks; or of every second one look, others each day, so that all come round. */
const DAY = Math.floor(Date.now() / 86_400_000);
const looksOf = (nth: number): (typeof LOOKS)[number][] =>
  DEEP ? LOOKS : (nth + DAY) % 2 === 0 ? [LOOKS[((nth + DAY) / 2) % LOOKS.length]!] : [];
/** That one state is not reached keeps the others from nothing. */
const READY_MS = 30_000;
const LIMIT_MS = DEEP ? 3_000_000 : 600_000;

described('every view, opened cold by its address', () => {
  let stack: Stack;
  let a: Api;
  let watched: Watched;
  let base: string;
  let city: UiCity;
  let views: readonly UiView[];

  beforeAll(async () => {
    await pageIsBuilt();
    stack = await startStack({ apis: 2, workers: 1 });
    base = stack.urls[0]!;
    a = api(base);
    city = await uiCity(stack, a);
    views = uiViews(city);
    watched = await Watched.start();
  });
  afterAll(async () => {
    await watched?.stop();
    await stack?.stop();
  });

  it(
    'keeps nobody out, makes no more than texts of hostile texts, and has room for them',
    async () => {
      const found: string[] = [];
      for (const look of LOOKS) {
        const context = await watched.context(look);
        const page = await watched.open(`${base}/ui/settings`, { context });
        for (const { path, ready } of views.filter((_, nth) => looksOf(nth).includes(look))) {
          await page.goto(`${base}${path}`);
          await page
            .locator(ready)
            .first()
            .waitFor({ timeout: READY_MS })
            .catch((error: unknown) => found.push(`${path} has no ${ready}: ${String(error).slice(0, 80)}`));
          const where = `${look.theme} ${look.width} ${path}`;
          found.push(...(await barriers(page)).map((what) => `${where} ${what}`));
          const harm = await page.evaluate<unknown>('window.__harm');
          const made = await page.locator('img, iframe, object, embed, #root script, [srcdoc]').count();
          if (harm !== undefined || made > 0) found.push(`${where} has made ${made} elements of texts, and run ${String(harm)}`);
        }
        await context.close();
      }
      expect(found).toEqual([]);
      expect(watched.elsewhere).toEqual([]);
      expect(watched.complaints).toEqual([]);
    },
    LIMIT_MS,
  );

  it(
    'shows the same in a second browser, on another replica',
    async () => {
      const [first, second] = [await watched.context(), await watched.context()];
      const here = await watched.open(`${base}/ui/settings`, { context: first });
      const there = await watched.open(`${stack.urls[1]!}/ui/settings`, { context: second });
      const chosen = DEEP ? views : views.filter((_, nth) => (nth + DAY) % 8 === 0);
      const found: string[] = [];
      for (const { path, ready } of chosen) {
        for (const [page, url] of [
          [here, base],
          [there, stack.urls[1]!],
        ] as const) {
          await page.goto(`${url}${path}`);
          await live(page);
          await page
            .locator(ready)
            .first()
            .waitFor({ timeout: READY_MS })
            .catch(() => found.push(`${path} has no ${ready}`));
        }
        // What is read after the first rows comes a moment later; what goes on meanwhile stands in logs, where there is only more of it.
        const isLog = /\/(events|audit|usage|runners|health)/.test(path);
        let texts: string[] = [];
        const same = await eventually(async () => {
          texts = await Promise.all([readIn(here), readIn(there)]);
          return isLog ? texts.every((text) => text.length > 20) : texts[0] === texts[1];
        }, 20_000).catch(() => false);
        if (!same) found.push(`${path}: ${texts.map((text) => text.slice(0, 400)).join(' <> ')}`);
      }
      await Promise.all([first.close(), second.close()]);
      expect(found).toEqual([]);
    },
    LIMIT_MS,
  );

  it('says what it has instead of a city that does not run, and of one that is not there', async () => {
    const page = await watched.open(`${base}/ui/c/nowhere/rigs`);
    for (const view of ['rigs', 'config', 'events', 'usage', 'messaging', 'services']) {
      await page.goto(`${base}/ui/c/nowhere/${view}`);
      await page.getByText('nowhere is not running, or is not there').waitFor();
    }
    await page.context().close();
    watched.forgive(/404/);
    expect(watched.complaints).toEqual([]);
  });

  it('says in each view of a city why it could not start', async () => {
    const ledger = await Ledger.open(stack);
    await ledger.succeeded(await a.post('/v0/city', { dir: 'delta', provider: 'loopback' }), 'request.result.city.create');
    await ledger.succeeded(await a.post('/v0/city/delta/stop'), 'request.result.city.stop');
    await writeFile(join(stack.citiesRoot, 'delta/city.toml'), 'no = = toml');
    expect(outcome(await a.post('/v0/city/delta/start'))).toBe(202);
    await ledger.stream.close();
    const page = await watched.open(`${base}/ui/c/delta`);
    for (const view of ['', '/beads', '/events', '/rigs', '/ready']) {
      await page.goto(`${base}/ui/c/delta${view}`);
      await page.getByText('delta could not start').waitFor();
      await page.getByText('city.toml:1').waitFor();
    }
    await page.context().close();
    watched.forgive(/404/);
    expect(watched.complaints).toEqual([]);
  });
});
