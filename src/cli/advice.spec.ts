import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { buildProgram } from './program.js';
import { fakeIo } from './testing/io.js';

/** Without an action of its own it prints its help. */
const isFamily = (command: Command): boolean =>
  command.commands.length > 0 && (command as unknown as { _actionHandler: unknown })._actionHandler === null;

/** What an operator is told to type at night has to do something: the name of a family alone prints its help. */
function faultOf(words: readonly string[]): string | undefined {
  let at: Command = buildProgram(fakeIo());
  for (const [n, word] of words.entries()) {
    const next = at.commands.find((one) => one.name() === word);
    if (next === undefined) return isFamily(at) ? `svc ${words.slice(0, n + 1).join(' ')}` : undefined;
    at = next;
  }
  return isFamily(at) ? `svc ${words.join(' ')}` : undefined;
}

describe('the commands that an operator is told of', () => {
  it.each([
    ['deploy/observability/alerts.yml', 8],
    ['docs/how-to/monitoring.md', 10],
  ])('are there, and no families: %s', async (file, least) => {
    const told = [...(await readFile(file, 'utf8')).matchAll(/`svc ([a-z][^`]*)`/g)].map(([, words]) => words!.split(' '));
    expect(told.length).toBeGreaterThanOrEqual(least);
    expect(told.flatMap((words) => faultOf(words) ?? [])).toEqual([]);
  });
});
