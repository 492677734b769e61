import { expect, it } from '@jest/globals';
import { assembled, type Piece } from './pieces.js';

const item = (n: number): Piece => ({ member: 'agents', of: 'array', name: null, text: JSON.stringify({ n, text: 'x'.repeat(10_000) }) });

it('is the whole again', async () => {
  const pieces: Piece[] = [
    { member: 'workspace', of: null, name: null, text: '{"name":"a"}' },
    { member: 'providers', of: 'object', name: 'b', text: '{"command":"b"}' },
    { member: 'providers', of: 'object', name: '1', text: '[]' },
    { member: 'providers', of: 'object', name: '__proto__', text: '{}' },
    { member: 'agents', of: 'array', name: null, text: '[1]' },
    { member: 'agents', of: 'array', name: null, text: '"2"' },
    { member: 'rigs', of: null, name: null, text: '[]' },
  ];
  const whole = { workspace: { name: 'a' }, providers: { b: { command: 'b' }, 1: [] }, agents: [[1], '2'], rigs: [] };
  const found = await assembled(pieces);
  expect(Object.keys(found.providers as object)).toEqual(['1', 'b', '__proto__']);
  delete (found.providers as Record<string, unknown>)['__proto__'];
  expect(found).toEqual(whole);
});

it('lets others have their turn between its pieces', async () => {
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const { agents } = await assembled(Array.from({ length: 200 }, (_, n) => item(n)));
  isDone = true;
  expect(agents).toHaveLength(200);
  expect(turns).toBeGreaterThan(10);
});
