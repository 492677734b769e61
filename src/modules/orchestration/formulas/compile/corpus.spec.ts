import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { readFormulaCase, run } from './testing/case.js';

const corpus = new URL('testing/corpus/', import.meta.url);
const names = readdirSync(corpus).sort();

describe('the corpus of formulas', () => {
  it('is not smaller than it was', () => {
    expect(names.length).toBeGreaterThanOrEqual(40);
  });

  it.each(names)('%s', (name) => {
    const given = readFormulaCase(readFileSync(new URL(name, corpus), 'utf8'));
    expect(run(given).replace(/[0-9a-f]{64}/g, '<sha256>')).toBe(given.expected);
  });
});
