import { describe, expect, it } from '@jest/globals';
import type { LoggedEvent } from '../api/types.js';
import { answeredOf, isOfThread, readThread, whyNoAnswer, withKnown, type Thread, type ThreadPage } from './thread.js';

type Letter = Thread['letters'][number];
const letter = (nth: number, from = 'mayor', more: Partial<Letter> = {}): Letter =>
  ({
    id: `m-${nth}`,
    from,
    to: 'human',
    body: `text ${nth}`,
    created_at: `2026-11-30T08:00:${String(nth).padStart(2, '0')}Z`,
    ...more,
  }) as Letter;

/** A thread in pages of so many. */
const readBy =
  (letters: readonly Letter[], size: number) =>
  (cursor: string | undefined): Promise<ThreadPage> => {
    const at = Number(cursor ?? 0);
    const next = at + size < letters.length ? { next_cursor: String(at + size) } : {};
    return Promise.resolve({ items: letters.slice(at, at + size), ...next } as ThreadPage);
  };
const whole = (letters: readonly Letter[]): Thread => ({ letters, left: 0, more: false });

describe('a thread', () => {
  it('is read to its end', async () => {
    const all = Array.from({ length: 12 }, (_, i) => letter(i));
    expect(await readThread(readBy(all, 5))).toEqual({ letters: all, left: 0, more: false });
  });

  it('has its newest letters where it is long, and says how many are left out', async () => {
    const body = 'x'.repeat(1024 * 1024);
    const all = Array.from({ length: 12 }, (_, i) => letter(i, 'mayor', { body }));
    expect(await readThread(readBy(all, 3))).toEqual({ letters: all.slice(-4), left: 8, more: false });
  });

  it('says that it goes on where it has no end', async () => {
    const { letters, more } = await readThread(
      readBy(
        Array.from({ length: 40 }, (_, i) => letter(i)),
        1,
      ),
    );
    expect([letters.at(-1)!.id, more]).toEqual(['m-19', true]);
    expect(answeredOf({ letters, left: 0, more }, 'thread-1', 'api')).toBeUndefined();
    expect(answeredOf({ letters, left: 0, more }, 'm-3', 'api')?.id).toBe('m-3');
  });

  it('is answered at the newest letter to people, and never at one of whoever answers', () => {
    const asked = letter(1);
    const aside = letter(3, 'scout', { to: 'mayor' });
    const mine = letter(4, 'api', { to: 'mayor' });
    expect(answeredOf(whole([asked, aside, mine]), 'thread-1', 'api')).toBe(asked);
    expect(answeredOf(whole([asked, letter(2, 'scout', { to: 'mayor', cc: ['human'] }), mine]), 'thread-1', 'api')?.id).toBe('m-2');
    expect(answeredOf(whole([aside, mine]), 'thread-1', 'api')).toBe(aside);
    expect(answeredOf(whole([mine, letter(5, 'human', { to: 'human' })]), 'thread-1', 'api')).toBeUndefined();
  });

  // Guard: no reply is offered to a sender without a mailbox.
  it('is not answered at a letter that nobody can answer, and says why', () => {
    const notice = letter(2, 'reconciler', { answerable: false });
    const why = 'reconciler has no mailbox: nobody would read an answer.';
    for (const opened of ['m-2', 'thread-1']) {
      expect(answeredOf(whole([notice]), opened, 'api')).toBeUndefined();
      expect(whyNoAnswer(whole([notice]), opened, 'api')).toBe(why);
    }
    expect(answeredOf(whole([letter(1), notice]), 'thread-1', 'api')?.id).toBe('m-1');
    expect(whyNoAnswer(whole([letter(1, 'api')]), 'm-1', 'api')).toBe('Nobody else has written in it: there is nobody to answer.');
    const long = { letters: [notice], left: 0, more: true };
    expect(whyNoAnswer(long, 'm-2', 'api')).toBe(why);
    expect(whyNoAnswer(long, 'm-9', 'api')).toBe('Open the message in the list to answer it.');
  });

  it('has the letter that was opened where it belongs, and answers it, where the thread was not read to it', () => {
    const [first, second, third] = [letter(1), letter(2), letter(3)];
    const found = withKnown({ letters: [second, third], left: 1, more: false }, first);
    expect(found).toEqual({ letters: [first, second, third], left: 1, more: false });
    expect(answeredOf(found, 'm-1', 'api')).toBe(first);
    expect(withKnown(found, second)).toBe(found);
    expect(answeredOf(withKnown({ letters: [first], left: 0, more: true }, third), 'm-3', 'api')).toBe(third);
  });

  it('is read again after events of its own letters, and of none of other threads', () => {
    const event = (type: string, payload: object): LoggedEvent => ({ type, payload }) as LoggedEvent;
    const sent = event('mail.sent', { message: { thread_id: 'thread-1' } });
    expect([isOfThread(sent, 'thread-1'), isOfThread(sent, 'thread-2'), isOfThread(sent, undefined)]).toEqual([true, false, true]);
    expect(isOfThread(event('mail.read', {}), 'thread-2')).toBe(true);
    expect(isOfThread(event('bead.created', {}), 'thread-2')).toBe(false);
  });

  it('is answered at the letter that was opened, unless that is of whoever answers', () => {
    const [first, second, mine] = [letter(1), letter(2), letter(3, 'api', { to: 'mayor' })];
    expect(answeredOf(whole([first, second, mine]), 'm-1', 'api')).toBe(first);
    expect(answeredOf(whole([first, second, mine]), 'm-3', 'api')).toBe(second);
  });
});
