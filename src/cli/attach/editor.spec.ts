import { describe, expect, it } from '@jest/globals';
import { PassThrough } from 'node:stream';
import { terminalOf } from '../terminal.js';
import { Editor, type Wish } from './editor.js';

/** What has become of what a keyboard sends: the text with the cursor as `|`, then what was wished for. */
async function after(bytes: string): Promise<[string, ...Wish[]]> {
  const stdin = new PassThrough();
  const editor = new Editor();
  const wishes: Wish[] = [];
  await new Promise<void>((resolve) => {
    const stop = terminalOf(stdin, {}).listen({
      key(key) {
        const wish = editor.key(key);
        if (wish === 'draw') {
          stop();
          resolve();
        } else if (wish !== undefined) wishes.push(wish);
      },
      resized: () => undefined,
      gone: () => undefined,
    });
    // Ctrl-L says that all before it was taken.
    stdin.write(`${bytes}\u000c`);
  });
  return [`${editor.text.slice(0, editor.at)}|${editor.text.slice(editor.at)}`, ...wishes];
}

const LEFT = '\u001b[D';
const UP = '\u001b[A';
const DOWN = '\u001b[B';
const CTRL_LEFT = '\u001b[1;5D';
const paste = (text: string): string => `\u001b[200~${text}\u001b[201~`;

describe('a text as it is typed', () => {
  it.each<[string, string, ...Awaited<ReturnType<typeof after>>]>([
    ['signs', 'hé漢👩‍🚀', 'hé漢👩‍🚀|'],
    ['Enter sends it', 'hello\r', '|', { send: 'hello' }],
    ['nothing is not sent', '  \r', '|'],
    ['another line: Ctrl-J', 'a\nb', 'a\nb|'],
    ['another line: Alt-Enter', 'a\u001b\rb\r', '|', { send: 'a\nb' }],
    ['a paste is not sent, whatever is in it', paste('one\r\ntwo\rthree\n\u0003\u0004\u001b[A\ttail'), 'one\ntwo\nthree\n\ttail|'],
    ['a paste between', `ab${LEFT}${paste('1\n2')}`, 'a1\n2|b'],
    ['left and right', `abc${LEFT}${LEFT}\u001b[CX`, 'abX|c'],
    ['one sign at a time', `a👩‍🚀${LEFT}X`, 'aX|👩‍🚀'],
    ['backspace', 'a👩‍🚀\u007f', 'a|'],
    ['backspace at the beginning', '\u007fa', 'a|'],
    ['backspace over a line', 'a\n\u007fb', 'ab|'],
    ['delete', `abc${LEFT}${LEFT}\u001b[3~`, 'a|c'],
    ['delete at the end', 'a\u001b[3~', 'a|'],
    ['words', `one two${CTRL_LEFT}${CTRL_LEFT}X`, 'X|one two'],
    ['words forwards', 'one two\u0001\u001bfX', 'oneX| two'],
    ['Home and End, of the line', 'a\nbc\u0001X\u0005Y', 'a\nXbcY|'],
    ['Ctrl-W', 'one two \u0017', 'one |'],
    ['Ctrl-U and Ctrl-Y', 'one two\u0015a\u0019', 'aone two|'],
    ['Ctrl-K', 'one two\u0001\u001bf\u000b', 'one|'],
    ['Ctrl-K at the end of a line', `a\nb${UP}\u000b`, 'a|b'],
    ['up and down in a text', `abc\nd\nefg${UP}${UP}X`, 'aX|bc\nd\nefg'],
    ['down in a text', `abc\nd${UP}${DOWN}X`, 'abc\ndX|'],
    ['up to an empty first line', `\na${UP}X`, 'X|\na'],
    ['what was sent', `one\rtwo\r${UP}${UP}`, 'one|', { send: 'one' }, { send: 'two' }],
    ['and what was typed before', `one\rdraft${UP}${DOWN}`, 'draft|', { send: 'one' }],
    ['nothing before the first', `one\r${UP}${UP}${UP}`, 'one|', { send: 'one' }],
    ['the same only once', `one\rone\r${UP}${UP}`, 'one|', { send: 'one' }, { send: 'one' }],
    ['Ctrl-C clears', 'abc\u0003', '|'],
    ['Ctrl-C interrupts', '\u0003', '|', 'interrupt'],
    ['Ctrl-D deletes', `abc${LEFT}\u0004`, 'ab|'],
    ['Ctrl-D leaves', '\u0004', '|', 'leave'],
    ['Ctrl-P Ctrl-Q leaves', 'abc\u0010\u0011', 'abc|', 'leave'],
    ['Ctrl-Q alone does not', '\u0010a\u0011', 'a|'],
    ['keys that write nothing here', 'a\u001bx\u001b[15~\u0014', 'a|'],
  ])('%s', async (_name, bytes, ...expected) => {
    expect(await after(bytes)).toEqual(expected);
  });
});
