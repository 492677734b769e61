import { expect, it } from '@jest/globals';
import { runCli } from '../cli.js';
import { fakeIo } from '../testing/io.js';
import { json, testServer } from '../testing/server.js';

const archive = { path: 'alpha/events-1-19', first_seq: 1, last_seq: 19, compression_status: 'complete' };

it.each([
  ['a line at a terminal', 80, [], { rotated: true, archive }, 'the events 1 to 19 of alpha are sealed in alpha/events-1-19\n'],
  ['a line where one is asked for', undefined, ['-o', 'table'], { rotated: true, archive }, /^the events 1 to 19 of alpha /],
  ['why nothing was', 80, [], { rotated: false, reason: 'no new events' }, 'nothing of alpha is sealed: no new events\n'],
  ['JSON in a pipe', undefined, [], { rotated: false }, '{"rotated":false}\n'],
  ['JSON at a terminal with --json', 80, ['--json'], { rotated: false }, '{"rotated":false}\n'],
  ['what jq makes of it', 80, ['--jq', '.rotated'], { rotated: false }, 'false\n'],
])('svc events rotate prints %s', async (_what, width, flags, answer, printed) => {
  const server = await testServer({ '/v0/city/alpha/events/rotate': (_request, response) => json(response, answer) });
  const io = fakeIo({ width });
  const code = await runCli(['events', 'rotate', '--city', 'alpha', '--api', server.url, ...flags], io);
  await server.close();
  expect([code, io.stdout]).toEqual([0, typeof printed === 'string' ? printed : expect.stringMatching(printed)]);
});
