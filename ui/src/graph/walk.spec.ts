import { describe, expect, it } from '@jest/globals';
import { walk, type Around, type Found } from './walk.js';

const bead = (i: number): Found => ({ id: `b${i}`, title: `Bead ${i}`, status: 'open' });
/** Each depends on the one before. */
const chain = (id: string): Around => {
  const i = Number(id.slice(1));
  return {
    beads: [i - 1, i + 1].map(bead),
    edges: [
      { from: `b${i - 1}`, to: `b${i}`, kind: 'blocks', waits: true },
      { from: `b${i}`, to: `b${i + 1}`, kind: 'blocks', waits: true },
    ],
  };
};

describe('walk', () => {
  it('goes so many steps far, asks each once, and says that there is more', async () => {
    const asked: string[] = [];
    const found = await walk(bead(50), (id) => (asked.push(id), Promise.resolve(chain(id))), 2, 100);
    expect(found.beads.map(({ id }) => id).sort()).toEqual(['b48', 'b49', 'b50', 'b51', 'b52']);
    expect(found.edges).toHaveLength(4);
    expect(asked).toEqual(['b50', 'b49', 'b51']);
    expect(found.more).toBe(true);
  });

  it('asks no more than it may', async () => {
    let asked = 0;
    const wide = (id: string): Promise<Around> => {
      asked++;
      return Promise.resolve(id === 'b0' ? { beads: Array.from({ length: 100 }, (_, i) => bead(i)), edges: [] } : { beads: [], edges: [] });
    };
    expect((await walk(bead(0), wide, 3, 10)).beads).toHaveLength(100);
    expect(asked).toBe(10);
  });

  it('fails when the first is not there, and goes on when another is not', async () => {
    const no = new Error('gone');
    await expect(walk(bead(1), () => Promise.reject(no), 2, 10)).rejects.toBe(no);
    const some = await walk(bead(1), (id) => (id === 'b1' ? Promise.resolve(chain(id)) : Promise.reject(no)), 2, 10);
    expect(some.beads).toHaveLength(3);
  });
});
