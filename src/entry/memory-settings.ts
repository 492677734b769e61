import { availableParallelism } from 'node:os';

/** V8 has four helpers, however few cores there are. */
const MOST_HELPERS = 4;

/**
 * What can be said about memory only when a process starts.
 *
 * - V8 keeps three halves of its young generation, of up to 32 MiB each; half of that costs nothing that the benchmarks see.
 * - V8 lets a heap grow to four times what lives in it before it looks again, and the garbage of one long list stayed
 *   while the largest cities were composed, 650 MB in all. With less than twice it takes 510, at the same rate of `GET bead` and streams;
 *   with one and a half times `GET config` lost a third.
 * - V8 makes what has outlived collections before in the old generation at once, and all that it leads to lives as long. Under load that is what
 *   belongs to requests: without it messages from outside went from 2,000 to 3,000 a second.
 * - V8's helpers take every core for a large collection, and nobody is answered meanwhile. One core is left to the loop: on two cores the slowest
 *   of a hundred requests through the proxy of services went from 28 to 15 ms.
 * - The collector can be called, by whoever knows that much has become garbage in a process that rests (`MemoryReturn`).
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
 * Of libuv's threads, for files, names of hosts and sign-ins at the database, disks that stop to answer while the files of cities are read or
 * looked at keep up to 24 (`DiskPlaces`), and those that are asked whether they answer up to four (`Answering`). So there are 28 more than its
 * four; those that rest take 0.3 MB together. Whoever sets the variable may have more.
 */
export const POOL = { UV_THREADPOOL_SIZE: String(Math.max(32, Number(process.env.UV_THREADPOOL_SIZE) || 0)) } as const;
export const MALLOC = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '1048576' } as const;
