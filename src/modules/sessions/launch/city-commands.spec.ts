import { expect, it } from '@jest/globals';
import { problem } from '../../../contract/problems.js';
import { HostBusy, StartError } from '../../../platform/runtime/port.js';
import { CityCommands, type CityCommand } from './city-commands.js';

/** How a command ends that fails before it has begun. */
async function endOf(error: Error): Promise<object> {
  const parts = [{}, { known: () => Promise.reject(error) }, { cityPath: async () => '' }, { id: async () => '' }];
  const commands = new CityCommands(...(parts as unknown as ConstructorParameters<typeof CityCommands>));
  const asked = {
    city: { name: 'alpha', streamId: 1 },
    rig: '',
    line: 'true',
    file: 'city.toml',
    owner: 'x',
    id: 'x',
    attempt: 1,
    env: {},
    said: {},
  };
  const { how, unstarted } = await commands.run({ ...asked, timeoutMs: 1_000 } satisfies CityCommand, new AbortController().signal);
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
