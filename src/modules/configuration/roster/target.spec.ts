import { describe, expect, it } from '@jest/globals';
import type { RosterAgent } from './roster.js';
import { resolveTarget } from './target.js';

const agent = (name: string): RosterAgent => {
  const [base, rig = ''] = name.split('/').reverse() as [string, string?];
  return { name, base, rig, kind: 'agent', named: false };
};
const AGENTS = ['mayor', 'scout-2', 'scout', 'web/polecat', 'web/witness', 'web/mayor', 'core/polecat'].map(agent);

function refusalOf(body: () => unknown): unknown {
  try {
    return body();
  } catch (error) {
    return error;
  }
}

describe('resolveTarget', () => {
  it.each([
    ['mayor', '', 'mayor'],
    ['mayor', 'web', 'web/mayor'],
    ['mayor', 'core', 'mayor'],
    ['web/polecat', 'core', 'web/polecat'],
    ['polecat', 'core', 'core/polecat'],
    ['witness', '', 'web/witness'],
    ['web/polecat-7', '', 'web/polecat'],
    ['polecat-12', 'core', 'core/polecat'],
    ['scout-2', '', 'scout-2'],
    ['scout-3', '', 'scout'],
  ])('%s within "%s" is %s', (text, rig, name) => {
    expect(resolveTarget(AGENTS, text, rig)).toMatchObject({ name, rig: name.includes('/') ? name.split('/')[0] : '' });
  });

  it.each([
    ['nobody', ''],
    ['witness', 'core'],
    ['core/witness', ''],
    ['polecat-', 'web'],
    ['-3', ''],
    ['', ''],
  ])('%s within "%s" is nobody', (text, rig) => {
    expect(() => resolveTarget(AGENTS, text, rig)).toThrow(`not_found: target ${text} not found`);
  });

  it('refuses a bare name that several have, and names them', () => {
    for (const text of ['polecat', 'polecat-2']) {
      const detail = `not_found: target ${text} not found: it could be web/polecat or core/polecat`;
      const errors = [{ value: 'web/polecat' }, { value: 'core/polecat' }].map((field) => expect.objectContaining(field));
      expect(refusalOf(() => resolveTarget(AGENTS, text, ''))).toMatchObject({ problem: 'agent_not_found', detail, errors });
    }
  });

  it('knows the target by its slots and its bare name, when that is nobody else’s', () => {
    const target = resolveTarget(AGENTS, 'web/polecat', '');
    expect(['web/polecat', 'web/polecat-4', 'polecat', 'core/polecat', 'mayor'].map((text) => target.answersTo(text))).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(resolveTarget(AGENTS, 'web/witness', '').answersTo('witness')).toBe(true);
  });
});
