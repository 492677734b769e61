import { describe, expect, it } from '@jest/globals';
import { CITY_FORMAT, FRAGMENT_FORMAT } from '../formats/city.format.js';
import { CheckedFiles } from './checked-files.js';

describe('files that were checked before', () => {
  it('are answered from memory for the same text, name and format only', () => {
    const files = new CheckedFiles();
    const first = files.check('[workspace]\nname = "a"\n', 'city.toml', CITY_FORMAT);
    expect(files.check('[workspace]\nname = "a"\n', 'city.toml', CITY_FORMAT)).toBe(first);
    expect(files.check('[workspace]\nname = "b"\n', 'city.toml', CITY_FORMAT).table?.table('workspace')?.text('name')).toBe('b');
    const other = files.check('[workspace]\nname = "a"\n', 'part.toml', FRAGMENT_FORMAT);
    expect(other.table?.origin.file).toBe('part.toml');
    expect(files.check('[workspace]\nname = "a"\n', 'city.toml', CITY_FORMAT)).toBe(first);
  });

  it('say again what is wrong with them', () => {
    const files = new CheckedFiles();
    for (let n = 0; n < 2; n++) expect(files.check('x = ', 'city.toml', CITY_FORMAT).issues).toHaveLength(1);
  });

  it('are forgotten when there are too many, those asked for last at the end', () => {
    const files = new CheckedFiles(200);
    const check = (text: string): unknown => files.check(text, 'city.toml', CITY_FORMAT);
    const [a, b] = [check('a = 1'), check('b = 1')];
    expect(check('a = 1')).toBe(a);
    check('c = 1');
    expect(check('a = 1')).toBe(a);
    expect(check('b = 1')).not.toBe(b);
  });

  it('are forgotten by what they take in memory, not by how short they are written', () => {
    const text = `[providers.x]\nargs = [${'"",'.repeat(1_000)}]`;
    const kept = (capacity: number): boolean => {
      const files = new CheckedFiles(capacity);
      return files.check(text, 'city.toml', CITY_FORMAT) === files.check(text, 'city.toml', CITY_FORMAT);
    };
    expect(kept(text.length * 2)).toBe(false);
    expect(kept(text.length * 40)).toBe(true);
  });

  it('count for each name that they have', () => {
    const files = new CheckedFiles(400);
    const check = (file: string): unknown => files.check('a = 1', file, CITY_FORMAT);
    const first = check('1.toml');
    expect(check('1.toml')).toBe(first);
    for (let n = 2; n < 8; n++) check(`${n}.toml`);
    expect(check('1.toml')).not.toBe(first);
  });
});
