import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, expect, it } from '@jest/globals';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import { problem } from '../../../contract/problems.js';
import { HostBusy, StartError, UnconfirmedDead, type Sandbox } from '../../../platform/runtime/port.js';
import { findProcesses, listProcesses, type ProcessTable } from '../../../platform/runtime/process-table.js';
import { CityCommands, type CityCommand } from './city-commands.js';

afterAll(removeFolders);

const ASKED = {
  city: { name: 'alpha', streamId: 1 },
  rig: '',
  line: 'true',
  file: 'city.toml',
  owner: 'x',
  id: 'x',
  attempt: 1,
  env: {},
  said: {},
  timeoutMs: 1_000,
} as const satisfies CityCommand;
const never = new AbortController().signal;

const made = (parts: readonly object[]): CityCommands =>
  new CityCommands(...(parts as unknown as ConstructorParameters<typeof CityCommands>));

/** Commands on a host, up to the look at what their city runs. */
function commandsOf(deployment: string, known: () => Promise<never>): CityCommands {
  return made([{}, { known }, { cityPath: async () => '' }, { id: async () => deployment }, {}, { tableOf: async () => listProcesses }]);
}

/** Commands of a city in a folder. */
function commandsIn(city: string, sandbox: Sandbox, table: ProcessTable): CityCommands {
  return made([
    { citiesRoot: path.dirname(city), allowedPaths: [] },
    { known: async () => ({ config: { rigs: [], workspace: {}, upstreams: {} } }) },
    { cityPath: async () => city },
    { id: async () => 'd' },
    { apiUrl: () => undefined, node: '', caCert: undefined, environment: () => ({ PATH: '/usr/bin:/bin' }), commandsDirectory: '' },
    { aroundCommand: (_: unknown, work: (around: Sandbox) => Promise<void>) => work(sandbox), tableOf: async () => table },
    { isOthers: async () => false },
  ]);
}

/** How a command ends that fails before it has begun. */
async function endOf(error: Error): Promise<object> {
  const { how, unstarted } = await commandsOf('', () => Promise.reject(error)).run(ASKED, never);
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

// Guard: what a killed worker has left of a command is ended before the command is begun again.
it('a command that is begun again has nothing left of its earlier attempts, and what is not its own goes on', async () => {
  const deployment = randomUUID();
  const marks = { deployment, city: 'alpha', session: '' };
  const left = async (): Promise<string[]> => (await findProcesses(marks, listProcesses)).map(({ generation }) => generation ?? '').sort();
  const children = ['x.1', 'x.2', 'y.1'].map((mark) =>
    spawn('/bin/sleep', ['600'], {
      env: { SVC_DEPLOYMENT: deployment, SVC_CITY: 'alpha', SVC_SESSION_ID: '', SVC_GENERATION: mark },
      stdio: 'ignore',
    }),
  );
  const ends = children.map((child) => once(child, 'exit'));
  try {
    await Promise.all(children.map((child) => once(child, 'spawn')));
    expect(await left()).toEqual(['x.1', 'x.2', 'y.1']);
    const seen: string[][] = [];
    const commands = commandsOf(deployment, async () => {
      seen.push(await left());
      throw new HostBusy('too much at once');
    });
    for (const attempt of [1, 3]) expect(await commands.run({ ...ASKED, attempt }, never)).toMatchObject({ how: 'busy' });
    expect(seen).toEqual([['x.1', 'x.2', 'y.1'], ['y.1']]);
  } finally {
    for (const child of children) child.kill('SIGKILL');
    await Promise.all(ends);
  }
});

// Guard: one that may not be done twice would be.
it('a command that has begun is not begun again, though nobody can see what is left of it', async () => {
  const city = await folder('svc-city-commands-');
  const full = coded('EMFILE');
  const sandbox: Sandbox = { enter: async (program) => program, end: () => Promise.reject(full) };
  const commands = commandsIn(city, sandbox, () => Promise.reject(full));
  await expect(commands.run({ ...ASKED, line: 'echo done >> did', timeoutMs: 60_000 }, never)).rejects.toThrow(UnconfirmedDead);
  expect(await readFile(path.join(city, 'did'), 'utf8')).toBe('done\n');
  // What is left of an earlier attempt cannot be seen: nothing was begun.
  expect(await commands.run({ ...ASKED, timeoutMs: 60_000, attempt: 2 }, never)).toMatchObject({ how: 'busy' });
});

// Guard: what somebody has ended has said nothing.
it.each([
  ['kill $$', true],
  ['exit 137', true],
  ['kill -9 $$', true],
  ['kill -SEGV $$', undefined],
  ['exit 1', undefined],
])('a command that somebody has ended is told from one that has failed: %s', async (line, killed) => {
  const sandbox: Sandbox = { enter: async (program) => program };
  const end = await commandsIn(await folder('svc-city-commands-'), sandbox, listProcesses).run(
    { ...ASKED, line, timeoutMs: 60_000 },
    never,
  );
  expect([end.how, end.killed]).toEqual(['failed', killed]);
});
