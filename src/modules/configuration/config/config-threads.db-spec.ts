import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { ANYBODY } from '../../../contract/principal.js';
import { Failpoints } from '../../../platform/failpoints/failpoints.js';
import { spinning } from '../../../platform/threads/testing/tasks.js';
import { ThreadOptions } from '../../../platform/threads/threads.js';
import { ConfigProcess } from '../../../../test/support/config-process.js';
import { CITY_TOML, ConfigFixture } from '../../../../test/support/config-fixture.js';

/** What threads make of a city that is too much for them, where it meets requests, events and revisions. */
let fixture: ConfigFixture;
/** A process to whose threads everything is too much. */
let strict: ConfigProcess;

beforeEach(async () => {
  fixture = await ConfigFixture.open();
  strict = new ConfigProcess(fixture.database.url, fixture.root, new Failpoints(), new ThreadOptions({ busyMs: 5 }));
  // What ends at some time may have ended before anybody looks at the thread.
  const { threads } = strict;
  const run = threads.run.bind(threads);
  threads.run = (request) => run({ ...request, task: spinning as never });
});
afterEach(async () => {
  await strict.close();
  await fixture.close();
});

/** Variables in every rig: a large result of a short file. */
async function grow(rigs = 100, variables = 400): Promise<void> {
  const env = Array.from({ length: variables }, (_, n) => `V${n} = "1"`).join();
  const places = Array.from({ length: rigs }, (_, n) => `[[rigs]]\nname = "r${n}"\n`).join('');
  await fixture.write('city.toml', `${CITY_TOML}scope = "rig"\nenv = { ${env} }\n${places}`);
}

it('files that take too much are rejected with the reason, and the city goes on with what it runs', async () => {
  const { city, a } = fixture;
  await grow();
  const message = 'composing the city takes more than 0.005 s of work';
  expect(await strict.reloads.reload(city, 'files', 'test')).toMatchObject({ revision: 1, errors: [{ file: 'city.toml', message }] });
  const [event] = await fixture.sql(`select type, payload::text from events where type = 'config.rejected'`);
  expect(event!.payload).toContain(message);
  expect((await strict.reads.current(city)).revision).toBe(1);
  // The same files are no mistake where there is time for them.
  expect(await a.reloads.reload(city, 'files', 'test')).toMatchObject({ revision: 2, changed: true });
});

it('a change that makes the files too much is refused, and nothing is written', async () => {
  const { city } = fixture;
  const env = Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`V${n}`, '1']));
  const rigs = Array.from({ length: 100 }, (_, n) => ({ name: `r${n}` }));
  const change = strict.change(city, (document) => {
    Object.assign(document, { rigs });
    Object.assign((document.agent as object[])[0]!, { scope: 'rig', env });
  });
  await expect(change).rejects.toMatchObject({ problem: 'validation_failed', kind: { status: 422 } });
  expect(await fixture.read()).toBe(CITY_TOML);
  await fixture.expectTidy();
  await strict.setVariable(city, 'ONE');
  expect(await fixture.variables()).toEqual(['ONE']);
});

it('what is asked of a large configuration is answered from threads, or refused by them', async () => {
  const { city, a } = fixture;
  await grow();
  await a.reloads.reload(city, 'files', 'test');
  const query = { limit: 3 } as never;
  const explained = (await a.reads.explain(city, { ...(query as object), path: 'agents."r7/scout".env' } as never)).body;
  expect(explained.values_total).toBe(400);
  expect(explained.values!.map(({ path, file }) => [path, file])).toEqual(
    ['V0', 'V1', 'V2'].map((name) => [`agents."r7/scout".env.${name}`, 'city.toml']),
  );
  const diff = await a.reads.diff(city, { from: 1, to: 2 });
  expect(diff).toMatchObject({ from: 1, to: '2' });
  expect(diff.total).toBeGreaterThan(100);
  const composed = JSON.parse((await a.reads.composed(city, undefined)).body) as { revision: number; config: { agents: object[] } };
  expect(composed.revision).toBe(2);
  expect(composed.config.agents[0]).toMatchObject({ env: { V0: '********' } });
  const refused = { problem: 'validation_failed', kind: { status: 422 } };
  await expect(strict.reads.explain(city, query)).rejects.toMatchObject(refused);
  await expect(strict.reads.diff(city, { from: 1, to: 2 })).rejects.toMatchObject(refused);
  await expect(strict.reads.composed(city, undefined)).rejects.toMatchObject(refused);
  expect(await strict.reads.validate(city, ANYBODY)).toMatchObject({
    valid: false,
    errors: ['city.toml: composing the city takes more than 0.005 s of work'],
  });
});

it('a revision of a large city tells what it changes', async () => {
  const { city, a } = fixture;
  await grow(60);
  await a.reloads.reload(city, 'files', 'test');
  const text = await fixture.read();
  await fixture.write('city.toml', text.replace('name = "r7"', 'name = "s7"'));
  expect(await a.reloads.reload(city, 'files', 'test')).toMatchObject({ revision: 3, changed: true });
  const events = await fixture.sql(
    `select type, subject from events where (payload->>'revision')::int = 3 and type <> 'config.reloaded' order by seq`,
  );
  expect(events.map(({ type, subject }) => [type, subject])).toEqual([
    ['rig.created', 's7'],
    ['rig.deleted', 'r7'],
    ['agent.created', 's7/scout'],
    ['agent.deleted', 'r7/scout'],
  ]);
});

it('a configuration is taken apart by the database and is the same again', async () => {
  const { city, a, b } = fixture;
  await fixture.write('city.toml', `${CITY_TOML}[providers.own]\ncommand = "b"\n[providers.other]\nbase = "own"\n[[rigs]]\nname = "r"\n`);
  await a.reloads.reload(city, 'files', 'test');
  const [stored] = await fixture.sql<{ config: string }>('select config from config_revisions where revision = 2');
  expect((await b.reads.current(city)).config).toEqual(JSON.parse(stored!.config));
  expect(JSON.stringify((await b.reads.current(city)).config)).toBe(stored!.config);
});
