import { describe, expect, it } from '@jest/globals';
import { gistOf } from './gist.js';

describe('gistOf', () => {
  it.each([
    ['its message, whatever it carries', { message: 'version 12 is out', payload: { bead: { title: 'Release' } } }, 'version 12 is out'],
    ['the title of a bead', { payload: { bead: { id: 'de-3', title: 'Release', status: 'open' } } }, 'Release'],
    ['the alias of a session and why', { payload: { reason: 'idle', session: { title: 'a title', alias: 'mayor' } } }, 'mayor: idle'],
    ['the subject of a message', { payload: { rig: 'demo', message: { subject: 'Please look' } } }, 'Please look'],
    ['why, where it carries nothing', { payload: { service: 'web', state: 'degraded', reason: 'exited', detail: 'status 3' } }, 'status 3'],
    [
      'why a request has failed',
      { payload: { request_id: 'r', error_code: 'conflict', error_message: 'the city is there' } },
      'the city is there',
    ],
    [
      'the first of what is wrong',
      { payload: { revision: 3, errors: ['city.toml:3: no such agent', 'more'], errors_total: 2 } },
      'city.toml:3: no such agent',
    ],
    ['nothing, where it says nothing', { message: '', payload: { request_id: 'req-1' } }, undefined],
    ['nothing of what is no text', { payload: { bead: null, session: [], title: 3, reason: { a: 1 } } }, undefined],
  ])('says %s', (_, event, gist) => {
    expect(gistOf(event)).toBe(gist);
  });

  it('takes no more of a payload than a line shows', () => {
    expect(gistOf({ payload: { title: 'x'.repeat(60_000) } })).toHaveLength(300);
  });
});
