import { describe, expect, it } from '@jest/globals';
import { RIGHTS } from '../lib/may.js';
import { GROUPS, groupsFor, INBOX, linkTo, titleOf, viewAt } from './views.js';

const all = [INBOX, ...GROUPS.flatMap(({ views }) => views)];

describe('the views that the page leads to', () => {
  it('have names, places and keys of their own', () => {
    for (const member of ['label', 'to', 'keys'] as const) {
      const values = all.flatMap((view) => view[member] ?? []);
      expect([...new Set(values)]).toEqual(values);
    }
  });

  it('are only those of all cities while there is none', () => {
    expect(groupsFor(undefined, undefined).flatMap(({ views }) => views.map(({ to }) => to))).toEqual(expect.arrayContaining(['/cities']));
    expect(groupsFor(undefined, undefined).flatMap(({ views }) => views.filter(({ to }) => to.includes('$city')))).toEqual([]);
    expect(linkTo(INBOX, undefined)).toEqual({ to: '/' });
  });

  it('are those of all cities that a key is not refused', () => {
    const led = (rights: readonly string[], cities: readonly string[] | null): readonly string[] =>
      groupsFor(undefined, { rights, cities }).flatMap(({ views }) => views.map(({ label }) => label));
    const anybody = ['Cities', 'All events', 'All usage', 'Health', 'Settings'];
    expect(led([], ['demo']).toSorted()).toEqual(anybody.toSorted());
    expect(led(['audit'], ['demo']).toSorted()).toEqual([...anybody, 'Audit'].toSorted());
    expect(led(['operate', 'configure'], null).toSorted()).toEqual([...anybody, 'Runners'].toSorted());
    expect(led(RIGHTS, null).toSorted()).toEqual([...anybody, 'Audit', 'Keys', 'Runners'].toSorted());
  });

  it('are known by an address below them', () => {
    expect(viewAt('/ui/c/my%20city/beads/de-1')?.label).toBe('Beads');
    expect(viewAt('/c/demo')?.label).toBe('Overview');
    expect(viewAt('/c/demo/nothing')).toBeUndefined();
    expect(viewAt('/ui/cities')).toBeUndefined();
  });

  it('are told apart by the title of a tab', () => {
    expect(titleOf('/ui/c/my%20city/beads/de-1')).toBe('de-1 · Beads · my city');
    expect(titleOf('/c/demo/sessions/de-2/timeline')).toBe('de-2/timeline · Sessions · demo');
    expect([titleOf('/c/demo'), titleOf('/c/demo/nothing'), titleOf('/c/%E0')]).toEqual(['Overview · demo', 'demo', 'Overview · %E0']);
    expect(['/', '/ui', '/ui/', '/cities', '/nothing'].map(titleOf)).toEqual([
      'Inbox · Supervisor',
      'Inbox · Supervisor',
      'Inbox · Supervisor',
      'Cities · Supervisor',
      'Supervisor',
    ]);
  });

  it('say what would turn the title of a tab around', () => {
    expect(titleOf('/c/demo/beads/a%E2%80%AEb')).toBe('a⟨U+202E⟩b · Beads · demo');
  });
});
