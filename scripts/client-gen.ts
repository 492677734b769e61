import { readFileSync, writeFileSync } from 'node:fs';

/**
 * The second half of `npm run client:gen`: which operations of the document take an idempotency key, what lists call their items, which
 * types of events there are, and what a key needs. Types are gone when a program runs, and the client has to know which calls it may repeat,
 * what of an answer is a page, and what is a slip; the page, what it can offer.
 */
interface Parameter {
  readonly in?: string;
  readonly name?: string;
  readonly $ref?: string;
}
interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly discriminator?: { readonly mapping: Readonly<Record<string, string>> };
}
interface Operation {
  readonly 'x-name': string;
  readonly 'x-commands'?: readonly string[];
  readonly security: readonly { readonly apiKey?: readonly string[] }[];
  readonly parameters?: readonly Parameter[];
  readonly responses?: Readonly<Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly parameters?: Readonly<Record<string, Parameter>>;
    readonly schemas?: Readonly<Record<string, Schema>>;
  };
}
const root = new URL('../', import.meta.url);
const { paths, components } = JSON.parse(readFileSync(new URL('openapi/openapi.json', root), 'utf8')) as Document;

const resolved = (parameter: Parameter): Parameter =>
  parameter.$ref === undefined ? parameter : (components.parameters?.[parameter.$ref.split('/').at(-1)!] ?? {});
const isKey = ({ in: where, name = '' }: Parameter): boolean => where === 'header' && name.toLowerCase() === 'idempotency-key';
const keyed = Object.entries(paths)
  .flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { parameters = [] }]) => parameters.map(resolved).some(isKey))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  )
  .sort();
if (keyed.length === 0) throw new Error('no operation takes an Idempotency-Key: is this the document?');

writeFileSync(
  new URL('src/client/keyed.gen.ts', root),
  `/** Made by \`npm run client:gen\`: the operations that take an idempotency key. */
export const KEYED: ReadonlySet<string> = new Set([
${keyed.map((operation) => `  '${operation}',\n`).join('')}]);
`,
);

const shapeOf = (schema: Schema = {}): Schema =>
  schema.$ref === undefined ? schema : shapeOf(components.schemas?.[schema.$ref.split('/').at(-1)!]);
const isArray = (schema: Schema): boolean => {
  const { type, anyOf = [] } = shapeOf(schema);
  return type === 'array' || anyOf.some(isArray);
};
/** What of a page goes on with the next one; undefined of what has no pages. */
function itemsOf(path: string): string | undefined {
  const { properties = {} } = shapeOf(paths[path]!.get?.responses?.['200']?.content?.['application/json']?.schema);
  if (properties.next_cursor === undefined) return undefined;
  const arrays = Object.keys(properties).filter((name) => isArray(properties[name]!));
  // Its name is in the path, or it is what an answer has beside lists that are whole.
  const said = ['items', path.split('/').at(-1)!, 'values'].find((name) => arrays.includes(name));
  const found = said ?? (arrays.length === 1 ? arrays[0] : undefined);
  if (found === undefined) throw new Error(`${path}: which of ${arrays.join(', ') || 'no array'} is the list?`);
  return found;
}
const lists = Object.keys(paths)
  .sort()
  .map((path) => [path, itemsOf(path)] as const)
  .filter(([, name]) => name !== undefined && name !== 'items');

writeFileSync(
  new URL('src/client/lists.gen.ts', root),
  `/** Made by \`npm run client:gen\`: what the pages of a list call its items, where that is not \`items\`. */
export const LISTS = {
${lists.map(([path, name]) => `  '${path}': '${name}',\n`).join('')}} as const;
`,
);

const types = Object.keys(components.schemas?.TypedTaggedEventStreamEnvelopeKnown?.discriminator?.mapping ?? {}).sort();
if (types.length === 0) throw new Error('the document has no types of events: is this the document?');

writeFileSync(
  new URL('src/cli/events/types.gen.ts', root),
  `/** Made by \`npm run client:gen\`: the types of the events of the service. */
export const EVENT_TYPES: readonly string[] = [
${types.map((type) => `  '${type}',\n`).join('')}];
`,
);

const camel = (text: string): string => text.replace(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase());
/** One constant each, so that a build takes only those that are asked for. */
const needs = Object.values(paths)
  .flatMap((methods) => Object.values(methods))
  .flatMap(({ 'x-name': name, 'x-commands': members = [], security }) => {
    const need = security[0]?.apiKey?.[0] ?? 'read';
    return [...(need === 'read' ? [] : [[camel(name), need]]), ...members.map((member) => [camel(`${name}-with-${member}`), 'commands'])];
  })
  .map(([name, need]) => `export const ${name} = '${need}';\n`)
  .sort();
if (needs.length === 0) throw new Error('no operation needs more than a key: is this the document?');

writeFileSync(
  new URL('ui/src/api/needs.gen.ts', root),
  `/** Made by \`npm run client:gen\`: what a key needs for each operation that is not for all who may read, and for members that say what is run. */
${needs.join('')}`,
);
