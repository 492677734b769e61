import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sleep } from '../time/clock.js';
import { LogOutput } from './log-output.js';

let directory: string;
let file: string;
let fd: number;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'svc-log-'));
  file = path.join(directory, 'log');
  fd = openSync(file, 'a');
});
afterEach(() => {
  closeSync(fd);
  rmSync(directory, { recursive: true });
});

it('writes in order, also what came while something was being written', async () => {
  const out = new LogOutput(fd);
  const lines = Array.from({ length: 200 }, (_, n) => `${n} ${'é'.repeat(n)}\n`);
  for (const [n, line] of lines.entries()) {
    out.write(line);
    if (n % 50 === 0) await sleep(1);
  }
  while (readFileSync(file, 'utf8').length < lines.join('').length) await sleep(5);
  expect(readFileSync(file, 'utf8')).toBe(lines.join(''));
});

it('has written what waited when a flush comes back', () => {
  const out = new LogOutput(fd);
  out.flushSync('one\n');
  out.flushSync('two\n');
  expect(readFileSync(file, 'utf8')).toBe('one\ntwo\n');
});
