import { describe, expect, it } from '@jest/globals';
import { TurnOf } from '../../client/turns.js';
import type { Message, SessionFrame } from '../../client/turns.js';

const text = (id: string, said: string, status = 'final', role = 'assistant'): Message =>
  ({ id, role, status, blocks: [{ type: 'text', text: said }] }) as Message;
const user = (id: string, said: string): Message => text(id, said, 'final', 'user');
const upsert = (...structured_messages: Message[]): SessionFrame =>
  ({ event: 'structured', data: { operation: 'upsert', structured_messages } }) as unknown as SessionFrame;
const activity = (now: string): SessionFrame => ({ event: 'activity', data: { activity: now } });

describe('the turn of a message', () => {
  const turn = (...frames: SessionFrame[]): TurnOf => {
    const one = new TurnOf('m2');
    for (const frame of frames) one.take(frame);
    return one;
  };

  it('is what is said from the message to the next rest', () => {
    const one = turn(
      upsert(user('m1', 'a'), text('x', 'not this')),
      activity('idle'),
      upsert(user('m2', 'b')),
      upsert(text('y', 'th', 'partial')),
      upsert(text('y', 'this')),
    );
    expect([one.begun, one.over]).toEqual([true, false]);
    one.take(activity('idle'));
    one.take(upsert(text('z', 'nor this')));
    expect([one.over, one.text]).toEqual([true, 'this']);
  });

  it('ends where the next one begins, also in the middle of a frame', () => {
    const one = turn(upsert(user('m2', 'b'), text('y', 'this'), user('m3', 'c'), text('z', 'nor this')));
    expect([one.over, one.text]).toEqual([true, 'this']);
  });
});
