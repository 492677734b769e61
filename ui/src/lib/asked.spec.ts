import { describe, expect, it } from '@jest/globals';
import type { LoggedEvent } from '../api/types.js';
import { askedOf } from './asked.js';

const payload = {
  session: { id: 'al-1' },
  session_id: 'al-1',
  request_id: 'r-1',
  kind: 'approval',
  status: 'open',
  prompt: 'May I?',
  choices: [{ id: 'allow', label: 'Allow' }],
};
const of = (type: string, more: object = {}): ReturnType<typeof askedOf> =>
  askedOf({ city: 'alpha', type, actor: 'ann', payload: { ...payload, ...more } } as unknown as LoggedEvent & { city: string });
const [OPENED, RESOLVED] = ['session.interaction.opened', 'session.interaction.resolved'];

describe('what an event says of a question', () => {
  it('is that somebody asks, and who has settled it how', () => {
    expect(of(OPENED)).toEqual({ ask: { ...payload, city: 'alpha' }, settled: undefined });
    expect(of(RESOLVED, { action: 'deny' })?.settled).toEqual({ by: 'ann', action: 'deny' });
    expect(of(RESOLVED)?.settled).toEqual({ by: 'ann', action: 'withdrawn' });
  });

  // Guard: an event that a client has recorded puts no question into the inbox, and takes none out of it.
  it('is nothing where the service has not put the session into it', () => {
    for (const type of [OPENED, RESOLVED]) expect(of(type, { session: undefined })).toBeUndefined();
  });

  it('is nothing where the event has not room for all of it', () => {
    expect(of(OPENED, { choices: undefined })).toBeUndefined();
    expect(of(OPENED, { prompt_cut: true })).toBeUndefined();
  });
});
