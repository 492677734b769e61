import { describe, expect, it } from '@jest/globals';
import type { LoggedEvent } from '../api/types.js';
import { Followed, type Operation } from './followed.js';

interface Read {
  readonly seconds: number | undefined;
  readonly cursor: string | undefined;
  answer(items: readonly LoggedEvent[], next?: string): Promise<void>;
  fail(error: Error): Promise<void>;
}
const BARRED = new Error('another key');
const endOf = (id: string, type = 'request.result.rig.create'): LoggedEvent =>
  ({ seq: 1, ts: '', type, payload: { request_id: id, error_message: 'no such branch' } }) as unknown as LoggedEvent;
const turn = (): Promise<void> => new Promise(setImmediate);

function start(kept: readonly Operation[] = [], at = 0) {
  const reads: Read[] = [];
  const waits: { go: () => void; ms: number }[] = [];
  const clock = { at };
  let stored: readonly Operation[] = kept;
  const followed = new Followed({
    kept,
    keep: (running) => (stored = running),
    read: (_, seconds, cursor) =>
      new Promise((resolve, reject) =>
        reads.push({
          seconds,
          cursor,
          answer: (items, next) => (resolve({ items, ...(next === undefined ? {} : { next_cursor: next }) }), turn()),
          fail: (error) => (reject(error), turn()),
        }),
      ),
    barred: (error) => error === BARRED,
    now: () => clock.at,
    later: (go, ms) => {
      waits.push({ go, ms });
      return undefined as unknown as ReturnType<typeof setTimeout>;
    },
  });
  return { followed, reads, waits, clock, stored: () => stored, states: () => followed.snapshot().map(({ state }) => state) };
}

describe('what was accepted', () => {
  it('is told of by a card once nobody shows it in its place, for as long as it takes to be seen', () => {
    const { followed, waits, states } = start();
    for (const id of ['r1', 'r2', 'r3']) void followed.follow('Start', id, true);
    for (const id of ['r1', 'r3']) followed.settle(endOf(id));
    followed.tell('r1');
    expect(followed.snapshot().map(({ quiet }) => quiet)).toEqual([false, true, true]);
    for (const { go, ms } of waits) if (ms === 6_000) go();
    expect(followed.snapshot().map(({ requestId }) => requestId)).toEqual(['r1', 'r2']);
    followed.dismiss('r1');
    expect(states()).toEqual(['running']);
  });

  it('is followed to its end, which is looked for since its acceptance only', async () => {
    const { followed, reads, waits, states, stored } = start();
    const end = followed.follow('Clone core', 'r1');
    expect([reads.length, reads[0]!.seconds, stored().length]).toEqual([1, 60, 1]);
    await reads[0]!.answer([]);
    expect(states()).toEqual(['running']);
    followed.settle(endOf('r1', 'request.failed'));
    expect(await end).toEqual(endOf('r1', 'request.failed'));
    expect(followed.snapshot()).toMatchObject([{ state: 'failed', detail: 'no such branch' }]);
    // What has failed stays, and is nothing that goes on.
    expect([waits.length, stored()]).toEqual([0, []]);
    followed.settle(endOf('r2'));
    expect(await followed.follow('Another', 'r2')).toEqual(endOf('r2'));
    expect(reads).toHaveLength(1);
    waits[0]!.go();
    expect(states()).toEqual(['failed']);
  });

  it('is looked for by a page that was loaded anew, back to its acceptance, until a read has succeeded', async () => {
    const before = start([], 5_000);
    void before.followed.follow('Clone core', 'r1');
    const { followed, reads, waits, states } = start(before.stored(), 605_000);
    followed.lookAgain();
    await reads[0]!.fail(new Error('away'));
    expect(waits.map(({ ms }) => ms)).toEqual([1_000]);
    waits[0]!.go();
    // A page without the end of it is not the end of the log.
    await reads[1]!.answer([], 'older');
    expect(reads.map(({ seconds, cursor }) => [seconds, cursor])).toEqual([
      [660, undefined],
      [660, undefined],
      [660, 'older'],
    ]);
    await reads[2]!.answer([endOf('r1')], 'older still');
    expect([states(), reads.length]).toEqual([['done'], 3]);
  });

  it('is not looked for again where a key is refused, nor when nobody waits for it any more', async () => {
    const { followed, reads, waits } = start();
    void followed.follow('Clone core', 'r1');
    await reads[0]!.fail(BARRED);
    expect(waits).toEqual([]);
    followed.lookAgain();
    followed.dismiss('r1');
    await reads[1]!.answer([], 'older');
    expect([reads.length, waits.length]).toEqual([2, 0]);
  });
});
