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

/** What the component is, in words, or undefined. */
export const contractDescription = (name: string): string | undefined => descriptions.get(name);

/** The component name of a registered schema, or undefined. */
export function contractName(schema: z.ZodType): string | undefined {
  return contractRegistry.get(schema)?.id;
}
