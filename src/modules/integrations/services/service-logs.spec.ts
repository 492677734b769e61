import { Readable } from 'node:stream';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { maskedLines } from '../../files/composition/mask.js';
import { LineSink, ServiceLogs } from './service-logs.js';

const texts = (sink: LineSink): string[] => sink.take().map(({ text }) => text);

describe('what services write', () => {
  it('is lines, whatever pieces it comes in, without secrets and what cannot be stored', () => {
    const sink = new LineSink(() => 0);
    for (const byte of Buffer.from('grüße\r\nnext\0\n\ntoken=0123456789abcdef\nrest')) sink.write(Buffer.of(byte));
    expect(texts(sink)).toEqual(['grüße', 'next\uFFFD', '', 'token=********']);
    sink.end();
    expect(texts(sink)).toEqual(['rest']);
  });

  it('is cut where a line never ends', () => {
    const sink = new LineSink(() => 0);
    sink.write(Buffer.alloc(10_000, 'x'));
    sink.end();
    expect(texts(sink).map(({ length }) => length)).toEqual([4_096, 4_096, 1_808]);
  });

  // Guard: half a secret is none that anybody knows again.
  it('is without secrets also where a long line is cut', () => {
    const sink = new LineSink(() => 0);
    const secret = '0123456789abcdef'.repeat(4);
    sink.write(Buffer.from(`${'x'.repeat(4_090)} token=${secret} ${'y'.repeat(4_000)} ghp_${secret}\nnext`));
    sink.end();
    const [first, second, last] = texts(sink);
    expect(first!.length).toBe(4_096);
    expect(`${first}${second}`.match(/[^xy]+/g)).toEqual([' token=******** ', ' ********']);
    expect(last).toBe('next');
  });

  // Guard: programs write in pieces of 4,096 bytes, so that the end of a long line comes later.
  it.each([
    ['token=hunter2'],
    ['"api_key": "hunter2"'],
    ['--token hunter2'],
    [`ghp_${'hunter2'.repeat(4)}`],
    [`passphrase="${'hunter2 '.repeat(700)}"`],
  ])('is without secrets also where the end of a long line comes later (%#)', (secret) => {
    for (let behind = 1; behind < secret.length; behind += Math.ceil(secret.length / 50)) {
      const before = 'x '.repeat(8_192).slice(behind);
      const line = `${before}${secret} ${'y '.repeat(8_192)}`;
      for (const first of [4_100, before.length + secret.indexOf('hunter')]) {
        const sink = new LineSink(() => 0);
        for (let at = 0; at < line.length; at += at === 0 ? first : 4_096) {
          sink.write(Buffer.from(line.slice(at, at === 0 ? first : at + 4_096)));
        }
        sink.end();
        const kept = texts(sink);
        expect(Math.max(...kept.map(({ length }) => length))).toBe(4_096);
        expect(kept.join('')).toBe(maskedLines(line));
        expect(kept.join('')).not.toMatch(/hunter|ghp/);
      }
    }
  });

  // Guard: a service that writes very much takes no more memory than it may.
  it('is left out beyond what may be written at once, and said to be', () => {
    let now = 0;
    const sink = new LineSink(() => now);
    for (let n = 0; n < 100; n++) sink.write(Buffer.from(`${'y'.repeat(63)}\n`.repeat(1_000)));
    const first = texts(sink);
    expect(first.length).toBeLessThan(4_200);
    expect(first.at(-1)).toMatch(/^… 9\d{4} lines are left out/);
    now = 10_000;
    sink.write(Buffer.from('well again\n'));
    expect(texts(sink)).toEqual(['well again']);
  });
});

describe('a line that never ends', () => {
  afterEach(() => void jest.restoreAllMocks());

  // Guard: nobody waits while secrets are looked for in what is left out; and what follows may be half a secret.
  it('is left out to the end of its line, and nothing is looked for in it', () => {
    let now = 0;
    const sink = new LineSink(() => now);
    sink.write(Buffer.from('words '.repeat(100_000)));
    const looks = jest.spyOn(String.prototype, 'matchAll');
    for (let n = 0; n < 3; n++) sink.write(Buffer.from(`\n${'words '.repeat(10_000)}`));
    expect(looks).not.toHaveBeenCalled();
    const kept = texts(sink);
    expect(kept.pop()).toBe('… 4 lines are left out: too much was written at once');
    expect(kept.join('')).toMatch(/^(words ){80000,90000}$/);
    now = 10_000;
    sink.write(Buffer.from(`${'hunter2 '.repeat(5_000)}"`));
    sink.write(Buffer.from(' hunter2\nwell again\n'));
    expect(texts(sink)).toEqual(['well again']);
    sink.end();
    expect(texts(sink)).toEqual([]);
  });
});

describe('a service that writes without end', () => {
  afterEach(() => void jest.useRealTimers());
  const turns = async (): Promise<void> => {
    for (let n = 0; n < 200; n++) await new Promise((resolve) => setImmediate(resolve));
  };

  // Guard: it does not have the process to itself.
  it('is read in shares, with time for others in between', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date', 'performance'] });
    let written = 0;
    const chunk = Buffer.from('y\n'.repeat(32 * 1024));
    const output = new Readable({
      read() {
        written += chunk.length;
        setImmediate(() => this.push(chunk));
      },
    });
    const kept: string[] = [];
    const lines = { append: (_pk: number, _attempt: number, some: { text: string }[]) => void kept.push(...some.map(({ text }) => text)) };
    const logs = new ServiceLogs(...([lines, { markNow: () => undefined }, {}] as unknown as ConstructorParameters<typeof ServiceLogs>));
    const log = logs.of(1, 1);
    log.follow(output);
    const share = 9 * chunk.length;
    await turns();
    expect(written).toBeLessThanOrEqual(share);
    await jest.advanceTimersByTimeAsync(200);
    await turns();
    expect(written).toBeGreaterThan(share);
    expect(written).toBeLessThanOrEqual(2 * share);
    output.destroy();
    await log.close();
    expect(kept.at(-1)).toMatch(/^… \d+ lines are left out/);
  });
});
