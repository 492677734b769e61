import { z } from 'zod';
import { AGENT_FORMAT } from '../../src/modules/files/composition/formats/agent.format.js';
import { CITY_FORMAT } from '../../src/modules/files/composition/formats/city.format.js';
import type { Format } from '../../src/modules/files/composition/formats/format.js';
import { MCP_FORMAT } from '../../src/modules/files/composition/formats/mcp.format.js';
import { ORDER_FORMAT } from '../../src/modules/files/composition/formats/order.format.js';
import { PACK_FORMAT } from '../../src/modules/files/composition/formats/pack.format.js';
import { SITE_FORMAT } from '../../src/modules/files/composition/formats/site.format.js';
import { WHOLE_FORMULA } from '../../src/modules/orchestration/formulas/compile/formula.format.js';
import { samplesOf } from './samples.js';

/** JSON Schema of draft 7, which all editors read. */
export interface JsonSchema {
  type?: string | string[];
  description?: string;
  default?: unknown;
  examples?: unknown[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema | boolean;
  items?: JsonSchema;
  enum?: unknown[];
  pattern?: string;
  anyOf?: JsonSchema[];
  definitions?: Record<string, JsonSchema>;
  $ref?: string;
  deprecated?: boolean;
  not?: JsonSchema;
  [keyword: string]: unknown;
}

/** What we say of a key and JSON Schema has no word for. */
export const MARKS = ['idle', 'refused'] as const;

export interface FileKind {
  /** As the file is called, and its schema: `city.toml.json`. */
  readonly name: string;
  readonly title: string;
  readonly where: string;
  readonly format: Format;
}

/** The files of a city that people write. */
export const FILES: readonly FileKind[] = [
  { name: 'city.toml', title: 'city.toml', where: 'The file of a city: how it runs here.', format: CITY_FORMAT },
  { name: 'pack.toml', title: 'pack.toml', where: 'What a pack is made of. A city is a pack as well.', format: PACK_FORMAT },
  { name: 'agent.toml', title: 'agent.toml', where: '`agents/NAME/agent.toml`: an agent; the folder is its name.', format: AGENT_FORMAT },
  { name: 'formula.toml', title: 'Formulas', where: '`formulas/NAME.toml`: a template of work.', format: WHOLE_FORMULA },
  { name: 'order.toml', title: 'Orders', where: '`orders/NAME.toml`: what a city does again and again.', format: ORDER_FORMAT },
  { name: 'mcp.toml', title: 'MCP servers', where: '`mcp/NAME.toml`: a server of tools.', format: MCP_FORMAT },
  { name: 'site.toml', title: 'site.toml', where: '`.gc/site.toml`: what holds on one machine only.', format: SITE_FORMAT },
];

const SAFE = Number.MAX_SAFE_INTEGER;

/** The schema of a file with an example of each key, marks included. */
export function markedSchema({ name, where, format }: FileKind): JsonSchema {
  const schema = z.toJSONSchema(format.schema, {
    target: 'draft-7',
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.minimum === -SAFE) delete jsonSchema.minimum;
      if (jsonSchema.maximum === SAFE) delete jsonSchema.maximum;
    },
  }) as JsonSchema;
  for (const sample of samplesOf(name)) exemplify(schema, sample, schema);
  return { $schema: 'http://json-schema.org/draft-07/schema#', title: name, description: where, ...schema };
}

/** The schema as editors get it. */
export function publishedSchema(kind: FileKind): JsonSchema {
  return JSON.parse(
    JSON.stringify(markedSchema(kind), (key, value: unknown) =>
      (MARKS as readonly string[]).includes(key) && value === true ? undefined : value,
    ),
  ) as JsonSchema;
}

/** What a reference stands for. */
export function resolved(schema: JsonSchema, root: JsonSchema): JsonSchema {
  if (schema.$ref === undefined) return schema;
  const found = schema.$ref === '#' ? root : root.definitions?.[schema.$ref.split('/').pop()!];
  return { ...found, ...schema };
}

/** Gives every key that the sample writes its value there, the first that comes. */
function exemplify(schema: JsonSchema, value: unknown, root: JsonSchema): void {
  if (Array.isArray(value)) {
    for (const item of value) if (schema.items !== undefined) exemplify(target(schema.items, root), item, root);
    return;
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    const own = schema.properties?.[key] ?? (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : undefined);
    if (own === undefined) continue;
    if (schema.properties?.[key] !== undefined && isPlain(member)) own.examples ??= [member];
    for (const one of [target(own, root), ...(own.anyOf ?? [])]) exemplify(one, member, root);
  }
}

function target(schema: JsonSchema, root: JsonSchema): JsonSchema {
  if (schema.$ref === undefined) return schema;
  return schema.$ref === '#' ? root : (root.definitions?.[schema.$ref.split('/').pop()!] ?? schema);
}

/** A value that fits into a line. */
function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return value.every((item) => typeof item !== 'object');
  if (typeof value === 'object' && value !== null)
    return Object.values(value).every((item) => typeof item !== 'object') && Object.keys(value).length <= 2;
  return true;
}
