import { expect, it } from '@jest/globals';
import { coloured, kindOf } from './state-colour.js';

it.each([
  ['active, in-turn', 'good'],
  ['active, idle, asks: has it failed?', 'waiting'],
  ['asleep', undefined],
  ['asleep (crashed)', 'bad'],
  ['failed-create', 'bad'],
  ['init_failed', 'bad'],
  ['start-pending', 'waiting'],
  ['in_progress', 'good'],
  ['open, blocked', 'waiting'],
  ['closed', undefined],
  ['failed (timeout)', 'bad'],
])('%s is %s', (state, kind) => expect(kindOf(state)).toBe(kind));

it('is only below the header of a state', () => {
  expect(coloured('STATE', 'running')).toBe('\u001b[32mrunning\u001b[0m');
  expect(coloured('TITLE', 'running')).toBe('running');
});
