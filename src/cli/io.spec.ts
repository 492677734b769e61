import { describe, expect, it } from '@jest/globals';
import { Readable } from 'node:stream';
import { processIo, type Surroundings } from './io.js';

/** What stdout and stderr get of a text. */
async function written(text: string, isTTY: boolean): Promise<string[]> {
  const got: string[] = [];
  const output = { isTTY, columns: 80, write: (data: string) => got.push(data) > 0 };
  const around = { env: {}, stdin: Readable.from([]), stdout: output, stderr: output, cwd: () => '/', on: () => undefined };
  const io = processIo(around as unknown as Surroundings, new AbortController().signal);
  await io.out(text);
  io.err(text);
  return got;
}

// Guard: nothing hides on a terminal.
describe('what the client writes', () => {
  const line = `${JSON.stringify({ message: 'pay \u202e001\u2069 to\u200b me\u009b1m\u{e0041} \u{1f469}\u200d\u{1f680} é' })}\n`;
  const seen = `{"message":"pay \\u202e001\\u2069 to\\u200b me\\u009b1m\\udb40\\udc41 \u{1f469}\u200d\u{1f680} é"}\n`;

  it('hides nothing on a terminal, and is the same JSON', async () => {
    expect(await written(line, true)).toEqual([seen, seen]);
    expect(JSON.parse(seen)).toEqual(JSON.parse(line));
    expect(await written('\u001b[31m-\u001b[39m\r\u001b[K\n', true)).toContain('\u001b[31m-\u001b[39m\r\u001b[K\n');
  });

  it('tells a terminal nothing but what the client itself has to say to it', async () => {
    const own = '\u001b[1;31mred\u001b[0m\r\u001b[K\r\n\u001b[3A\u001b[J\u001b[H\u001b[2J\r\u001b[2A\u001b[4C\u001b[?25h\u001b[?2004l\tx\n';
    expect(await written(own, true)).toEqual([own, own]);
    const others = '\u001b]52;c;cm0=\u0007 \u001b]0;title\u001b\\\\ \u001b[?1049h \u001bc ok\rno \b\u0000';
    const shown = String.raw`\u001b]52;c;cm0=\u0007 \u001b]0;title\u001b\\ \u001b[?1049h \u001bc ok\u000dno \u0008\u0000`;
    expect(await written(others, true)).toEqual([shown, shown]);
    expect(await written(others, false)).toEqual([others, others]);
  });

  it.each([
    [{}, true, true],
    [{}, false, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ TERM: 'dumb' }, true, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ FORCE_COLOR: '' }, false, false],
  ])('has colours with %j, a terminal: %s', (env, isTTY, colour) => {
    const output = { isTTY, columns: 80 };
    const around = { env, stdin: Readable.from([]), stdout: output, stderr: output, cwd: () => '/', on: () => undefined };
    expect(processIo(around as unknown as Surroundings, new AbortController().signal).colour).toBe(colour);
  });

  it('does not wait for what somebody types who thinks better of it', async () => {
    const interrupted = new AbortController();
    const output = { isTTY: true, columns: 80 };
    const around = {
      env: {},
      stdin: new Readable({ read: () => undefined }),
      stdout: output,
      stderr: output,
      cwd: () => '/',
      on: () => undefined,
    };
    const typed = processIo(around as unknown as Surroundings, interrupted.signal).input();
    interrupted.abort();
    await expect(typed).rejects.toMatchObject({ exitCode: 130, message: '' });
  });

  it('is the data itself in files and pipes', async () => expect(await written(line, false)).toEqual([line, line]));
});
