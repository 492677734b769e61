import { expect, it } from '@jest/globals';
import { HostBusy, StartError } from '../../../platform/runtime/port.js';
import type { SessionRow } from '../session-store/session-row.js';
import { LaunchPlanner } from './launch-planner.js';

const coded = (code: string): Error => Object.assign(new Error(`it says ${code}`), { code });

/** What a plan fails with whose first question fails with this. */
async function failed(error: Error): Promise<unknown> {
  const given = [undefined, { known: () => Promise.reject(error) }, { cityPath: async () => '/c' }, { id: async () => 'd' }];
  const planner = new LaunchPlanner(...(given as unknown as ConstructorParameters<typeof LaunchPlanner>));
  return planner.plan({ name: 'alpha', streamId: 1 }, {} as SessionRow, undefined).catch((thrown: unknown) => thrown);
}

// Guard: what passes ends no session.
it.each([
  ['the database', coded('55P03')],
  ['the host', coded('EMFILE')],
  ['the host, as a folder tells it', new StartError('not_found', 'it cannot be used', '', { cause: coded('ENFILE') })],
])('what passes is told as such: of %s', async (_, error) => {
  expect(await failed(error)).toBeInstanceOf(HostBusy);
});

it.each([
  ['what nobody knows', new Error('what is this'), 'timeout', 'the start could not be prepared: what is this'],
  ['a full disk', coded('ENOSPC'), 'timeout', 'the start could not be prepared: it says ENOSPC'],
  ['a full disk, as a folder tells it', new StartError('died', 'it is full', '', { cause: coded('ENOSPC') }), 'died', 'it is full'],
  ['what is not there', new StartError('not_found', 'there is none'), 'not_found', 'there is none'],
])('what does not is a failed start: %s', async (_, error, failure, message) => {
  const thrown = await failed(error);
  expect(thrown).not.toBeInstanceOf(HostBusy);
  expect(thrown).toMatchObject({ failure, message });
});
