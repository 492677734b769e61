import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

/**
 * What is sent and what is asked for before stand in one file, and nothing else ties them: here the requests of each file are found in its text, and
 * the operations that they are of among those that it asks for. No more is held than this: of the operations that a request may be of, the file asks
 * for one, anywhere. Whether the button, or the key, that sends it is the one that asks only a browser can show.
 */
interface Operation {
  readonly method: string;
  readonly parts: readonly string[];
  readonly name: string;
}

const root = new URL('../', import.meta.url);
const document = JSON.parse(readFileSync(new URL('../../openapi/openapi.json', root), 'utf8')) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly 'x-name': string }>>>>;
};
const partsOf = (path: string): string[] => path.split('/').filter((part) => part !== '');
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { 'x-name': name }]): Operation => ({
    method: method.toUpperCase(),
    parts: partsOf(path.replaceAll(/\{\w+\}/g, '*')),
    name: name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase()),
  })),
);
/** What asks by a hook, or a form, that others use too: each is a file that asks. */
const ASKED_BY: Readonly<Record<string, string>> = {
  'parts/create-city.tsx': 'live/new-city.ts',
  'parts/start-run.tsx': 'parts/sling.tsx',
};
const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name) && !/\.(spec|gen)\./.test(name) && name !== 'api/client.ts')
  .map((name) => ({ name, text: readFileSync(new URL(name, root), 'utf8') }));

/** The arguments of a call, as they are written. @param from behind its bracket */
function argumentsOf(text: string, from: number): string[] {
  const found = [''];
  let depth = 0;
  for (const sign of text.slice(from)) {
    if (depth === 0 && sign === ')') break;
    if ('([{'.includes(sign)) depth += 1;
    if (')]}'.includes(sign)) depth -= 1;
    if (depth === 0 && sign === ',') found.push('');
    else found[found.length - 1] += sign;
  }
  return found.map((one) => one.trim());
}

/** The paths that an expression may be: `*` where it depends on what there is, `**` for more than one part. @param text before it */
function pathsOf(expression: string, text: string): string[] {
  const city = /^inCity\(([^]*)\)$/.exec(expression);
  if (city !== null)
    return pathsOf(argumentsOf(`${city[1]})`, 0)[1] ?? "''", text).map((path) => `/v0/city/*/${path === '*' ? '**' : path}`);
  const agent = /^agentPath\(([^]*)\)$/.exec(expression);
  if (agent !== null) return pathsOf(argumentsOf(`${agent[1]})`, 0)[2] ?? "''", text).map((path) => `/v0/city/*/agent/*/${path}`);
  const choice = /^[^`]*? \? ([^]+) : ([^]+)$/.exec(expression);
  if (choice !== null) return [...pathsOf(choice[1]!, text), ...pathsOf(choice[2]!, text)];
  const word = /^'([^']*)'$/.exec(expression);
  if (word !== null) return [word[1]!];
  const template = /^`([^`]*)`$/.exec(expression);
  if (template !== null) {
    const [, before, inner, after] = /^(.*?)\$\{((?:[^{}]|\{[^}]*\})*)\}(.*)$/.exec(template[1]!) ?? [];
    if (inner === undefined) return [template[1]!];
    return pathsOf(inner, text).flatMap((path) => pathsOf(`\`${after}\``, text).map((rest) => `${before}${path}${rest}`));
  }
  const name = /^(\w+)(?:\(\w+\))?$/.exec(expression)?.[1];
  const said = [...text.matchAll(new RegExp(`const ${name} = (?:\\([^)]*\\): \\w+ => )?(inCity\\([^;]*\\));`, 'g'))].at(-1);
  return said === undefined ? ['*'] : pathsOf(said[1]!, text);
}

const isOf = (path: string, { parts }: Operation): boolean => {
  const asked = partsOf(path);
  if (asked.at(-1) === '**') return asked.slice(0, -1).every((part, i) => part === parts[i]);
  return asked.length === parts.length && parts.every((part, i) => part === asked[i] || part === '*' || asked[i] === '*');
};

/** A request as it is written, and the operations that it may be of. */
const sent = sources.flatMap(({ name, text }) =>
  [...text.matchAll(/(?<![\w.])(post|request)(?:<[^(]*>)?\(/g)].flatMap((call) => {
    const given = argumentsOf(text, call.index + call[0].length);
    const [method, expression] = call[1] === 'post' ? ['POST', given[0]!] : [given[0]!.replaceAll("'", ''), given[1]!];
    return pathsOf(expression, text.slice(0, call.index)).map((path) => ({ file: name, method, path }));
  }),
);

describe('what a key needs for what the page sends', () => {
  it('is found in the text of the page', () => {
    expect(sent.length).toBeGreaterThan(90);
    expect(sent.filter(({ path }) => !path.startsWith('/v0/')).map(({ file, path }) => `${file}: ${path}`)).toEqual([]);
  });

  it('is asked for in the file that sends it', () => {
    const asks = new Map(sources.map(({ name, text }) => [name, new Set([...text.matchAll(/\bneeds\.(\w+)/g)].map(([, need]) => need!))]));
    const unasked = sent.flatMap(({ file, method, path }) => {
      const all = operations.filter((one) => one.method === method && isOf(path, one));
      // Words before what is any: `beads/ready` is no bead.
      const exact = all.filter(({ parts }) => parts.join('/') === partsOf(path).join('/'));
      const names = (exact.length > 0 ? exact : all).map(({ name }) => name);
      return names.some((name) => asks.get(ASKED_BY[file] ?? file)!.has(name)) ? [] : [`${file}: ${method} ${path} (${names.join(', ')})`];
    });
    expect(unasked).toEqual([]);
  });
});
