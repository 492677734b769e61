import { describe, expect, it } from '@jest/globals';
import { limitsBy, sayStarved } from './limits-by.js';

describe('what limits a sandbox', () => {
  it.each([
    ['no groups, an ordinary user', undefined, true, { memory: 'rlimit', processes: 'rlimit', cpu: 'nice', files: 'rlimit' }],
    ['no groups, root', undefined, false, { memory: 'rlimit', processes: 'none', cpu: 'nice', files: 'rlimit' }],
    ['groups of processes', ['pids'], false, { memory: 'rlimit', processes: 'cgroup', cpu: 'nice', files: 'rlimit' }],
    ['groups for all', ['pids', 'memory', 'cpu'], true, { memory: 'cgroup', processes: 'cgroup', cpu: 'cgroup', files: 'rlimit' }],
  ] as const)('is, with %s', (_what, counted, ordinary, expected) => {
    expect(limitsBy(counted && new Set(counted), ordinary)).toEqual(expected);
  });

  it('is told of what has had too little memory, and of nothing else', async () => {
    const said = (starved: boolean) => sayStarved({ file: 'f', ranOutOfMemory: () => Promise.resolve(starved) }, 2 * 1024 ** 3).endedFor!();
    expect([await said(false), await said(true)]).toEqual([
      undefined,
      expect.stringContaining('out of memory (the limit of a sandbox on this host is 2048 MiB)'),
    ]);
    expect(sayStarved(undefined, 1)).toEqual({});
  });
});
