import { describe, expect, it } from '@jest/globals';
import type { Ask, InboxItem } from '../api/types.js';
import { coversOf, idOf, isMuted, readMutes, withMute, wordsOf } from './mutes.js';

const ask: Ask = { city: 'alpha', session_id: 'al-7', request_id: 'r1', kind: 'approval', agent: 'rig/polecat' };
const mail: InboxItem = { kind: 'mail', city: 'alpha', id: 'al-2', title: 'Plan', since: '2026-01-01T00:00:00Z', from: 'mayor' };
const bead: InboxItem = { kind: 'bead', city: 'alpha', id: 'al-2', title: 'Decide', since: '2026-01-01T00:00:00Z' };

describe('what is muted', () => {
  it('is one thing, whoever it comes from, its kind, or its city', () => {
    expect([ask, mail, bead].map(coversOf)).toEqual([
      ['session:alpha/al-7', 'from:alpha/rig/polecat', 'kind:question', 'city:alpha'],
      ['mail:alpha/al-2', 'from:alpha/mayor', 'kind:mail', 'city:alpha'],
      ['bead:alpha/al-2', 'kind:bead', 'city:alpha'],
    ]);
    expect(new Set([ask, mail, bead].map(idOf)).size).toBe(3);
    expect([ask, mail, bead].map((one) => isMuted(one, new Set(['kind:mail', 'bead:alpha/al-3'])))).toEqual([false, true, false]);
    expect(isMuted(bead, new Set(['city:alpha']))).toBe(true);
  });

  it('is told in words', () => {
    expect(['kind:mail', 'city:alpha', 'session:alpha/al-7', 'from:alpha/rig/polecat', 'bead:alpha/al-2'].map(wordsOf)).toEqual([
      'all mail',
      'all of alpha',
      'questions of al-7 in alpha',
      'what comes from rig/polecat in alpha',
      'al-2 in alpha',
    ]);
  });

  it('ends, and is begun anew where it was muted before', () => {
    const kept = withMute(
      [
        { covers: 'kind:mail', until: 5 },
        { covers: 'city:b', until: 50 },
      ],
      { covers: 'kind:mail', until: 20 },
    );
    expect(readMutes(JSON.stringify(kept), 10)).toEqual([
      { covers: 'city:b', until: 50 },
      { covers: 'kind:mail', until: 20 },
    ]);
    expect(readMutes(JSON.stringify(kept), 20)).toEqual([{ covers: 'city:b', until: 50 }]);
  });

  it('is nothing where what was kept cannot be understood', () => {
    for (const text of [null, '', '{', '{}', '[null, 1, {"covers": 1, "until": 99}, {"covers": "x"}]'])
      expect(readMutes(text, 0)).toEqual([]);
  });
});
