import { describe, expect, it } from '@jest/globals';
import type { Issue } from '../issue.js';
import { MemoryTree } from '../trees/testing/memory-tree.js';
import { readLock, writeLock, type Lock } from './lock.js';

const a = { version: '1.2.0', commit: 'a'.repeat(40), fetched: '2026-01-15T10:00:00Z' };
const b = { commit: 'b'.repeat(64), fetched: '2026-01-15T11:00:00Z' };

async function read(text: string): Promise<{ lock: Lock; issues: Issue[] }> {
  const issues: Issue[] = [];
  return { lock: await readLock(new MemoryTree({ 'packs.lock': text }), issues), issues };
}

describe('packs.lock', () => {
  it('reads what it writes, and writes the same for the same pins', async () => {
    const lock: Lock = new Map([
      ['https://example.org/a//x', a],
      ['ssh://git@example.org/b#main', b],
    ]);
    expect(await read(writeLock(lock))).toEqual({ lock, issues: [] });
    expect(writeLock(new Map([...lock].reverse()))).toBe(writeLock(lock));
    expect(writeLock(new Map())).toContain('schema = 1');
    expect((await read(writeLock(new Map()))).lock.size).toBe(0);
  });

  it('knows a source in whatever way it is written', async () => {
    const { lock } = await read(`schema = 1\n[packs."github.com/o/r.git"]\ncommit = "${a.commit}"\nfetched = "${a.fetched}"\n`);
    expect([...lock.keys()]).toEqual(['https://github.com/o/r']);
  });

  it('tells what cannot be used and keeps the rest', async () => {
    const { lock, issues } = await read(
      `schema = 1\n[packs."../x"]\ncommit = "${a.commit}"\n[packs."https://u:secret@example.org/x"]\ncommit = "${a.commit}"\n` +
        `[packs."https://example.org/y"]\ncommit = "abc"\n[packs."https://example.org/z"]\ncommit = "${a.commit}"\n`,
    );
    expect([...lock.keys()]).toEqual(['https://example.org/z']);
    expect(issues.map((issue) => issue.severity)).toEqual(['error', 'error', 'error']);
    expect((await read('schema = 9\n')).issues).toHaveLength(1);
    expect((await read('[[[')).issues).toHaveLength(1);
    expect(await readLock(new MemoryTree({}), [])).toEqual(new Map());
  });

  it('is not read when it is longer than pins may be', async () => {
    const long = `# ${'x'.repeat(256 * 1024)}\n${writeLock(new Map([['https://example.org/a', a]]))}`;
    expect(await read(long)).toEqual({
      lock: new Map(),
      issues: [{ severity: 'error', file: 'packs.lock', key: '', message: 'has more than 262144 characters' }],
    });
  });
});
