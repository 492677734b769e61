import type { JsonSchema } from './components.js';

/** Words by the names of members, where any text will do. */
const WORDS: Readonly<Record<string, string>> = {
  actor: 'me',
  agent: 'mayor',
  assignee: 'mayor',
  depends_on_id: 'al-2',
  error: 'the session did not answer',
  message: 'hello',
  name: 'mine',
  nudge_id: 'nudge-1',
  subject: 'The plan',
  target: 'mayor',
  title: 'The parser',
  to: 'mayor',
  type: 'note.taken',
};

/** The smallest value that fits `schema`: of an object only what it must have. */
export function smallest(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>, name = 'text'): unknown {
  const { $ref: reference } = schema as { $ref?: string };
  if (reference !== undefined) return smallest(schemas[reference.split('/').pop()!] ?? {}, schemas, name);
  const {
    enum: values,
    const: only,
    oneOf,
    anyOf,
    properties,
    required,
    items,
    minItems,
    minLength,
    minimum,
  } = schema as {
    [key: string]: unknown;
    enum?: unknown[];
    oneOf?: JsonSchema[];
    anyOf?: JsonSchema[];
    properties?: Record<string, JsonSchema>;
    required?: string[];
    items?: JsonSchema;
    minItems?: number;
    minLength?: number;
    minimum?: number;
  };
  if (schema.default !== undefined) return schema.default;
  if (only !== undefined) return only;
  if (values !== undefined) return values[0];
  const first = (oneOf ?? anyOf)?.[0];
  if (first !== undefined) return smallest(first, schemas, name);
  switch ([schema.type].flat()[0]) {
    case 'object':
      return Object.fromEntries((required ?? []).map((key) => [key, smallest(properties?.[key] ?? {}, schemas, key)]));
    case 'array':
      return Array.from({ length: minItems ?? 0 }, () => smallest(items ?? {}, schemas, name));
    case 'integer':
    case 'number':
      return minimum ?? 0;
    case 'boolean':
      return false;
    default:
      return (WORDS[name] ?? name).padEnd(minLength ?? 0, '-');
  }
}
