import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { CHROMIUM, Watched } from '../support/browser.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { pageIsBuilt } from '../support/page.js';

const described = CHROMIUM === undefined ? describe.skip : describe;

described('what somebody has typed', () => {
  let stack: Stack;
  let a: Api;
  let watched: Watched;
  let base: string;

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

  const open = (path: string): Promise<Page> => watched.open(`${base}/ui/c/alpha${path}`);

  it('stays when a selection is drawn out of its dialog, and when somebody clicks beside it', async () => {
    const page = await open('/beads?new=1');
    const title = page.getByLabel('Title');
    const dialog = page.locator('dialog[open]');
    const { x, y } = (await title.boundingBox())!;
    await page.mouse.move(x + 60, y + 10);
    await page.mouse.down();
    await page.mouse.move(5, y + 10, { steps: 3 });
    await page.mouse.up();
    expect(await dialog.count()).toBe(1);
    await title.fill('A long one');
    await page.mouse.click(5, 5);
    expect(await title.inputValue()).toBe('A long one');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    // Where nothing was typed, a click beside it is enough.
    await page.keyboard.press('c');
    await title.waitFor();
    await page.mouse.click(5, 5);
    await dialog.waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('complains about nothing', () => {
    expect(watched.complaints).toEqual([]);
  });
});
