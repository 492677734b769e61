import { describe, expect, it } from '@jest/globals';
import { errorsIn, packOf, START, type Files } from './testing/city.js';

function agents(dependencies: Readonly<Record<string, readonly string[]>>): Files {
  return Object.fromEntries(
    Object.entries(dependencies).flatMap(([name, on]) => [
      [`agents/${name}/agent.toml`, `depends_on = ${JSON.stringify(on)}\n`],
      [`agents/${name}/prompt.md`, 'Do it.'],
    ]),
  );
}

describe('what agents depend on', () => {
  it('may come together again', async () => {
    expect(await errorsIn({ 'city.toml': START, ...agents({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }) })).toEqual([]);
  });

  it('does not go round in a circle', async () => {
    expect(await errorsIn({ 'city.toml': START, ...agents({ a: ['b'], b: ['c'], c: ['b'] }) })).toEqual([
      'agents/b/agent.toml:1: depends_on[0]: agents depend on each other in a circle: b -> c -> b',
    ]);
  });

  it('may be a chain as long as there are agents', async () => {
    const chain = Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`a${n}`, n === 0 ? [] : [`a${n - 1}`]]));
    expect(await errorsIn({ 'city.toml': START, ...agents(chain) })).toEqual([]);
  });

  it('is looked for in the same rig and binding first', async () => {
    const desk = { ...packOf('desk', ''), ...agents({ a: ['b'], b: [] }) };
    const city = `${START}[imports.desk]\nsource = "desk"\n[[rigs]]\nname = "mill"\n`;
    expect(await errorsIn({ 'city.toml': city }, { desk })).toEqual([]);
    expect(await errorsIn({ 'city.toml': city }, { desk: { ...packOf('desk', ''), ...agents({ a: ['x'] }) } })).toEqual([
      'desk:agents/a/agent.toml:1: depends_on[0]: there is no agent "x"',
    ]);
  });
});
