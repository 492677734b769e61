import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import path from 'node:path';
import { afterEach, expect, it, jest } from '@jest/globals';
import { ServiceProcesses, type Run } from './service-processes.js';

afterEach(() => {
  jest.restoreAllMocks();
  syncBuiltinESMExports();
});

it('a process of a service is over when the folder of its sockets cannot be removed, which is told', async () => {
  let sockets = '';
  let beside: string[] = [];
  const said: unknown[] = [];
  const processes = new ServiceProcesses(
    ...([
      {
        hold: async (program: { sockets: string }) => {
          sockets = program.sockets;
          beside = await promises.readdir(path.dirname(sockets));
        },
      },
      {},
      {},
      { of: () => ({ follow: () => undefined, close: async () => undefined }) },
      {},
      { warn: (_what: unknown, text: string) => said.push(text) },
    ] as unknown as ConstructorParameters<typeof ServiceProcesses>),
  );
  jest.spyOn(promises, 'rmdir').mockRejectedValue(Object.assign(new Error('EACCES'), { code: 'EACCES' }));
  syncBuiltinESMExports();
  const row = { pk: 1, name: 'board', definition: { command: ['true'] } };
  const run = { row, city: 'alpha', attempt: 1, publish: async () => undefined } as unknown as Run;
  expect(await processes.run(run)).toEqual({ how: 'start_failed' });
  // So that it is swept when its worker is killed, and not before; its service may do with its own folder what it likes.
  expect(beside.sort()).toEqual(['alive', 'own']);
  expect(path.basename(path.dirname(sockets))).toMatch(/^svc-net-/);
  expect(said).toEqual(['the folder for the sockets of a service stays']);
  await promises.rm(path.dirname(sockets), { recursive: true });
});
