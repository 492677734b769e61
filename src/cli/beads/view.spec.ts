import { describe, expect, it } from '@jest/globals';
import { fakeIo } from '../testing/io.js';
import { beadDetails, beadTable, dependencyTable, INDEFINITELY, stateOf, type Bead, type Dependency } from './view.js';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const bead = (more: Partial<Bead> = {}): Bead => ({
  id: 'al-1',
  title: 'Fix it',
  status: 'open',
  issue_type: 'task',
  created_at: '2026-03-01T11:00:00Z',
  ...more,
});
const edge = (more: Partial<Dependency>): Dependency => ({
  issue_id: 'al-1',
  depends_on_id: 'al-2',
  type: 'blocks',
  blocking: true,
  satisfied: false,
  status: 'open',
  title: 'First',
  ...more,
});

describe('stateOf', () => {
  it.each<[Partial<Bead>, string]>([
    [{}, 'open'],
    [{ is_blocked: true, defer_until: INDEFINITELY }, 'open, blocked'],
    [{ defer_until: INDEFINITELY }, 'open, deferred'],
    [{ defer_until: '2026-03-01T11:59:59Z' }, 'open'],
    [{ status: 'in_progress', is_blocked: true }, 'in_progress'],
    [{ status: 'closed', defer_until: INDEFINITELY }, 'closed'],
  ])('of %j is %s', (more, state) => expect(stateOf(bead(more), NOW)).toBe(state));
});

describe('beadTable', () => {
  it('cuts titles on a terminal only', () => {
    const long = bead({ title: 'x'.repeat(200) });
    expect(
      Math.max(
        ...beadTable([long], fakeIo({ width: 60 }))
          .split('\n')
          .map((line) => line.length),
      ),
    ).toBe(60);
    expect(beadTable([long], fakeIo())).toContain('x'.repeat(200));
  });
});

describe('beadDetails', () => {
  it('shows facts, metadata, the description with its lines, and the edges of both directions', () => {
    const shown = beadDetails(
      bead({ description: 'one\ntwo', metadata: { b: '2', a: '1' }, labels: ['x', 'y'], defer_until: INDEFINITELY, revision: 3 }),
      [edge({ issue_id: 'al-9', depends_on_id: 'al-1', type: 'related', blocking: false, title: 'Last' }), edge({})],
      ['al-2'],
      fakeIo(),
    );
    expect(shown).toMatch(/^id: +al-1\ntitle: +Fix it\nstatus: +open, deferred\nblocked by: +al-2\n/);
    expect(shown).toMatch(/labels: +x, y\ndeferred until: +indefinitely\ncreated: +2026-03-01T11:00:00Z/);
    expect(shown).toContain('\nmetadata:\n  a: 1\n  b: 2\n\ndescription:\n  one\n  two\n\nEDGE');
    expect(shown).toMatch(/depends on +al-2 +blocks +blocks +open +First\nneeded by +al-9 +related +open +Last\n$/);
  });

  it('lets no control character through', () => {
    // oxlint-disable-next-line no-control-regex -- looking for them is the purpose
    expect(beadDetails(bead({ title: '\u001b[2J', description: '\u0007' }), [], [], fakeIo())).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
  });
});

describe('dependencyTable', () => {
  it('tells what still blocks from what is satisfied', () => {
    const text = dependencyTable(
      'al-1',
      [edge({}), edge({ depends_on_id: 'al-3', satisfied: true, status: 'closed', title: '' })],
      fakeIo(),
    );
    expect(text).toMatch(/al-2 +blocks +blocks +open +First\n.*al-3 +blocks +satisfied +closed\n/);
  });
});
