import { describe, expect, it, jest } from '@jest/globals';
import { AppLogger, createLogger } from '../logging/logger.js';
import type { Rate } from '../config/config.js';
import { StreamPutOff } from './channel.js';
import { Checkpoints, MOST_UNSTORED, OWN_RATE } from './checkpoints.js';
import { parseOpaque } from './cursor.js';
import { PositionSeal } from './position-seal.js';
import type { CheckpointBase, Position } from './positions.js';
import type { StreamLogRepository } from './stream-log.repository.js';

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

// Guard: ids are short from the first one on, also where it was begun anew while something was stored.
it('what is begun anew while it is stored is stored again, once, for all who wait for it', async () => {
  const writes: ((id: number) => void)[] = [];
  const repository = {
    insertCursor: () => new Promise<number>((resolve) => writes.push(resolve)),
    seal: () => Promise.resolve(new PositionSeal(Buffer.alloc(32))),
  } as unknown as StreamLogRepository;
  const checkpoints = new Checkpoints(repository, new AppLogger(createLogger('silent', {})), () => new Map([[1, 5]]));
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

/** Nothing is stored before it is let through. */
function waiting(present: Map<number, number>): {
  checkpoints: Checkpoints;
  stored: ReadonlyMap<number, number>[];
  letThrough: () => Promise<void>;
} {
  const stored: ReadonlyMap<number, number>[] = [];
  const writes: (() => void)[] = [];
  const insertCursor = (_root: number | undefined, seqs: ReadonlyMap<number, number>): Promise<number> =>
    new Promise((resolve) => writes.push(() => resolve(stored.push(new Map(seqs)))));
  const repository = {
    insertCursor,
    seal: () => Promise.resolve(new PositionSeal(Buffer.alloc(32))),
  } as unknown as StreamLogRepository;
  const letThrough = async (): Promise<void> => {
    await turn();
    for (const write of writes.splice(0)) write();
    await turn();
  };
  return {
    checkpoints: new Checkpoints(repository, new AppLogger(createLogger('silent', {})), () => new Map(present)),
    stored,
    letThrough,
  };
}

// Guards: the last events of a city that has left would be told twice, or what it says after that to nobody.
describe('after it has begun anew, a stored position names a city that leaves before it is stored', () => {
  const x = { id: 1, name: 'x' };

  it('where it was when it left, and not where it was before', async () => {
    const { checkpoints, stored, letThrough } = waiting(new Map([[2, 7]]));
    void checkpoints.prepare();
    await letThrough();
    checkpoints.advance(x, 10);
    checkpoints.restart();
    for (let seq = 11; seq <= 15; seq++) checkpoints.advance(x, seq);
    void checkpoints.prepare();
    await letThrough();
    expect(stored.at(-1)).toEqual(new Map([[1, 15], [2, 7]])); // prettier-ignore
  });

  it('also when it speaks and leaves while something is stored that is not used any more', async () => {
    const { checkpoints, stored, letThrough } = waiting(new Map([[2, 7]]));
    void checkpoints.prepare();
    await letThrough();
    // So many that the next base is stored.
    const now = performance.now.bind(performance);
    performance.now = () => now() + 60_000;
    for (let id = 3; id < 20; id++) checkpoints.advance({ id, name: `c${id}` }, 1);
    performance.now = now;
    checkpoints.restart();
    checkpoints.advance(x, 15);
    await letThrough();
    void checkpoints.prepare();
    await letThrough();
    expect(stored).toHaveLength(3);
    expect(stored.at(-1)!.get(1)).toBe(15);
  });

  // Guard: what a city says once it has left would be told twice to who comes with a position behind it.
  it('and where it is by then, when it has said more', async () => {
    const { checkpoints, stored, letThrough } = waiting(new Map([[2, 7]]));
    checkpoints.advance(x, 50);
    checkpoints.correct(x, 53);
    checkpoints.correct(x, 52);
    checkpoints.correct({ id: 3, name: 'y' }, 9);
    void checkpoints.prepare();
    await letThrough();
    expect(stored.at(-1)).toEqual(new Map([[1, 53], [2, 7]])); // prettier-ignore
    checkpoints.correct(x, 54);
    const id = checkpoints.position(new Map(), () => true)!.id();
    expect(parseOpaque(id, 'id', new PositionSeal(Buffer.alloc(32))).moved).toEqual([[1, 1]]);
  });

  it('but not all that have come and gone while nobody needed one', async () => {
    const { checkpoints, stored, letThrough } = waiting(new Map([[2, 7]]));
    for (let id = 3; id < 10_000; id++) checkpoints.advance({ id, name: `c${id}` }, 1);
    void checkpoints.prepare();
    await letThrough();
    expect(stored[0]!.size).toBeLessThanOrEqual(2 * MOST_UNSTORED + 1);
    expect(stored[0]!.has(9_999)).toBe(true);
  });
});

describe('positions of many cities that are stored for a request', () => {
  const seal = new PositionSeal(Buffer.alloc(32));
  const vectorAt = (seq: number, cities = 3_000): Map<number, number> => new Map(Array.from({ length: cities }, (_, n) => [n + 1, seq]));
  const movedIn = (position: Position | undefined): readonly (readonly [number, number])[] => parseOpaque(position!.id(), 'id', seal).moved;
  function storing(rate?: Rate) {
    const stored: ReadonlyMap<number, number>[] = [];
    const roots: (number | undefined)[] = [];
    const insertCursor = (root: number | undefined, seqs: ReadonlyMap<number, number>): Promise<number> => {
      roots.push(root);
      return Promise.resolve(stored.push(new Map(seqs)));
    };
    const repository = { insertCursor, seal: () => Promise.resolve(seal) };
    const log = new AppLogger(createLogger('silent', {}));
    const checkpoints = new Checkpoints(repository as unknown as StreamLogRepository, log, () => new Map(), rate);
    return { checkpoints, stored, roots, repository };
  }

  // Guard: each id of a replay would walk over all cities, and hold up the event loop.
  it('walk over what differs from the stored one only', async () => {
    const { checkpoints } = storing();
    await checkpoints.ofReplay(vectorAt(5), 64);
    const position = await checkpoints.ofReplay(new Map([...vectorAt(5), [7, 9], [3_001, 0]]), 64);
    const { base } = position as unknown as { base: CheckpointBase };
    const looks = jest.spyOn(base, 'seqOf');
    expect(movedIn(position)).toEqual([[7, 4], [3_001, 0]]); // prettier-ignore
    expect(looks).toHaveBeenCalledTimes(2);
  });

  // Guard: streams that wait for a share are silent, and clients give them up.
  it('are stored for all streams that are far from each other', async () => {
    const { checkpoints, stored } = storing();
    for (let n = 0; n < 700; n++) expect(movedIn(await checkpoints.ofReplay(vectorAt(n, 100), 64))).toEqual([]);
    expect(stored).toHaveLength(700);
  });

  // Guard: whoever comes back with ever other places fills the disk, with a key that only reads.
  it('are stored for no more than the share of a key, and for all parts of what has begun', async () => {
    const { checkpoints, stored } = storing({ perSecond: 1e-6, burst: 2 });
    const begun = await checkpoints.ofReplay(vectorAt(1), 64, undefined, 'one');
    await checkpoints.ofReplay(vectorAt(2), 64, undefined, 'one');
    await expect(checkpoints.ofReplay(vectorAt(3), 64, undefined, 'one')).rejects.toThrow(StreamPutOff);
    // What is near to a stored one takes none, and others have theirs.
    await checkpoints.ofReplay(new Map([...vectorAt(2), [7, 9]]), 64, undefined, 'one');
    expect(stored).toHaveLength(2);
    await checkpoints.ofReplay(vectorAt(4), 64, begun.base, 'one');
    await checkpoints.ofReplay(vectorAt(5), 64, undefined, 'two');
    expect(stored).toHaveLength(4);
  });

  // Guard: where much moves meanwhile, each part of a replay has a row of all cities, and that of the first alone would count.
  it('are of the share of a key with each row of all cities, which further parts owe', async () => {
    let now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    try {
      const { checkpoints, stored, repository } = storing({ perSecond: 1, burst: 3 });
      let { base } = await checkpoints.ofReplay(vectorAt(1), 64, undefined, 'one');
      // Small rows of further parts are of nobody's share.
      for (let part = 1; part <= 5; part++)
        ({ base } = await checkpoints.ofReplay(new Map([...vectorAt(1), ...vectorAt(9, part * 100)]), 64, base, 'one'));
      for (let part = 2; part <= 5; part++) ({ base } = await checkpoints.ofReplay(vectorAt(part * 10), 64, base, 'one'));
      expect(stored.map(({ size }) => size)).toEqual([3_000, 100, 100, 100, 100, 100, 3_000, 3_000, 3_000, 3_000]);
      const begin = (seq: number) => checkpoints.ofReplay(vectorAt(seq), 64, undefined, 'one');
      now = 2_000;
      await expect(begin(100)).rejects.toThrow(StreamPutOff);
      now = 3_000;
      // What fails is given back.
      const insert = repository.insertCursor;
      repository.insertCursor = () => Promise.reject(new Error('no connection'));
      for (let n = 0; n < 3; n++) await expect(begin(100)).rejects.toThrow('no connection');
      repository.insertCursor = insert;
      await begin(100);
      await expect(begin(200)).rejects.toThrow(StreamPutOff);
      // It never owes more than its share.
      for (let part = 1; part <= 50; part++) ({ base } = await checkpoints.ofReplay(vectorAt(1_000 * part), 64, base, 'one'));
      now = 7_000;
      await begin(300);
    } finally {
      jest.restoreAllMocks();
    }
  });

  // Guard: each part of a replay would have a row of all cities, kept for a day.
  it('are stored as what has moved since the part before, for as many replays at once as there are', async () => {
    const { checkpoints, stored, roots } = storing();
    const replays = Array.from({ length: 20 }, (_, n) => ({ vector: vectorAt(n * 1_000), last: undefined as CheckpointBase | undefined }));
    for (let part = 0; part < 3; part++)
      for (const replay of replays) {
        for (let n = 0; n < 100; n++) replay.vector.set(part * 100 + n + 1, 50_000);
        replay.last = (await checkpoints.ofReplay(replay.vector, 64, replay.last)).base;
      }
    expect(stored.map(({ size }) => size)).toEqual([...replays.map(() => 3_000), ...replays.map(() => 100), ...replays.map(() => 100)]);
    expect(roots.slice(20)).toEqual([...replays, ...replays].map((_, n) => (n % 20) + 1));
  });

  // Guard: who resolves the one that was stored first would have what the other has moved, too.
  it('are stored one after the other where they count from the same', async () => {
    const { checkpoints, stored } = storing();
    const { base } = await checkpoints.ofReplay(vectorAt(5), 64);
    const two = [100, 200].map((from) => new Map([...vectorAt(5), ...Array.from({ length: 100 }, (_, n) => [from + n, 9] as const)]));
    await Promise.all(two.map((vector) => checkpoints.ofReplay(vector, 64, base)));
    expect(stored.map(({ size }) => size)).toEqual([3_000, 100, 3_000]);
  });

  // Guard: each of those who come back at once, as after a restart, would have a row of all cities.
  it('are stored once for all who come with one at the same time, and with what is near to it', async () => {
    const { checkpoints, stored } = storing();
    const near = new Map([...vectorAt(5), [7, 9]]);
    const [first, ...others] = await Promise.all(
      Array.from({ length: 100 }, (_, n) => checkpoints.ofReplay(n === 0 ? vectorAt(5) : near, 64)),
    );
    expect([movedIn(first), ...others.map(movedIn)]).toEqual([[], ...others.map(() => [[7, 4]])]);
    const far = new Map([...near].map(([id, seq]) => [id, id > 2_900 ? 99 : seq]));
    const next = await Promise.all([first!, ...others].map(({ base }) => checkpoints.ofReplay(far, 64, base)));
    expect(next.map(movedIn)).toEqual(next.map(() => []));
    await Promise.all(Array.from({ length: 100 }, () => checkpoints.ownOf('key', vectorAt(1_000))));
    expect(stored.map(({ size }) => size)).toEqual([3_000, 101, 3_000]);
  });

  // Guard: ids would count from what the primary that took over does not have.
  it('are not taken from what is being stored where all is forgotten, and fail for all where that fails', async () => {
    const { checkpoints, stored, repository } = storing();
    const before = checkpoints.ofReplay(vectorAt(5), 64);
    checkpoints.forget();
    await Promise.all([before, checkpoints.ofReplay(vectorAt(5), 64), checkpoints.ofReplay(vectorAt(5), 64)]);
    expect(stored).toHaveLength(2);
    repository.insertCursor = () => Promise.reject(new Error('no connection'));
    const failing = await Promise.allSettled([1, 2, 3].map(() => checkpoints.ofReplay(vectorAt(900), 64)));
    expect(failing.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    repository.insertCursor = () => Promise.resolve(9);
    expect(movedIn(await checkpoints.ofReplay(vectorAt(900), 64))).toEqual([]);
  });

  // Guard: with the names of all cities a token is several times as long.
  it('count from one that is far once the key has had its share stored', async () => {
    const { checkpoints, stored } = storing();
    for (let n = 0; n < OWN_RATE.burst; n++) await checkpoints.ownOf('key', vectorAt(n));
    const far = await checkpoints.ownOf('key', vectorAt(100_000));
    expect(movedIn(far)).toHaveLength(3_000);
    // What another replica has stored of other cities: none that is known here names these, and no others.
    const positions = vectorAt(3, 2_000);
    const base = { id: 11, seal, seqOf: (id: number) => positions.get(id) ?? 0, has: (id: number) => positions.has(id) };
    const next = await checkpoints.after('key', { positions, base }, vectorAt(7, 2_000));
    expect(parseOpaque(next!.id(), 'id', seal)).toMatchObject({ checkpoint: 11, moved: { length: 2_000 } });
    expect(stored).toHaveLength(OWN_RATE.burst);
    expect(await checkpoints.ownOf('key', vectorAt(5, 2_000))).toBeUndefined();
    expect(await checkpoints.ownOf('another', vectorAt(5, 2_000))).toBeDefined();
  });
});
