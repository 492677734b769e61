import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { BrowserContext, Locator, Page } from 'playwright-core';
import { startStack, type Stack } from '../support/app.js';
import { barriers, CHROMIUM, live, Watched } from '../support/browser.js';
import { putKey } from '../support/callers.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';
import { pageIsBuilt } from '../support/page.js';
import { COMMAND, Served } from '../support/served.js';
import { serveSoon } from '../support/stack-timings.js';
import { eventually } from '../support/sse.js';

const described = CHROMIUM === undefined ? describe.skip : describe;

/** What is administered, through the page: each thing done here is looked for at the API, and what the API does is seen here. */
described('administration on the page', () => {
  let stack: Stack;
  let a: Api;
  let watched: Watched;
  let base: string;
  /** An api that asks for keys. */
  let guarded: string;
  let served: Served;
  let context: BrowserContext;
  let page: Page;
  const city = '/v0/city/alpha';
  const c = '/ui/c/alpha';

  beforeAll(async () => {
    await pageIsBuilt();
    stack = await startStack({ apis: 2, workers: 1 });
    serveSoon(stack);
    base = stack.urls[0]!;
    guarded = (await stack.add('api', { auth: 'keys' })).url;
    a = api(stack.urls[1]!);
    const ledger = await Ledger.open(stack, base);
    served = await Served.make(
      stack,
      ledger,
      'alpha',
      `\n[[service]]\nname = "board"\nkind = "proxy_process"\nprocess = { ${COMMAND} }\n\n[[service]]\nname = "wall"\nkind = "proxy_process"\npublish_mode = "direct"\nprocess = { ${COMMAND} }\n`,
    );
    await ledger.stream.close();
    watched = await Watched.start();
    context = await watched.context();
    page = await watched.open(`${base}/ui/settings`, { context });
  });
  afterAll(async () => {
    await watched?.stop();
    await stack?.stop();
  });

  const go = async (path: string): Promise<void> => {
    await page.goto(`${base}${path}`);
    await live(page);
    // A view that is not there yet has no keys.
    await page.locator('main h1').first().waitFor();
  };
  const row = (name: string) => page.locator(`[data-row="${name}"]`);
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: typeof name === 'string' });
  const dialog = () => page.locator('dialog[open]');
  /** Why it cannot be pressed, as it is read out. */
  const whyNow = async (one: Locator): Promise<string | null> => {
    const id = await one.getAttribute('aria-describedby');
    return id === null ? null : one.page().locator(`[id="${id}"]`).textContent();
  };
  /** Whose key it is, the page knows only once it was told. */
  const whyNot = async (one: Locator): Promise<string | null> => {
    await eventually(async () => (await whyNow(one)) !== 'not signed in');
    return whyNow(one);
  };

  it('makes a key, shows it once, rotates it, and ends it', async () => {
    await go('/ui/keys');
    await page.keyboard.press('c');
    await dialog().getByLabel('Name', { exact: true }).fill('ann');
    await dialog().getByLabel('Only these cities, one a line').fill('alpha');
    await dialog().getByLabel('Is good for').selectOption('7');
    await button('Make the key').click();
    const token = (await page.locator('[data-secret]').textContent())!;
    const asAnn = api(guarded, { authorization: `Bearer ${token}` });
    expect((await asAnn.get('/v0/info')).body.caller).toMatchObject({ name: 'ann', cities: ['alpha'], rights: ['operate'] });
    await button('I have it').click();
    const { items } = (await a.get('/v0/keys')).body as { items: { id: string; name: string }[] };
    const { id } = items.find(({ name }) => name === 'ann')!;
    await row(id).getByText('until').waitFor();
    expect(
      await page.evaluate('document.documentElement.outerHTML + JSON.stringify({ ...sessionStorage, ...localStorage })'),
    ).not.toContain(token);

    await row(id).getByRole('button', { name: 'Rotate' }).click();
    await dialog().getByLabel('The old secret').selectOption('0');
    await dialog().getByRole('button', { name: 'Rotate' }).click();
    const second = (await page.locator('[data-secret]').textContent())!;
    // Neither a stray click nor a key takes away the only copy.
    await page.mouse.click(2, 2);
    for (let n = 0; n < 3; n++) await page.keyboard.press('Escape');
    expect(await page.locator('[data-secret]').textContent()).toBe(second);
    await button('I have it').click();
    await page.locator('[data-secret]').waitFor({ state: 'detached' });
    const now = api(guarded, { authorization: `Bearer ${second}` });
    expect([(await asAnn.get('/v0/info')).status, (await now.get('/v0/info')).status]).toEqual([401, 200]);

    await row(id).getByRole('button', { name: 'Revoke' }).click();
    expect(await dialog().getByRole('button', { name: 'Revoke the key' }).isDisabled()).toBe(true);
    await dialog().getByLabel('Type “ann” to go on').fill('ann');
    await page.keyboard.press('Enter');
    await page.getByText('ann is revoked').waitFor();
    await row(id).waitFor({ state: 'detached' });
    expect((await now.get('/v0/info')).status).toBe(401);

    // The page goes on with the new secret of its own key, which is to be read.
    const own = await watched.context();
    await own.addInitScript(
      `sessionStorage.getItem('svc.key') ?? sessionStorage.setItem('svc.key', ${JSON.stringify(await putKey(stack.databaseUrl, 'boss', { scope: 'write' }))})`,
    );
    const mine = await watched.open(`${guarded}/ui/keys`, { context: own });
    await mine.getByRole('listitem').filter({ hasText: 'this page’s' }).getByRole('button', { name: 'Rotate' }).click();
    await mine.getByLabel('The old secret').selectOption('0');
    await mine.locator('dialog[open]').getByRole('button', { name: 'Rotate' }).click();
    const third = await mine.locator('[data-secret]').textContent();
    await mine.getByRole('button', { name: 'I have it' }).click();
    expect(await mine.evaluate(`sessionStorage.getItem('svc.key')`)).toBe(third);
    await mine.reload();
    await mine.getByText('this page’s').waitFor();
    await own.close();
    watched.forgive(/401/);
  });

  it('makes a rig, switches it off and on again, and asks whose change counts', async () => {
    await go(`${c}/rigs`);
    await page.keyboard.press('c');
    await dialog().getByLabel('Name', { exact: true }).fill('core');
    await dialog().getByLabel('Prefix of its beads').fill('co');
    await button('Add the rig').click();
    await row('core').getByText('agents may run').waitFor();
    await row('core').getByRole('button', { name: 'Suspend' }).click();
    await row('core').getByText('suspended').waitFor();
    await button('Undo').click();
    await row('core').getByText('agents may run').waitFor();
    expect((await a.get(`${city}/rig/core`)).body).toMatchObject({ suspended: false, prefix: 'co' });

    await row('core').getByRole('button', { name: 'Edit' }).click();
    await dialog().getByLabel('Prefix of its beads').fill('pr');
    // Somebody changes it while the form is open, and the page has learned of it before the form is saved.
    await a.send('PATCH', `${city}/rig/core`, { default_branch: 'trunk' });
    await row('core').getByText('trunk').waitFor();
    await button('Save').click();
    await button('Mine over theirs').click();
    await row('core').getByText('pr-').waitFor();
    expect((await a.get(`${city}/rig/core`)).body).toMatchObject({ default_branch: 'trunk', prefix: 'pr' });
    watched.forgive(/412/);

    await row('core').getByRole('button', { name: 'Remove' }).click();
    await dialog().getByLabel('Type “core” to go on').fill('core');
    await button('Remove the rig').click();
    await row('core').waitFor({ state: 'detached' });
    expect((await a.get(`${city}/rig/core`)).status).toBe(404);
  });

  it('follows a clone to its end, good or bad', async () => {
    await go(`${c}/rigs?new=1`);
    await dialog().getByLabel('Name', { exact: true }).fill('away');
    await dialog().getByLabel('Clone').fill('https://127.0.0.1:9/owner/gone.git');
    await button('Add the rig').click();
    await Promise.race([page.locator('[data-operation="failed"]').waitFor(), dialog().getByRole('alert').waitFor()]);
    watched.forgive(/40\d|422/);
  });

  it('shows what the city imports as it is written, and says why something cannot be imported', async () => {
    const dir = join(stack.citiesRoot, 'alpha');
    await go(`${c}/packs`);
    await row('core').waitFor();
    await mkdir(join(dir, 'packs/review'), { recursive: true });
    await writeFile(join(dir, 'packs/review/pack.toml'), '[pack]\nname = "review"\nversion = "1.2.0"\nschema = 2\n');
    await writeFile(
      join(dir, 'pack.toml'),
      `${await readFile(join(dir, 'pack.toml'), 'utf8')}\n[imports.review]\nsource = "packs/review"\n`,
    );
    await a.post(`${city}/config/reload`);
    await row('review').getByText('1.2.0').waitFor();
    await page.keyboard.press('i');
    await page.getByText('Everything is there as it is pinned').waitFor();
    await page.keyboard.press('c');
    await dialog().getByLabel('From').fill('packs/review');
    await button('Import it').click();
    // What is wrong with the one member is said once.
    await dialog()
      .getByRole('alert')
      .getByText(/^invalid: invalid import source: a directory is imported by writing it into pack\.toml: \S+ with source = "\S+"$/)
      .waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await row('review').getByRole('button', { name: 'Remove' }).click();
    await button('Remove review').click();
    await row('review').waitFor({ state: 'detached' });
    expect((await a.get(`${city}/packs`)).body.packs.map(({ name }: { name: string }) => name)).not.toContain('review');
    watched.forgive(/400/);
  });

  it('stores a patch, changes it, and takes it away and back', async () => {
    await go(`${c}/patches?kind=providers&new=1`);
    await dialog().getByLabel('Name', { exact: true }).fill('loopback');
    await dialog().getByLabel('Variables, one a line').fill('TOKEN=secret');
    await button('Store the patch').click();
    await row('loopback').getByText('TOKEN').waitFor();
    await row('loopback').getByRole('button', { name: 'Edit' }).click();
    await dialog().getByLabel('Milliseconds until it is ready').fill('7');
    await button('Store the patch').click();
    await row('loopback').getByText('ReadyDelayMs').waitFor();
    // What is masked is sent as it is shown, and means what is stored.
    expect(await readFile(join(stack.citiesRoot, 'alpha/city.toml'), 'utf8')).toContain('secret');
    await row('loopback').getByRole('button', { name: 'Remove' }).click();
    await row('loopback').waitFor({ state: 'detached' });
    expect((await a.get(`${city}/patches/provider/loopback`)).status).toBe(404);
    // What was masked is gone with it; the rest can be taken back.
    await page.getByText('loopback is as it comes again').waitFor();
    expect(await button('Undo').count()).toBe(0);
    await go(`${c}/patches?kind=providers&new=1`);
    await dialog().getByLabel('Name', { exact: true }).fill('loopback');
    await dialog().getByLabel('Milliseconds until it is ready').fill('7');
    await button('Store the patch').click();
    await row('loopback').getByRole('button', { name: 'Remove' }).click();
    await button('Undo').click();
    await row('loopback').getByText('ReadyDelayMs').waitFor();
    expect((await a.delete(`${city}/patches/provider/loopback`)).status).toBe(200);
  });

  it('makes a provider, changes what is different, and removes it', async () => {
    await go(`${c}/providers?new=1`);
    await dialog().getByLabel('Name', { exact: true }).fill('echo');
    await dialog().getByLabel('Program', { exact: true }).fill('/bin/echo');
    await dialog().getByLabel('Arguments, one a line', { exact: true }).fill('one\ntwo words');
    await button('Create the provider').click();
    await row('echo').getByText('/bin/echo one two words').waitFor();
    await row('echo').getByRole('button', { name: 'Edit' }).click();
    await dialog().getByLabel('Name for people').fill('Echo');
    await button('Save').click();
    await row('echo').getByRole('heading', { name: 'Echo', exact: true }).waitFor();
    expect((await a.get(`${city}/provider/echo`)).body).toMatchObject({ display_name: 'Echo', args: ['one', 'two words'] });
    await row('echo').getByRole('button', { name: 'Remove' }).click();
    await button('Remove echo').click();
    await row('echo').waitFor({ state: 'detached' });
  });

  it('says which files were refused, at which line, until they are mended', async () => {
    const file = join(stack.citiesRoot, 'alpha/city.toml');
    const good = await readFile(file, 'utf8');
    await go(`${c}/config`);
    await page.getByText('agents may run').waitFor();
    await writeFile(file, `${good}\n[[agent]]\nname = "x"\nprovider = 7\n`);
    await page.keyboard.press('R');
    const { errors } = await eventually(async () => (await a.get(`${city}/config`)).body.rejected as { errors: string[] } | undefined);
    for (const error of errors) await page.locator('[data-rejected]').getByText(error).waitFor();
    expect(errors.join(' ')).toMatch(/city\.toml:\d+/);
    await go(c);
    for (const error of errors) await page.locator('[data-rejected]').getByText(error).waitFor();
    await go('/');
    await page.locator('[data-attention="files"]').getByText(errors[0]!).waitFor();
    await page.locator('[data-attention="files"] a').click();
    await page.locator('[data-rejected]').waitFor();
    await writeFile(file, good.replace('[workspace]', '[workspace]\nmax_active_sessions = 9'));
    await button(/^Read the files again/).click();
    await page.locator('[data-rejected]').waitFor({ state: 'detached' });
    watched.forgive(/40\d|422/);

    await page.getByRole('link', { name: 'Revisions' }).click();
    const { items } = (await a.get(`${city}/config/revisions?limit=1`)).body as { items: { revision: number }[] };
    await row(String(items[0]!.revision)).getByRole('link').click();
    await page.locator('[data-differences]').getByText('workspace.max_active_sessions').waitFor();
    await page.getByRole('link', { name: 'Values' }).click();
    await page.getByLabel('A key, and everything below it').fill('workspace.max_active_sessions');
    await page.locator('[data-row="workspace.max_active_sessions"]').getByText('city.toml').waitFor();
    await eventually(async () => (await page.locator('table [data-row]').count()) === 1 || undefined);

    await page.getByRole('link', { name: 'Try a change' }).click();
    await page.getByLabel('Text of city.toml').fill('[workspace]\nprovider = 3\n');
    await button('Would it be taken?').click();
    await page
      .locator('[data-valid="false"]')
      .getByText(/city\.toml:2/)
      .waitFor();
    await page.getByLabel('Text of city.toml').fill(good);
    await button('Would it be taken?').click();
    await page.locator('[data-valid="true"]').waitFor();
    expect(await readFile(file, 'utf8')).toContain('max_active_sessions = 9');
  });

  it('restricts what agents reach', async () => {
    await go(`${c}/config?edit=network`);
    await dialog().getByLabel('Network').selectOption('api');
    await button('Save').click();
    await page.getByText('this service only').waitFor();
    expect((await a.get(`${city}/config`)).body.workspace.network).toBe('api');
    // No runner here could keep a session from the network.
    await button('Change the network').click();
    await dialog().getByLabel('Network').selectOption('all');
    await button('Save').click();
    await page.getByText('everything', { exact: true }).waitFor();
  });

  it('follows what a service writes, and restarts it', async () => {
    await served.until('board');
    await go(`${c}/services`);
    await row('board').getByText('ready').first().waitFor();
    await row('board').getByRole('button', { name: 'Log' }).click();
    await page.locator('[data-log="board"]').getByText('listens').first().waitFor();
    await row('board').getByRole('button', { name: 'Restart' }).click();
    await button('Restart board').click();
    // The second process says that it listens as well, and the log has both.
    await page.locator('[data-log="board"]').getByText('listens').nth(1).waitFor();
    const [tab] = await Promise.all([context.waitForEvent('page'), row('board').getByRole('link', { name: 'Open' }).click()]);
    await tab.getByText('"method":"GET"').waitFor();
    await tab.close();
    // Once the log is closed the focus is where it was opened.
    await page.locator('[data-log="board"]').focus();
    await page.keyboard.press('Escape');
    await page.locator('[data-log="board"]').waitFor({ state: 'detached' });
    expect(await page.evaluate<string>('document.activeElement.innerText')).toBe('Log');
    watched.forgive(/favicon|404/);
  });

  it('asks before a service is opened whose scripts would have the key, and opens none that takes one', async () => {
    await served.until('wall');
    const made = await a.post('/v0/keys', { name: 'opens', rights: ['operate'] });
    const mine = await watched.context();
    const signed = await watched.open(`${guarded}/ui/settings#key=${made.body.key}`, { context: mine });
    await signed.goto(`${guarded}${c}/services`);
    const open = (name: string) => signed.locator(`[data-row="${name}"]`).getByRole('button', { name: 'Open', exact: true });
    await open('wall').click();
    await signed.getByText('their scripts can read the key').waitFor();
    const [tab] = await Promise.all([mine.waitForEvent('page'), signed.getByRole('button', { name: 'Open wall' }).click()]);
    await tab.getByText('"method":"GET"').waitFor();
    expect([await open('board').isDisabled(), await whyNot(open('board'))]).toEqual([
      true,
      'it asks for a key, and a browser sends none with an address',
    ]);
    await mine.close();
    watched.forgive(/favicon|404/);
  });

  it('binds a conversation, shows what is said in it as it is said, and lets go of it', async () => {
    const made = await a.post(`${city}/sessions`, { kind: 'provider', name: 'loopback', title: 'Answers' });
    const session = made.body.session_id as string;
    await eventually(async () => (await a.get(`${city}/session/${session}`)).body.running === true || undefined);
    await go(`${c}/messaging?new=1`);
    await dialog().getByLabel('Provider').fill('chat');
    await dialog().getByLabel('Conversation').fill('lobby');
    await dialog().getByLabel('Who answers').selectOption('session');
    await dialog().getByLabel('Its name, or the id of the session').fill(session);
    await button('Bind it').click();
    await page.locator('[data-row]').getByText('active').waitFor();
    await page.getByRole('link', { name: 'chat/lobby (room)' }).click();
    await page.getByText('Nothing was said in it').waitFor();
    await a.post(`${city}/extmsg/inbound`, {
      message: {
        provider_message_id: 'm-1',
        conversation: { scope_id: 'alpha', provider: 'chat', account_id: 'default', conversation_id: 'lobby', kind: 'room' },
        actor: { id: 'ann', display_name: 'Ann', is_bot: false },
        text: 'Is it done?',
        attachments: [],
        received_at: new Date().toISOString(),
      },
    });
    await page.getByText('Is it done?').waitFor();
    await page.getByRole('link', { name: 'Deliveries' }).click();
    await page.locator('[data-row]').getByText('Is it done?').waitFor();
    await page.getByRole('link', { name: 'Bindings' }).click();
    // Which conversations there were of late leads to who answers there.
    await row('chat/lobby (room)').getByRole('link', { name: session }).click();
    await button('Unbind').click();
    await dialog().getByRole('button', { name: 'Unbind' }).click();
    await page.getByText('Nobody answers in chat/lobby (room)').waitFor();
    await button('Undo').click();
    await eventually(async () => {
      const { items } = (await a.get(`${city}/extmsg/bindings?session_id=${session}`)).body as { items: { Status: string }[] | null };
      return items?.some(({ Status }) => Status === 'active') === true || undefined;
    });

    await page.getByRole('link', { name: 'Adapters' }).click();
    await button(/^Register an adapter/).click();
    await dialog().getByLabel('Provider').fill('chat');
    await button('Register it').click();
    const token = (await dialog().locator('code').first().textContent())!;
    expect(token).toMatch(/^sva_/);
    await button('I have them').click();
    await page.getByText('disconnected').waitFor();
  });

  it('tells who did what, as it is done', async () => {
    await go('/ui/audit?operation=create-bead');
    await page.getByText('Nothing fits these filters').waitFor();
    await a.post(`${city}/beads`, { title: 'Audited' });
    await page.locator('[data-row]').getByText('create-bead').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('o');
    await page.getByText('/v0/city/{cityName}/beads').waitFor();
  });

  it('begins a cycle of maintenance, and shows what has come of it', async () => {
    await go(`${c}/maintenance`);
    await page.getByText('switched off: [maintenance.dolt]').waitFor();
    const file = join(stack.citiesRoot, 'alpha/city.toml');
    await writeFile(file, `${await readFile(file, 'utf8')}\n[maintenance.dolt]\nenabled = true\n`);
    await a.post(`${city}/config/reload`);
    await page.getByText(/^every /).waitFor();
    watched.forgive(/409/);
    const asked = page.waitForResponse((answer) => answer.request().method() === 'POST' && /\/maintenance\b/.test(answer.url()));
    await button('Begin a cycle').click();
    // The first one is due at once, and may have begun by itself.
    expect([202, 409]).toContain((await asked).status());
    await page.getByRole('list', { name: 'Cycles' }).getByText('done').first().waitFor();
  });

  it('goes through the log by what somebody clicks in it', async () => {
    await a.post(`${city}/events`, { type: 'odd.first', actor: 'ann', subject: 's-1', message: 'One', payload: { of: { kind: 'red' } } });
    await a.post(`${city}/events`, { type: 'odd.second', actor: 'bob', subject: 's-1', message: 'Two', payload: { of: { kind: 'blue' } } });
    await go(`${c}/events?type=odd.`);
    await page.locator('[data-seq]').getByText('odd.first').click();
    await page.getByRole('button', { name: 'red' }).click();
    await page.locator('[data-seq]').getByText('odd.second').waitFor({ state: 'detached' });
    expect(new URL(page.url()).searchParams.get('match')).toBe('of.kind=red');
    await a.post(`${city}/events`, { type: 'odd.first', actor: 'ann', subject: 's-2', message: 'Three', payload: { of: { kind: 'red' } } });
    await a.post(`${city}/events`, {
      type: 'odd.first',
      actor: 'ann',
      subject: 's-2',
      message: 'Four',
      payload: { of: { kind: 'green' } },
    });
    await page.locator('[data-seq]').getByText('Three').waitFor();
    expect(await page.locator('[data-seq]').count()).toBe(2);
    await page.goBack();
    await page.locator('[data-seq]').getByText('odd.second').waitFor();
    await go('/ui/events?type=odd.&q=Four');
    await page.locator('[data-seq]').getByText('Four').waitFor();
  });

  it('has plots of what was used, and a file of their numbers', async () => {
    await go(`${c}/usage?range=1h`);
    await page.locator('[data-plot]').waitFor();
    const [file] = await Promise.all([page.waitForEvent('download'), button('CSV').click()]);
    const rows = (await readFile(await file.path(), 'utf8')).split('\r\n');
    expect(rows[0]).toMatch(/^at,agent,cost_usd_estimate/);
    expect(rows.length).toBeGreaterThan(1);
    await go('/ui/usage');
    await row('alpha').getByRole('link', { name: 'alpha' }).click();
    await page.waitForURL(/\/c\/alpha\/usage/);
  });

  it('offers a key that may only read nothing that it may not do', async () => {
    const key = await putKey(stack.databaseUrl, 'reader', { scope: 'read', cities: ['alpha'] });
    const own = await watched.context();
    await own.addInitScript(`sessionStorage.setItem('svc.key', ${JSON.stringify(key)})`);
    const reading = await watched.open(`${guarded}${c}/rigs`, { context: own });
    for (const [path, name] of [
      [`${c}/rigs?new=1`, 'Add the rig'],
      [`${c}/packs?new=1`, 'Import it'],
      [`${c}/providers?new=1`, 'Create the provider'],
      [`${c}/config`, 'Read the files again'],
      [`${c}/config`, 'Change the network'],
      [`${c}/config?tab=draft`, 'Would it be taken?'],
      [`${c}/maintenance`, 'Begin a cycle'],
      // Nor does it let anybody fill in what cannot be sent.
      ['/ui/cities', 'New city'],
      [`${c}/sessions`, 'New session'],
      [`${c}/beads`, 'New bead'],
      [`${c}/convoys`, 'New convoy'],
      [`${c}/rigs`, 'New rig'],
      [`${c}/packs`, 'Import a pack'],
      [`${c}/providers`, 'New provider'],
      [`${c}/patches`, 'New patch'],
      [`${c}/messaging`, 'Bind a conversation'],
      [`${c}/messaging?tab=adapters`, 'Register an adapter'],
    ] as const) {
      await reading.goto(`${guarded}${path}`);
      const one = reading.getByRole('button', { name, exact: false });
      await one.waitFor();
      expect({ path, why: await whyNot(one), disabled: await one.isDisabled() }).toMatchObject({
        disabled: true,
        why: expect.stringContaining('lacks the right'),
      });
    }
    expect(await reading.locator('[data-limits]').first().textContent()).toBe('reads only in alpha');
    await reading.goto(`${guarded}${c}/beads`);
    await reading.getByRole('button', { name: 'New bead' }).waitFor();
    await reading.keyboard.press('c');
    await reading.keyboard.press('?');
    await reading.locator('dialog[open]').waitFor();
    expect(await reading.locator('dialog[open]').getByText('new bead').count()).toBe(0);
    await reading.goto(`${guarded}/ui/keys`);
    await reading.getByRole('alert').waitFor();
    // What is refused to this key is not asked for again, by it or by the page.
    expect(await reading.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    const asked: string[] = [];
    reading.on('request', (request) => void asked.push(new URL(request.url()).pathname));
    await reading.clock.install();
    await reading.goto(`${guarded}/ui/runners`);
    await reading.getByRole('alert').waitFor();
    await reading.clock.runFor(60_000);
    expect(asked.filter((path) => path === '/v0/runners')).toHaveLength(1);
    await reading.goto(`${guarded}/ui/c/elsewhere`);
    await reading.getByText('elsewhere is not running, or is not there').waitFor();
    await reading.getByRole('button', { name: 'Start it' }).waitFor({ state: 'detached' });
    await own.close();
    watched.forgive(/403|404/);
  });

  it('does nothing that a button refuses when a key of the keyboard asks for it', async () => {
    const text = 'formula = "greet"\n[[steps]]\nid = "say"\ntitle = "Greet"\n';
    expect((await a.send('PUT', `${city}/formulas/greet`, text, { 'Content-Type': 'application/octet-stream' })).status).toBe(200);
    const run = await a.post(`${city}/sling`, { target: 'mayor', formula: 'greet' });
    const mail = await a.post(`${city}/mail`, { to: 'human', from: 'mayor', subject: 'Read', body: 'Read this' });
    const key = await putKey(stack.databaseUrl, 'types', { scope: 'read', cities: ['alpha'] });
    const own = await watched.context();
    await own.addInitScript(`sessionStorage.setItem('svc.key', ${JSON.stringify(key)})`);
    const reading = await watched.open(`${guarded}${c}/packs`, { context: own });
    const sent: string[] = [];
    reading.on('request', (request) => request.method() !== 'GET' && void sent.push(request.url()));
    for (const [path, keys, name, labels] of [
      ['packs', 'ci', 'Fetch imports', ['import a pack', 'fetch what the files import']],
      ['formulas', 'cjs', 'New formula', ['new formula', 'start a run of it']],
      ['formulas/greet', 's', 'Start a run', ['start a run']],
      [`runs/${run.body.run?.run_id ?? run.body.root_bead_id}`, 's', 'Start again', ['start it again']],
    ] as const) {
      await reading.goto(`${guarded}${c}/${path}`);
      const one = reading.getByRole('button', { name });
      await one.waitFor();
      expect({ path, why: await whyNot(one) }).toEqual({ path, why: expect.stringContaining('lacks the right') });
      for (const each of keys) await reading.keyboard.press(each);
      expect({ path, opened: await reading.locator('dialog[open]').count() }).toEqual({ path, opened: 0 });
      await reading.keyboard.press('?');
      const help = reading.getByRole('dialog', { name: 'Keys of this view' });
      await help.waitFor();
      for (const label of labels) expect({ label, bound: await help.getByText(label).count() }).toEqual({ label, bound: 0 });
    }
    for (const [path, field, name] of [
      ['mail?new=1', 'Text', 'Send'],
      ['sessions?new=1', 'First message', 'Start the session'],
      [`mail?thread=${mail.body.id}`, 'Reply', 'Reply'],
    ] as const) {
      await reading.goto(`${guarded}${c}/${path}`);
      const form = reading.locator('form').filter({ has: reading.getByRole('button', { name }) });
      await form.waitFor();
      for (const required of await form.locator('input[required]').all()) await required.fill('human');
      await form.getByLabel(field, { exact: true }).fill('More');
      expect({ path, why: await whyNot(form.getByRole('button', { name })) }).toEqual({ path, why: 'this key lacks the right “operate”' });
      await form.getByLabel(field, { exact: true }).press('Control+Enter');
      expect({ path, busy: await form.getByRole('button', { name }).textContent() }).toEqual({ path, busy: expect.stringContaining(name) });
    }
    expect(sent).toEqual([]);

    // Escape takes away the words, wherever the focus is, and the next one what they stand in.
    const bead = await a.post(`${city}/beads`, { title: 'Kept' });
    await reading.goto(`${guarded}${c}/beads?bead=${bead.body.id}`);
    await live(reading);
    const [pane, words] = [reading.locator('[data-bead-pane]'), reading.getByRole('tooltip')];
    const [edit, assign] = ['Edit', 'Assign'].map((name) => pane.getByRole('button', { name }));
    await whyNot(edit!);
    for (const come of [() => edit!.hover({ force: true }), () => edit!.focus()]) {
      await come();
      expect(await words.count()).toBe(1);
      await reading.keyboard.press('Escape');
      expect([await words.count(), await pane.count()]).toEqual([0, 1]);
    }
    // A pointer that comes to another button shows what that one says alone.
    await assign!.focus();
    await reading.mouse.move(0, 0);
    await edit!.hover({ force: true });
    expect(await words.count()).toBe(1);
    await reading.keyboard.press('Escape');
    expect([await words.count(), await pane.count()]).toEqual([0, 1]);
    await reading.keyboard.press('Escape');
    await pane.waitFor({ state: 'detached' });
    await own.close();
  });

  it('says before it is pressed what a key may not that sets a city up, and does not say what is run', async () => {
    expect((await a.send('PUT', `${city}/patches/agents`, { name: 'mayor', env: { MODE: 'slow' } })).status).toBe(200);
    const made = await a.post('/v0/keys', { name: 'sets up', rights: ['operate', 'configure'], cities: ['alpha'] });
    const own = await watched.context();
    await own.addInitScript(`sessionStorage.setItem('svc.key', ${JSON.stringify(made.body.key)})`);
    const limited = await watched.open(`${guarded}${c}/rigs`, { context: own });
    for (const [path, name, why] of [
      [`${c}/config`, 'Change the network', 'this key lacks the right “commands”'],
      [`${c}/config`, 'Read the files again', null],
      [`${c}/config?tab=draft`, 'Would it be taken?', null],
      [`${c}/patches`, 'Edit', 'this key lacks the right “commands”'],
      [`${c}/patches`, 'Remove', null],
      ['/ui/cities', 'New city', 'this key is limited to cities that are there'],
    ] as const) {
      await limited.goto(`${guarded}${path}`);
      const one = limited.getByRole('button', { name }).first();
      await one.waitFor();
      // What depends on the cities is known only once these are read.
      await eventually(async () => (await whyNow(one)) === why);
      expect(await one.isDisabled()).toBe(why !== null);
    }
    // Nor may it until it is known which cities are there.
    const reads = Promise.withResolvers<void>();
    await limited.route('**/v0/cities*', (route) => reads.promise.then(() => route.continue()));
    await limited.goto(`${guarded}/ui/cities`);
    expect(await whyNot(limited.getByRole('button', { name: 'New city' }))).toBe('the cities are not read yet');
    reads.resolve();
    await eventually(
      async () => (await whyNow(limited.getByRole('button', { name: 'New city' }))) === 'this key is limited to cities that are there',
    );
    await limited.unroute('**/v0/cities*');
    await limited.goto(`${guarded}${c}/patches?new=1`);
    await limited.locator('dialog[open]').getByText('this key lacks the right “commands”').waitFor();
    expect(await limited.getByLabel('Variables, one a line').isEditable()).toBe(false);
    expect(await limited.getByLabel('Provider', { exact: true }).isEditable()).toBe(true);
    await own.close();
    expect((await a.delete(`${city}/patches/agent/mayor`)).status).toBe(200);
    // Nor may one make a city that is good in none, which sees none.
    const nowhere = await putKey(stack.databaseUrl, 'nowhere', { scope: 'write', cities: [], rights: ['configure'] });
    const none = await watched.context();
    await none.addInitScript(`sessionStorage.setItem('svc.key', ${JSON.stringify(nowhere)})`);
    const first = await watched.open(`${guarded}/ui/cities`, { context: none });
    const create = first.getByRole('button', { name: 'Create the city' });
    expect(await whyNot(create)).toBe('this key is good in no city');
    await none.close();
    const operates = await a.post('/v0/keys', { name: 'operates', rights: ['operate'] });
    const other = await watched.context();
    await other.addInitScript(`sessionStorage.setItem('svc.key', ${JSON.stringify(operates.body.key)})`);
    const orders = await watched.open(`${guarded}${c}/orders`, { context: other });
    const pause = orders.getByRole('button', { name: /^(Pause|Go on)$/ }).first();
    await pause.waitFor();
    expect(await whyNot(pause)).toBe('this key lacks the right “configure”');
    await orders.goto(`${guarded}${c}/maintenance`);
    const seal = orders.getByRole('button', { name: 'Seal the event log' });
    expect(await whyNot(seal)).toBe('this key lacks the right “configure”');
    expect(await whyNot(orders.getByRole('button', { name: 'Begin a cycle' }))).toBeNull();
    await other.close();
  });

  it.each([
    { width: 1280, height: 800, touch: false },
    { width: 390, height: 844, touch: true },
  ])('says why a button is off to whoever comes to it without a mouse, $width px wide', async (look) => {
    const { width, touch } = look;
    const made = await a.post('/v0/keys', { name: `operates at ${width}`, rights: ['operate'], cities: ['alpha'] });
    const own = await watched.context(look);
    await own.addInitScript(`sessionStorage.setItem('svc.key', ${JSON.stringify(made.body.key)})`);
    const limited = await watched.open(`${guarded}${c}/rigs`, { context: own });
    const sent: string[] = [];
    limited.on('request', (request) => request.method() !== 'GET' && void sent.push(request.url()));
    const words = limited.getByRole('tooltip');
    const why = 'this key lacks the right “configure”';
    const press = async (one: Locator): Promise<void> => {
      // It waits for nothing that is off.
      if (touch) return one.tap({ force: true });
      await one.focus();
      await limited.keyboard.press('Enter');
    };
    const make = limited.getByRole('button', { name: 'New rig' }).first();
    expect(await whyNot(make)).toBe(why);
    expect(await words.count()).toBe(0);
    if (!touch) {
      // A pointer may go on to the words.
      await make.hover({ force: true });
      await words.hover();
      expect(await words.textContent()).toBe(why);
      await limited.mouse.move(0, 0);
      expect(await words.count()).toBe(0);
    }
    await press(make);
    expect(await words.textContent()).toBe(why);
    const [at, of] = [(await words.boundingBox())!, (await make.boundingBox())!];
    expect({ left: at.x >= 0, right: at.x + at.width <= width, below: at.y >= of.y + of.height }).toEqual({
      left: true,
      right: true,
      below: true,
    });
    expect(await barriers(limited)).toEqual([]);
    await limited.keyboard.press('Escape');
    expect(await words.count()).toBe(0);
    await limited.keyboard.press('Tab');
    await limited.keyboard.press('Shift+Tab');
    expect(await words.textContent()).toBe(why);
    expect(await limited.locator('dialog[open]').count()).toBe(0);
    // A form is not sent either, in whatever way.
    await limited.goto(`${guarded}${c}/rigs?new=1`);
    const form = limited.locator('dialog[open]');
    await form.getByLabel('Name', { exact: true }).fill('more');
    const add = form.getByRole('button', { name: 'Add the rig' });
    expect(await whyNot(add)).toBe(why);
    // Who writes in a field is told, and goes on there.
    await form.getByLabel('Name', { exact: true }).press('Enter');
    expect(await words.textContent()).toBe(why);
    await limited.keyboard.type('s');
    expect(await form.getByLabel('Name', { exact: true }).inputValue()).toBe('mores');
    await limited.keyboard.press('Tab');
    expect(await words.count()).toBe(0);
    await press(add);
    expect(await words.textContent()).toBe(why);
    await limited.keyboard.press('Escape');
    expect([await words.count(), await form.count(), await form.getByRole('alert').count()]).toEqual([0, 1, 0]);
    expect(sent).toEqual([]);
    await limited.goto(`${guarded}/ui/settings`);
    await live(limited);
    if (touch) await limited.getByRole('button', { name: 'More' }).tap();
    // Nor is it led to where the key is refused.
    const views = limited.getByRole('navigation', { name: touch ? 'All views' : 'Views', exact: true });
    await views.getByRole('link', { name: 'Cities' }).waitFor();
    await views.getByRole('link', { name: 'Keys' }).waitFor({ state: 'detached' });
    expect((await views.getByRole('link').allTextContents()).map((text) => text.trim())).toEqual(
      expect.arrayContaining(['Cities', 'All events', 'All usage', 'Health', 'Settings']),
    );
    for (const name of ['Runners', 'Audit']) expect(await views.getByRole('link', { name }).count()).toBe(0);
    await own.close();
  });

  it('complains about nothing', () => {
    expect(watched.complaints).toEqual([]);
    expect(watched.elsewhere).toEqual([]);
  });
});
