import { describe, expect, it } from '@jest/globals';
import { GROUPS, groupsFor, INBOX, linkTo, viewAt } from './views.js';

const all = [INBOX, ...GROUPS.flatMap(({ views }) => views)];

describe('the views that the page leads to', () => {
  it('have names, places and keys of their own', () => {
    for (const member of ['label', 'to', 'keys'] as const) {
      const values = all.flatMap((view) => view[member] ?? []);
      expect([...new Set(values)]).toEqual(values);
    }
  });

  it('are only those of all cities while there is none', () => {
    expect(groupsFor(undefined).flatMap(({ views }) => views.map(({ to }) => to))).toEqual(expect.arrayContaining(['/cities']));
    expect(groupsFor(undefined).flatMap(({ views }) => views.filter(({ to }) => to.includes('$city')))).toEqual([]);
    expect(linkTo(INBOX, undefined)).toEqual({ to: '/' });
  });

  it('are known by an address below them', () => {
    expect(viewAt('/ui/c/my%20city/beads/de-1')?.label).toBe('Beads');
    expect(viewAt('/c/demo')?.label).toBe('Overview');
    expect(viewAt('/c/demo/nothing')).toBeUndefined();
    expect(viewAt('/ui/cities')).toBeUndefined();
  });
});
