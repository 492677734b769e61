import { availableParallelism } from 'node:os';

/** Threads that V8 uses for garbage collection, however few cores there are. */
const MOST_HELPERS = 4;

/**
 * Settings of memory that can be given only when a process starts.
 *
 * - V8 keeps three halves of its young generation, of up to 32 MiB each; half of that costs nothing that the benchmarks see.
 * - V8 lets a heap grow to four times what lives in it before it looks again, and the garbage of one long list stayed
 *   while the largest cities were composed, 650 MB in all. With less than twice it takes 510, at the same rate of `GET bead` and streams;
 *   with one and a half times `GET config` lost a third.
 * - V8 makes what has outlived collections before in the old generation at once, and all that it leads to lives as long. Under load that is what
 *   belongs to requests: without it messages from outside went from 2,000 to 3,000 a second.
 * - V8's helpers take every core for a large collection, and nobody is answered meanwhile. One core is left to the loop: on two cores the slowest
 *   of a hundred requests through the proxy of services went from 28 to 15 ms.
 * - The collector can be called: `MemoryReturn` does so when much has become garbage in an idle process.
 * - glibc raises the size from which it gives memory back at once with each large piece that is freed, up to 32 MiB. Answers and what
 *   goes to threads are such pieces: a process kept some 200 MiB of nothing for good.
 */
export const HEAP = [
  '--max-semi-space-size=16',
  '--heap-growing-percent=75',
  '--no-allocation-site-pretenuring',
  '--expose-gc',
  `--v8-pool-size=${Math.min(MOST_HELPERS, Math.max(1, availableParallelism() - 1))}`,
] as const;
/**
 * libuv's threads do files, host names and sign-ins at the database. Disks that stop answering block up to 24 of them in reads of cities' files (`DiskPlaces`), and
 * up to four in checks whether a disk answers (`Answering`). So there are 28 more than the default of four; idle ones take 0.3 MB together. The
 * environment variable may ask for more.
 */
export const POOL = { UV_THREADPOOL_SIZE: String(Math.max(32, Number(process.env.UV_THREADPOOL_SIZE) || 0)) } as const;
export const MALLOC = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '1048576' } as const;
