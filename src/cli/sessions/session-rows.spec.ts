import { describe, expect, it } from '@jest/globals';
import { matching, SessionRows, type SessionFilter } from './session-rows.js';
import type { Session } from './view.js';

const session = (n: number, more: Partial<Session> = {}): Session =>
  ({
    id: `al-${n}`,
    state: 'active',
    running: true,
    template: 'mayor',
    provider: 'p',
    created_at: `2026-01-01T00:00:${10 + n}Z`,
    ...more,
  }) as Session;
const page = (index: number, whole = true, first = true) => ({
  response: new Response('', { headers: { 'x-svc-index': String(index) } }),
  whole,
  first,
});
const rowsOf = (filter: SessionFilter = {}): SessionRows => new SessionRows(matching(filter));
const event = (seq: number, type: string, payload: object, more: object = {}): Parameters<SessionRows['take']>[0] =>
  ({ seq, ts: '', actor: 'x', type, payload, ...more }) as unknown as Parameters<SessionRows['take']>[0];
const told = (seq: number, of: Session) => event(seq, 'session.updated', { session: of }, { subject: of.id });
const ids = (rows: SessionRows): string[] => rows.items().map(({ id }) => id);

describe('sessions that are watched', () => {
  it('are what events tell, the newest first', () => {
    const rows = rowsOf();
    rows.read([session(2), session(1)], page(5));
    expect(rows.take(told(6, session(10)))).toBe('shown');
    expect(rows.take(told(7, session(2, { title: 'now' })))).toBe('shown');
    expect(rows.take(told(8, session(1, { state: 'closed' })))).toBe('shown');
    expect(rows.items().map(({ id, title }) => [id, title])).toEqual([
      ['al-10', undefined],
      ['al-2', 'now'],
    ]);
  });

  it('take nothing older than what was read, nor a page that is older than an event', () => {
    const rows = rowsOf();
    rows.read([session(1, { title: 'read' })], page(5));
    expect(rows.take(told(5, session(1, { title: 'older' })))).toBeUndefined();
    rows.take(told(7, session(1, { title: 'told' })));
    rows.take(told(8, session(2)));
    rows.read([session(1, { title: 'read' }), session(3)], page(6));
    expect(rows.items().map(({ id, title }) => [id, title])).toEqual([
      ['al-3', undefined],
      ['al-2', undefined],
      ['al-1', 'told'],
    ]);
    rows.read([session(1, { title: 'last' })], page(9));
    expect(rows.items()).toEqual([session(1, { title: 'last' })]);
  });

  it('are read again where no event tells it', () => {
    const rows = rowsOf();
    rows.read([session(1, { active_bead: 'b1' }), session(2)], page(5));
    expect(rows.take(event(6, 'session.updated', {}, { subject: 'al-1' }))).toBe('read');
    expect(rows.take(event(6, 'config.reloaded', {}))).toBe('read');
    expect(rows.take(event(6, 'bead.closed', { bead: { status: 'closed' } }, { subject: 'b1' }))).toBe('read');
    expect(rows.take(event(6, 'bead.updated', { bead: { status: 'in_progress' } }, { subject: 'b2', session_id: 'al-2' }))).toBe('read');
    expect(rows.take(event(6, 'bead.updated', { bead: { status: 'open' } }, { subject: 'b3' }))).toBeUndefined();
    expect(rows.take(event(6, 'mail.sent', {}))).toBeUndefined();
    rows.read([session(1)], page(6, false));
    expect(rows.take(told(7, session(1)))).toBe('read');
    const stored = rowsOf({ state: ['asleep'] });
    stored.read([session(1)], page(5));
    expect(stored.take(told(6, session(2)))).toBe('read');
    expect(ids(stored)).toEqual(['al-1']);
  });

  it('keep the bead that events of beads have told', () => {
    const rows = rowsOf();
    rows.read([session(1, { active_bead: 'b1' })], page(5));
    rows.take(told(6, session(1, { title: 'x' })));
    expect(rows.items()).toEqual([session(1, { title: 'x', active_bead: 'b1' })]);
  });

  it.each<[SessionFilter, string[]]>([
    [{}, ['al-3', 'al-2']],
    [{ state: ['all'] }, ['al-4', 'al-3', 'al-2']],
    [{ state: ['closed'] }, ['al-4']],
    [{ state: ['open', 'closed'] }, ['al-4', 'al-3', 'al-2']],
    [{ template: 'clerk' }, ['al-3']],
    [{ rig: 'web' }, ['al-2']],
    [{ kind: 'provider' }, ['al-2']],
    [{ running: false }, ['al-3']],
    [{ provider: 'q' }, []],
  ])('are those of the filter %j', (filter, expected) => {
    const rows = rowsOf(filter);
    rows.read([], page(1));
    rows.take(told(2, session(2, { rig: 'web', kind: 'provider' })));
    rows.take(told(3, session(3, { template: 'clerk', running: false, state: 'asleep' })));
    rows.take(told(4, session(4, { state: 'closed' })));
    expect(ids(rows)).toEqual(expected);
  });
});
