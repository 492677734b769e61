import { describe, expect, it } from '@jest/globals';
import { bucketsOf } from './buckets.js';

const HOUR = 3_600_000;

describe('buckets of time', () => {
  it.each([
    [{}, [24 * HOUR, 0, HOUR / 4]],
    [{ since: '1h' }, [HOUR, 0, 60_000]],
    [{ since: '720h', until: '24h' }, [720 * HOUR, 24 * HOUR, 24 * HOUR]],
    [{ since: '2h', bucket: '10s' }, [2 * HOUR, 0, 10_000]],
    [{ since: '876000h' }, [876_000 * HOUR, 0, 8_760 * HOUR]],
  ])('of %j are a hundred at the most, as a clock has them', (query, expected) => {
    const { since, until, bucket } = bucketsOf(query);
    expect([since, until, bucket]).toEqual(expected);
  });

  it.each([
    { since: '1h', until: '1h' },
    { since: 'yesterday' },
    { since: '-1h' },
    { bucket: '1ms' },
    { bucket: '0s' },
    { since: '1001m', bucket: '1m' },
  ])('are refused for %j', (query) => {
    expect(() => bucketsOf(query)).toThrow(/duration|bucket|since/);
  });
});
