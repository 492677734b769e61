import { readFileSync, writeFileSync } from 'node:fs';

/**
 * The second half of `npm run client:gen`: which operations of the document take an idempotency key. Types are gone when a program runs,
 * and the client has to know which calls it may repeat.
 */
interface Parameter {
  readonly in?: string;
  readonly name?: string;
  readonly $ref?: string;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly parameters?: readonly Parameter[] }>>>>;
  readonly components: { readonly parameters?: Readonly<Record<string, Parameter>> };
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
