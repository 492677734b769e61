import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { readCase } from './testing/case-file.js';
import { runCase } from './testing/run-case.js';

const corpus = new URL('testing/corpus/', import.meta.url);
const names = readdirSync(corpus).sort();

describe('the corpus', () => {
  it('is not smaller than it was', () => {
    expect(names.length).toBeGreaterThanOrEqual(188);
  });

  it.each(names)('%s', async (name) => {
    const given = readCase(readFileSync(new URL(name, corpus), 'utf8'));
    expect(await runCase(given)).toEqual([]);
  });
});
