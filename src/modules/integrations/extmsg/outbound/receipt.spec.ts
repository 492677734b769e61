import { describe, expect, it } from '@jest/globals';
import { failed, outcomeOf } from './receipt.js';

const answered = (body: unknown) => outcomeOf({ status: 200, body: JSON.stringify(body), retryAfter: undefined });

describe('what an adapter has answered', () => {
  // Guard: an error that the database refuses would be written again for ever, and the adapter called again each time.
  it.each([
    ['a NUL', 'a\u0000b'],
    ['half a character', 'a\ud800b'],
    ['half a character where it is cut', `${'x'.repeat(921)}${'\ud83d\ude00'.repeat(100)}`],
    ['very much', 'x'.repeat(1_000_000)],
  ])('is an error that can be stored and read, also where a name in it has %s', (_, name) => {
    const { delivered, kind, error = '' } = answered({ delivered: true, metadata: { [name]: 'x' } });
    expect({ delivered, kind }).toEqual({ delivered: false, kind: 'transient' });
    expect(error).toMatch(/^200, and its answer is not what was agreed \(metadata\./);
    expect({ isWellFormed: error.isWellFormed(), hasControls: /\p{Cc}/u.test(error), isShort: error.length <= 1_000 }).toEqual({
      isWellFormed: true,
      hasControls: false,
      isShort: true,
    });
  });

  it('is cut at a length, whatever it would split', () => {
    for (const before of [998, 999])
      expect(failed('transient', `${'x'.repeat(before)}\ud83d\ude00\ud83d\ude00`).error!.isWellFormed()).toBe(true);
  });

  it.each([
    { message_id: 'a\u0000b', delivered: true },
    { message_id: 'a\ud800b', delivered: true },
    { failure_kind: 'a\u0000b' },
    { delivered: true, metadata: { a: 'b\u0000' } },
  ])('has nothing else that could not be stored: %j', (body) => {
    expect(answered(body)).toMatchObject({ delivered: false, kind: 'transient', messageId: '', metadata: null });
  });

  it('says less than it could where only its conversation cannot be stored', () => {
    const conversation = { scope_id: 's', provider: 'p', account_id: 'a', conversation_id: 'c\u0000', kind: 'room' };
    expect(answered({ delivered: true, message_id: 'm', conversation })).toMatchObject({ delivered: true, conversation: undefined });
  });
});
