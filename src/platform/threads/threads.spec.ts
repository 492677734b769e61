import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../../test/support/sse.js';
import { ProblemError } from '../../contract/problems.js';
import { asking, double, dying, hoarding, numbering, seeing, spinning, throwing } from './testing/tasks.js';
import { TooDear } from './thread.js';
import { ThreadOptions, Threads } from './threads.js';

let threads: Threads;

function pool(options: Partial<ThreadOptions> = {}): Threads {
  return (threads = new Threads(new ThreadOptions({ heapMiB: 64, ...options })));
}

afterEach(() => threads.stop());

describe('threads', () => {
  it('do what they are asked, while the loop of their process goes on', async () => {
    pool();
    let fired = 0;
    const timer = setInterval(() => fired++, 5);
    const ended = threads.run({ task: spinning, owner: 'a', input: null }).catch((error: unknown) => error);
    while (fired < 20) expect(await threads.run({ task: double, owner: 'b', input: 21 })).toBe(42);
    clearInterval(timer);
    await threads.stop();
    expect(await ended).toBeInstanceOf(ProblemError);
  });

  it('are ended when they work for too long, and others take their place', async () => {
    pool({ count: 1, busyMs: 200 });
    const error = await threads.run({ task: spinning, owner: 'a', input: null }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'TooDear', what: 'time', message: 'takes more than 0.2 s of work' });
    expect(await threads.run({ task: double, owner: 'a', input: 1 })).toBe(2);
  });

  it('may wait for longer than they may work', async () => {
    pool({ busyMs: 100, wallMs: 60_000 });
    const later = (name: string): Promise<string> => new Promise((resolve) => setTimeout(() => resolve(name), 400));
    expect(await threads.run({ task: asking, owner: 'a', input: ['x'], answerers: { x: later } })).toEqual(['x']);
    await threads.stop();
    pool({ busyMs: 60_000, wallMs: 200 });
    const never = (): Promise<void> => new Promise(() => {});
    await expect(threads.run({ task: asking, owner: 'a', input: ['x'], answerers: { x: never } })).rejects.toMatchObject({
      problem: 'unavailable',
    });
  });

  it('are ended when they hold too much, and the process is not', async () => {
    pool({ count: 1, heapMiB: 32 });
    const error = await threads.run({ task: hoarding, owner: 'a', input: null }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TooDear);
    expect(error).toMatchObject({ what: 'memory' });
    expect(await threads.run({ task: double, owner: 'a', input: 1 })).toBe(2);
  });

  it('tell of bugs once', async () => {
    pool({ count: 1 });
    await expect(threads.run({ task: throwing, owner: 'a', input: 'a bug' })).rejects.toThrow('a bug');
    await expect(threads.run({ task: dying, owner: 'a', input: 3 })).rejects.toThrow('a thread has ended by itself (3)');
    expect(await threads.run({ task: double, owner: 'a', input: 1 })).toBe(2);
  });

  it('keep no place for one that could not be started', async () => {
    // As Node says it, at once, where the host gives no more threads.
    const full = Object.assign(new Error('EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' });
    let isFull = true;
    const options = Object.defineProperty(new ThreadOptions({ count: 1, waitMs: 1 }), 'heapMiB', {
      get: () => {
        if (isFull) throw full;
        return 64;
      },
    });
    threads = new Threads(options);
    const task = { task: double, owner: 'a', input: 21 };
    await expect(threads.run(task)).rejects.toMatchObject({ problem: 'unavailable', cause: full });
    isFull = false;
    expect(await threads.run(task)).toBe(42);
  });

  it('see nothing of the process', async () => {
    pool();
    expect(await threads.run({ task: seeing, owner: 'a', input: null })).toEqual({ env: {}, argv: [] });
  });

  it('ask their process, and fail with what that throws', async () => {
    pool();
    const answerers = {
      a: (name: string) => Promise.resolve(name.repeat(2)),
      b: () => Promise.reject(new TypeError('not to be had')),
    };
    expect(await threads.run({ task: asking, owner: 'a', input: ['a', 'a'], answerers })).toEqual(['aa', 'aa']);
    await expect(threads.run({ task: asking, owner: 'a', input: ['a', 'b'], answerers })).rejects.toThrow(new TypeError('not to be had'));
    expect(await threads.run({ task: asking, owner: 'a', input: ['a'], answerers })).toEqual(['aa']);
  });

  it('end when nobody needs them', async () => {
    pool({ count: 1, idleMs: 1 });
    const thread = (): Promise<number> => threads.run({ task: numbering, owner: 'a', input: null });
    const first = await thread();
    await eventually(async () => (await thread()) !== first, 20_000);
  });
});
