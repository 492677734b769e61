import { describe, expect, it } from '@jest/globals';
import { StartError } from '../port.js';
import { loadLibraries } from './terminal.js';
import { asPaste } from './typing.js';

describe('a paste', () => {
  it('cannot end itself or press keys', () => {
    expect(asPaste('a\u001b[201~\rb\u0003\u0000\u009b', true)).toBe('\u001b[200~a[201~\rb\u001b[201~');
  });

  it('keeps lines and tabs, or makes one line where each would be sent by itself', () => {
    expect(asPaste('a\r\n\tb\nc', true)).toBe('\u001b[200~a\r\tb\rc\u001b[201~');
    expect(asPaste('a\r\n\tb\nc', false)).toBe('a b c');
  });
});

describe('a host without the packages of a terminal', () => {
  it('says what to do', async () => {
    const error: unknown = await loadLibraries(() => Promise.reject(new Error('no'))).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(StartError);
    expect(error).toMatchObject({ failure: 'unsupported', message: expect.stringContaining('node-pty') });
  });
});
