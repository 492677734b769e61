import { expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { familyOf } from './cli.js';
import { FAMILIES } from './families.js';
import { buildProgram } from './program.js';
import { finish, rootOf } from './root.js';
import { fakeIo } from './testing/io.js';

const io = fakeIo();
const all = buildProgram(io);
const helpOf = (program: Command, name: string): string | undefined =>
  program.commands.find((command) => command.name() === name)?.helpInformation();

it('loaded alone, each family is what it is in the tree of all', async () => {
  for (const [name, family] of Object.entries(FAMILIES)) {
    const program = rootOf(io);
    (await family())(program, io);
    finish(program, io);
    expect([name, program.commands.map((command) => command.name())]).toEqual([name, [name]]);
    expect(helpOf(program, name)).toBe(helpOf(all, name));
  }
});

it('is the first word that is none of the options of the root', () => {
  expect(familyOf(['bead', 'list', '--city', 'events'])).toBe('bead');
  expect(familyOf(['--api', 'http://x', '-c', 'alpha', '--no-city', 'events'])).toBe('events');
  expect(familyOf(['--city=alpha', 'bead'])).toBe('bead');
  expect(familyOf(['--help'])).toBeUndefined();
});
