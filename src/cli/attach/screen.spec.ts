import { describe, expect, it } from '@jest/globals';
import xterm from '@xterm/headless';
import { rowsOf, Screen, typedRows, type Bottom } from './screen.js';

interface Shown {
  readonly screen: Screen;
  /** What a person sees, from the first line that scrolled away on; the cursor is `▮`. */
  seen(): string[];
  bottom: Bottom;
  resize(columns: number, rows: number): void;
}

function terminal(columns = 20, rows = 8): Shown {
  const xt = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 500 });
  const size = { columns, rows };
  const shown: Shown = {
    screen: new Screen(
      (text) => new Promise((resolve) => xt.write(text, resolve)),
      size,
      () => shown.bottom,
      false,
    ),
    bottom: { status: '-status-', text: '', at: 0 },
    resize(columns, rows) {
      Object.assign(size, { columns, rows });
      xt.resize(columns, rows);
    },
    seen() {
      const { buffer } = xt;
      const { active } = buffer;
      const lines = Array.from({ length: active.length }, (_, y) => active.getLine(y)!.translateToString(true));
      const y = active.baseY + active.cursorY;
      const line = lines[y]!.padEnd(active.cursorX);
      lines[y] = `${line.slice(0, active.cursorX)}▮${line.slice(active.cursorX)}`;
      while (lines.at(-1) === '') lines.pop();
      return lines;
    },
  };
  return shown;
}

const typing = (text: string, at = text.length): Bottom => ({ status: '-status-', text, at });

describe('the lower end of a terminal', () => {
  it('keeps the status and what is typed below what is written', async () => {
    const shown = terminal();
    await shown.screen.print('one\ntwo\n');
    expect(shown.seen()).toEqual(['one', 'two', '-status-', '> ▮']);
    shown.bottom = typing('hello', 2);
    await shown.screen.print('three\n');
    expect(shown.seen()).toEqual(['one', 'two', 'three', '-status-', '> he▮llo']);
  });

  it('lets a line grow, begin anew and end', async () => {
    const shown = terminal();
    shown.bottom = typing('hey');
    await shown.screen.print('a\n1 ');
    await shown.screen.print('2');
    expect(shown.seen()).toEqual(['a', '1 2', '-status-', '> hey▮']);
    await shown.screen.print('\r\u001b[Kdone\n');
    expect(shown.seen()).toEqual(['a', 'done', '-status-', '> hey▮']);
  });

  it('lets a line grow over several rows, and many scroll away', async () => {
    const shown = terminal(10, 5);
    const whole = Array.from({ length: 60 }, (_, n) => String(n % 10)).join('');
    for (const sign of whole) await shown.screen.print(sign);
    await shown.screen.print('\nend\n');
    const rows = shown.seen();
    expect(rows.slice(-3)).toEqual(['end', '-status-', '> ▮']);
    expect(rows.slice(0, -3).join('')).toBe(whole);
    expect(rows.filter((row) => row.includes('status'))).toHaveLength(1);
  });

  it('shows of a long text what is around the cursor', async () => {
    const shown = terminal(12, 5);
    shown.bottom = typing('1\n2\n3\n4\n5\n6', 2);
    await shown.screen.print('x\n');
    expect(shown.seen().slice(-4)).toEqual(['-status-', '> 1', '  ▮2', '  3']);
    shown.bottom = typing('1\n2\n3\n4\n5\n6');
    await shown.screen.print('y\n');
    expect(shown.seen().slice(-4)).toEqual(['-status-', '  4', '  5', '  6▮']);
    expect(shown.seen().filter((row) => row.includes('status'))).toHaveLength(1);
  });

  it('takes away what it has drawn where the terminal has become narrower', async () => {
    const shown = terminal(20, 8);
    shown.bottom = typing('a long line that is typed');
    await shown.screen.print('one\ngrowing line');
    shown.resize(8, 12);
    await shown.screen.print(' on');
    const rows = shown.seen();
    expect(rows.filter((row) => row.includes('-statu')).length).toBe(1);
    expect(rows.join('').replaceAll(/ +/g, ' ')).toMatch(/^one ?growi/);
    expect(rows.join('')).toContain('typed');
  });

  it('leaves what was said, and nothing of itself', async () => {
    const shown = terminal();
    shown.bottom = typing('half');
    await shown.screen.print('one\nhalf a');
    await shown.screen.end();
    expect(shown.seen()).toEqual(['one', 'half a', '▮']);
  });
});

describe('rows', () => {
  it.each<[string, string, number, string[]]>([
    ['of one', 'abc', 5, ['abc']],
    ['of nothing', '', 5, ['']],
    ['of several', 'abcdefg', 3, ['abc', 'def', 'g']],
    ['by columns', '漢字漢', 5, ['漢字', '漢']],
    ['each with its colours', '\u001b[1mabcd\u001b[0me', 3, ['\u001b[1mabc\u001b[0m', '\u001b[1md\u001b[0me']],
    ['with tabs', 'a\tb', 20, ['a       b']],
  ])('%s', (_name, text, columns, expected) => expect(rowsOf(text, columns)).toEqual(expected));

  it.each<[string, string, number, ReturnType<typeof typedRows>]>([
    ['at the end', 'ab', 3, { rows: ['ab'], row: 0, column: 2 }],
    ['at the end of a full row', 'abc', 3, { rows: ['abc', ''], row: 1, column: 0 }],
    ['in the next row', 'abcd', 3, { rows: ['abc', 'd'], row: 1, column: 0 }],
    ['at the end of a line', 'ab\nc', 2, { rows: ['ab', 'c'], row: 0, column: 2 }],
    ['in an empty line', 'a\n', 2, { rows: ['a', ''], row: 1, column: 0 }],
    ['what cannot be seen is not', 'a\u202eb', 3, { rows: ['ab'], row: 0, column: 2 }],
  ])('of what is typed, the cursor %s', (_name, text, at, expected) => expect(typedRows(text, at, 3)).toEqual(expected));
});
