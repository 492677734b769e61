import { expect, it } from '@jest/globals';
import { HostBusy } from './port.js';
import { mayBeOpened, notOpened } from './pty/terminal.js';
import { isHostShort } from './shortages.js';
import { notSpawned } from './spawn.js';

const coded = (code: string): Error => Object.assign(new Error(`spawn ${code}`), { code });

it.each(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'])('a program that is not started for %s says so of the host', (code) => {
  const error = notSpawned('agent', coded(code));
  expect(error).toBeInstanceOf(HostBusy);
  expect(error.message).toBe(`agent could not be started: ${code}`);
  expect(isHostShort(error)).toBe(true);
});

it.each([
  ['ENOENT', 'not_found', 'agent is not a program that can be started here'],
  ['E2BIG', 'died', 'agent could not be started: E2BIG'],
])('a program that is not started for %s says so of itself', (code, failure, message) => {
  const error = notSpawned('agent', coded(code));
  expect(error).not.toBeInstanceOf(HostBusy);
  expect(error).toMatchObject({ failure, message });
  expect(isHostShort(error)).toBe(false);
});

// Guard: a terminal that the host has no room for is put off, as any other program.
it('a program that gets no terminal says so of the host', () => {
  const error = notOpened('agent', new Error('forkpty(3) failed.'), true);
  expect(error).toBeInstanceOf(HostBusy);
  expect(error.message).toBe('agent could not be started in a terminal: the host has no process, file or terminal left');
  expect(isHostShort(error)).toBe(true);
});

it.each([
  ['the host has no terminals', 'forkpty(3) failed.', false],
  ['something else is wrong', 'args is not an array', true],
])('a program that gets no terminal says so of itself where %s', (_where, said, hasTerminals) => {
  const error = notOpened('agent', new Error(said), hasTerminals);
  expect(error).not.toBeInstanceOf(HostBusy);
  expect(error).toMatchObject({ failure: 'died', message: 'agent could not be started in a terminal' });
  expect(isHostShort(error)).toBe(false);
});

// Guard: a terminal that may not be opened is none that the host has no room for.
it.each([
  ['/dev/null', true],
  // No user may write it, whatever else that user may.
  ['/proc/sys/kernel/osrelease', false],
  ['/dev/none', false],
])('what terminals are made with is looked at as those who open it do: %s', async (file, may) => {
  expect(await mayBeOpened(file)).toBe(may);
});
