import { describe, expect, it } from '@jest/globals';
import type { CityConfig, NamedSessionConfig } from '../../files/composition/city-config.js';
import { adHocName, checkAlias, namedSessionName, qualifiedAlias } from './session-names.js';

const config = (session_template?: string, named_sessions: readonly NamedSessionConfig[] = []): CityConfig =>
  ({ named_sessions, workspace: { name: 'x', prefix: 'x', suspended_on_start: false, session_template } }) as unknown as CityConfig;
const named = (qualified_name: string): NamedSessionConfig => ({
  qualified_name,
  name: qualified_name.split('/').at(-1)!,
  dir: qualified_name.includes('/') ? qualified_name.split('/')[0]! : '',
  template: 't',
  mode: 'on_demand',
});

describe('aliases', () => {
  it.each(['a', 'desk-7', 'web/porter', 'a.b_c', 'gc', 'gcx-1', 'al-1x', 'al-', 'x'.repeat(64)])('%s is one', (alias) => {
    expect(() => checkAlias(alias, ['al', 'web'])).not.toThrow();
  });

  it.each([
    ['x'.repeat(65), /longer than 64/],
    ['', /letters, digits/],
    ['-a', /letters, digits/],
    ['a//b', /letters, digits/],
    ['a/', /letters, digits/],
    ['/a', /letters, digits/],
    ['a b', /letters, digits/],
    ['ä', /letters, digits/],
    ['a/.b', /letters, digits/],
    ['human', /"human" is reserved/],
    ['s-1', /prefix "s-" is reserved/],
    ['al-12', /looks like an id/],
    ['web-0', /looks like an id/],
  ])('%s is none', (alias, why) => {
    expect(() => checkAlias(alias, ['al', 'web'])).toThrow(why);
    expect(() => checkAlias(alias, ['al', 'web'])).toThrow(/^invalid: invalid alias: /);
  });

  it('are put into the rig of an agent with many sessions, once', () => {
    expect(qualifiedAlias('porter', 'web', true)).toBe('web/porter');
    expect(qualifiedAlias('web/porter', 'web', true)).toBe('web/porter');
    expect(qualifiedAlias('porter', 'web', false)).toBe('porter');
    expect(qualifiedAlias('porter', '', true)).toBe('porter');
  });
});

describe('runtime names', () => {
  it.each([
    ['mayor', undefined, 'mayor'],
    ['web/core.mayor', undefined, 'web--core__mayor'],
    ['web/mayor', '{{.CityName}}-{{ .Agent }}', 'town-web--mayor'],
    ['web/mayor', '{{.Rig}}_{{.AgentBase}}', 'web_mayor'],
    ['web/mayor', '{{.Unknown}}-x', 'web--mayor'],
    ['mayor', 's-{{.Agent}}', 'mayor'],
    ['mayor', '-{{.Agent}}', 'mayor'],
    ['mayor', 'a b/{{.Agent}}', 'a-b--mayor'],
  ])('%s by %s is %s', (identity, template, wanted) => {
    expect(namedSessionName(config(template), named(identity), 'town')).toBe(wanted);
  });

  it.each([
    ['a template says', '{{.Name}}', ['web/watch', 'api/watch']],
    ['they are cut', undefined, ['tests', 'docs'].map((part) => `customer-relations-web/implementation-reviewer-for-the-frontend-${part}`)],
    ['a separator is written as another identity is', undefined, ['a/b', 'a--b']],
  ])('are those of one identity alone, also where %s the same', (_, template, identities) => {
    const all = identities.map(named);
    const names = all.map((one) => namedSessionName(config(template, all), one, 'town'));
    expect(new Set(names).size).toBe(2);
    expect(names.every((name) => name.length <= 64 && /-[0-9a-f]{8}$/.test(name))).toBe(true);
    expect(namedSessionName(config(template, all.slice(0, 1)), all[0]!, 'town')).not.toMatch(/-[0-9a-f]{8}$/);
  });

  it('are never longer than 64', () => {
    expect(adHocName('x'.repeat(90), '0123456789')).toHaveLength(64);
    expect(adHocName('polecat', '0123456789')).toBe('polecat-adhoc-0123456789');
    expect(namedSessionName(config(), named('x'.repeat(90)), 'town')).toHaveLength(64);
  });
});
