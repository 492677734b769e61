import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { CHROMIUM, Watched } from '../support/browser.js';
import { api, outcome, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { choose } from '../support/operator-page.js';
import { pageIsBuilt } from '../support/page.js';
import { COMMAND, Served } from '../support/served.js';
import { serveSoon } from '../support/stack-timings.js';
import { eventually } from '../support/sse.js';

const described = CHROMIUM === undefined ? describe.skip : describe;

/** What a browser gives to pages of secure contexts alone. */
const PLAIN = `
  delete Crypto.prototype.randomUUID;
  delete Crypto.prototype.subtle;
  for (const name of ['clipboard', 'locks', 'serviceWorker', 'storage']) delete Navigator.prototype[name];
`;
const HOURS_AHEAD = `
  const now = Date.now;
  Date.now = () => now() + 3 * 3_600_000;
`;
/** A page that holds its streams itself looks for a worker soon. */
const LOOKS_SOON = `
  const later = globalThis.setTimeout;
  globalThis.setTimeout = (work, ms, ...more) => later(work, ms === 60_000 ? 4_000 : ms, ...more);
`;
/** A page that is hidden lets go of its streams at once, and not after a minute. */
const LETS_GO = `
  const later = globalThis.setTimeout;
  globalThis.setTimeout = (work, ms, ...more) => later(work, ms === 60_000 ? 0 : ms, ...more);
`;

described('the page in browsers', () => {
  let stack: Stack;
  let a: Api;
  let watched: Watched;
  let served: Served;
  let base: string;
  const city = '/v0/city/alpha';

  beforeAll(async () => {
    await pageIsBuilt();
    stack = await startStack({ apis: 1, workers: 1 });
    serveSoon(stack);
    base = stack.urls[0]!;
    a = api(base);
    const ledger = await Ledger.open(stack);
    served = await Served.make(stack, ledger, 'alpha', `\n[[service]]\nname = "board"\nkind = "proxy_process"\nprocess = { ${COMMAND} }\n`);
    await ledger.stream.close();
    watched = await Watched.start();
  });
  afterAll(async () => {
    await watched?.stop();
    await stack?.stop();
  });

  const session = async (message: string): Promise<string> => {
    const made = await a.post(`${city}/sessions`, { kind: 'provider', name: 'loopback', message });
    expect(outcome(made)).toBe(202);
    return made.body.session_id as string;
  };
  const questions = (page: Page): Promise<number> => page.locator('[data-ask]').count();
  const entries = (page: Page): Promise<number> => page.locator('[data-transcript] [data-entry]').count();
  const hide = (page: Page, hidden: boolean): Promise<unknown> =>
    page.evaluate(`
      Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    `);

  it('which came over plain HTTP answers a question, writes a bead and copies nothing, and says so', async () => {
    const id = await session('ask');
    const context = await watched.context();
    await context.addInitScript(PLAIN);
    const page = await watched.open(`${base}/ui/c/alpha/sessions/${id}`, { context });
    await choose(page, 'Deny');
    await page.locator('[data-transcript]').getByText('chosen: deny').waitFor();
    await page.goto(`${base}/ui/c/alpha/beads?new=1`);
    await page.getByLabel('Title').fill('Written without a secret');
    await page.getByRole('button', { name: 'Create the bead' }).click();
    const pane = page.locator('[data-bead-pane]');
    await pane.getByRole('heading', { name: 'Written without a secret' }).waitFor();
    const bead = (await pane.getAttribute('data-bead-pane'))!;
    await page.keyboard.press('Shift+C');
    await eventually(async () => (await a.get(`${city}/bead/${bead}`)).body.status === 'closed' || undefined);
    await page.goto(`${base}/ui/c/alpha/events`);
    await page.locator('[data-seq]').first().click();
    await page.getByRole('button', { name: 'Copy as JSON' }).first().click();
    await page.getByText('This browser lets nothing be copied here').waitFor();
    await context.close();
  });

  it('says of what somebody is to allow also what joins an emoji', async () => {
    const astronaut = [0x1f469, 0x200d, 0x1f680].map((point) => String.fromCodePoint(point)).join('');
    const id = await session(`ask ${astronaut}.md ${astronaut} was here`);
    const context = await watched.context();
    const page = await watched.open(`${base}/ui/c/alpha/sessions/${id}`, { context });
    const card = page.locator('[data-ask]');
    await card
      .getByText(`${astronaut.replace('\u200d', '⟨U+200D⟩')}.md`)
      .first()
      .waitFor();
    await card
      .locator('[data-change]')
      .getByText(`${astronaut.replace('\u200d', '⟨U+200D⟩')} was here`)
      .waitFor();
    await context.close();
  });

  it('shows where somebody is also in colours of his own, which have no backgrounds', async () => {
    expect(outcome(await a.post(`${city}/beads`, { title: 'To stand on' }))).toBe(201);
    const context = await watched.context();
    const page = await watched.open(`${base}/ui/c/alpha/beads`, { context });
    await page.emulateMedia({ forcedColors: 'active' });
    const line = (selector: string): Promise<string> =>
      page.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).outlineStyle`);
    await page.locator('[data-bead]').first().waitFor();
    const here = 'nav [aria-current="page"]';
    expect(await line(here)).toBe('solid');
    expect(await line('[data-bead][data-current]')).toBe('solid');
    // What has the focus looks otherwise than where somebody is, also where both are one.
    const offset = (): Promise<string> =>
      page.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(here)})).outlineOffset`);
    expect(await offset()).toBe('-2px');
    await page.keyboard.press('Tab');
    await page.locator(here).first().focus();
    expect(await offset()).toBe('1px');
    // The state of a step says nothing of that.
    await page.evaluate(`document.querySelector('main').setAttribute('data-status', 'active')`);
    expect(await line('main')).toBe('none');
    await page.keyboard.press('Control+k');
    await page.locator('[role="option"]').first().waitFor();
    expect(await line('[role="option"][aria-selected="true"]')).toBe('solid');
    await context.close();
  });

  it('tells how old something is by the clock of the service, where its own is hours off', async () => {
    const made = await a.post(`${city}/beads`, { title: 'Made just now' });
    expect(outcome(made)).toBe(201);
    const context = await watched.context();
    await context.addInitScript(HOURS_AHEAD);
    const page = await watched.open(`${base}/ui/c/alpha/beads`, { context });
    const age = page.locator(`[data-bead="${made.body.id as string}"] time`);
    expect(await age.innerText()).toMatch(/^\d+[sm]$/);
    await page.goto(`${base}/ui/health`);
    await page.getByText('from the clock of this browser').waitFor();
    await context.close();
  });

  it('has all of a session in a second tab, and again in the first, which was hidden meanwhile', async () => {
    const id = await session('hello there');
    const context = await watched.context({ height: 4_000 });
    await context.addInitScript(LETS_GO);
    const address = `${base}/ui/c/alpha/sessions/${id}`;
    const one = await watched.open(address, { context });
    await one.locator('[data-transcript]').getByText('hello there').nth(1).waitFor();
    const other = await watched.open(address, { context });
    await other.locator('[data-transcript]').getByText('hello there').nth(1).waitFor();
    await hide(one, true);
    const said = await a.post(`${city}/session/${id}/messages`, { message: 'said behind it' });
    expect(outcome(said)).toBe(202);
    await other.locator('[data-transcript]').getByText('said behind it').nth(1).waitFor();
    expect(outcome(await a.post(`${city}/session/${id}/messages`, { message: 'ask' }))).toBe(202);
    await other.locator('[data-ask]').waitFor();
    await one.bringToFront();
    await hide(one, false);
    await one.locator('[data-transcript]').getByText('said behind it').nth(1).waitFor();
    await one.locator('[data-ask]').waitFor();
    await other.bringToFront();
    const { length } = (await a.get(`${city}/session/${id}/transcript?format=structured`)).body.structured_messages as unknown[];
    await eventually(async () => ((await entries(other)) === length && (await questions(other)) === 1) || undefined);
    await one.bringToFront();
    await eventually(async () => ((await entries(one)) === length && (await questions(one)) === 1) || undefined);
    await context.close();
  });

  it('has what a service writes in each of two tabs, once', async () => {
    await served.until('board');
    const context = await watched.context();
    const tabs = [
      await watched.open(`${base}/ui/c/alpha/services`, { context }),
      await watched.open(`${base}/ui/c/alpha/services`, { context }),
    ];
    for (const tab of tabs) {
      await tab.bringToFront();
      await tab.locator('[data-row="board"]').getByRole('button', { name: 'Log' }).click();
      await tab.locator('[data-log="board"]').getByText('listens').first().waitFor();
    }
    await tabs[0]!.bringToFront();
    await tabs[0]!.locator('[data-log="board"]').getByText('listens').first().waitFor();
    expect(await tabs[0]!.locator('[data-log="board"]').getByText('listens').count()).toBe(1);
    await context.close();
  });

  it('stays where it is when a pointer over a link finds no service, and opens the view once there is one again', async () => {
    const page = await watched.open(`${base}/ui/`);
    await page.evaluate('globalThis.same = true');
    const same = (): Promise<unknown> => page.evaluate('globalThis.same');
    await page.route('**/ui/**', (route) => route.abort());
    const link = page.getByRole('navigation').getByRole('link', { name: 'Runners' });
    const missed = page.waitForEvent('requestfailed', (request) => request.url().includes('/assets/runners-'));
    await link.hover();
    await missed;
    expect(await same()).toBe(true);
    await link.click();
    const again = page.getByRole('button', { name: 'Try again' });
    const asked = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/ui/'));
    await again.click();
    await asked;
    expect(await same()).toBe(true);
    await page.unroute('**/ui/**');
    await again.click();
    await page.getByRole('heading', { name: 'Runners' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/ui/runners');
    watched.forgive(/net::ERR_FAILED|could not be loaded/);
    await page.close();
  });

  const bead = async (title: string): Promise<void> => expect(outcome(await a.post(`${city}/beads`, { title }))).toBe(201);

  it('goes on in one tab after another has crashed, in whose process the streams of both were held', async () => {
    const context = await watched.context();
    const first = await watched.open(`${base}/ui/c/alpha/beads`, { context });
    const second = await watched.open(`${base}/ui/c/alpha/beads`, { context });
    const crashed = first.waitForEvent('crash');
    void (await context.newCDPSession(first)).send('Page.crash').catch(() => undefined);
    await crashed;
    await bead('After the crash');
    await second.getByText('After the crash').waitFor();
    await bead('And live');
    await second.getByText('And live').waitFor();
    await context.close();
  });

  it('holds its streams itself where the file of its worker is not to be had', async () => {
    const context = await watched.context();
    await context.route('**/worker-*.js', (route) => route.fulfill({ status: 404 }));
    const page = await watched.open(`${base}/ui/c/alpha/beads`, { context });
    await bead('Without a worker');
    await page.getByText('Without a worker').waitFor();
    await context.close();
    watched.forgive(/404/);
  });

  it('leaves its streams to a worker once the file of that is to be had, and shows nothing of it', async () => {
    const context = await watched.context();
    await context.addInitScript(LOOKS_SOON);
    let misses = 0;
    await context.route('**/worker-*.js', (route) => (++misses === 1 ? route.fulfill({ status: 404 }) : route.continue()));
    const page = await watched.open(`${base}/ui/c/alpha/beads`, { context });
    await page.evaluate(`
      globalThis.told = [];
      new MutationObserver(() => {
        for (const one of document.querySelectorAll('[data-connection]')) told.push(one.dataset.connection);
      }).observe(document.body, { subtree: true, childList: true, attributes: true });
    `);
    await eventually(
      async () => (await page.evaluate<number>('navigator.locks.query().then(({ held }) => held.length)')) === 2 || undefined,
    );
    await bead('With a worker');
    await page.getByText('With a worker').waitFor();
    expect(misses).toBe(2);
    expect(await page.evaluate('[...new Set(told)]')).toEqual(['Live']);
    await context.close();
    watched.forgive(/404/);
  });

  it('complains about nothing', () => {
    expect(watched.complaints).toEqual([]);
    expect(watched.elsewhere).toEqual([]);
  });
});
