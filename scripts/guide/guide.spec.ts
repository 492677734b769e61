import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Command } from 'commander';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import MiniSearch, { type Options } from 'minisearch';
import '../../src/contract/events/all.js';
import { knownEvents } from '../../src/contract/events/define.js';
import { PROBLEMS } from '../../src/contract/problems.js';
import { program } from '../docs-gen/commands-page.js';
import { service } from '../docs-gen/environment-page.js';
import { FILES, markedSchema, type JsonSchema } from '../docs-gen/file-schemas.js';

interface Entry {
  readonly title: string;
  readonly where: string;
  readonly url: string;
}
interface Page {
  readonly file: string;
  readonly url: string;
  readonly html: string;
}
const root = fileURLToPath(new URL('../../', import.meta.url));

let pages: readonly Page[];
let search: (query: string) => Entry[];

beforeAll(async () => {
  const { render } = (await import(`${root}scripts/guide/render.mjs`)) as {
    render(root: string): Promise<{ all: Page[]; index: MiniSearch }>;
  };
  const { find, OPTIONS } = (await import(`${root}scripts/guide/find.js`)) as {
    find(index: MiniSearch, query: string): unknown[];
    OPTIONS: Options;
  };
  const made = await render(root);
  pages = made.all;
  // As the browser has it: from the text.
  const index = MiniSearch.loadJSON(JSON.stringify(made.index), OPTIONS);
  search = (query) => find(index, query) as Entry[];
});

/** Names of keys of a file. */
function keysOf(schema: JsonSchema, seen = new Set<string>()): Set<string> {
  for (const [key, member] of Object.entries(schema.properties ?? {})) {
    seen.add(key);
    keysOf(member, seen);
  }
  for (const below of [schema.items, schema.additionalProperties, ...(schema.anyOf ?? []), ...Object.values(schema.definitions ?? {})])
    if (typeof below === 'object') keysOf(below, seen);
  return seen;
}

function commandsOf(command: Command, path = 'svc'): string[] {
  const below = command
    .createHelp()
    .visibleCommands(command)
    .filter((sub) => sub.name() !== 'help');
  return [...(path === 'svc' ? [] : [path]), ...below.flatMap((sub) => commandsOf(sub, `${path} ${sub.name()}`))];
}

/** Names for which no entry that is called so is among the first three. */
const notFound = (names: Iterable<string>, called = (name: string): string => name): string[] =>
  [...names].filter(
    (name) =>
      !search(name)
        .slice(0, 3)
        .some(({ title }) => title === called(name)),
  );

describe('the search of the guide finds by its name', () => {
  it.each(FILES)('every key of $name', (kind) => {
    expect(notFound(keysOf(markedSchema(kind)))).toEqual([]);
  });
  it('every code of an error', () => {
    expect(notFound(new Set(Object.values(PROBLEMS).map(({ code }) => code)))).toEqual([]);
  });
  it('every event', () => {
    expect(notFound(knownEvents().keys())).toEqual([]);
  });
  it('every variable', () => {
    expect(notFound(service().map(([name]) => name))).toEqual([]);
  });
  it('every command', () => {
    // A family is a page, whose name stands for commands that have others below them.
    const leaves = commandsOf(program()).filter(
      (path, _n, all) => path.split(' ').length === 2 || !all.some((other) => other.startsWith(`${path} `)),
    );
    expect(leaves.length).toBeGreaterThan(150);
    expect(notFound(leaves)).toEqual([]);
  });
});

describe('the pages of the guide', () => {
  it('run no script but the search, and load nothing from elsewhere', () => {
    expect(pages.length).toBeGreaterThan(70);
    for (const { html } of pages) {
      expect(html.match(/<script[^>]*>/g)).toEqual(['<script type="module" src="/guide/search.js">']);
      expect(html).not.toMatch(/ on[a-z]+=|style=|<(?:img|iframe|link)[^>]+(?:src|href)="https?:/);
      expect(html).not.toContain('not run:');
    }
  });

  it('are all in the list of the first one, or below a page that is', () => {
    const listed = readFileSync(`${root}docs/README.md`, 'utf8');
    const files = pages.map(({ file }) => file).filter((file) => !/^docs\/(README\.md|reference\/(files|commands)\/)/.test(file));
    const absent = files.filter((file) => !listed.includes(`(${file.startsWith('docs/') ? file.slice('docs/'.length) : `../${file}`})`));
    expect(absent).toEqual([]);
  });
});
