import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import { problem } from '../../../contract/problems.js';
import { HostBusy, StartError, UnconfirmedDead, type Sandbox } from '../../../platform/runtime/port.js';
import { CityCommands, type CityCommand } from './city-commands.js';

afterAll(removeFolders);

const asked: CityCommand = {
  city: { name: 'alpha', streamId: 1 },
  rig: '',
  line: 'true',
  file: 'city.toml',
  owner: 'x',
  id: 'x',
  attempt: 1,
  env: {},
  said: {},
  timeoutMs: 60_000,
};
const { signal } = new AbortController();
const made = (parts: readonly object[]): CityCommands =>
  new CityCommands(...(parts as unknown as ConstructorParameters<typeof CityCommands>));

/** How a command ends that fails before it has begun. */
async function endOf(error: Error): Promise<object> {
  const commands = made([{}, { known: () => Promise.reject(error) }, { cityPath: async () => '' }, { id: async () => '' }]);
  const { how, unstarted } = await commands.run(asked, signal);
  return unstarted === undefined ? { how } : { how, unstarted };
}

const coded = (code: string): Error => Object.assign(new Error(code), { code });

// Guard: what passes is nothing that could be said of the command.
it('a command that could not begin just now is told from one that never will', async () => {
  const passing = [
    new HostBusy('too much at once'),
    coded('57P01'),
    coded('ECONNREFUSED'),
    coded('ENOSPC'),
    problem('unavailable', 'try again'),
    new StartError('died', 'sh could not be started: EMFILE', '', { cause: coded('EMFILE') }),
  ];
  for (const error of passing) expect([error.message, await endOf(error)]).toEqual([error.message, { how: 'busy' }]);
  for (const error of [new StartError('not_found', 'no such rig'), new StartError('unsupported', 'no walls'), coded('E2BIG')])
    expect([error.message, await endOf(error)]).toEqual([error.message, { how: 'failed', unstarted: true }]);
});

// Guard: one that may not be done twice would be.
it('a command that has begun is not begun again, though nobody can see what is left of it', async () => {
  const city = await folder('svc-city-commands-');
  const full = coded('EMFILE');
  const sandbox: Sandbox = { enter: async (program) => program, end: () => Promise.reject(full) };
  const commands = made([
    { citiesRoot: path.dirname(city), allowedPaths: [] },
    { known: async () => ({ config: { rigs: [], workspace: {}, upstreams: {} } }) },
    { cityPath: async () => city },
    { id: async () => 'd' },
    { apiUrl: () => undefined, node: '', caCert: undefined, environment: () => ({ PATH: '/usr/bin:/bin' }), commandsDirectory: '' },
    {
      aroundCommand: (_: unknown, work: (around: Sandbox) => Promise<void>) => work(sandbox),
      tableOf: async () => () => Promise.reject(full),
    },
    { isOthers: async () => false },
  ]);
  await expect(commands.run({ ...asked, line: 'echo done >> did' }, signal)).rejects.toThrow(UnconfirmedDead);
  expect(await readFile(path.join(city, 'did'), 'utf8')).toBe('done\n');
  // What is left of an earlier attempt cannot be seen: nothing was begun.
  expect(await commands.run({ ...asked, attempt: 2 }, signal)).toMatchObject({ how: 'busy' });
});
