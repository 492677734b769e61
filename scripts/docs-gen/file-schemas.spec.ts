import { describe, expect, it } from '@jest/globals';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { readdirSync, readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { readCase } from '../../src/modules/files/composition/testing/case-file.js';
import { FILES, publishedSchema } from './file-schemas.js';
import { samplesOf } from './samples.js';

const CORPUS = new URL('../../src/modules/files/composition/testing/corpus/', import.meta.url);
const validators = new Map<string, ValidateFunction>(
  FILES.map((kind) => {
    const ajv = new Ajv({ strict: false, allErrors: true, code: { optimize: false } });
    addFormats.default(ajv);
    return [kind.name, ajv.compile(publishedSchema(kind))];
  }),
);

/** Why the schema refuses a document; empty when it takes it. */
function faults(name: string, document: unknown): string[] {
  const validate = validators.get(name)!;
  // Dates of TOML are texts to a schema.
  return validate(JSON.parse(JSON.stringify(document)))
    ? []
    : (validate.errors ?? []).map(({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`);
}

const kindOf = (path: string): string | undefined => {
  if (path === 'city.toml' || path === 'pack.toml') return path;
  if (/^agents\/[^/]+\/agent\.toml$/.test(path)) return 'agent.toml';
  if (/^orders\/[^/]+\.toml$/.test(path)) return 'order.toml';
  if (/^mcp\/[^/]+\.toml$/.test(path)) return 'mcp.toml';
  if (path === '.gc/site.toml') return 'site.toml';
  return undefined;
};

/** What a schema tells and the service does not: a key of an agent that nobody knows. */
const IGNORED = '044-hidden-folders.txt';

/** Files of cases in which nothing is wrong. */
const good = readdirSync(CORPUS).flatMap((file) => {
  const { files, issues } = readCase(readFileSync(new URL(file, CORPUS), 'utf8'));
  if (issues.length > 0 || file === IGNORED) return [];
  return Object.entries(files).flatMap(([path, text]) => {
    const kind = kindOf(path);
    return kind === undefined ? [] : [{ at: `${file}: ${path}`, kind, text }];
  });
});

type Path = readonly (string | number)[];

/** Every value of a document that is no table. */
function placesOf(value: unknown, at: Path = []): Path[] {
  if (Array.isArray(value)) return [at, ...value.flatMap((item, n) => placesOf(item, [...at, n]))];
  if (typeof value === 'object' && value !== null) return Object.entries(value).flatMap(([key, member]) => placesOf(member, [...at, key]));
  return [at];
}

function withAt(document: unknown, path: Path, value: (was: unknown) => unknown): unknown {
  const copy = structuredClone(document) as any;
  const parent = path.slice(0, -1).reduce((at: any, segment) => at[segment], copy);
  parent[path.at(-1)!] = value(parent[path.at(-1)!]);
  return copy;
}

describe('the schemas of the files', () => {
  it('take every good file of the corpus', () => {
    expect(good.length).toBeGreaterThan(100);
    expect(good.flatMap(({ at, kind, text }) => faults(kind, parse(text)).map((fault) => `${at}${fault}`))).toEqual([]);
  });

  it.each(FILES.map(({ name }) => name))('take what uses every key of %s, and refuse another type for any of them', (name) => {
    for (const sample of samplesOf(name)) {
      expect(faults(name, sample)).toEqual([]);
      const taken = placesOf(sample).filter((path) => {
        if (/^(packs|doctor|commands|metadata|vars)\b/.test(String(path[0])) || path.includes('metadata')) return false;
        return (
          faults(
            name,
            withAt(sample, path, (was) => (typeof was === 'string' ? 4711 : 'no such value')),
          ).length === 0
        );
      });
      expect(taken).toEqual([]);
    }
  });

  it.each([
    ['city.toml', '[workspace]\nprovidr = "claude"'],
    ['city.toml', '[[agent]]\nname = "a"\nwake_mode = "often"'],
    ['city.toml', '[[agent]]\nname = "-a"'],
    ['city.toml', '[[agent]]\nname = "a"\nprompt_mode = "flag"'],
    ['city.toml', '[[rigs]]\nprefix = "x"'],
    ['city.toml', '[daemon]\npatrol_interval = "soon"'],
    ['city.toml', '[mail]\nprovider = "post"'],
    ['city.toml', '[formulas]\ndir = "elsewhere"'],
    ['city.toml', '[beads.policies.wisps]\ndelete_after_close = "7d"'],
    ['pack.toml', '[pack]\nname = "p"'],
    ['pack.toml', '[pack]\nname = "p"\nschema = 3'],
    ['agent.toml', 'max_active_sessions = -2'],
    ['order.toml', '[order]\ntrigger = "manual"'],
    ['order.toml', '[order]\nexec = "true"'],
    ['order.toml', '[order]\nexec = "true"\nformula = "f"\ntrigger = "manual"'],
    ['order.toml', '[order]\nexec = "true"\ntrigger = "cron"'],
    ['order.toml', '[order]\nexec = "true"\ntrigger = "cron"\nschedule = "0 6 * *"'],
    ['order.toml', '[order]\nexec = "true"\ntrigger = "cooldown"\ninterval = "often"'],
    ['formula.toml', 'formula = "f"\n[[steps]]\nid = "a"\ntally = true'],
    ['formula.toml', 'formula = "f"\n[[steps]]\nid = "a"\n[[steps.children]]\nid = "b"\nneds = ["a"]'],
    ['mcp.toml', 'name = "m"'],
    ['mcp.toml', 'name = "m"\ncommand = "x"\nurl = "https://y.example"'],
    ['site.toml', 'workspace_name = ""'],
  ])('refuse in %s: %s', (name, text) => {
    expect(faults(name, parse(text))).not.toEqual([]);
  });
});
