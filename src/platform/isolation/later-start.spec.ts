import { describe, expect, it } from '@jest/globals';
import type { TableEntry } from '../runtime/process-table.js';
import { runsAgain } from './later-start.js';

const USER = 70_001;
const START = { deployment: 'd', city: 'port', session: 'po-1', generation: '1' };
const entry = (pid: number, parent: number, user: number, generation = ''): TableEntry =>
  ({
    pid,
    parent,
    user: () => user,
    environment: () =>
      new Map([
        ['SVC_DEPLOYMENT', 'd'],
        ['SVC_CITY', 'port'],
        ['SVC_SESSION_ID', 'po-1'],
        ['SVC_GENERATION', generation],
      ]),
  }) as unknown as TableEntry;

describe('a start after which something runs for its session', () => {
  const own = process.getuid!();
  const later = (parent: TableEntry, program: string, generation = '2'): boolean =>
    runsAgain([parent, entry(50, parent.pid, USER, generation)], USER, START, () => program);

  it('is looked for in the environments of what a worker has begun alone', () => {
    let looks = 0;
    const others = Array.from({ length: 50 }, (_, n) => ({
      ...entry(100 + n, 50, USER, '2'),
      environment: () => (looks++, undefined),
    }));
    expect(runsAgain([entry(40, 1, own), entry(50, 40, USER), ...others], USER, START, () => process.execPath)).toBe(false);
    expect(looks).toBe(0);
  });

  // Guard: what a session has left says what it likes, and belongs to whoever takes such processes over.
  it.each([
    ['is followed by another one, which a worker has begun', [entry(40, 1, own), process.execPath] as const, true],
    ['is followed by another one, which this worker has begun', [entry(process.pid, 1, own), '/elsewhere'] as const, true],
    ['is the last one: another program of root has what is left', [entry(40, 1, own), '/usr/bin/tini'] as const, false],
    ['is the last one: the first process has what is left', [entry(1, 0, own), process.execPath] as const, false],
    ['is the last one: the session itself has begun it', [entry(40, 1, USER), process.execPath] as const, false],
    ['is the last one: it is of the same start', [entry(40, 1, own), process.execPath, '1'] as const, false],
  ])('%s', (_, [parent, program, generation], expected) => {
    expect(later(parent, program, generation)).toBe(expected);
  });
});
