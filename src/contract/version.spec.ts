import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { VERSION } from './version.js';

describe('VERSION', () => {
  it("is package.json's", () => {
    const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect(VERSION).toBe(manifest.version);
  });
});
