import { afterAll, describe, expect, it } from '@jest/globals';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { folder, removeFolders } from '../../../../test/support/folders.js';
import type { AgentConfig, CityConfig } from '../../files/composition/city-config.js';
import { configOf, START } from '../../files/composition/compose/testing/city.js';
import { blocksOf } from '../../files/composition/template-blocks.js';
import { fragmentsOf, render as renderAll, type Fragments, type Values } from './prompt-template.js';

const render = (text: string, values: Values, fragments: Fragments): string => renderAll([text], values, fragments)[0]!;

const FRAGMENTS = new Map([
  ['rules', 'Small commits of {{.Agent}}.'],
  ['both', '{{template "rules" .}}'],
  ['loop', 'again {{ template "loop" }}'],
]);

describe('a prompt', () => {
  it.each([
    ['Hello {{.Agent}} and {{ .Rig }}.', 'Hello mayor and web.'],
    ['{{/* a note */}}Text', 'Text'],
    ['{{ template "rules" . }} {{template "both" .}}', 'Small commits of mayor. Small commits of mayor.'],
    ['{{define "x"}}inner{{end}}A {{template "x" .}}', 'A inner'],
    [
      '{{.Nothing}} {{if .A}}x{{end}} {{template "nothing" .}} {{ .constructor }}',
      '{{.Nothing}} {{if .A}}x{{end}} {{template "nothing" .}} {{ .constructor }}',
    ],
    ['no {{ braces', 'no {{ braces'],
  ])('%j becomes %j', (text, expected) => {
    expect(render(text, { Agent: 'mayor', Rig: 'web' }, FRAGMENTS)).toBe(expected);
  });

  it('that includes itself ends', () => {
    expect(render('{{template "loop" .}}', {}, FRAGMENTS).match(/again/g)).toHaveLength(8);
  });

  it.each([
    ['blocks that include each other', `{{define "a"}}${'{{template "a"}}'.repeat(9)}{{end}}{{template "a"}}`],
    ['a large block, often', `{{define "a"}}${'x'.repeat(10_000)}{{end}}${'{{template "a"}}'.repeat(50_000)}`],
    ['comments without end', '{{/*'.repeat(200_000)],
    ['blocks without end', '{{define "a"}}'.repeat(60_000)],
    ['marks without end', '{{'.repeat(400_000)],
    ['a mark with blanks', `{{${' '.repeat(900_000)}`],
    ['ends of comments with blanks', `{{/*${`*/${' '.repeat(900)}`.repeat(900)}`],
  ])('of %s is soon done, and no larger than a megabyte', (_what, text) => {
    expect(render(text, {}, FRAGMENTS).length).toBeLessThanOrEqual(1024 * 1024);
  });

  it('has room for a megabyte that is filled in', () => {
    const values = { Big: 'x'.repeat(1_000) };
    const rendered = render('{{.Big}}'.repeat(2_000), values, FRAGMENTS);
    expect(rendered).toBe(`${values.Big.repeat(1_048)}${'{{.Big}}'.repeat(952)}`.slice(0, 1024 * 1024));
  });

  it('has this room once for all its parts', () => {
    const [first, second] = renderAll(['{{.Big}}', '{{.Big}} {{.Small}}'], { Big: 'x'.repeat(600_000), Small: 'y' }, FRAGMENTS);
    expect([first!.length, second]).toEqual([600_000, '{{.Big}} y']);
  });

  it('takes what is filled in as it is', () => {
    expect(render('{{.Agent}}', { Agent: '$& {{.Rig}}', Rig: 'x' }, FRAGMENTS)).toBe('$& {{.Rig}}');
  });
});

it('blocks have names', () => {
  expect([...blocksOf('{{/* x */}}{{ define "a" }}1{{ end }}\n{{define "b"}}2{{end}}')]).toEqual([
    ['a', '1'],
    ['b', '2'],
  ]);
});

describe('fragments of a city', () => {
  afterAll(removeFolders);
  const agent = { inject_fragments: ['f0'] } as unknown as AgentConfig;
  const named = (count: number): string[] => Array.from({ length: count }, (_, n) => `template-fragments/f${n}.template.md`);

  async function fragments(names: readonly string[], length: number): Promise<readonly string[]> {
    const cityPath = await folder('svc-fragments-');
    await mkdir(path.join(cityPath, 'template-fragments'));
    for (const [n, name] of names.slice(0, 10).entries())
      await writeFile(path.join(cityPath, name), `{{define "f${n}"}}Rules.{{end}}${'x'.repeat(length)}`);
    const config = { contents: Object.fromEntries(names.map((name) => [name, ''])), workspace: {} } as unknown as CityConfig;
    return (await fragmentsOf(config, agent, { cityPath, citiesRoot: path.dirname(cityPath) })).chosen;
  }

  it('are given to agents by their names', async () => {
    expect(await fragments(named(3), 10)).toEqual(['Rules.']);
  });

  it.each([
    ['in number', 4_001, 0, 'more than 4000 template fragments'],
    ['in characters', 5, 1_000_000, 'longer than 4194304 characters together'],
  ])('have a limit %s', async (_what, count, length, says) => {
    await expect(fragments(named(count), length)).rejects.toThrow(says);
  });

  // Guard: what lies beside the formulas of a rig is nothing but that.
  it('are none of those that lie beside formulas of a rig', async () => {
    const rig = '[[rigs]]\nname = "mill"\nformulas_dir = "mill/formulas"\n';
    const files = {
      'city.toml': START + rig,
      'template-fragments/f0.template.md': '{{define "f0"}}Of the city.{{end}}',
      'mill/formulas/f.toml': 'formula = "f"\n',
      'mill/formulas/f.md': 'Text.',
      'mill/formulas/x:y.md': 'Text.',
      'mill/formulas/template-fragments/a.template.md': '{{define "f0"}}Of the rig.{{end}}{{define "f1"}}Also.{{end}}',
    };
    const cityPath = await folder('svc-fragments-');
    for (const [name, text] of Object.entries(files)) {
      await mkdir(path.join(cityPath, path.dirname(name)), { recursive: true });
      await writeFile(path.join(cityPath, name), text);
    }
    const config = (await configOf(files)) as CityConfig;
    const { all } = await fragmentsOf(config, agent, { cityPath, citiesRoot: path.dirname(cityPath) });
    expect([...all]).toEqual([['f0', 'Of the city.']]);
    const beside = Object.keys(config.contents).filter((name) => name.startsWith('mill/'));
    expect(beside).toEqual(['mill/formulas/f.md', 'mill/formulas/f.toml']);
  });
});
