import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { CHROMIUM, Watched } from '../support/browser.js';
import { api, outcome, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { pageIsBuilt } from '../support/page.js';
import { eventually } from '../support/sse.js';

const described = CHROMIUM === undefined ? describe.skip : describe;

const SMALL = [
  { width: 375, height: 600 },
  { width: 1280, height: 560 },
] as const;
/** A change that is longer than any of these windows. */
const LONG = Array.from({ length: 60 }, (_, i) => `step ${i + 1}`).join('\n');

/** Whether a pointer in its middle would meet it. */
const isHit = (one: Locator): Promise<boolean> =>
  one.evaluate((element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    const there = element.ownerDocument.elementFromPoint(x + width / 2, y + height / 2);
    return there !== null && element.contains(there);
  });

described('the page where there is little room', () => {
  let stack: Stack;
  let a: Api;
  let watched: Watched;
  let base: string;
  const city = '/v0/city/alpha';

  beforeAll(async () => {
    await pageIsBuilt();
    stack = await startStack({ apis: 1, workers: 1 });
    base = stack.urls[0]!;
    a = api(base);
    const ledger = await Ledger.open(stack);
    await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
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
  const allow = (page: Page): Locator => page.locator('[data-ask]').getByRole('button', { name: 'Allow', exact: true });
  /** A press while what is shown still moves is none, and neither is one that comes at once after the first. */
  const askedAgain = (page: Page, press: () => Promise<void>): Promise<true> =>
    eventually(async () => {
      await press();
      await page.waitForTimeout(400);
      return (await page.getByRole('button', { name: /^Again, there is more than was in sight/ }).isVisible()) || undefined;
    });
  const waits = async (id: string): Promise<boolean> =>
    ((await a.get('/v0/pending')).body.items as { session_id: string }[]).some(({ session_id }) => session_id === id);

  it('has the answers to a long question, and the next message, in reach', async () => {
    const id = await session(`ask build.sh ${LONG}`);
    for (const look of SMALL) {
      const page = await watched.open(`${base}/ui/c/alpha/sessions/${id}`, look);
      const card = page.locator('[data-ask]');
      await allow(page).and(page.locator(':enabled:not([aria-disabled])')).waitFor();
      expect(await isHit(page.getByRole('textbox', { name: 'Message' }))).toBe(true);
      expect((await page.locator('[data-transcript]').boundingBox())!.height).toBeGreaterThanOrEqual(90);
      const { x, y } = (await card.boundingBox())!;
      await page.mouse.move(x + 40, y + 20);
      await eventually(async () => {
        await page.mouse.wheel(0, 400);
        return (await isHit(allow(page))) || undefined;
      });
      await page.context().close();
    }
    await a.post(`${city}/session/${id}/close`);
  });

  it('allows nothing by the first press of which the end was never in sight', async () => {
    const id = await session(`ask build.sh ${LONG}`);
    const page = await watched.open(`${base}/ui/`, SMALL[0]);
    const card = page.locator('[data-ask]');
    const last = card.getByText('step 60').last();
    await allow(page).and(page.locator(':enabled:not([aria-disabled])')).waitFor();
    await askedAgain(page, () => page.keyboard.press('1'));
    expect(await waits(id)).toBe(true);
    await last.waitFor();
    // What is asked for once more is in sight, and a press that comes at once is none.
    await page.waitForTimeout(600);
    await page.keyboard.press('1');
    await card.waitFor({ state: 'detached' });
    await eventually(async () => !(await waits(id)) || undefined);
    await page.context().close();
    await a.post(`${city}/session/${id}/close`);
  });

  it('leaves the view of a session where it is when it scrolls to what was never in sight', async () => {
    const id = await session(`ask build.sh ${LONG}`);
    for (const look of SMALL) {
      const page = await watched.open(`${base}/ui/c/alpha/sessions/${id}`, look);
      await allow(page).and(page.locator(':enabled:not([aria-disabled])')).waitFor();
      await askedAgain(page, () => page.keyboard.press('1'));
      expect(await page.locator('main').evaluate((main) => main.scrollTop)).toBe(0);
      expect(await isHit(page.getByRole('heading', { level: 1 }))).toBe(true);
      await page.context().close();
    }
    expect(await waits(id)).toBe(true);
    await a.post(`${city}/session/${id}/close`);
  });

  it('asks once more for a long question without a call, until its end was in sight', async () => {
    const id = await session('ask');
    // One that comes while the page is open is told by an event, as it is.
    await eventually(async () => (await waits(id)) || undefined);
    const page = await watched.open(`${base}/ui/c/alpha/sessions`, SMALL[1]);
    await page.route('**/v0/pending*', async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { items: object[] };
      await route.fulfill({ response, json: { ...body, items: body.items.map((one) => ({ ...one, prompt: LONG, metadata: {} })) } });
    });
    await page.goto(`${base}/ui/`);
    const card = page.locator('[data-ask]');
    await card.getByText('step 60').waitFor({ state: 'attached' });
    await allow(page).and(page.locator(':enabled:not([aria-disabled])')).waitFor();
    // Nothing of what it scrolls to is drawn before it is scrolled back.
    await askedAgain(page, () =>
      card.evaluate((one) => {
        const { defaultView: view } = one.ownerDocument;
        one.dispatchEvent(new view!.KeyboardEvent('keydown', { key: '1', bubbles: true, cancelable: true }));
        for (let box = one.parentElement; box !== null; box = box.parentElement) box.scrollTop = 0;
      }),
    );
    for (let press = 0; press < 2; press++) {
      expect(await waits(id)).toBe(true);
      await page.waitForTimeout(600);
      await page.keyboard.press('1');
      await page.waitForTimeout(300);
    }
    await card.waitFor({ state: 'detached' });
    await eventually(async () => !(await waits(id)) || undefined);
    await page.context().close();
    await a.post(`${city}/session/${id}/close`);
  });

  it('lets somebody say when a message is for', async () => {
    const id = await session('hello');
    const page = await watched.open(`${base}/ui/c/alpha/sessions/${id}`, SMALL[0]);
    const [box, when] = [page.getByRole('textbox', { name: 'Message' }), page.getByLabel('When')];
    await when.selectOption('follow_up');
    await box.fill('after that');
    expect((await box.boundingBox())!.width).toBeGreaterThan(300);
    const said = page.waitForRequest((request) => request.url().endsWith('/submit'));
    await page.getByRole('button', { name: /^Send/ }).click();
    expect((await said).postDataJSON()).toEqual({ message: 'after that', intent: 'follow_up' });
    await page.context().close();
    await a.post(`${city}/session/${id}/close`);
  });

  it('complains about nothing', () => {
    expect(watched.complaints).toEqual([]);
  });
});
