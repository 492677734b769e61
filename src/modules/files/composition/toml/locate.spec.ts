import { describe, expect, it } from '@jest/globals';
import { enclosing, keyLines } from './locate.js';

const TEXT = `top = 1
[workspace]
env = { A = "1", "b.c" = "2" }
a.b.c = 1

[[agent]]
name = "x"
[[agent]]
name = "y"
args = [
  "one",
  { deep = 1 },
]
[agent.env]
A = "1"
["quoted \\"name\\""]
x = """
two"""
y = 1
`;

describe('lines of keys', () => {
  it.each([
    ['top', 1],
    ['workspace', 2],
    ['workspace.env', 3],
    ['workspace.env."b.c"', 3],
    ['workspace.a.b', 4],
    ['agent[0]', 6],
    ['agent', 6],
    ['agent[1].name', 9],
    ['agent[1].args[0]', 11],
    ['agent[1].args[1].deep', 12],
    ['agent[1].env.A', 15],
    ['"quoted \\"name\\"".y', 19],
  ])('finds %s', (key, line) => {
    expect(keyLines(TEXT)(key)).toBe(line);
  });

  it.each([
    ['workspace.provider', 2],
    ['agent[1].missing.deeper', 8],
    ['agent[1].args[7]', 10],
    ['agent[9].name', 6],
    ['workspace."not there".x', 2],
  ])('answers the nearest line around %s', (key, line) => {
    expect(keyLines(TEXT)(key)).toBe(line);
  });

  it('answers nothing for what is nowhere, or for no TOML', () => {
    expect(keyLines(TEXT)('nowhere.at.all')).toBeUndefined();
    expect(keyLines(TEXT)('')).toBeUndefined();
    expect(keyLines('a = = 1')('a')).toBeUndefined();
  });

  it('is done for ordinary texts only, for others it would take long', () => {
    const ordinary = Array.from({ length: 1_000 }, (_, n) => `[[agent]]\nname = "agent number ${n}"\nprovider = "claude"\n`).join('');
    expect(keyLines(ordinary)('agent[999].provider')).toBe(3_000);
    expect(keyLines(`a = [${'1,'.repeat(7_000)}]\n`)('a')).toBeUndefined();
    expect(keyLines(`a = 1\n${'#'.repeat(70_000)}\n`)('a')).toBeUndefined();
  });

  it('counts lines that end in two characters once', () => {
    expect(keyLines(TEXT.replaceAll('\n', '\r\n'))('agent[1].env.A')).toBe(15);
  });

  it.each([
    ['a.b', 'a'],
    ['a', ''],
    ['a[0]', 'a'],
    ['a[0].b', 'a[0]'],
    ['a."b.c"', 'a'],
    ['"b.c"[1]."d\\"]"', '"b.c"[1]'],
    ['"b.c"', ''],
  ])('knows what encloses %s', (key, around) => {
    expect(enclosing(key)).toBe(around);
  });
});
