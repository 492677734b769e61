import { describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../../../../test/support/sse.js';
import type { EntryWrite, LogWrite } from '../../sessions/transcripts/entries.js';
import { Allowance } from './allowance.js';
import { Recorder, type RecorderLog } from './recorder.js';

/** A log that answers when the test says so. */
class HeldLog implements RecorderLog {
  readonly writes: LogWrite[] = [];
  readonly #waiting: ((result: { head: number } | 'fenced' | Error) => void)[] = [];
  auto = true;

  async append(write: LogWrite): Promise<{ head: number } | 'fenced'> {
    this.writes.push(write);
    if (this.auto) return { head: this.writes.length };
    const result = await new Promise<{ head: number } | 'fenced' | Error>((resolve) => this.#waiting.push(resolve));
    if (result instanceof Error) throw result;
    return result;
  }

  answer(result: { head: number } | 'fenced' | Error = { head: 1 }): void {
    this.#waiting.shift()?.(result);
  }

  /** What a reader has after all writes: the latest of each entry, in the order of their first appearance. */
  get entries(): EntryWrite[] {
    const latest = new Map<string, EntryWrite>();
    for (const { entries } of this.writes) for (const entry of entries) latest.set(entry.entryId, entry);
    return [...latest.values()];
  }
}

function recorder(
  log: RecorderLog,
  over: { joinMs?: number; allowance?: Allowance; held?: () => boolean; fenced?: () => void; lost?: (e: unknown) => void } = {},
): Recorder {
  return new Recorder(log, {
    sessionPk: 7,
    generation: 3,
    epoch: 1,
    joinMs: over.joinMs ?? 0,
    held: over.held ?? (() => true),
    fenced: over.fenced ?? (() => undefined),
    lost: over.lost ?? (() => undefined),
    ...(over.allowance === undefined ? {} : { allowance: over.allowance }),
  });
}

const text = (value: string, more: object = {}) => ({ type: 'text', kind: 'message', text: value, ...more }) as const;
const textOf = ({ blocks }: EntryWrite): string => blocks.map((block) => String(block.text ?? block.thinking)).join('');
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

describe('a recorder', () => {
  it('joins the text of a message, partial while it goes on, final afterwards', async () => {
    const log = new HeldLog();
    const r = recorder(log);
    r.text(text('Hel'));
    await r.flush();
    r.text(text('lo'));
    await r.flush();
    expect(log.entries.map((e) => [e.entryId, textOf(e), e.status])).toEqual([['3.1', 'Hello', 'partial']]);
    r.closeText();
    await r.flush();
    expect(log.entries.map((e) => [e.entryId, textOf(e), e.status])).toEqual([['3.1', 'Hello', 'final']]);
  });

  it('begins another entry for another kind, message, turn, and after another entry', async () => {
    const log = new HeldLog();
    const r = recorder(log);
    r.text({ type: 'text', kind: 'thought', text: 'hm' });
    r.text(text('a'));
    r.text(text('b', { messageId: 'm2' }));
    r.entry({ type: 'entry', id: 'call', kind: 'tool', role: 'tool', status: 'final', blocks: [] });
    r.text(text('c', { messageId: 'm2' }));
    r.turn = 2;
    r.text(text('d', { messageId: 'm2' }));
    r.closeText();
    await r.flush();
    expect(log.entries.map((e) => [e.entryId, e.kind, e.turn, textOf(e)])).toEqual([
      ['3.1', 'thought', 0, 'hm'],
      ['3.2', 'message', 0, 'a'],
      ['3.3.m', 'message', 0, 'b'],
      ['3.e.call', 'tool', 0, ''],
      ['3.4', 'message', 0, 'c'],
      ['3.5', 'message', 2, 'd'],
    ]);
    expect(log.entries.every((e) => e.status === 'final')).toBe(true);
  });

  it('begins another message only where the agent says that it is another', async () => {
    const log = new HeldLog();
    const r = recorder(log);
    for (const [said, more] of [
      ['a', { messageId: 'm1' }],
      ['b', {}],
      ['c', { messageId: 'm1' }],
      ['d', { messageId: 'm2' }],
    ] as const)
      r.text(text(said, more));
    await r.flush();
    expect(log.entries.map((e) => [e.entryId, textOf(e)])).toEqual([
      ['3.1.m', 'a'],
      ['3.2', 'b'],
      ['3.3', 'c'],
      ['3.4.m', 'd'],
    ]);
  });

  // One part looked at all that was left: a line of eight megabytes held up the whole process for a minute, past its lease.
  it.each(['x', '👍'])('cuts megabytes of %s without looking at all of the rest for each part', async (unit) => {
    const log = new HeldLog();
    const r = recorder(log);
    const said = unit.repeat(Math.floor(4_000_000 / Buffer.byteLength(unit)));
    const measured = jest.spyOn(Buffer, 'byteLength');
    r.text(text(said));
    const seen = measured.mock.calls.reduce((sum, [part]) => sum + (part as string).length, 0);
    measured.mockRestore();
    expect(seen).toBeLessThan(20 * said.length);
    r.closeText();
    await r.flush();
    expect(log.entries.map(textOf).join('')).toBe(said);
  });

  it.each(['x', 'ü', '語', '👍'])('goes on in another entry after 16 KiB, and loses nothing of %s', async (unit) => {
    const log = new HeldLog();
    const r = recorder(log);
    const whole = unit.repeat(20_000);
    for (let i = 0; i < whole.length; i += 999) {
      r.text(text(whole.slice(i, i + 999)));
      await r.room();
    }
    r.closeText();
    await r.flush();
    expect(log.entries.map(textOf).join('')).toBe(whole);
    for (const entry of log.entries) expect(Buffer.byteLength(textOf(entry))).toBeLessThanOrEqual(16 * 1024);
  });

  it('cuts one large piece into entries without half a character', async () => {
    const log = new HeldLog();
    const r = recorder(log);
    const whole = `a${'👍'.repeat(30_000)}`;
    r.text(text(whole));
    await r.flush();
    expect(log.entries.map(textOf).join('')).toBe(whole);
    for (const entry of log.entries) {
      expect(textOf(entry).isWellFormed()).toBe(true);
      expect(Buffer.byteLength(textOf(entry))).toBeLessThanOrEqual(16 * 1024);
    }
  });

  it('writes the first piece at once, and what comes meanwhile in one write', async () => {
    const log = new HeldLog();
    log.auto = false;
    const r = recorder(log);
    r.text(text('0'));
    expect(log.writes).toHaveLength(1);
    for (let i = 1; i < 40; i++) r.text(text(String(i)));
    expect(log.writes).toHaveLength(1);
    log.answer();
    await settled();
    expect(log.writes).toHaveLength(2);
    expect(log.writes[1]!.entries).toHaveLength(1);
    log.answer();
    await r.flush();
    expect(textOf(log.entries[0]!)).toBe([...Array(40).keys()].join(''));
  });

  it('takes no more than it has room for', async () => {
    const log = new HeldLog();
    log.auto = false;
    const r = recorder(log);
    let taken = 0;
    const reading = (async () => {
      for (; taken < 500; taken++) {
        r.entry({ type: 'entry', id: `e${taken}`, kind: 'tool', role: 'tool', status: 'final', blocks: [] });
        await r.room();
      }
    })();
    await settled();
    expect(taken).toBeLessThan(130);
    const draining = setInterval(() => log.answer(), 1);
    await reading;
    await r.flush();
    clearInterval(draining);
    expect(log.entries).toHaveLength(500);
    expect(Math.max(...log.writes.map(({ entries }) => entries.length))).toBeLessThanOrEqual(64);
  });

  it('counts bytes, too', async () => {
    const log = new HeldLog();
    log.auto = false;
    const r = recorder(log);
    let taken = 0;
    const blocks = [{ type: 'text', text: 'x'.repeat(100_000) }] as const;
    const reading = (async () => {
      for (; taken < 20; taken++) {
        r.entry({ type: 'entry', id: `e${taken}`, kind: 'tool', role: 'tool', status: 'final', blocks });
        await r.room();
      }
    })();
    await settled();
    expect(taken).toBeLessThan(6);
    log.auto = true;
    log.answer();
    await reading;
  });

  it('writes nothing more once it is fenced, and says so once', async () => {
    const log = new HeldLog();
    log.auto = false;
    let fenced = 0;
    const r = recorder(log, { fenced: () => fenced++ });
    r.text(text('a'));
    r.text(text('b'));
    log.answer('fenced');
    await r.flush();
    r.text(text('c'));
    await r.flush();
    await r.room();
    expect([log.writes.length, fenced]).toEqual([1, 1]);
  });

  it('does not write without a lease', async () => {
    const log = new HeldLog();
    let fenced = 0;
    const r = recorder(log, { held: () => false, fenced: () => fenced++ });
    r.text(text('a'));
    await r.flush();
    expect([log.writes.length, fenced]).toEqual([0, 1]);
  });

  it('tries again while the database fails, and gives up what cannot be stored', async () => {
    const log = new HeldLog();
    log.auto = false;
    const lost: unknown[] = [];
    const r = recorder(log, { lost: (error) => lost.push(error) });
    r.text(text('a'));
    log.answer(Object.assign(new Error('down'), { code: '57P01' }));
    await eventually(() => log.writes.length === 2);
    expect(log.writes[1]).toEqual(log.writes[0]);
    log.answer(new Error('never'));
    await r.flush();
    expect(lost).toHaveLength(1);
  });

  it('cuts what is too large to be stored again and again', async () => {
    const log = new HeldLog();
    const r = recorder(log);
    const huge = 'y'.repeat(1_000_000);
    r.entry({ type: 'entry', id: 'a', kind: 'tool', role: 'tool', status: 'final', blocks: [], raw: [huge] });
    r.entry({
      type: 'entry',
      id: 'b',
      kind: 'tool',
      role: 'tool',
      status: 'final',
      blocks: [{ type: 'tool_result', content: { out: huge } }],
    });
    await r.flush();
    const [a, b] = log.entries;
    expect(a).not.toHaveProperty('raw');
    expect(JSON.stringify(b).length).toBeLessThan(40_000);
  });

  it('stores what is said between turns as long as its allowance lasts, and says what is left out', async () => {
    const log = new HeldLog();
    let now = 0;
    const r = recorder(log, { allowance: new Allowance(() => now) });
    const between = (n: number) => r.entry({ type: 'entry', id: `after-${n}`, kind: 'message', role: 'assistant', status: 'final', blocks: [{ type: 'text', text: 'x'.repeat(60_000) }] }); // prettier-ignore
    for (let n = 0; n < 100; n++) {
      between(n);
      await r.room();
      await settled();
    }
    const stored = (): number => log.writes.flatMap(({ entries }) => entries).reduce((all, entry) => all + textOf(entry).length, 0);
    expect(stored()).toBeGreaterThan(1_000_000);
    expect(stored()).toBeLessThan(1_300_000);
    r.beginTurn(1);
    r.text(text('in turn'));
    await r.endTurn();
    const notes = log.entries.filter(({ kind }) => kind === 'system').map(textOf);
    expect(notes).toEqual([expect.stringMatching(/^\[\d{4} KiB are left out here: more was printed between turns than is kept\]$/)]);
    expect(log.entries.at(-1)).toMatchObject({ turn: 1, blocks: [{ type: 'text', text: 'in turn' }] });
    now += 3_600_000;
    between(100);
    await r.flush();
    expect(log.entries.at(-1)).toMatchObject({ entryId: '3.e.after-100', turn: 0 });
    r.end();
  });
});
