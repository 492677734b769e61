import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { setsVariable, type ConfigProcess } from '../../../../test/support/config-process.js';
import { CITY_TOML, ConfigFixture, variablesOf } from '../../../../test/support/config-fixture.js';
import { registerCity } from '../../../../test/support/registry.js';
import type { CityScope } from '../../tenancy/cities/city-scope.js';

let fixture: ConfigFixture;
/** The city as a request has found it. */
let before: CityScope;
let a: ConfigProcess;

beforeEach(async () => {
  fixture = await ConfigFixture.open();
  ({ a, city: before } = fixture);
});
afterEach(() => fixture.close());

/** Unregisters the city and registers another directory under its name, where it runs. */
async function moved(): Promise<CityScope> {
  await fixture.sql('delete from cities');
  const dir = path.join(fixture.root, 'elsewhere');
  await mkdir(dir);
  await writeFile(path.join(dir, 'city.toml'), CITY_TOML.replace('"agent"', '"other"'));
  await writeFile(path.join(dir, 'scout.md'), 'Look around.\n');
  const city = await registerCity(a.db, 'alpha', dir);
  expect(city.streamId).toBe(before.streamId);
  expect(await a.reloads.reload(city, 'start', 'test')).toMatchObject({ revision: 2, changed: true });
  return city;
}

const GONE = { problem: 'city_not_found' };

// Guard: files of a directory that a city has left do not become its configuration.
it('reloads no directory that the city has left, whether its files can be used or not', async () => {
  const city = await moved();
  for (const text of [CITY_TOML, '[workspace\n']) {
    await fixture.write('city.toml', text);
    await expect(a.reloads.tryReload(before, 'files', 'test')).rejects.toMatchObject(GONE);
    await expect(a.reloads.reload(before, 'reload', 'test')).rejects.toMatchObject(GONE);
  }
  expect(await a.reads.current(city)).toMatchObject({
    revision: 2,
    rejected: undefined,
    config: { workspace: { start_command: 'other' } },
  });
  expect(await a.reloads.reload(city, 'reload', 'test')).toMatchObject({ revision: 2, changed: false });
});

it('reloads no city that has been stopped', async () => {
  await fixture.sql('update cities set running = false');
  await fixture.write('city.toml', CITY_TOML.replace('"agent"', '"other"'));
  await expect(a.reloads.tryReload(before, 'files', 'test')).rejects.toMatchObject(GONE);
  await fixture.sql('update cities set running = true');
  expect(await a.reloads.tryReload(before, 'files', 'test')).toMatchObject({ revision: 2, changed: true });
});

// Guard: an edit does not begin in a directory that its city has left.
it('edits no files of a directory that the city has left', async () => {
  const city = await moved();
  let looked = false;
  const edit = a.change(before, (document) => {
    looked = true;
    setsVariable('ONE')(document);
  });
  await expect(edit).rejects.toMatchObject(GONE);
  expect(looked).toBe(false);
  expect(await fixture.read()).toBe(CITY_TOML);
  await fixture.expectTidy();
  expect(await a.setVariable(city, 'ONE')).toMatchObject({ revision: 3 });
});

// Guard: an edit does not end in a directory that its city has left meanwhile.
it('takes an edit back whose city is registered with another directory meanwhile', async () => {
  a.failpoints.arm('config.after_write', async () => {
    a.failpoints.disarm('config.after_write');
    expect(variablesOf(await fixture.read())).toEqual(['ONE']);
    await fixture.sql('delete from cities');
    await registerCity(a.db, 'alpha', path.join(fixture.root, 'elsewhere'));
  });
  await expect(a.setVariable(before, 'ONE')).rejects.toMatchObject(GONE);
  expect(await fixture.read()).toBe(CITY_TOML);
  expect(await fixture.sql('select revision::int as revision from config_states')).toEqual([{ revision: 1 }]);
  await fixture.expectTidy();
});

// Guard: what was read of one directory tells nothing of another one.
it('does not believe of another directory what was read of this one', async () => {
  const [state] = await fixture.sql<{ ledger: string }>('select ledger from config_states');
  expect(a.composer.ledgerOf(state!.ledger, before.path)?.size).toBeGreaterThan(0);
  expect(a.composer.ledgerOf(state!.ledger, path.join(fixture.root, 'elsewhere'))).toBeUndefined();
});
