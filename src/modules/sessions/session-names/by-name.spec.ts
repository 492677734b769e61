import { describe, expect, it } from '@jest/globals';
import { problem } from '../../../contract/problems.js';
import { byName, requireItsName } from './by-name.js';

const ended = { id: 'al-1', state: 'closed' } as const;

describe('what is asked of a session by its name', () => {
  it('is asked of the next one where that one has ended since', async () => {
    const sessions = [ended, { id: 'al-2', state: 'asleep' }] as const;
    let looks = 0;
    const asked = await byName(() => {
      const found = sessions[looks++]!;
      requireItsName(found, 'front');
      return Promise.resolve(found.id);
    });
    expect(asked).toBe('al-2');
  });

  it('is refused where each that is found has ended, in the end', async () => {
    let looks = 0;
    const asked = byName(async () => requireItsName({ ...ended, id: `al-${++looks}` }, 'front'));
    await expect(asked).rejects.toMatchObject({ problem: 'wrong_state', detail: 'conflict: session al-3 is closed' });
  });

  it('is asked once where it is refused for another reason, or where its id was said', async () => {
    let looks = 0;
    const refused = byName(() => (looks++, Promise.reject(problem('wrong_state', 'session al-1 is being closed'))));
    await expect(refused).rejects.toThrow('is being closed');
    expect(looks).toBe(1);
    expect(await byName(async () => requireItsName(ended, 'al-1'))).toBeUndefined();
  });
});
