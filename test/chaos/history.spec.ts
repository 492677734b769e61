import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { check } from './checker.js';
import { loadHistory, saveHistory } from './history.js';
import { Model } from './model.js';

it('a saved history is judged as the one it was', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'svc-history-'));
  try {
    const history = new Model(8, 'two terminal events').run(200);
    await saveHistory(history, join(directory, 'run.jsonl'));
    const loaded = await loadHistory(join(directory, 'run.jsonl'));
    expect(loaded).toEqual(history);
    expect(check(loaded)).toEqual(check(history));
    expect(check(loaded)).not.toEqual([]);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
