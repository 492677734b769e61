import { describe, expect, it } from '@jest/globals';
import { runInNewContext } from 'node:vm';
import { StartError } from '../port.js';
import { loadLibraries } from './terminal.js';
import { asPaste, type, type Keyboard } from './typing.js';

describe('a paste', () => {
  it('cannot end itself or press keys', () => {
    expect(asPaste('a\u001b[201~\rb\u0003\u0000\u009b', true)).toBe('\u001b[200~a[201~\rb\u001b[201~');
  });

  it('keeps lines and tabs, or makes one line where each would be sent by itself', () => {
    expect(asPaste('a\r\n\tb\nc', true)).toBe('\u001b[200~a\r\tb\rc\u001b[201~');
    expect(asPaste('a\r\n\tb\nc', false)).toBe('a b c');
    expect(asPaste('  a \n \n b  c\t\n', false)).toBe('  a b  c ');
  });

  it('of a megabyte of spaces without an end of a line is made at once', () => {
    const message = `a${' '.repeat(999_998)}b`;
    // Looked at anew from each of the spaces it would take minutes, in which the process does nothing else.
    const made = runInNewContext('make()', { make: () => asPaste(message, false) }, { timeout: 20_000 }) as string;
    expect(made === message).toBe(true);
  });

  it('that the program does not take is taken back, and has an end', async () => {
    const pressed: string[] = [];
    let left = 0;
    const keyboard: Keyboard = {
      press: (keys) => (left += pressed.push(keys)),
      waiting: () => left,
      drop: () => (left -= pressed.push('dropped')),
      pastesAreBracketed: true,
      text: () => '',
      until: async (condition) => condition(),
    };
    const typing = type(keyboard, 'a', { typedMs: 1, pauseMs: 1, sentMs: 1 });
    await expect(typing).rejects.toMatchObject({ cause_: 'refused', message: 'the program in the terminal does not take what is typed' });
    expect(pressed).toEqual(['\u001b[200~a\u001b[201~', 'dropped', '\u001b[201~']);
  });
});

describe('a host without the packages of a terminal', () => {
  it('says what to do', async () => {
    const error: unknown = await loadLibraries(() => Promise.reject(new Error('no'))).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(StartError);
    expect(error).toMatchObject({ failure: 'unsupported', message: expect.stringContaining('node-pty') });
  });
});
