import { describe, expect, it } from '@jest/globals';
import { SharedRead } from './shared-read.js';

describe('SharedRead', () => {
  const held = () => {
    const loads: { ids: number[]; answer: (rows: { id: number }[]) => void; fail: (error: Error) => void }[] = [];
    const shared = new SharedRead<{ id: number }>(
      (ids) => new Promise((resolve, reject) => loads.push({ ids, answer: resolve, fail: reject })),
    );
    return { loads, shared };
  };
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('answers everybody who asks during a read with one read that begins after it', async () => {
    const { loads, shared } = held();
    const first = shared.read([1]);
    await turn();
    const later = [shared.read([2, 1]), shared.read([2]), shared.read([3])];
    await turn();
    expect(loads.map((load) => load.ids)).toEqual([[1]]);
    loads[0]!.answer([{ id: 1 }]);
    await turn();
    expect(loads.map((load) => load.ids)).toEqual([[1], [2, 1, 3]]);
    loads[1]!.answer([{ id: 1 }, { id: 2 }]);
    expect(await first).toEqual([{ id: 1 }]);
    expect(await Promise.all(later)).toEqual([[{ id: 2 }, { id: 1 }], [{ id: 2 }], []]);
  });

  it('fails those who share a failed read and nobody after them', async () => {
    const { loads, shared } = held();
    const failing = expect(shared.read([1])).rejects.toThrow('gone');
    await turn();
    const next = shared.read([1]);
    loads[0]!.fail(new Error('gone'));
    await failing;
    await turn();
    loads[1]!.answer([{ id: 1 }]);
    expect(await next).toEqual([{ id: 1 }]);
  });
});
