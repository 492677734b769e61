import { describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import '../../src/contract/events/all.js';
import { knownEvents } from '../../src/contract/events/define.js';
import { commandPages, EVERYWHERE, program } from './commands-page.js';
import { service } from './environment-page.js';
import { FILES, markedSchema, type JsonSchema } from './file-schemas.js';

/** Keys without a word about them, by their paths. */
function silent(schema: JsonSchema, at: string): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([key, member]) => [
    ...((member.description ?? '').trim() === '' ? [`${at}.${key}`] : []),
    ...silent(member, `${at}.${key}`),
  ]);
  const below = [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...Object.values(schema.definitions ?? {})];
  return [...own, ...below.flatMap((one) => (typeof one === 'object' ? silent(one, `${at}[]`) : []))];
}

function commands(command: Command): Command[] {
  return [command, ...command.commands.flatMap(commands)];
}

describe('the reference says something of', () => {
  it.each(FILES)('every key of $name', (kind) => {
    expect(silent(markedSchema(kind), kind.name)).toEqual([]);
  });

  it('every event', () => {
    expect(knownEvents().size).toBeGreaterThan(100);
    expect([...knownEvents().values()].filter(({ about }) => !/[a-z].*\.$/.test(about))).toEqual([]);
  });

  it('every variable', () => {
    expect(service().length).toBeGreaterThan(35);
    expect(service().filter(([, , , about]) => !about.trim().endsWith('.'))).toEqual([]);
  });

  it('every command, its arguments and options', () => {
    const all = commands(program()).filter((command) => command.name() !== 'help');
    expect(all.length).toBeGreaterThan(150);
    const without = all.flatMap((command) => [
      ...(command.description() === '' ? [command.name()] : []),
      ...command.registeredArguments.filter(({ description }) => description === '').map((one) => `${command.name()} ${one.name()}`),
      ...command.options.filter(({ description }) => description === '').map(({ flags }) => `${command.name()} ${flags}`),
    ]);
    expect(without).toEqual([]);
  });

  it('every option of a command on its page, also of one that has others below it', () => {
    const pages = commandPages();
    const families = program().commands.filter((family) => pages.has(`commands/${family.name()}`));
    expect(families.length).toBeGreaterThan(30);
    const missing = families.flatMap((family) => {
      const page = pages.get(`commands/${family.name()}`)!;
      return commands(family)
        .flatMap(({ options }) => options)
        .filter(
          ({ hidden, long, flags }) => !hidden && !EVERYWHERE.has(long ?? '') && !page.includes(`\`${flags.replaceAll('|', '\\|')}\``),
        )
        .map(({ flags }) => `${family.name()} ${flags}`);
    });
    expect(missing).toEqual([]);
  });
});
