import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { CHROMIUM, Watched } from '../support/browser.js';
import { adminAt } from '../support/database.js';
import { api, outcome, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { pageIsBuilt } from '../support/page.js';
import { eventually } from '../support/sse.js';

const described = CHROMIUM === undefined ? describe.skip : describe;

/** Many sessions ask the same. */
const MANY = `
  insert into session_interactions (stream_id, session_pk, request_id, generation, kind, prompt, options, metadata, opened_rev)
    select stream_id, session_pk, request_id || '-' || n, generation, kind, prompt, options, metadata, opened_rev
    from session_interactions, generate_series(2, 400) n where request_id = $1
`;

/** What waits for people, where there is much of it, and what they write while others are at work. */
described('the page', () => {
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

  const open = (path: string): Promise<Page> => watched.open(`${base}/ui${path}`);
  const session = async (message: string): Promise<string> => {
    const made = await a.post(`${city}/sessions`, { kind: 'provider', name: 'loopback', message });
    expect(outcome(made)).toBe(202);
    return made.body.session_id as string;
  };
  const questionOf = (id: string): Promise<string> =>
    eventually(async () => {
      const { items } = (await a.get('/v0/pending')).body as { items: { session_id: string; request_id: string }[] };
      return items.find(({ session_id }) => session_id === id)?.request_id;
    });

  it('has a question, and has it no more, by what the service records, which nobody else can', async () => {
    const page = await open('/');
    await page.getByText('Nothing needs you').waitFor();
    await page.route('**/v0/pending*', (route) => route.abort());
    const id = await session('ask');
    const asked = await questionOf(id);
    await page.locator(`[data-ask="${asked}"]`).waitFor();
    for (const type of ['session.interaction.opened', 'session.interaction.resolved']) {
      const payload = { session_id: id, request_id: asked, kind: 'approval', status: 'answered' };
      expect((await a.post(`${city}/events`, { type, actor: 'ann', payload })).status).toBe(422);
    }
    expect(outcome(await a.post(`${city}/session/${id}/respond`, { action: 'deny', request_id: asked }))).toBe(202);
    await page.locator(`[data-ask="${asked}"]`).waitFor({ state: 'detached' });
    await page.context().close();
  });

  it('draws the first of many questions, and reads what those in sight would do, a few at a time', async () => {
    const id = await session('ask');
    await adminAt(stack.databaseUrl, MANY, [await questionOf(id)]);
    const context = await watched.context();
    let [under, most, all] = [0, 0, 0];
    await context.route('**/transcript?*', async (route) => {
      all += 1;
      most = Math.max(most, ++under);
      await sleep(20);
      const response = await route.fetch();
      under -= 1;
      await route.fulfill({ response });
    });
    const page = await watched.open(`${base}/ui/`, { context });
    const cards = page.locator('[data-ask]');
    await cards.first().getByRole('button', { name: 'Answer these 400 alike' }).waitFor();
    await cards.first().getByRole('button', { name: 'Allow', exact: true }).and(page.locator(':enabled:not([aria-disabled])')).waitFor();
    expect(await cards.count()).toBe(50);
    expect([most <= 4, all < 50]).toEqual([true, true]);
    // Whoever goes down to one finds it read.
    await cards.last().scrollIntoViewIfNeeded();
    await cards.last().getByRole('button', { name: 'Allow', exact: true }).and(page.locator(':enabled:not([aria-disabled])')).waitFor();
    await page.getByRole('button', { name: 'Show more questions: 350' }).click();
    await eventually(async () => (await cards.count()) === 100 || undefined);
    expect(most).toBeLessThanOrEqual(4);
    await context.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
    expect((await a.post(`${city}/session/${id}/close`)).status).toBe(200);
  });

  it('changes no label of a bead whose title is changed', async () => {
    const labels = ['owner: Smith, J.', 'x'];
    const { id } = (await a.post(`${city}/beads`, { title: 'One', labels })).body as { id: string };
    const page = await open(`/c/alpha/beads?bead=${id}`);
    await page.getByRole('button', { name: /^Edit/ }).click();
    const dialog = page.locator('dialog[open]');
    await dialog.getByLabel('Title').fill('Two');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const bead = (await a.get(`${city}/bead/${id}`)).body as { title: string; labels: string[] };
    expect([bead.title, bead.labels.sort()]).toEqual(['Two', labels]);
    await page.context().close();
  });

  it('says how many depend on a bead, and shows them all, and what it is for', async () => {
    const { id } = (await a.post(`${city}/beads`, { title: 'Root', description: 'For all of them', labels: ['root'] })).body as {
      id: string;
    };
    for (let i = 0; i < 130; i++) expect((await a.post(`${city}/beads`, { title: `Needs ${i}`, needs: [id] })).status).toBe(201);
    const page = await open('/c/alpha/beads?label=root');
    const listed = page.waitForRequest((request) => request.url().includes('/v0/city/alpha/beads?'));
    await page.reload();
    expect((await listed).url()).toContain('view=summary');
    await page.locator(`[data-bead="${id}"]`).click();
    const pane = page.locator(`[data-bead-pane="${id}"]`);
    await pane.getByText('For all of them').waitFor();
    const around = pane.locator('section').filter({ hasText: 'Depend on it' });
    await around.getByText('100 of 130').waitFor();
    await around.getByRole('button', { name: 'Show more' }).click();
    await eventually(async () => (await around.getByRole('listitem').count()) === 130 || undefined);
    expect(await around.getByRole('button', { name: 'Show more' }).count()).toBe(0);
    await page.context().close();
  });

  it('shows of a log that stands still what fits filters that are set then', async () => {
    for (const type of ['odd.one', 'odd.two']) await a.post(`${city}/events`, { type, actor: 'ann' });
    const page = await open('/c/alpha/events');
    const row = (type: string): ReturnType<Page['locator']> => page.locator('[data-seq]').getByText(type, { exact: true });
    await row('odd.two').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByLabel('Type, or how it begins').fill('odd.one');
    await row('odd.two').waitFor({ state: 'detached' });
    await row('odd.one').waitFor();
    await a.post(`${city}/events`, { type: 'odd.one', actor: 'bob' });
    await page.getByText('paused, 1 new').waitFor();
    expect(await row('odd.one').count()).toBe(1);
    await page.context().close();
  });

  it('keeps what is typed of a reply while the one before is sent, and while another thread is open', async () => {
    const letter = async (subject: string): Promise<string> =>
      (await a.post(`${city}/mail`, { to: 'human', from: 'mayor', subject, body: 'Text' })).body.id as string;
    const [first, second] = [await letter('First'), await letter('Second')];
    const page = await open(`/c/alpha/mail?thread=${first}`);
    const box = page.getByLabel('Reply', { exact: true });
    let go: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    await page.route('**/reply', async (route) => {
      await held;
      await route.fulfill({ status: 201, json: {} });
    });
    const send = page.getByRole('button', { name: /^Reply/ }).and(page.locator(':enabled:not([aria-disabled])'));
    await page.locator('[data-letter]').first().waitFor();
    await box.fill('Sent');
    await page.keyboard.press('Control+Enter');
    await send.waitFor({ state: 'detached' });
    await box.fill('Not sent yet');
    go();
    // Once it has been answered, the next one can be sent.
    await send.waitFor();
    expect(await box.inputValue()).toBe('Not sent yet');
    await page.locator(`[data-mail="${second}"] button`).click();
    await page.locator(`[data-thread="${second}"]`).waitFor();
    expect(await box.inputValue()).toBe('');
    await page.locator(`[data-mail="${first}"] button`).click();
    await page.locator(`[data-thread="${first}"]`).waitFor();
    expect(await box.inputValue()).toBe('Not sent yet');
    await page.context().close();
  });

  it('shows the newest of a long thread, and answers whom it is from, twice', async () => {
    const long = 'line of the log\n'.repeat(15_500);
    const { body: first } = await a.post(`${city}/mail`, { to: 'human', from: 'mayor', subject: 'Reports', body: 'The first' });
    for (let i = 0; i < 10; i++)
      expect((await a.post(`${city}/mail/${first.id}/reply`, { from: 'human', body: `${i} ${long}` })).status).toBe(201);
    const { items } = (await a.get(`${city}/mail?agent=mayor&limit=1`)).body as { items: { id: string }[] };
    const newest = await a.post(`${city}/mail/${items[0]!.id}/reply`, { from: 'mayor', body: 'Which branch?' });
    expect(newest.status).toBe(201);
    expect((await a.post(`${city}/mail/${first.id}/read`)).status).toBe(200);
    const page = await open('/?kind=mail');
    await page.getByText('Re: Reports').first().click();
    await page.locator(`[data-letter="${newest.body.id}"]`).getByText('Which branch?').waitFor();
    const box = page.getByLabel('Reply', { exact: true });
    for (const text of ['main', 'and dev']) {
      const answered = page.waitForResponse((response) => response.url().endsWith('/reply'));
      await box.fill(text);
      await page.keyboard.press('Control+Enter');
      const response = await answered;
      expect([response.status(), ((await response.json()) as { to: string }).to]).toEqual([201, 'mayor']);
      expect(response.url()).toContain(newest.body.id);
      await page.locator('[data-letter]').getByText(text, { exact: true }).waitFor();
    }
    await page.context().close();
  });

  it('leaves the title of a session alone whose alias is changed', async () => {
    const id = await session('hello');
    const page = await open(`/c/alpha/sessions/${id}`);
    await page.getByRole('button', { name: /^More/ }).last().click();
    await page.getByLabel('Alias').fill('nick');
    expect((await a.patch(`${city}/session/${id}`, { title: 'Theirs' })).status).toBe(200);
    await page.getByRole('heading', { name: 'Theirs' }).waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Rename' }).click();
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    expect((await a.get(`${city}/session/${id}`)).body).toMatchObject({ title: 'Theirs', alias: 'nick' });
    await page.context().close();
  });

  it('complains about nothing', () => {
    watched.forgive(/pending/, /ERR_FAILED/);
    expect(watched.complaints).toEqual([]);
  });
});
