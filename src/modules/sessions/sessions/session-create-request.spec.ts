import { describe, expect, it } from '@jest/globals';
import { firstLine, requestOf } from './session-create-request.js';

describe('what a body asks for', () => {
  it.each([
    [{}, 'kind must be'],
    [{ kind: 'pool', name: 'x' }, 'kind must be'],
    [{ kind: 'agent' }, 'name is required'],
    [{ kind: 'agent', name: ' ' }, 'name is required'],
    [{ kind: 'agent', name: 'x', session_name: '' }, 'session_name cannot be given'],
    [{ kind: 'provider', name: 'x', async: true }, 'async is not accepted'],
    [{ kind: 'provider', name: 'x', async: false }, 'async is not accepted'],
    [{ kind: 'provider', name: 'x', async: true, message: 'm' }, 'async cannot be combined'],
  ])('%j is refused', (body, why) => {
    expect(() => requestOf(body)).toThrow(`invalid: ${why}`);
  });

  it('counts what is blank as not given', () => {
    expect(requestOf({ kind: 'agent', name: 'x', async: true, message: ' \n', title: ' ', project_id: '' })).toEqual({
      kind: 'agent',
      name: 'x',
      alias: '',
      message: undefined,
      title: undefined,
      projectId: undefined,
      options: {},
    });
  });

  it('calls a session by the first line of its message', () => {
    expect(firstLine(undefined)).toBeUndefined();
    expect(firstLine('\n  fix it  \nplease')).toBe('fix it');
    const long = firstLine('😀'.repeat(100))!;
    expect([...long]).toHaveLength(80);
    expect(long.endsWith('…')).toBe(true);
  });
});
