import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { formatPlace } from '../work/page-token.js';
import { formatReadyPlace, parseReadyPlace } from './ready-token.js';

describe('page tokens of the ready list', () => {
  it('come back as they went', () => {
    for (const priority of [0, 2, -1]) {
      const place = { priority, createdAt: '1763762400123456', id: 'al-17' };
      expect(parseReadyPlace(formatReadyPlace(place))).toEqual(place);
    }
    expect(parseReadyPlace(undefined)).toBeUndefined();
  });

  it('are refused when they are anything else', () => {
    const token = (value: unknown): string => `v1:${Buffer.from(JSON.stringify(value)).toString('base64url')}`;
    const good = { k: 'ready', p: 2, ca: '1', id: 'al-1' };
    expect(parseReadyPlace(token(good))).toBeDefined();
    const near = [{ p: '2' }, { p: 2.5 }, { p: 40_000 }, { ca: 1 }, { ca: 'x' }, { id: '' }, { id: '\0' }, { k: 'bead' }].map((part) =>
      token({ ...good, ...part }),
    );
    for (const text of [...near, formatPlace('bead', { createdAt: '1', id: 'al-1' })])
      expect(() => parseReadyPlace(text)).toThrow('invalid_cursor: cursor is not a valid');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json().map((json) => `v1:${Buffer.from(json).toString('base64url')}`),
        ),
        (text) => {
          expect(() => parseReadyPlace(text)).toThrow(/^invalid_cursor: /);
        },
      ),
    );
  });
});
