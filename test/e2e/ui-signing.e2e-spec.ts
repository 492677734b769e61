import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { CHROMIUM, Watched } from '../support/browser.js';
import { api, outcome, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { pageIsBuilt } from '../support/page.js';
import { eventually } from '../support/sse.js';

const described = CHROMIUM === undefined ? describe.skip : describe;

described('who is signed in on the page', () => {
  let stack: Stack;
  let a: Api;
  let watched: Watched;
  /** Takes keys; of the other replica everybody may do everything. */
  let guarded: string;
  const city = '/v0/city/alpha';

  beforeAll(async () => {
    await pageIsBuilt();
    stack = await startStack({ apis: 1, workers: 1 });
    a = api(stack.urls[0]!);
    const ledger = await Ledger.open(stack);
    await ledger.succeeded(await a.post('/v0/city', { dir: 'alpha', provider: 'loopback' }), 'request.result.city.create');
    await ledger.stream.close();
    guarded = (await stack.add('api', { auth: 'keys' })).url;
    watched = await Watched.start();
  });
  afterAll(async () => {
    await watched?.stop();
    await stack?.stop();
  });

  const make = async (name: string): Promise<{ id: string; key: string }> => {
    const made = await a.post('/v0/keys', { name, rights: ['operate'] });
    expect(outcome(made)).toBe(201);
    return made.body as { id: string; key: string };
  };
  const start = async (context: BrowserContext, path: string): Promise<Page> => {
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(`${guarded}/ui/${path}`);
    return page;
  };
  const signIn = async (page: Page, key: string): Promise<void> => {
    await page.getByLabel('API key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
  };
  const signedInAs = (page: Page, name: string): Promise<void> => page.getByTitle(name, { exact: true }).waitFor();

  it('is told why a key is none, and asked again, where a character came along with it', async () => {
    const { key } = await make('copied');
    const context = await watched.context();
    const page = await start(context, 'settings');
    await signIn(page, `${key.slice(0, 9)}\u200b${key.slice(9)}`);
    await page.getByRole('alert').getByText('U+200B').waitFor();
    await page.evaluate(`localStorage.setItem('svc.key', ${JSON.stringify(`${key}\u200b`)})`);
    await page.reload();
    await signIn(page, key);
    await signedInAs(page, 'copied');
    await context.close();
  });

  it('is known once the service answers', async () => {
    const { key } = await make('late');
    const context = await watched.context();
    const page = await context.newPage();
    let asked = 0;
    await page.route('**/v0/info', (route) => (++asked === 1 ? route.abort() : route.continue()));
    await page.goto(`${guarded}/ui/settings#key=${key}`);
    await signedInAs(page, 'late');
    expect(asked).toBeGreaterThanOrEqual(2);
    await context.close();
  });

  it('finds nothing that another one has left, and all of his own', async () => {
    const made = await a.post(`${city}/sessions`, { kind: 'provider', name: 'loopback', message: 'hello' });
    expect(outcome(made)).toBe(202);
    const [first, other] = [await make('ann'), await make('bob')];
    const context = await watched.context();
    const page = await start(context, `c/alpha/sessions/${made.body.session_id as string}#key=${first.key}`);
    const box = page.getByRole('textbox', { name: 'Message' });
    const written = async (): Promise<string> => {
      await box.waitFor();
      return box.inputValue();
    };
    await signedInAs(page, 'ann');
    await box.fill('of ann alone');
    expect(outcome(await a.send('DELETE', `/v0/keys/${first.id}`))).toBe(200);
    const second = await make('ann');
    await signIn(page, second.key);
    await page.getByLabel('API key').waitFor({ state: 'detached' });
    expect(await written()).toBe('of ann alone');
    expect(outcome(await a.send('DELETE', `/v0/keys/${second.id}`))).toBe(200);
    await signIn(page, other.key);
    await signedInAs(page, 'bob');
    expect(await written()).toBe('');
    // Who signs out leaves nothing either, to whom ever.
    await box.fill('of bob alone');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, other.key);
    await signedInAs(page, 'bob');
    expect(await written()).toBe('');
    expect(await page.evaluate("Object.keys(sessionStorage).filter((name) => name.startsWith('svc.draft.'))")).toEqual([]);
    await context.close();
  });

  it('is nobody any more in a tab that was elsewhere, or has streams of its own, when he signs out in another', async () => {
    const { key } = await make('carl');
    const context = await watched.context();
    const first = await start(context, `settings#key=${key}`);
    await signedInAs(first, 'carl');
    const elsewhere = await start(context, 'settings');
    await signedInAs(elsewhere, 'carl');
    await elsewhere.goto('about:blank');
    const alone = await context.newPage();
    await alone.addInitScript('delete globalThis.SharedWorker');
    await alone.goto(`${guarded}/ui/settings#key=${key}`);
    await signedInAs(alone, 'carl');
    await first.getByRole('button', { name: 'Sign out' }).click();
    await alone.getByLabel('API key').waitFor();
    await elsewhere.goto(`${guarded}/ui/settings`);
    await elsewhere.getByLabel('API key').waitFor();
    // Whoever comes next with the same key is in wherever somebody is awake.
    await signIn(first, key);
    await signedInAs(first, 'carl');
    await signedInAs(elsewhere, 'carl');
    await context.close();
  });

  it('is shown what was refused before once he is in again, without asking for it', async () => {
    const first = await make('dora');
    const context = await watched.context();
    const page = await context.newPage();
    await page.route('**/v0/runners', (route) =>
      route.fulfill({ status: 403, contentType: 'application/problem+json', json: { detail: 'not for this key' } }),
    );
    await page.goto(`${guarded}/ui/runners#key=${first.key}`);
    const refused = page.locator('main [role=alert]');
    await refused.getByText('not for this key').waitFor();
    expect(await page.locator('main').getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await page.unroute('**/v0/runners');
    expect(outcome(await a.delete(`/v0/keys/${first.id}`))).toBe(200);
    const second = await make('dora');
    await signIn(page, second.key);
    await refused.waitFor({ state: 'detached' });
    // A key that has ended is told to the view as well, by what that asks again and again.
    expect(outcome(await a.delete(`/v0/keys/${second.id}`))).toBe(200);
    await refused.waitFor({ state: 'attached' });
    await signIn(page, (await make('dora')).key);
    await refused.waitFor({ state: 'detached' });
    await context.close();
  });

  it('signs out on a phone', async () => {
    const { key } = await make('roaming');
    const context = await watched.context({ width: 375, height: 600 });
    const page = await start(context, `settings#key=${key}`);
    await page.getByRole('button', { name: 'More', exact: true }).click();
    await page.getByRole('dialog').getByTitle('roaming', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('API key').waitFor();
    expect(await page.evaluate("sessionStorage.getItem('svc.key')")).toBeNull();
    await context.close();
  });

  it('is told of a new version of the service, and goes on until he reloads', async () => {
    const { key } = await make('before');
    const context = await watched.context();
    const page = await start(context, `settings#key=${key}`);
    await signedInAs(page, 'before');
    const bar = page.getByText('The service has a new version');
    expect(await bar.count()).toBe(0);
    await page.route('**/v0/info', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), version: '999.0.0' } });
    });
    await page.evaluate("void dispatchEvent(new Event('online'))");
    await bar.waitFor();
    await page.getByRole('button', { name: 'Reload' }).click();
    await eventually(async () => (await bar.count()) === 0 || undefined);
    await signedInAs(page, 'before');
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  });
});
