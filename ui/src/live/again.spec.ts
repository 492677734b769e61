import { describe, expect, it } from '@jest/globals';
import { Again, againOf } from './again.js';

function start(restMs = 0): { again: Again; reads: ((failed: boolean) => Promise<void>)[]; waits: { go: () => void; ms: number }[] } {
  const reads: ((failed: boolean) => Promise<void>)[] = [];
  const waits: { go: () => void; ms: number }[] = [];
  const again = new Again(
    () =>
      new Promise((resolve) =>
        reads.push(async (failed) => {
          resolve(failed);
          await new Promise(setImmediate);
        }),
      ),
    (go, ms) => {
      waits.push({ go, ms });
      return undefined as unknown as ReturnType<typeof setTimeout>;
    },
    () => restMs,
  );
  return { again, reads, waits };
}

describe('what is read again', () => {
  it('is read until a read brings it, later each time', async () => {
    const { again, reads, waits } = start();
    again.want();
    for (let i = 0; i < 7; i++) {
      await reads[i]!(true);
      expect(waits).toHaveLength(i + 1);
      // Events do not hurry it.
      again.want();
      expect(reads).toHaveLength(i + 1);
      waits[i]!.go();
    }
    expect(waits.map(({ ms }) => ms)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    await reads[7]!(false);
    expect(waits).toHaveLength(7);
    again.want();
    expect(reads).toHaveLength(9);
  });

  it('as a list is read until that brings it, and not where a key is refused', async () => {
    const ends = [new Error('away'), undefined, new Error('refused')];
    const list = { error: undefined as Error | undefined, reads: 0, read: async () => void (list.error = ends[list.reads++]) };
    const waits: (() => void)[] = [];
    const again = againOf(
      list,
      (error) => error === ends[2],
      (go) => {
        waits.push(go);
        return undefined as unknown as ReturnType<typeof setTimeout>;
      },
    );
    again.want();
    await new Promise(setImmediate);
    expect([list.reads, waits.length]).toEqual([1, 1]);
    waits[0]!();
    await new Promise(setImmediate);
    again.want();
    await new Promise(setImmediate);
    expect([list.reads, waits.length]).toEqual([3, 1]);
  });

  it('is read once for all who want it during a read, which is not cut off', async () => {
    const { again, reads, waits } = start();
    for (let i = 0; i < 50; i++) again.want();
    expect(reads).toHaveLength(1);
    await reads[0]!(false);
    again.want();
    expect(waits.map(({ ms }) => ms)).toEqual([100]);
    waits[0]!.go();
    await reads[1]!(false);
    expect([reads.length, waits.length]).toEqual([2, 1]);
  });

  // Guard: a busy city does not have all cities read at each of its events.
  it('rests after each read, and is hurried by somebody who looks', async () => {
    const { again, reads, waits } = start(5_000);
    again.want();
    await reads[0]!(false);
    again.want();
    expect([reads.length, waits.map(({ ms }) => ms)]).toEqual([1, [5_000]]);
    waits[0]!.go();
    await reads[1]!(false);
    again.hurry();
    expect(reads).toHaveLength(2);
    again.want();
    again.hurry();
    expect(reads).toHaveLength(3);
    await reads[2]!(false);
    // Nobody has wanted it meanwhile: the next one who does reads at once.
    waits.at(-1)!.go();
    again.want();
    expect(reads).toHaveLength(4);
  });

  // Guard: whoever looks at a page again sees what is new at once.
  it('rests no longer once somebody looks', async () => {
    const { again, reads } = start(30_000);
    again.want();
    await reads[0]!(false);
    again.hurry();
    expect(reads).toHaveLength(1);
    again.want();
    expect(reads).toHaveLength(2);
    // A read that goes on is not cut off.
    again.hurry();
    again.want();
    expect(reads).toHaveLength(2);
  });

  it('is tried again at once where it has failed and somebody looks', async () => {
    const { again, reads } = start(30_000);
    again.want();
    await reads[0]!(true);
    expect(reads).toHaveLength(1);
    again.hurry();
    expect(reads).toHaveLength(2);
  });

  it('is read at once where a connection is new, and what the read before comes to counts no more', async () => {
    const { again, reads, waits } = start();
    again.want();
    again.want(true);
    expect(reads).toHaveLength(2);
    await reads[0]!(true);
    expect(waits).toEqual([]);
    await reads[1]!(false);
    expect(waits).toEqual([]);
  });
});
