import { expect, it } from '@jest/globals';
import { HostBusy } from './port.js';
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
