import { describe, expect, it } from '@jest/globals';
import { attentionOf } from './attention.js';
import type { CityNumbers } from './overview.js';

const city = (name: string, more: Partial<CityNumbers> = {}): CityNumbers => ({
  name,
  status: 'running',
  running: true,
  suspended: false,
  sessions: {},
  pending: 0,
  ready: 0,
  open: 0,
  in_progress: 0,
  unread: 0,
  cost_today_usd: 0,
  unpriced_today: 0,
  ...more,
});

describe('what somebody should look at', () => {
  it('is nothing of a city in which all goes well, whatever is done there', () => {
    expect(attentionOf([city('a', { pending: 3, unread: 4, ready: 9, in_progress: 2, sessions: { active: 4, asleep: 1 } })])).toEqual([]);
  });

  it('has cities that do not come up first, then refused files, then sessions that nobody gets going', () => {
    const found = attentionOf([
      city('c', { sessions: { quarantined: 2, 'failed-create': 1 } }),
      city('e', { config_error: 'city.toml:4: no' }),
      city('d', { running: false, status: 'init_failed', error: 'no such directory' }),
    ]);
    expect(found.map(({ city: name, words, detail, state }) => ({ name, words, detail, state }))).toEqual([
      { name: 'd', words: 'The city does not come up', detail: 'no such directory' },
      { name: 'e', words: 'Its files were refused: it goes on with what they were', detail: 'city.toml:4: no' },
      { name: 'c', words: '2 sessions are quarantined: they crashed too often', state: 'quarantined' },
      { name: 'c', words: '1 session could not be started', state: 'failed-create' },
    ]);
  });
});
