import { expect, it } from '@jest/globals';
import { HostAllowList } from './host.js';

// Guard: what is answered is kept, and a header may have a megabyte.
it('knows no Host that is longer than a name can be', () => {
  const name = 'a'.repeat(253);
  const list = new HostAllowList([name]);
  expect(list.allows(`${name}:8372`)).toBe(true);
  expect(list.allows(`${'a'.repeat(1_000)}:8372`)).toBe(false);
  expect(new HostAllowList(['a'.repeat(1_000)]).allows('a'.repeat(1_000))).toBe(false);
});
