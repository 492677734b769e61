import { z } from 'zod';

/**
 * The one registry of named schemas. What is registered here becomes `components.schemas` of the
 * OpenAPI document under the same name, so the schema that validates is the schema that documents.
 */
export const contractRegistry = z.registry<{ id: string; description?: string }>();

const descriptions = new Map<string, string | undefined>();

/**
 * Registers `schema` as the component `name` and returns it.
 *
 * @throws Error when the name is already taken: two shapes under one component name are a mistake.
 */
export function contract<T extends z.ZodType>(name: string, schema: T, description?: string): T {
  if (descriptions.has(name)) throw new Error(`contract schema registered twice: ${name}`);
  descriptions.set(name, description);
  contractRegistry.add(schema, description === undefined ? { id: name } : { id: name, description });
  return schema;
}

/** The mark of what must be there, which the document tells as `required`. */
export const DEMANDED = 'x-demanded';

/**
 * Marks what must be there although its schema lets it be left out: a rule of its own refuses the request, with a status and words of its own.
 *
 * @example z.strictObject({ kind: demanded(text.optional()) })
 */
export const demanded = <T extends z.ZodType>(schema: T): T => schema.meta({ ...schema.meta(), [DEMANDED]: true });

/** What the component is, in words, or undefined. */
export const contractDescription = (name: string): string | undefined => descriptions.get(name);

/** The component name of a registered schema, or undefined. */
export function contractName(schema: z.ZodType): string | undefined {
  return contractRegistry.get(schema)?.id;
}
