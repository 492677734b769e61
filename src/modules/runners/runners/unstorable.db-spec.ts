import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { eventually } from '../../../../test/support/sse.js';
import { RunnerFixture } from './testing/runner-fixture.js';
import type { RunnerProcess } from './testing/runner-process.js';

/** NUL, and half of a surrogate pair: Postgres takes neither. */
const BAD = 'a\0b\ud800';
const CLEAN = 'a\ufffdb\ufffd';

let fixture: RunnerFixture;
let runner: RunnerProcess;

beforeEach(async () => {
  fixture = await RunnerFixture.open();
  runner = await fixture.runner('r1');
});
afterEach(() => fixture.close());

it('a process that says what cannot be stored goes on', async () => {
  const { pk } = await runner.create(fixture.city, { title: 'loopback' });
  await fixture.until(pk, 'active');
  const agent = fixture.host.alive[0]!;
  agent.emit({ type: 'title', title: BAD });
  agent.emit({ type: 'options', options: [{ key: 'model', label: BAD, choices: [{ value: BAD }] }] });
  const options = [{ id: BAD, label: BAD }];
  agent.emit({ type: 'interaction', requestId: 'q1', kind: 'approval', prompt: BAD, options, metadata: { tool_name: BAD } });
  const asked = () => sql`select prompt, options, metadata from session_interactions where session_pk = ${pk}`.execute(fixture.db);
  await eventually(async () => (await asked()).rows.length === 1);
  expect((await asked()).rows).toEqual([{ prompt: CLEAN, options: [{ id: CLEAN, label: CLEAN }], metadata: { tool_name: CLEAN } }]);
  expect(await fixture.row(pk)).toMatchObject({
    state: 'active',
    title: CLEAN,
    option_schema: [{ key: 'model', label: CLEAN, choices: [{ value: CLEAN }] }],
  });
});

it('a process whose last words cannot be stored has ended', async () => {
  const { pk } = await runner.create(fixture.city);
  await fixture.until(pk, 'active');
  // The message has the end of it, which begins with half of a character here.
  const stderrTail = `${BAD}${'😀'.repeat(500)}x`;
  fixture.host.alive[0]!.die({ code: 1, signal: null, cause: 'crashed', stderrTail });
  await fixture.when(pk, ({ generation, live }) => generation > 1 || !live);
  expect((await fixture.events('session.crashed')).map(({ message }) => message)).toEqual([
    expect.stringMatching(/^exited with 1:\n\ufffd(?:😀)+x$/),
  ]);
});
