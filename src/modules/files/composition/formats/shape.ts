import { z } from 'zod';

/** The schema of what stands at a place, without what makes it optional; undefined where the schema says nothing. */
export function schemaAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): z.core.$ZodType | undefined {
  let at: z.core.$ZodType | undefined = bare(schema);
  for (const segment of path) {
    if (at instanceof z.ZodObject)
      at = Object.hasOwn(at.shape as object, segment) ? bare((at.shape as z.core.$ZodShape)[segment as string]!) : undefined;
    else if (at instanceof z.ZodRecord) at = bare(at.valueType);
    else if (at instanceof z.ZodArray) at = bare(at.element);
    else return undefined;
  }
  return at;
}

/** The keys of the table at a place; empty where any key goes. */
export function keysAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): string[] {
  const at = schemaAt(schema, path);
  return at instanceof z.ZodObject ? Object.keys(at.shape as object) : [];
}

/** Whether the table at a place cannot do without a key. */
export function isRequired(schema: z.core.$ZodType, path: readonly PropertyKey[], key: PropertyKey): boolean {
  const at = schemaAt(schema, path);
  if (!(at instanceof z.ZodObject)) return false;
  const member = (at.shape as z.core.$ZodShape)[key as string];
  return member !== undefined && !(member instanceof z.ZodOptional);
}

function bare(schema: z.core.$ZodType): z.core.$ZodType {
  return schema instanceof z.ZodOptional ? bare(schema.unwrap()) : schema;
}
