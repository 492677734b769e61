import { appendFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStack, type Stack } from '../support/app.js';
import { api, type Api } from '../support/http.js';
import { Ledger } from '../support/ledger.js';

let stack: Stack;
let a: Api;
let b: Api;
let ledger: Ledger;

beforeAll(async () => {
  stack = await startStack();
  [a, b] = stack.urls.map((url) => api(url)) as [Api, Api];
  ledger = await Ledger.open(stack);
});
afterAll(async () => {
  await ledger?.stream.close();
  await stack?.stop();
});

const step = async (city: string, name: 'stop' | 'start'): Promise<void> =>
  ledger.succeeded(await a.post(`/v0/city/${city}/${name}`), `request.result.city.${name}`);

/** A stopped city, whose files say more than its scaffold does. */
async function prepare(city: string, cityToml: string, packToml = ''): Promise<void> {
  await ledger.succeeded(await a.post('/v0/city', { dir: city, provider: 'loopback' }), 'request.result.city.create');
  await step(city, 'stop');
  await appendFile(join(stack.citiesRoot, city, 'city.toml'), `\n${cityToml}`);
  await appendFile(join(stack.citiesRoot, city, 'pack.toml'), `\n${packToml}`);
}

const rig = (name: string, prefix?: string): string =>
  `[[rigs]]\nname = "${name}"\n${prefix === undefined ? '' : `prefix = "${prefix}"\n`}`;
const agent = (name: string, dir: string): string => `[[agent]]\nname = "${name}"\ndir = "${dir}"\nprompt_template = "prompt.md"\n`;

async function bead(at: Api, city: string, ofRig?: string): Promise<string> {
  const reply = await at.post(`/v0/city/${city}/beads`, { title: 'work', ...(ofRig === undefined ? {} : { rig: ofRig }) });
  expect(reply).toMatchObject({ status: 201 });
  return reply.body.id as string;
}

/** One new bead of the city's own and of each rig; answers their ids. */
async function beads(at: Api, city: string, rigs: readonly string[]): Promise<string[]> {
  const ids = [await bead(at, city)];
  for (const name of rigs) ids.push(await bead(at, city, name));
  return ids;
}

describe('a city with rigs and agents', () => {
  const rigs = ['website', 'webster', 'weather', 'my-app', 'maple'];

  it('comes up with a prefix for each rig and an address for each agent, and keeps them', async () => {
    await prepare(
      'harbour',
      [rig('website'), rig('webster', 'WE'), rig('weather'), rig('my-app'), rig('maple', 'ha2')].join(''),
      [agent('polecat', 'website'), agent('polecat', 'weather'), agent('witness', 'website')].join(''),
    );
    await writeFile(join(stack.citiesRoot, 'harbour', 'prompt.md'), 'Work.');
    await step('harbour', 'start');
    // The declared `WE` goes first, whoever else would have liked to have it.
    expect(await beads(a, 'harbour', rigs)).toEqual(['ha-1', 'we2-1', 'we-1', 'we3-1', 'ma-1', 'ha2-1']);
    expect((await b.get('/v0/city/harbour')).body).toMatchObject({ rig_count: 5, agent_count: 16 });

    const assigned = async (id: string, to: string): Promise<unknown> =>
      (await b.post(`/v0/city/harbour/bead/${id}/assign`, { assignee: to })).body.assignee;
    expect(await assigned('we2-1', 'polecat')).toBe('website/polecat');
    expect(await assigned('we3-1', 'polecat')).toBe('weather/polecat');
    expect(await assigned('ha-1', 'witness')).toBe('website/witness');

    await step('harbour', 'stop');
    expect((await a.post('/v0/city/harbour/beads', { title: 'x' })).status).toBe(404);
    await step('harbour', 'start');
    // Sessions for the assigned work may have taken numbers of the city's own.
    const again = await beads(b, 'harbour', rigs);
    expect(again[0]).toMatch(/^ha-([2-9]|\d\d+)$/);
    expect(again.slice(1)).toEqual(['we2-2', 'we-2', 'we3-2', 'ma-2', 'ha2-2']);
  });

  it('keeps the prefixes of the rigs that are left, and gives a new one nobody’s', async () => {
    await prepare('quay', [rig('alder'), rig('alley')].join(''));
    await step('quay', 'start');
    expect(await beads(a, 'quay', ['alder', 'alley'])).toEqual(['qu-1', 'al-1', 'al2-1']);
    await step('quay', 'stop');
    const file = join(stack.citiesRoot, 'quay', 'city.toml');
    await writeFile(file, (await readFile(file, 'utf8')).replace(rig('alder'), rig('altar')));
    await step('quay', 'start');
    expect(await bead(a, 'quay', 'alley')).toBe('al2-2');
    // A prefix that is free again goes on counting: an id is never given twice.
    expect(await bead(b, 'quay', 'altar')).toBe('al-2');
    expect(await a.post('/v0/city/quay/beads', { title: 'x', rig: 'alder' })).toMatchObject({
      status: 404,
      body: { code: 'rig-not-found', detail: 'not_found: rig alder not found' },
    });
    expect((await b.get('/v0/city/quay/bead/al-1')).body).toMatchObject({ id: 'al-1', rig: 'alder' });
  });

  it.each([
    [
      'two rigs of one prefix',
      [rig('one', 'web'), rig('two', 'WEB')],
      'city.toml:14: rigs[1].prefix: the rig "one" has this prefix already',
    ],
    ['a prefix that makes no ids', [rig('one', 'web-2')], 'city.toml:11: rigs[0].prefix: must be a letter and up to 11 letters or digits'],
    ['two rigs of one name', [rig('one'), rig('one')], 'city.toml:12: rigs[1].name: there is a rig "one" already'],
  ])('does not come up with %s', async (_, tables, message) => {
    const city = `reef-${message.length}`;
    await prepare(city, tables.join(''));
    const { type, payload } = await ledger.ended(await a.post(`/v0/city/${city}/start`));
    expect({ type, payload }).toMatchObject({
      type: 'request.failed',
      payload: { operation: 'city.start', error_code: 'city_config_failed', error_message: message },
    });
    expect((await b.get(`/v0/city/${city}/beads`)).status).toBe(404);
    const { body } = await b.get('/v0/cities');
    expect((body.items as { name: string }[]).find((it) => it.name === city)).toMatchObject({
      running: false,
      status: 'init_failed',
      error: message,
      error_code: 'city_config_failed',
    });
  });

  it('finds its work again when its directory is registered anew', async () => {
    await prepare('mole', rig('crane'));
    await step('mole', 'start');
    const [own, child] = (await beads(a, 'mole', ['crane'])) as [string, string];
    await a.post(`/v0/city/mole/bead/${child}/dependencies`, { depends_on_id: own });
    const before = await a.get(`/v0/city/mole/bead/${child}`);
    await ledger.succeeded(await a.post('/v0/city/mole/unregister'), 'request.result.city.unregister');
    expect((await b.get(`/v0/city/mole/bead/${child}`)).status).toBe(404);
    await ledger.succeeded(await b.post('/v0/cities/register', { dir: 'mole' }), 'request.result.city.register');
    expect((await b.get(`/v0/city/mole/bead/${child}`)).body).toEqual(before.body);
    expect((await b.get('/v0/city/mole/beads')).body.items.map((it: { id: string }) => it.id).sort()).toEqual([child, own].sort());
    expect(await beads(a, 'mole', ['crane'])).toEqual(['mo-2', 'cr-2']);
    const { body } = await a.get(`/v0/city/mole/events?after_seq=0&subject=${child}`);
    expect(body.items.map((it: { type: string }) => it.type)).toEqual(['bead.created', 'bead.updated']);
  });
});
