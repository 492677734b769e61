import { describe, expect, it } from '@jest/globals';
import {
  addRig,
  bindRig,
  changeRig,
  importsOfNewRigs,
  mentionsOf,
  moveRig,
  removeMentions,
  removeRig,
  unbindRig,
  uncoverRig,
} from './rig-documents.js';

const NEW = { name: 'web', path: 'rigs/web', prefix: undefined, defaultBranch: undefined };

describe('documents of rigs', () => {
  // Guard: what composing counts as a default of new rigs they get, also of a fragment.
  it('get a rig with the imports that every new one gets, as a copy', () => {
    const desk = { source: 'packs/desk' };
    const city = { defaults: { rig: { imports: { desk, tools: { source: 'old' } } } }, rigs: [{ name: 'old' }] };
    const fragment = { defaults: { rig: { imports: { tools: { source: 'new' }, more: { source: 'm' } } } } };
    const imports = importsOfNewRigs([{}, city, { defaults: { rig: { imports: 'odd' } } }, fragment]);
    expect(imports).toEqual({ desk, tools: { source: 'new' }, more: { source: 'm' } });
    expect(imports.desk).not.toBe(desk);
    addRig(city, { ...NEW, prefix: 'wb', defaultBranch: 'main' }, imports);
    expect(city.rigs).toEqual([{ name: 'old' }, { name: 'web', prefix: 'wb', default_branch: 'main', imports }]);
    const empty: Record<string, unknown> = {};
    addRig(empty, NEW, importsOfNewRigs([empty]));
    expect(empty).toEqual({ rigs: [{ name: 'web' }] });
  });

  it('bind a rig once, and rebind it', () => {
    const site: Record<string, unknown> = { workspace_name: 'x' };
    bindRig(site, 'web', 'a');
    bindRig(site, 'core', 'b');
    bindRig(site, 'web', 'c');
    expect(site).toEqual({
      workspace_name: 'x',
      rig: [
        { name: 'core', path: 'b' },
        { name: 'web', path: 'c' },
      ],
    });
    const city = { rigs: [{ name: 'web', path: 'old' }] };
    moveRig(city, site, 'web', 'd');
    expect([city.rigs, (site.rig as unknown[])[1]]).toEqual([[{ name: 'web' }], { name: 'web', path: 'd' }]);
    unbindRig(site, 'core');
    unbindRig(site, 'web');
    expect(site).toEqual({ workspace_name: 'x' });
  });

  it('change what is given and give up the old name of a key', () => {
    const city = { rigs: [{ name: 'web', suspended: false, prefix: 'wb' }] };
    changeRig(city, 'web', { suspended: true, defaultBranch: 'x' });
    expect(city.rigs).toEqual([{ name: 'web', prefix: 'wb', suspended_on_start: true, default_branch: 'x' }]);
    expect(() => changeRig(city, 'other', { suspended: true })).toThrow(/not written in city.toml/);
  });

  // Guard: a change that a patch hides would change nothing.
  it('hide nothing of a change behind a patch, and lose patches that then say nothing', () => {
    const patches = [
      { name: 'web', path: 'a', prefix: 'wb', default_branch: 'main', suspended: true, suspended_on_start: true },
      { name: 'web', prefix: 'w', formula_vars: { a: '1' } },
      { name: 'other', prefix: 'o' },
    ];
    const city: Record<string, unknown> = { patches: { rigs: structuredClone(patches) } };
    expect(uncoverRig(city, 'web', {})).toBe(false);
    expect(uncoverRig(city, 'web', { prefix: 'x', suspended: false })).toBe(true);
    expect(city.patches).toEqual({
      rigs: [{ name: 'web', path: 'a', default_branch: 'main' }, { name: 'web', formula_vars: { a: '1' } }, patches[2]],
    });
    expect(uncoverRig(city, 'web', { path: 'b', defaultBranch: 'next' })).toBe(true);
    expect(city.patches).toEqual({ rigs: [{ name: 'web', formula_vars: { a: '1' } }, patches[2]] });
    expect(uncoverRig(city, 'other', { prefix: 'x' })).toBe(true);
    expect(uncoverRig(city, 'nobody', { prefix: 'x' })).toBe(false);
    const last: Record<string, unknown> = { patches: { rigs: [{ name: 'web', prefix: 'w' }] } };
    expect([uncoverRig(last, 'web', { prefix: 'x' }), last]).toEqual([true, {}]);
  });

  it('lose a rig with its own agents; what else names it is told and can go as well', () => {
    const city: Record<string, unknown> = {
      rigs: [{ name: 'web' }],
      agent: [{ name: 'a', dir: 'web' }, { name: 'b' }],
      patches: { rigs: [{ name: 'web' }], agent: [{ dir: 'web', name: 'p' }] },
      named_session: [{ template: 't', dir: 'web' }, { template: 'u' }],
      webhook: [{ name: 'w', rig: 'web' }],
      orders: {
        skip: ['x'],
        overrides: [
          { name: 'o', rig: 'web' },
          { name: 'o', rig: '*' },
        ],
      },
    };
    removeRig(city, 'web');
    expect(city).not.toHaveProperty('rigs');
    expect(city.agent).toEqual([{ name: 'b' }]);
    expect(mentionsOf(city, 'web')).toEqual([
      'patches.rigs "web"',
      'patches.agent "web/p"',
      'named_session "web/t"',
      'webhook "w"',
      'orders.overrides "o"',
    ]);
    removeMentions(city, 'web');
    expect(city).toEqual({
      agent: [{ name: 'b' }],
      named_session: [{ template: 'u' }],
      orders: { skip: ['x'], overrides: [{ name: 'o', rig: '*' }] },
    });
    expect(mentionsOf(city, 'web')).toEqual([]);
    expect(() => removeRig(city, 'web')).toThrow(/not written in city.toml/);
  });

  it('may hold anything where tables are expected', () => {
    const odd: Record<string, unknown> = JSON.parse(
      '{"rigs":7,"patches":[],"defaults":"x","orders":{"overrides":{"name":"y"}},"__proto__":{"rigs":[]}}',
    );
    expect(mentionsOf(odd, 'web')).toEqual([]);
    removeMentions(odd, 'web');
    addRig(odd, NEW, importsOfNewRigs([odd]));
    expect(odd.rigs).toEqual([{ name: 'web' }]);
    // What this file does not hold as tables is not ours to remove: composing says what is wrong with it.
    expect(odd.patches).toEqual([]);
  });
});
