import { describe, expect, it } from '@jest/globals';
import { LIMITS } from './limits.js';
import { composeCity, configOf, errorsIn, packOf, START, type Files } from './testing/city.js';

function city(text: string): Files {
  return { 'city.toml': START, 'pack.toml': `[pack]\nname = "harbor"\nschema = 2\n${text}` };
}

function imports(...sources: readonly string[]): string {
  return sources.map((source) => `[imports.${source}]\nsource = "${source}"\n`).join('');
}

/** Packs of which each imports the next one. */
function chain(length: number): Record<string, Files> {
  return Object.fromEntries(
    Array.from({ length }, (_, n) => [`p${n}`, packOf(`p${n}`, n + 1 < length ? imports(`p${n + 1}`) : '', [`a${n}`])]),
  );
}

function names(config: { agents: { qualified_name: string }[] }): string[] {
  return config.agents.map((agent) => agent.qualified_name);
}

describe('packs that import packs', () => {
  it('come in under the outermost binding, what is imported first', async () => {
    expect(names(await configOf(city(imports('p0')), chain(3)))).toEqual(['p0.a2', 'p0.a1', 'p0.a0']);
  });

  it('come in once where two ways lead to one', async () => {
    const packs = {
      top: packOf('top', imports('left', 'right')),
      left: packOf('left', imports('base')),
      right: packOf('right', imports('base')),
      base: packOf('base', '', ['a']),
    };
    expect(names(await configOf(city(imports('base', 'top')), packs))).toEqual(['base.a', 'top.a']);
  });

  it('stay out when the import is not transitive', async () => {
    const files = city('[imports.p0]\nsource = "p0"\ntransitive = false\n[imports.q]\nsource = "p0"\n');
    expect(names(await configOf(files, chain(2)))).toEqual(['p0.a0', 'q.a1', 'q.a0']);
  });

  it('may lie as deep as the limit and no deeper', async () => {
    expect(await errorsIn(city(imports('p0')), chain(LIMITS.depth))).toEqual([]);
    const [error, ...others] = await errorsIn(city(imports('p0')), chain(LIMITS.depth + 1));
    expect(error).toBe('p15:pack.toml:5: imports.p16.source: there are more than 16 imports below each other');
    expect(others).toEqual([]);
  });

  it('are too deep on a second way that is longer, too', async () => {
    const packs = { ...chain(LIMITS.depth), z: packOf('z', imports('p0')) };
    expect(await errorsIn(city(imports('p0', 'z')), packs)).toEqual([
      'z:pack.toml:5: imports.p0.source: there are more than 16 imports below each other',
    ]);
  });

  it('in a circle are named in full, once', async () => {
    const packs = { a: packOf('a', imports('b')), b: packOf('b', imports('c')), c: packOf('c', imports('a')) };
    expect(await errorsIn(city(imports('a', 'b')), packs)).toEqual([
      'c:pack.toml:5: imports.a.source: packs import each other in a circle: a -> b -> c -> a',
    ]);
  });

  it('are not more than the limit', async () => {
    const sources = Array.from({ length: LIMITS.packs + 1 }, (_, n) => `p${n}`);
    const packs = Object.fromEntries(sources.map((source) => [source, packOf(source, '')]));
    const errors = await errorsIn(city(imports(...sources)), packs);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain('there are more than 1000 packs');
  });

  it('patch what they import and not what imports them', async () => {
    const patch = '[[patches.agent]]\nname = "a"\nnudge = "patched"\n';
    const packs = { base: packOf('base', '', ['a']), top: packOf('top', imports('base') + patch) };
    const { agents } = await configOf(city(imports('base', 'top')), packs);
    expect(agents.map((agent: any) => [agent.qualified_name, agent.nudge])).toEqual([
      ['base.a', undefined],
      ['top.a', 'patched'],
    ]);
  });

  it('are read once however many rigs import them', async () => {
    const rigs = Array.from({ length: 50 }, (_, n) => `[[rigs]]\nname = "r${n}"\nimports = { desk = { source = "desk" } }\n`);
    const { config } = await composeCity({ 'city.toml': START + rigs.join('') }, { desk: packOf('desk', '', ['a', 'b']) });
    expect(config!.tables('agents')).toHaveLength(100);
  });
});
