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
    const files = new CheckedFiles(10);
    const check = (text: string): unknown => files.check(text, 'city.toml', CITY_FORMAT);
    const [a, b] = [check('a = 1'), check('b = 1')];
    expect(check('a = 1')).toBe(a);
    check('c = 1');
    expect(check('a = 1')).toBe(a);
    expect(check('b = 1')).not.toBe(b);
  });
});
