import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chromium, type Browser, type Page } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { api } from '../support/http.js';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) => existsSync(path));
if (CHROMIUM === undefined && process.env.CI === 'true') throw new Error('CI needs a Chromium');
const described = CHROMIUM === undefined ? describe.skip : describe;

described('Swagger UI in a browser', () => {
  let stack: Stack;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    stack = await startStack({ apis: 1, workers: 1 });
    browser = await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] });
    page = await browser.newPage();
    page.setDefaultTimeout(60_000);
    page.on('console', (message) => (message.type() === 'error' ? complaints.push(message.text()) : undefined));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${stack.urls[0]}/docs`);
    await page.waitForSelector('.opblock-tag');
  });
  afterAll(async () => {
    await browser?.close();
    await stack?.stop();
  });

  it('shows every operation of the document, family by family', async () => {
    const { body } = await api(stack.urls[0]!).get('/openapi.json');
    const families = new Map<string, number>();
    for (const path of Object.values(body.paths as Record<string, Record<string, { tags: string[] }>>))
      for (const { tags } of Object.values(path)) families.set(tags[0]!, (families.get(tags[0]!) ?? 0) + 1);
    const shown = new Map<string, number>();
    for (const family of families.keys()) {
      await toggle(family);
      await page.locator('.opblock').first().waitFor();
      shown.set(family, await page.locator('.opblock').count());
      await toggle(family);
      await page.locator('.opblock').first().waitFor({ state: 'detached' });
    }
    expect(shown).toEqual(families);
  });

  it('is given the outline first: what is opened comes from the document', async () => {
    const [given, document] = await Promise.all(['/docs/swagger-ui-init.js', '/openapi.json'].map((path) => api(stack.urls[0]!).get(path)));
    expect(given!.text.length).toBeLessThan(document!.text.length / 5);
    expect(given!.text).not.toContain('"responses"');
    await page.click('.models-control');
    const first = page.locator('.models .json-schema-2020-12').first();
    await first.locator('.json-schema-2020-12-accordion').first().click();
    // Until the document is there `…` is in their place.
    await first.locator('.json-schema-2020-12-property').filter({ hasNotText: '…' }).first().waitFor();
    await page.click('.models-control');
  });

  it('sends the key that the user entered', async () => {
    await page.click('.btn.authorize');
    await page.fill('.auth-container input', 'svc_typed_by_hand');
    await page.click('.auth-btn-wrapper .authorize');
    await page.click('.auth-btn-wrapper .btn-done');
    await toggle('cities');
    const block = await open('get-v0-cities');
    const [request] = await Promise.all([page.waitForRequest(/\/v0\/cities(\?|$)/), block.locator('.execute').click()]);
    expect(await request.headerValue('authorization')).toBe('Bearer svc_typed_by_hand');
  });

  it('creates a city, the anti-CSRF header filled in', async () => {
    const block = await open('post-v0-city');
    // What stands there is enough.
    expect(JSON.parse(await block.locator('textarea').inputValue())).toEqual({ dir: 'my-city', provider: 'loopback' });
    const [response] = await Promise.all([page.waitForResponse(/\/v0\/city$/), block.locator('.execute').click()]);
    expect(await response.request().headerValue('x-svc-request')).toBe('docs');
    expect({ status: response.status(), body: await response.json() }).toMatchObject({
      status: 202,
      body: { request_id: expect.any(String) },
    });
    await block.locator('.live-responses-table .response-col_status', { hasText: '202' }).waitFor();
  });

  it('opens an operation whose answer has a hundred kinds, and shows some of them', async () => {
    await toggle('events');
    const block = await open('get-v0-events');
    await block.locator('.responses-table').first().waitFor();
    expect(await block.locator('.execute').count()).toBe(1);
  });

  it('finds operations by a word, and opens the one that an address names', async () => {
    await page.goto('about:blank');
    await page.goto(`${stack.urls[0]}/docs#/beads/claim-bead`);
    await page.locator('.opblock.is-open[id$="-claim-bead"] .try-out__btn').waitFor();
    await page.fill('.operation-filter-input', 'Next BEAD on the hook');
    await page.waitForFunction("document.querySelectorAll('.opblock-tag').length === 1");
    expect(await page.locator('.opblock-tag').getAttribute('data-tag')).toBe('hooks');
  });

  it('leads to the guide, whose search finds what is called so', async () => {
    const link = page.locator('.info__description a[href$="/guide"]').first();
    await link.waitFor();
    const guide = await browser.newPage();
    guide.on('console', (message) => (message.type() === 'error' ? complaints.push(message.text()) : undefined));
    await guide.goto(`${stack.urls[0]}/guide`);
    await guide.fill('#search', 'bead-not-found');
    const first = guide.locator('#found a').first();
    await first.waitFor();
    expect(await first.textContent()).toBe('bead-not-found');
    await first.click();
    await guide.waitForURL('**/guide/reference/errors#bead-not-found');
    await guide.close();
  });

  it('complains about nothing on the console', () => {
    expect(complaints).toEqual([]);
  });

  async function toggle(family: string): Promise<void> {
    await page.click(`#operations-tag-${family}`);
  }

  async function open(id: string): Promise<ReturnType<Page['locator']>> {
    const block = page.locator(`.opblock[id$="-${id}"]`);
    await block.locator('.opblock-summary-control').first().click();
    await block.locator('.try-out__btn').click();
    return block;
  }
});
