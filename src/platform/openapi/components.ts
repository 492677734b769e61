import { z } from 'zod';
import { discriminators } from '../../contract/events/envelopes.js';
import { PROBLEMS } from '../../contract/problems.js';
import { contractDescription, DEMANDED, contractName, contractRegistry } from '../../contract/registry.js';
import { VOCABULARY } from '../../contract/vocabulary/index.js';

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
    const description = contractDescription(name);
    if (description !== undefined) schema.description = description;
    explain(schema);
  }
  noteProblemTypes(schemas.ErrorModel);
  return schemas;
}

/** Gives members that say nothing of themselves what their names mean everywhere. What is a component says it there, and a single value is what it is. */
function explain(schema: unknown): void {
  if (Array.isArray(schema)) return schema.forEach(explain);
  if (typeof schema !== 'object' || schema === null) return;
  const { properties } = schema as { properties?: Record<string, JsonSchema> };
  for (const [name, member] of Object.entries(properties ?? {})) {
    demand(schema as JsonSchema, name, member);
    const meaning = VOCABULARY.get(name);
    if (meaning === undefined || isDescribed(member)) continue;
    member.description = meaning;
  }
  Object.values(schema).forEach(explain);
}

function demand(schema: JsonSchema, name: string, member: JsonSchema): void {
  if (member[DEMANDED] === undefined) return;
  delete member[DEMANDED];
  schema.required = [...((schema.required as string[] | undefined) ?? []), name];
}

/** Whether a reader finds words for it: its own, or those of the component that it is. */
export function isDescribed(member: JsonSchema): boolean {
  const options = ((member.anyOf ?? [member]) as JsonSchema[]).filter(({ type }) => type !== 'null');
  return member.description !== undefined || 'const' in member || (options.length > 0 && options.every((option) => '$ref' in option));
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
  const {
    $schema: _dialect,
    description: _elsewhere,
    [DEMANDED]: _told,
    ...converted
  } = z.toJSONSchema(schema, { ...OPTIONS, io: 'output' }) as JsonSchema;
  return converted;
}

const OPTIONS = { io: 'input', unrepresentable: 'any', target: 'draft-2020-12', override: refine } as const satisfies Parameters<
  typeof z.toJSONSchema
>[1];

function refine({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: JsonSchema }): void {
  integers(jsonSchema);
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
  if (jsonSchema.type === 'object' && isAnyText(jsonSchema.propertyNames)) delete jsonSchema.propertyNames;
  empty(jsonSchema);
  nullable(jsonSchema);
  const def = zodSchema._zod.def as { type: string; discriminator?: string; options?: readonly z.ZodType[] };
  if (def.type === 'union' && def.discriminator !== undefined) discriminate(jsonSchema, def.discriminator, def.options ?? []);
}

/** JavaScript's safe range is our limit, and the description says so: with `format: int64` generators make what no JSON has, a bigint. */
function integers(schema: JsonSchema): void {
  if (schema.type !== 'integer') return;
  if (schema.minimum === -SAFE) delete schema.minimum;
  if (schema.maximum === SAFE) delete schema.maximum;
}

function isAnyText(schema: unknown): boolean {
  return JSON.stringify(schema) === '{"type":"string"}';
}

/** An empty text among words stands beside them: generators name the members of an enum after their values. */
function empty(schema: JsonSchema): void {
  const { enum: values, type, ...rest } = schema as { enum?: unknown[] } & JsonSchema;
  if (values?.includes('') !== true) return;
  for (const key of Object.keys(schema)) delete schema[key];
  const words = values.filter((value) => value !== '');
  Object.assign(schema, rest, {
    anyOf: [
      { type, enum: words },
      { type, const: '' },
    ],
  });
}

/**
 * `anyOf [X, null]` of a plain X becomes X with two types. A reference keeps the union, and so does a list or a map: generators that
 * know no lists of types lose what is in them.
 */
function nullable(schema: JsonSchema): void {
  const options = schema.anyOf as JsonSchema[] | undefined;
  if (options?.length !== 2) return;
  const [first, second] = options as [JsonSchema, JsonSchema];
  if (second.type !== 'null' || Object.keys(second).length !== 1 || typeof first.type !== 'string') return;
  if (first.type === 'array' || first.type === 'object') return;
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
