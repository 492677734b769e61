import { readFileSync } from 'node:fs';
import { code, GENERATED, page, table } from './markdown.js';

interface Operation {
  readonly 'x-name': string;
  readonly 'x-commands'?: readonly string[];
  readonly summary: string;
  readonly security: readonly { readonly apiKey?: readonly string[] }[];
}

/** In the order in which a key is given them. */
const NEEDS: readonly (readonly [need: string, about: string])[] = [
  ['operate', 'What is done in a city as it is set up.'],
  ['configure', 'How a city is set up, without saying what is run.'],
  ['commands', 'What is run on the workers.'],
  ['audit', 'Reading who did what.'],
  ['all-cities', 'Any key that is not limited to cities, whatever its rights.'],
  ['administer', 'A key of scope `write` that is not limited to cities.'],
];

/** What a key needs for each operation of the contract. */
export function rightsPage(): string {
  const document = JSON.parse(readFileSync(new URL('../../openapi/openapi.json', import.meta.url), 'utf8')) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      path,
      request: `${method.toUpperCase()} ${path}`,
      need: operation.security[0]?.apiKey?.[0] ?? 'read',
    })),
  );
  const unsaid = operations.find(({ need }) => need !== 'read' && !NEEDS.some(([name]) => name === need));
  if (unsaid !== undefined) throw new Error(`${unsaid.request} needs ${unsaid.need}, of which nothing is said`);
  const open = [...new Set(operations.flatMap(({ path, security }) => (security.length === 0 ? [code(path)] : [])))];
  return page(
    GENERATED,
    '# What a key needs',
    `With \`SVC_AUTH=keys\` every operation needs a key, except ${open.slice(0, -1).join(', ')} and ${open.at(-1)}. ` +
      'An operation that is not on this page only reads: any key that may see the city is enough. ' +
      '[Give a colleague a key](../how-to/keys.md) says how to give rights. A refusal (403) names the right that a key lacks. ' +
      'A formula with a `check` says what is run, so saving it needs `commands` too.',
    ...NEEDS.map(([name, about]) =>
      [
        `## ${name}`,
        about,
        table(
          ['Operation', 'Request', 'What it does'],
          operations
            .filter(({ need }) => need === name)
            .sort((one, other) => (one['x-name'] < other['x-name'] ? -1 : 1))
            .map(({ 'x-name': operation, 'x-commands': members = [], request, summary }) => [
              code(operation),
              code(request),
              members.length === 0 ? summary : `${summary}. With ${members.map(code).join(' or ')} it needs ${code('commands')} too`,
            ]),
        ),
      ].join('\n\n'),
    ),
  );
}
