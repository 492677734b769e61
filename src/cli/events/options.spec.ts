import { describe, expect, it } from '@jest/globals';
import { checkScope, readFlags, type EventsFlags } from './options.js';

const NOW = Date.parse('2026-01-01T00:10:00Z');
const read = (flags: Partial<EventsFlags>) => readFlags({ timeout: '30s', ...flags }, NOW);

describe('readFlags', () => {
  it('lets --seq win over --follow, --follow over --watch, and lists otherwise', () => {
    expect(read({ seq: true, follow: true, watch: true }).mode).toBe('seq');
    expect(read({ follow: true, watch: true }).mode).toBe('follow');
    expect(read({ watch: true }).mode).toBe('watch');
    expect(read({}).mode).toBe('list');
  });

  it('takes a position in list mode too', () => {
    expect(read({ after: '12' })).toMatchObject({ mode: 'list', after: '12' });
    expect(read({ afterCursor: ' __supervisor__:4,alpha:2 ' }).after).toBe('__supervisor__:4,alpha:2');
  });

  it('keeps --since as typed for the server and as a time for streams', () => {
    expect(read({ since: '1m30s' })).toMatchObject({ since: '1m30s', notBefore: NOW - 90_000 });
  });

  it.each<[Partial<EventsFlags>, string]>([
    [{ after: '1', afterCursor: 'a:1' }, 'mutually exclusive'],
    [{ seq: true, after: '1' }, '--seq prints the head and takes no --after'],
    [{ seq: true, afterCursor: 'a:1' }, '--after-cursor'],
    [{ after: '-1' }, '--after: not a sequence number'],
    [{ after: '1.5' }, '--after: not a sequence number'],
    [{ afterCursor: ' ' }, '--after-cursor: the cursor is empty'],
    [{ since: '5' }, '--since: not a duration'],
    [{ since: '' }, '--since: not a duration'],
    [{ watch: true, timeout: 'soon' }, '--timeout: not a duration'],
    [{ watch: true, timeout: '0s' }, '--timeout: must be above zero'],
    [{ watch: true, timeout: '-1s' }, '--timeout: must be above zero'],
    [{ payloadMatch: ['a'] }, '--payload-match: expected'],
    [{ payloadMatch: ['a=1', '=2'] }, '--payload-match: expected'],
  ])('refuses %p', (flags, message) => {
    expect(() => read(flags)).toThrow(message);
  });
});

describe('checkScope', () => {
  it('gives numbers to cities and cursors to the supervisor', () => {
    const flags = { timeout: '30s' };
    expect(() => checkScope({ ...flags, after: '1' }, { city: 'alpha' })).not.toThrow();
    expect(() => checkScope({ ...flags, afterCursor: 'a:1' }, { city: undefined })).not.toThrow();
    expect(() => checkScope({ ...flags, after: '1' }, { city: undefined })).toThrow('--after is a position of one city');
    expect(() => checkScope({ ...flags, afterCursor: 'a:1' }, { city: 'alpha' })).toThrow('--after-cursor is a position of the supervisor');
  });
});
