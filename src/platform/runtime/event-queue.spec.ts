import { describe, expect, it } from '@jest/globals';
import { EventQueue } from './event-queue.js';
import type { Exit, RuntimeEvent } from './port.js';

const text = (n: number): RuntimeEvent => ({ type: 'text', kind: 'message', text: String(n) });
const entry = (id: string, status: 'partial' | 'final'): RuntimeEvent => ({
  type: 'entry',
  id,
  kind: 'tool',
  role: 'tool',
  status,
  blocks: [],
});
const EXIT: Exit = { code: 0, signal: null, cause: 'clean', stderrTail: '' };

async function all(queue: EventQueue): Promise<RuntimeEvent[]> {
  const seen: RuntimeEvent[] = [];
  for await (const event of queue) seen.push(event);
  return seen;
}

describe('the queue of events', () => {
  it('gives everything in order and ends after the exit', async () => {
    const queue = new EventQueue();
    const reading = all(queue);
    for (let i = 0; i < 3; i++) queue.push(text(i));
    await Promise.resolve();
    queue.push(text(3));
    queue.end(EXIT);
    queue.push(text(4));
    queue.end(EXIT);
    expect(await reading).toEqual([text(0), text(1), text(2), text(3), { type: 'exit', exit: EXIT }]);
  });

  it('joins states of one entry that follow each other unread, and nothing else', async () => {
    const queue = new EventQueue();
    const events = [entry('a', 'partial'), entry('a', 'final'), entry('b', 'partial'), text(1), entry('b', 'final')];
    for (const event of events) queue.push(event);
    queue.end(EXIT);
    expect((await all(queue)).slice(0, -1)).toEqual(events.slice(1));
  });

  it.each([
    ['events', 0, 256],
    ['bytes', 1024 * 1024, 4],
  ])('is full after so many %s and has room when some are read', async (_, bytes, count) => {
    const queue = new EventQueue();
    for (let i = 0; i < count; i++) {
      expect(queue.isFull).toBe(false);
      queue.push(text(i), bytes);
    }
    expect(queue.isFull).toBe(true);
    let room = false;
    const waiting = queue.room().then(() => (room = true));
    await Promise.resolve();
    expect(room).toBe(false);
    await queue[Symbol.asyncIterator]().next();
    await waiting;
    expect(queue.isFull).toBe(false);
  });

  it('knows when its reader has come back for more', async () => {
    const queue = new EventQueue();
    const reader = queue[Symbol.asyncIterator]();
    queue.push(text(1));
    let read = false;
    const waiting = queue.allRead().then(() => (read = true));
    await reader.next();
    await new Promise((resolve) => setImmediate(resolve));
    expect(read).toBe(false);
    const next = reader.next();
    await waiting;
    queue.push(text(2));
    expect((await next).value).toEqual(text(2));
  });

  it('holds nobody up when its reader goes away', async () => {
    const queue = new EventQueue();
    for (let i = 0; i < 300; i++) queue.push(text(i));
    const waiting = Promise.all([queue.room(), queue.allRead()]);
    for await (const event of queue) if (event.type === 'text') break;
    await waiting;
    for (let i = 0; i < 300; i++) queue.push(text(i));
    expect(queue.isFull).toBe(false);
  });
});
