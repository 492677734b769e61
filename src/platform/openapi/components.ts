import { z } from 'zod';
import { discriminators } from '../../contract/events/envelopes.js';
import { PROBLEMS } from '../../contract/problems.js';
import { contractName, contractRegistry } from '../../contract/registry.js';

/** JSON Schema 2020-12 of the contract's zod schemas, in the dialect of OpenAPI 3.1. */
export type JsonSchema = Record<string, unknown>;

const reference = (name: string): string => `#/components/schemas/${name}`;
const SAFE = Number.MAX_SAFE_INTEGER;

/** Every registered schema under its component name. One conversion, so that components refer to each other. */
export function componentSchemas(): Record<string, JsonSchema> {
  const { schemas } = z.toJSONSchema(contractRegistry, { ...OPTIONS, uri: reference }) as { schemas: Record<string, JsonSchema> };
  for (const [name, schema] of Object.entries(schemas)) {
    delete schema.$id;
    delete schema.$schema;
    const discriminator = discriminators[name];
    if (discriminator !== undefined && !('discriminator' in schema)) schema.discriminator = discriminator;
  }
  noteProblemTypes(schemas.ErrorModel);
  return schemas;
}

/**
 * A schema as a route uses it: a reference when it is registered, an object's members one by one when it describes a
 * query, otherwise what the value means once parsed: the type behind the text.
 */
export function schemaOf(schema: z.ZodType): JsonSchema {
  const name = contractName(schema instanceof z.ZodOptional ? (schema.unwrap() as z.ZodType) : schema);
  if (name !== undefined) return { $ref: reference(name) };
  if (!(schema instanceof z.ZodObject)) return inline(schema);
  const members = Object.entries(schema.shape as Record<string, z.ZodType>);
  return { type: 'object', properties: Object.fromEntries(members.map(([key, member]) => [key, schemaOf(member)])) };
}

function inline(schema: z.ZodType): JsonSchema {
  const { $schema: _dialect, description: _elsewhere, ...converted } = z.toJSONSchema(schema, { ...OPTIONS, io: 'output' }) as JsonSchema;
  return converted;
}

const OPTIONS = { io: 'input', unrepresentable: 'any', target: 'draft-2020-12', override: refine } as const satisfies Parameters<
  typeof z.toJSONSchema
>[1];

function refine({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: JsonSchema }): void {
  integers(jsonSchema);
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  nullable(jsonSchema);
  const def = zodSchema._zod.def as { type: string; discriminator?: string; options?: readonly z.ZodType[] };
  if (def.type === 'union' && def.discriminator !== undefined) discriminate(jsonSchema, def.discriminator, def.options ?? []);
}

/** JavaScript's safe range is our limit, not the contract's. */
function integers(schema: JsonSchema): void {
  if (schema.type !== 'integer') return;
  if (schema.minimum === -SAFE) delete schema.minimum;
  if (schema.maximum === SAFE) delete schema.maximum;
  schema.format = 'int64';
}

/** `anyOf [X, null]` of a plain X becomes X with two types; a reference keeps the union. */
function nullable(schema: JsonSchema): void {
  const options = schema.anyOf as JsonSchema[] | undefined;
  if (options?.length !== 2) return;
  const [first, second] = options as [JsonSchema, JsonSchema];
  if (second.type !== 'null' || Object.keys(second).length !== 1 || typeof first.type !== 'string') return;
  delete schema.anyOf;
  Object.assign(schema, first, { type: [first.type, 'null'] });
  if (Array.isArray(schema.enum)) schema.enum = [...(schema.enum as unknown[]), null];
}

function discriminate(schema: JsonSchema, property: string, options: readonly z.ZodType[]): void {
  const mapping: Record<string, string> = {};
  for (const option of options) {
    const name = contractName(option);
    const member = option instanceof z.ZodObject ? (option.shape as Record<string, z.ZodType>)[property] : undefined;
    if (name === undefined || !(member instanceof z.ZodLiteral || member instanceof z.ZodEnum)) return;
    const values: Iterable<unknown> = member instanceof z.ZodLiteral ? member.values : member.options;
    for (const value of values) mapping[String(value)] = reference(name);
  }
  schema.discriminator = { propertyName: property, mapping };
}

function noteProblemTypes(errorModel: JsonSchema | undefined): void {
  const type = (errorModel?.properties as Record<string, JsonSchema> | undefined)?.type;
  if (type !== undefined)
    type['x-problem-types'] = [...new Set(Object.values(PROBLEMS).map((p) => `urn:supervisor:error:${p.code}`))].sort();
}
