import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { runInNewContext } from 'node:vm';
import { withoutTerminalCommands } from '../../contract/terminal-commands.js';
import { printable } from './printable.js';

it('is what a program has printed without what moves a terminal', () => {
  expect(printable('a\u001b[31mred\u001b[0m\r\n\u001b]0;title\u0007b\u001b]8;;http://x\u001b\\c\u0000')).toBe('ared\nbc');
});

it('keeps the words of a command that has no end', () => {
  expect(printable('a\u001b]title\nb')).toBe('atitle\nb');
});

// Each of them would have its end looked for in all that follows.
it.each([
  ['beginnings of commands that have no end', '\u001b]', ''],
  ['such beginnings around others', '\u001b\u001b]]', ']'],
  ['such beginnings around whole commands', '\u001b\u001b]0;a\u0007]', ']'],
])('is made at once of many %s', (_what, piece, shown) => {
  const made = (): string => printable(`${piece.repeat(250_000)}why`);
  expect(runInNewContext('made()', { made }, { timeout: 20_000 }) === `${shown.repeat(250_000)}why`).toBe(true);
});

it('leaves no beginning of a command, whatever is taken out', () => {
  const ordinary = fc.constantFrom('\u0007', '\u009c', '\u009d', '\\', '[', '0;', 'a', '\n');
  const piece = fc.oneof({ weight: 2, arbitrary: fc.constantFrom('\u001b', ']') }, { weight: 1, arbitrary: ordinary });
  fc.assert(fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => !withoutTerminalCommands(pieces.join('')).includes('\u001b]')));
});
