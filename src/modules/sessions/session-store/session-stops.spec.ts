import { describe, expect, it } from '@jest/globals';
import { STOP_REQUESTS } from './session-states.js';
import { stopWish } from './session-stops.js';

const ORDER = ['handover', 'sleep', 'drain', 'kill', 'reset', 'suspend', 'close'] as const;

describe('wishes to stop', () => {
  it('have one order', () => expect([...ORDER].sort()).toEqual([...STOP_REQUESTS].sort()));

  it.each(ORDER.flatMap((present, p) => ORDER.map((asked, a) => [present, asked, a > p] as const)))(
    '%s, then %s: replaced %s',
    (present, asked, replaced) => {
      const now = new Date();
      const wish = stopWish({ stop_request: present }, asked, { reason: 'r', now });
      expect(wish).toEqual(replaced ? { stop_request: asked, stop_reason: 'r', stop_requested_at: now, stop_deadline: null } : undefined);
    },
  );

  it.each(ORDER)('%s counts where nothing was asked', (asked) => {
    expect(stopWish({ stop_request: null }, asked, { reason: 'r' })).toMatchObject({ stop_request: asked });
  });
});
