import { expect, it } from '@jest/globals';
import { AppLogger, createLogger } from '../logging/logger.js';
import { Checkpoints } from './checkpoints.js';
import { PositionSeal } from './position-seal.js';
import type { StreamLogRepository } from './stream-log.repository.js';

// Guard: ids are short from the first one on, also where it was begun anew while something was stored.
it('what is begun anew while it is stored is stored again, once, for all who wait for it', async () => {
  const writes: ((id: number) => void)[] = [];
  const repository = {
    insertCursor: () => new Promise<number>((resolve) => writes.push(resolve)),
    seal: () => Promise.resolve(new PositionSeal(Buffer.alloc(32))),
  } as unknown as StreamLogRepository;
  const checkpoints = new Checkpoints(repository, new AppLogger(createLogger('silent', {})), () => new Map([[1, 5]]));
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  const first = checkpoints.prepare();
  await turn();
  checkpoints.restart();
  const others = [checkpoints.prepare(), checkpoints.prepare()];
  await turn();
  expect(writes).toHaveLength(1);
  writes[0]!(1);
  await first;
  await turn();
  writes[1]?.(2);
  await Promise.all(others);
  expect(writes).toHaveLength(2);
  expect(checkpoints.ready).toBe(true);
});
