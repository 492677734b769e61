import { z } from 'zod';

/**
 * The one registry of named schemas. What is registered here becomes `components.schemas` of the
 * OpenAPI document under the same name, so the schema that validates is the schema that documents.
 */
export const contractRegistry = z.registry<{ id: string; description?: string }>();

const names = new Set<string>();

/**
 * Registers `schema` as the component `name` and returns it.
 *
 * @throws Error when the name is already taken: two shapes under one component name are a mistake.
 */
export function contract<T extends z.ZodType>(name: string, schema: T, description?: string): T {
  if (names.has(name)) throw new Error(`contract schema registered twice: ${name}`);
  names.add(name);
  contractRegistry.add(schema, description === undefined ? { id: name } : { id: name, description });
  return schema;
}

/** The component name of a registered schema, or undefined. */
export function contractName(schema: z.ZodType): string | undefined {
  return contractRegistry.get(schema)?.id;
}
