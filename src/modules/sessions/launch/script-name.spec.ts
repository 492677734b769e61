import { expect, it } from '@jest/globals';
import { scriptName } from './script-name.js';

it('is another one in each city and each deployment, and stays that of its session', () => {
  const row = { session_name: 'mayor', id: 'al-1' };
  const names = [
    scriptName(row, 'alpha', 'd'),
    scriptName(row, 'beta', 'd'),
    scriptName(row, 'alpha', 'e'),
    scriptName({ ...row, id: 'al-2' }, 'alpha', 'd'),
  ];
  expect(new Set(names).size).toBe(4);
  for (const name of names) expect(name).toMatch(/^mayor-[0-9a-f]{8}$/);
  expect(scriptName({ ...row }, 'alpha', 'd')).toBe(names[0]);
});

it('is no longer than the name of a session may be', () => {
  const name = scriptName({ session_name: 'm'.repeat(64), id: 'al-1' }, 'alpha', 'd');
  expect(name).toMatch(/^m{55}-[0-9a-f]{8}$/);
  expect(name).not.toBe(scriptName({ session_name: 'm'.repeat(64), id: 'al-2' }, 'alpha', 'd'));
});
