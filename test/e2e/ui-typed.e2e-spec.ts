import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { CHROMIUM, Watched } from '../support/browser.js';
import { api, outcome, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { pageIsBuilt } from '../support/page.js';

const described = CHROMIUM === undefined ? describe.skip : describe;

/** Hands a request over and loses its answer: nobody on the page knows what has become of it. */
const loseAnswer = async (route: Route): Promise<void> => {
  await route.fetch();
  await route.abort('connectionreset');
};

described('what somebody has typed', () => {
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

  const open = (path: string): Promise<Page> => watched.open(`${base}/ui/c/alpha${path}`);
  const bead = async (body: object): Promise<string> => {
    const made = await a.post(`${city}/beads`, body);
    expect(outcome(made)).toBe(201);
    return made.body.id as string;
  };
  const session = async (): Promise<string> => {
    const made = await a.post(`${city}/sessions`, { kind: 'provider', name: 'loopback', message: 'hello' });
    expect(outcome(made)).toBe(202);
    return made.body.session_id as string;
  };

  it('stays when a selection is drawn out of its dialog, when somebody clicks beside it, and at the first Escape', async () => {
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
    await dialog.getByRole('alert').getByText('Escape once more discards what you have typed').waitFor();
    // Who types on has not meant it.
    await title.press('End');
    await page.keyboard.type(' and longer');
    await dialog.getByRole('alert').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await dialog.getByRole('alert').waitFor();
    expect(await title.inputValue()).toBe('A long one and longer');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    // Where nothing was typed, a click beside it is enough.
    await page.keyboard.press('c');
    await title.waitFor();
    await page.mouse.click(5, 5);
    await dialog.waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('is done once when it is sent again after its answer was lost', async () => {
    const page = await open('/beads?new=1');
    await page.route('**/beads', loseAnswer, { times: 1 });
    await page.getByLabel('Title').fill('Made once');
    const create = page.getByRole('button', { name: 'Create the bead' });
    await create.click();
    await page.getByText('the service cannot be reached').waitFor();
    await create.click();
    await page.locator('[data-bead-pane]').getByRole('heading', { name: 'Made once' }).waitFor();
    expect((await a.get(`${city}/beads?text=Made%20once`)).body.total).toBe(1);
    await page.context().close();
    watched.forgive(/ERR_CONNECTION_RESET/);
  });

  it('is another wish when it was changed after its answer was lost', async () => {
    const page = await open('/providers?new=1');
    const dialog = page.locator('dialog[open]');
    await page.route('**/providers', (route) => (route.request().method() === 'POST' ? loseAnswer(route) : route.continue()), { times: 1 });
    await dialog.getByLabel('Name', { exact: true }).fill('first');
    await dialog.getByLabel('Program', { exact: true }).fill('/bin/echo');
    const create = dialog.getByRole('button', { name: 'Create the provider' });
    await create.click();
    await dialog.getByText('the service cannot be reached').waitFor();
    await dialog.getByLabel('Name', { exact: true }).fill('second');
    await create.click();
    await dialog.waitFor({ state: 'detached' });
    for (const name of ['first', 'second']) expect(outcome(await a.get(`${city}/provider/${name}`))).toBe(200);
    await page.context().close();
    watched.forgive(/ERR_CONNECTION_RESET/);
  });

  it('begins one session of an agent, however often its key is pressed, and when its answer was lost', async () => {
    expect(outcome(await a.post(`${city}/agents`, { name: 'once', provider: 'loopback' }))).toBe(201);
    const page = await open('/agents/once');
    await page
      .getByRole('button', { name: /^New session/ })
      .and(page.locator(':enabled:not([aria-disabled])'))
      .waitFor();
    await page.route('**/sessions', loseAnswer, { times: 1 });
    await page.keyboard.press('c');
    await page.keyboard.press('c');
    await page.getByText('the service cannot be reached').waitFor();
    await page.keyboard.press('c');
    await page.waitForURL(/\/sessions\/.+/);
    const { items } = (await a.get(`${city}/sessions`)).body as { items: { id: string; template: string }[] };
    expect(items.filter(({ template }) => template === 'once').map(({ id }) => id)).toEqual([page.url().split('/').at(-1)]);
    await page.context().close();
    watched.forgive(/ERR_CONNECTION_RESET/);
  });

  it('is sent once when its keys are pressed twice', async () => {
    const page = await open('/mail?new=1');
    const dialog = page.locator('dialog[open]');
    let sent = 0;
    page.on('request', (request) => void (request.method() === 'POST' && sent++));
    const twice = async (): Promise<void> => {
      for (let n = 0; n < 2; n++) await page.keyboard.press('Control+Enter');
      await dialog.waitFor({ state: 'detached' });
    };
    await dialog.getByLabel('To', { exact: true }).fill('human');
    await dialog.getByLabel('Subject').fill('Said once');
    await dialog.getByLabel('Text').fill('as it is');
    await twice();
    await page.getByText('Said once').first().waitFor();
    expect(sent).toBe(1);
    await page.goto(`${base}/ui/c/alpha/sessions?new=1`);
    await dialog.getByLabel('First message').fill('begun once');
    await dialog.getByRole('button', { name: 'Start the session' }).and(page.locator(':enabled:not([aria-disabled])')).waitFor();
    await twice();
    await page.getByText('echo: begun once').waitFor();
    expect(sent).toBe(2);
    await page.context().close();
  });

  it('stays where it is while what was asked for before comes to its end', async () => {
    const page = await open('/beads');
    const title = page.getByLabel('Title', { exact: true });
    const dialog = page.locator('dialog[open]');
    const goTo = async (view: string): Promise<void> => {
      await page.getByRole('link', { name: view, exact: true }).first().click();
      await page.getByRole('heading', { name: view, exact: true }).waitFor();
    };
    /** Asks for it, leaves its dialog, and types elsewhere when it is there. */
    const leave = async (view: string, field: string, action: string, path: string): Promise<string | null> => {
      let release = (): void => undefined;
      const held = new Promise<void>((resolve) => (release = resolve));
      await page.route(path, async (route) => {
        if (route.request().method() === 'POST') await held;
        await route.continue();
      });
      await goTo(view);
      await page.keyboard.press('c');
      await dialog.getByLabel(field).fill('later');
      await dialog.getByRole('button', { name: action }).and(page.locator(':enabled:not([aria-disabled])')).click();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'detached' });
      await goTo('Beads');
      await page.keyboard.press('c');
      await title.fill('Begun meanwhile');
      release();
      const link = page.locator('[data-operation="done"] a');
      await link.waitFor();
      const [at, href] = [new URL(page.url()), await link.getAttribute('href')];
      expect([at.pathname, at.search, await title.inputValue()]).toEqual(['/ui/c/alpha/beads', '?new=1', 'Begun meanwhile']);
      await page.unroute(path);
      // Beneath the dialog nothing can be pressed: the card waits longer than others stay.
      await sleep(6_500);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await link.click();
      await page.waitForURL(`${base}${href}`);
      await link.waitFor({ state: 'detached' });
      await page.goto(`${base}/ui/c/alpha/beads`);
      return href;
    };
    expect(await leave('Cities', 'Directory', 'Create the city', '**/v0/city')).toBe('/ui/c/later/sessions?new=1');
    expect(await leave('Sessions', 'First message', 'Start the session', '**/sessions')).toMatch(/^\/ui\/c\/alpha\/sessions\/.+/);
    await page.context().close();
  });

  it('stays in a form while its city does not run', async () => {
    const forms = await Promise.all(
      (
        [
          ['/beads?new=1', 'Title'],
          ['/mail?new=1', 'Subject'],
          ['/rigs?new=1', 'Name'],
        ] as const
      ).map(async ([path, label]) => {
        const page = await open(path);
        const field = page.locator('dialog[open]').getByLabel(label, { exact: true });
        await field.fill('Kept');
        return { page, field };
      }),
    );
    const read = await open('/beads');
    const instead = read.getByText('alpha is not running', { exact: true });
    const stopped = ({ page }: { page: Page }): ReturnType<Page['getByText']> =>
      page.locator('dialog[open]').getByText('alpha is not running', { exact: true });
    expect(outcome(await a.post(`${city}/stop`))).toBe(202);
    for (const form of forms) {
      await stopped(form).waitFor();
      expect([await form.field.inputValue(), await form.page.getByRole('button', { name: /^New / }).count()]).toEqual(['Kept', 0]);
    }
    // What is not seen takes no keys.
    await instead.waitFor();
    await read.keyboard.press('c');
    await sleep(300);
    expect([new URL(read.url()).search, await read.locator('dialog[open]').count()]).toEqual(['', 0]);
    await forms[0]!.page.locator('dialog[open]').getByRole('button', { name: 'Start it' }).click();
    for (const form of forms) {
      await stopped(form).waitFor({ state: 'detached' });
      expect(await form.field.inputValue()).toBe('Kept');
    }
    await instead.waitFor({ state: 'detached' });
    await read.keyboard.press('c');
    await read.locator('dialog[open]').waitFor();
    await read.context().close();
    const { page } = forms[0]!;
    await page.getByRole('button', { name: 'Create the bead' }).click();
    await page.locator('[data-bead-pane]').getByRole('heading', { name: 'Kept' }).waitFor();
    for (const form of forms) await form.page.context().close();
    watched.forgive(/404|503/);
  });

  it('is no key of a view that is left for one that is on its way', async () => {
    const page = await open('/beads');
    await page.getByRole('heading', { name: 'Beads', exact: true }).waitFor();
    await page.route(/\/cities[^/]*\.js$/, async (route) => {
      await sleep(1_000);
      await route.continue();
    });
    for (const key of ['g', 'c', 'c']) await page.keyboard.press(key);
    await page.getByRole('heading', { name: 'Cities', exact: true }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/ui/cities');
    await page.keyboard.press('c');
    await page.locator('dialog[open]').waitFor();
    await page.context().close();
  });

  it('to a session stands before what was written since when it was not taken', async () => {
    const page = await open(`/sessions/${await session()}`);
    const box = page.getByRole('textbox', { name: 'Message' });
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    await page.route('**/submit', async (route) => held.then(() => route.abort()), { times: 1 });
    await box.fill('the first');
    await page.keyboard.press('Control+Enter');
    await box.fill('the second');
    answer();
    await page.getByText('the service cannot be reached').waitFor();
    expect(await box.inputValue()).toBe('the first\n\nthe second');
    await page.reload();
    expect(await box.inputValue()).toBe('the first\n\nthe second');
    await page.context().close();
    watched.forgive(/ERR_FAILED/);
  });

  it('to a session is told once when it is sent again after its answer was lost', async () => {
    const id = await session();
    const page = await open(`/sessions/${id}`);
    const box = page.getByRole('textbox', { name: 'Message' });
    await page.route('**/submit', loseAnswer, { times: 1 });
    await box.fill('said once');
    await page.keyboard.press('Control+Enter');
    await page.getByText('the service cannot be reached').waitFor();
    expect(await box.inputValue()).toBe('said once');
    await page.keyboard.press('Control+Enter');
    await page.getByText('the service cannot be reached').waitFor({ state: 'detached' });
    await box.fill('the last');
    await page.keyboard.press('Control+Enter');
    await page.getByText('echo: the last').waitFor();
    expect(
      (await a.get(`${city}/session/${id}/messages?limit=50`)).body.items.map(({ message }: { message: string }) => message).sort(),
    ).toEqual(['hello', 'said once', 'the last']);
    await page.context().close();
    watched.forgive(/ERR_CONNECTION_RESET/);
  });

  it('about a bead without a priority gives it none', async () => {
    const id = await bead({ title: 'Whenever' });
    const page = await open(`/beads/${id}`);
    await page.getByRole('button', { name: /^Edit/ }).click();
    const dialog = page.locator('dialog[open]');
    await dialog.getByLabel('Title').fill('Some day');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const { body } = await a.get(`${city}/bead/${id}`);
    expect([body.title, body.priority]).toEqual(['Some day', undefined]);
    await page.context().close();
  });

  it('about a bead that somebody else has changed is shown beside theirs, with who that was, and overwrites what was shown', async () => {
    const id = await bead({ title: 'Ours', description: 'ours', labels: ['old'] });
    const page = await open(`/beads/${id}`);
    await page.getByRole('button', { name: /^Edit/ }).click();
    await page.getByLabel('Description').fill('my words');
    const dialog = page.locator('dialog[open]');
    const theirs = (body: object): Promise<unknown> => a.post(`${city}/bead/${id}/update`, body);
    await theirs({ title: 'Theirs', description: 'their words' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Somebody has changed this bead meanwhile, at last api').waitFor();
    const told = async (): Promise<Record<string, string>> =>
      Object.fromEntries(
        await Promise.all(
          (await dialog.locator('[data-changed]').all()).map(async (one) => [
            await one.getAttribute('data-changed'),
            (await one.locator('dd').allInnerTexts()).join(' / '),
          ]),
        ),
      );
    expect(await told()).toEqual({ Title: 'Theirs: Theirs', Description: 'Theirs: their words / Mine: my words' });
    // What they change now was not shown: it is told again.
    await theirs({ labels: ['new'] });
    await dialog.getByRole('button', { name: 'Mine over theirs' }).click();
    await dialog.locator('[data-changed="Labels"]').getByText('new, old').waitFor();
    await dialog.getByRole('button', { name: 'Mine over theirs' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await a.get(`${city}/bead/${id}`)).body).toMatchObject({ title: 'Theirs', description: 'my words', labels: ['old', 'new'] });
    await page.context().close();
    watched.forgive(/412/);
  });

  it('stays where a key is refused, until the same person signs in again', async () => {
    const guarded = (await stack.add('api', { auth: 'keys' })).url;
    const make = async (name: string): Promise<{ id: string; key: string }> => {
      const made = await a.post('/v0/keys', { name, rights: ['operate'] });
      expect(outcome(made)).toBe(201);
      return made.body as { id: string; key: string };
    };
    const first = await make('ann');
    const context = await watched.context();
    const page = await watched.open(`${guarded}/ui/settings#key=${first.key}`, { context });
    await page.goto(`${guarded}/ui/c/alpha/beads?new=1`);
    const title = page.getByLabel('Title');
    const key = page.getByLabel('API key');
    const signIn = async ({ key: next }: { key: string }): Promise<void> => {
      await key.fill(next);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await key.waitFor({ state: 'detached' });
    };
    await title.fill('A long thought');
    expect(outcome(await a.send('DELETE', `/v0/keys/${first.id}`))).toBe(200);
    // It is asked for by itself, and not before somebody has lost time.
    await key.waitFor();
    await page.keyboard.press('Escape');
    const second = await make('ann');
    await signIn(second);
    expect(await title.inputValue()).toBe('A long thought');
    await page.getByRole('button', { name: 'Create the bead' }).click();
    await page.locator('[data-bead-pane]').getByRole('heading', { name: 'A long thought' }).waitFor();
    await page.keyboard.press('e');
    await title.fill('Hers alone');
    expect(outcome(await a.send('DELETE', `/v0/keys/${second.id}`))).toBe(200);
    await key.waitFor();
    await signIn(await make('bob'));
    await page.locator('[data-bead-pane]').waitFor();
    expect(await title.count()).toBe(0);
    await context.close();
    watched.forgive(/401/);
  });

  it('complains about nothing', () => {
    expect(watched.complaints).toEqual([]);
  });
});
