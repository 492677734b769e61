import { describe, expect, it } from '@jest/globals';
import { fakeIo } from '../testing/io.js';
import { widthOf } from '../table.js';
import type { Envelope } from './filter.js';
import { eventLine } from './line.js';

const event = (type: string, subject: string, actor: string, more: object = {}): Envelope =>
  ({ seq: 1, ts: '2026-11-30T20:50:21.523688Z', type, subject, actor, payload: {}, ...more }) as Envelope;

describe('an event for a person', () => {
  it('stands below the others, whatever they are about', () => {
    const lines = [
      event('bead.closed', 'de-1', 'api', { payload: { bead: { title: 'One' } } }),
      event('request.result.session.message', 'de-10', 'reconciler', { message: 'Two' }),
      event('bead.created', '仕事', 'mayor', { payload: { bead: { title: 'Three' } } }),
    ].map((one) => eventLine(one, fakeIo()));
    expect(lines.map((line) => widthOf(line.slice(0, line.search(/One|Two|Three/))))).toEqual([64, 64, 64]);
    expect(eventLine(event('x.y', '', 'human'), fakeIo())).toBe(`20:50:21  ${'x.y'.padEnd(30)}  -         human\n`);
  });

  // Guard: a line that is longer than the terminal is two, and nothing stands below anything.
  it('takes one line of a terminal, also with its city and in letters of two places', () => {
    const io = fakeIo({ width: 100 });
    for (const more of [{}, { city: 'alpha' }, { city: '__supervisor__' }]) {
      const line = eventLine(event('bead.created', '仕事-1', 'api', { payload: { bead: { title: '日本語'.repeat(40) } }, ...more }), io);
      expect(widthOf(line.trimEnd())).toBeLessThanOrEqual(100);
      expect(widthOf(line.trimEnd())).toBeGreaterThan(97);
    }
  });
});
