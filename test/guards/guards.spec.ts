import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { GUARDS } from './all.js';
import { ROOT, without } from './copies.js';

describe('the list of guards', () => {
  it('names a text that stands once, and a test file, for each of them', async () => {
    const problems = GUARDS.map(async (guard) => {
      await without(guard, ROOT);
      await access(join(ROOT, guard.test));
    });
    const failed = (await Promise.allSettled(problems)).flatMap((done, i) =>
      done.status === 'fulfilled' ? [] : [`${GUARDS[i]!.guard} ${String(done.reason)}`],
    );
    expect(failed).toEqual([]);
  });
});
