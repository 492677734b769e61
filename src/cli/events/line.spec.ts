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

  const long = 'it is built, and nobody has to look at it again before tomorrow morning';
  const closed = (subject: string, city?: string): Envelope =>
    event('bead.closed', subject, 'api', { message: long, ...(city === undefined ? {} : { city }) });

  it.each([
    [80, closed('de-1'), 27],
    [80, closed('de-1', 'alpha'), 39],
    [80, closed('de-1', '__supervisor__'), 30],
    [60, closed('de-1'), 26],
    [40, closed('de-1'), 6],
    [100, closed('0b2f8c1e-6f0a-4d35-9a54-6f2d3b1c7e90'), 34],
    [80, closed('0b2f8c1e-6f0a-4d35-9a54-6f2d3b1c7e90'), 14],
    [60, closed('0b2f8c1e-6f0a-4d35-9a54-6f2d3b1c7e90'), 0],
  ] as const)('takes no more than it has, and gives up what stands below before what it says: %s columns', (width, one, said) => {
    const line = eventLine(one, fakeIo({ width })).trimEnd();
    const [, gist = ''] = / api\s+(it.*)$/.exec(line) ?? [];
    expect(widthOf(gist)).toBeLessThanOrEqual(said);
    // Spaces before the cut go.
    expect(widthOf(gist)).toBeGreaterThanOrEqual(said - 1);
    if (said > 0) expect(widthOf(line)).toBeLessThanOrEqual(width);
  });
});
