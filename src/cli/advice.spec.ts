import { globSync } from 'node:fs';
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

/** What no command has of what a page says: a word that is no command, where only commands come, or a flag. */
function unknownOf(line: string, program: Command): string[] {
  let at = program;
  const flags = new Set(flagsOf(at));
  let isCommand = true;
  const unknown: string[] = [];
  for (const word of line.split(/\s+/)) {
    const next = isCommand ? at.commands.find((one) => one.name() === word) : undefined;
    if (next !== undefined) {
      at = next;
      for (const flag of flagsOf(at)) flags.add(flag);
    } else {
      if (isCommand && isFamily(at) && /^[a-z]/.test(word)) unknown.push(word);
      isCommand = false;
      const flag = /^--[a-z][\w-]*/.exec(word)?.[0];
      if (flag !== undefined && !flags.has(flag)) unknown.push(flag);
    }
  }
  return unknown;
}
const flagsOf = (command: Command): string[] => ['--help', ...command.options.flatMap(({ long }) => long ?? [])];

describe('the commands that an operator is told of', () => {
  it.each([
    ['deploy/observability/alerts.yml', 8],
    ['docs/how-to/monitoring.md', 10],
  ])('are there, and no families: %s', async (file, least) => {
    const told = [...(await readFile(file, 'utf8')).matchAll(/`svc ([a-z][^`]*)`/g)].map(([, words]) => words!.split(' '));
    expect(told.length).toBeGreaterThanOrEqual(least);
    expect(told.flatMap((words) => faultOf(words) ?? [])).toEqual([]);
  });

  it('are commands with flags that there are, on every page', async () => {
    const pages = globSync('{README,SECURITY,CONTRIBUTING,docs/README,docs/{tutorial,how-to,explanation}/*,examples/README}.md');
    const program = buildProgram(fakeIo());
    const told: { page: string; line: string }[] = [];
    for (const page of pages)
      for (const [, inline, typed] of (await readFile(page, 'utf8')).matchAll(/`svc ([a-z][^`\n]*)`|^\$ (?:.*&& )?svc ([^|#;&\n]+)/gm))
        told.push({ page, line: (inline ?? typed)!.replace(/\$\(.*\)/, '').trim() });
    expect(told.length).toBeGreaterThan(250);
    expect(told.flatMap(({ page, line }) => unknownOf(line, program).map((word) => `${page}: svc ${line}: ${word}`))).toEqual([]);
  });
});
