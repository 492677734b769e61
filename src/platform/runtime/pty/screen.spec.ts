import type { Terminal } from '@xterm/headless';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { Screen } from './screen.js';
import { boundedTerminal, COLUMNS, loadLibraries, ROWS } from './terminal.js';

/** The optional package could not be built where there is no compiler; CI has one. */
const library = await loadLibraries().catch((error: unknown) => {
  if (process.env.CI !== undefined) throw error;
});
const described = library === undefined ? describe.skip : describe;

let terminal: Terminal;
let screen: Screen;
beforeEach(() => {
  terminal = boundedTerminal(library!.Terminal);
  screen = new Screen(terminal);
});

described('a screen', () => {
  // Guard: a few bytes of one program keep nobody else of its worker waiting.
  it.each([...'STLMbIZ'])('does nothing more often than it has lines or columns: %s', async (final) => {
    const after = async (asked: string): Promise<unknown> => {
      await screen.write(`\x1bc\tx\x1b[2;2Hy${asked}`);
      return [screen.lines(), terminal.buffer.active.cursorX];
    };
    const most = await after(`\x1b[${'bIZ'.includes(final) ? COLUMNS : ROWS}${final}`);
    expect(most).not.toEqual(await after(''));
    // Without the bound the last of these would take hours.
    for (const often of [Math.max(ROWS, COLUMNS) + 1, 2 ** 31 - 1, 2 ** 40]) expect(await after(`\x1b[${often}${final}`)).toEqual(most);
  });

  it.each([...'STLM'])('is empty when a program clears it by many, and has what comes after that: %s', async (final) => {
    await screen.write(`a\r\nb\x1b[1;1H\x1b[999${final}c`);
    expect(screen.lines().join('').trim()).toBe('c');
  });

  it('keeps nothing of links and titles', async () => {
    const titles: string[] = [];
    terminal.onTitleChange((title) => titles.push(title));
    const link = (n: number): string => `\r\x1b]8;;http://a/${n}\x07x\x1b]8;;\x07`;
    await screen.write(Array.from({ length: 50_000 }, (_, n) => link(n)).join('') + '\x1b]0;a\x07\x1b]1;b\x07\x1b]2;c\x07');
    expect([terminal.markers.length, titles, screen.lines().join('').trim()]).toEqual([0, [], 'x']);
  });

  it('has others take their turn while much is drawn', async () => {
    let turns = 0;
    let isDrawing = true;
    const next = (): void => void (turns++, isDrawing && setImmediate(next));
    setImmediate(next);
    await screen.write('\x1bc'.repeat(4 * 1024));
    isDrawing = false;
    expect(turns).toBeGreaterThan(3);
  });

  it('has a few marks on a character, in however many pieces they come', async () => {
    for (const mark of ['\u0301', '\u0301\x7f', '\u0301\x9c', '\u200d', '\u1160', '\u{e0101}']) {
      await screen.write(`\x1bce${mark.repeat(3_000)}`);
      for (let n = 0; n < 100; n++) await screen.write(mark);
      await screen.write('f');
      expect([...screen.lines().join('')].length).toBeLessThanOrEqual(18);
    }
    await screen.write('\x1bce\u0301\u0302f\u0303\u1100\u1161\u11a8');
    expect(screen.lines().join('')).toBe('e\u0301\u0302f\u0303\u1100\u1161\u11a8');
  });

  it('logs nothing of what is not understood', async () => {
    const said: unknown[] = [];
    const { error } = console;
    console.error = (...words) => said.push(words);
    try {
      await screen.write('\x7f\x1b[\x7f');
    } finally {
      console.error = error;
    }
    expect(said).toEqual([]);
  });
});
