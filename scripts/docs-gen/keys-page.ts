import { markedSchema, resolved, type FileKind, type JsonSchema } from './file-schemas.js';
import { anchor, code, GENERATED, idOf, page, table } from './markdown.js';

/** A table of a file: `[workspace]`, `[[rigs]]`. */
interface Section {
  readonly title: string;
  readonly id: string;
  readonly schema: JsonSchema;
  readonly about: string;
}

const DURATION = /ns\|us/;

/** The page of one kind of file: every table, and every key of it. */
export function keysPage(kind: FileKind): string {
  const root = markedSchema(kind);
  const known: { readonly section: Section; readonly keys: ReadonlyMap<string, string> }[] = [];
  const parts = sections(root).map((section) => {
    const keys = new Map(
      Object.entries(section.schema.properties ?? {}).map(([key, schema]) => [key, JSON.stringify({ ...schema, examples: [] })]),
    );
    // Agents are described at many places, and once is enough.
    const like = known.find(
      (other) => other.keys.size >= 10 && [...other.keys].every(([key, said]) => key === 'name' || keys.get(key) === said),
    );
    known.push({ section, keys });
    return told(
      section,
      root,
      like?.section,
      like === undefined ? [] : [...like.keys.keys()].filter((key) => like.keys.get(key) === keys.get(key)),
    );
  });
  return page(
    GENERATED,
    `# ${kind.title}`,
    kind.where,
    `An editor that knows TOML completes these keys when the file begins with its schema, which each server has (\`svc init\` writes the line):`,
    `\`\`\`toml\n#:schema http://127.0.0.1:8372/schemas/${kind.name}.json\n\`\`\``,
    ...parts,
  );
}

function sections(root: JsonSchema): Section[] {
  const found: Section[] = [];
  const seen = new Set<string>();
  const visit = (schema: JsonSchema, path: string, title: string, about: string): void => {
    found.push({ title, id: idOf(path === '' ? 'top' : path), schema, about });
    for (const [key, member] of Object.entries(schema.properties ?? {})) {
      const below = tableIn(member, root);
      if (below === undefined || member.refused === true) continue;
      // Steps may stand in steps.
      const name = member.$ref ?? member.items?.$ref;
      if (name !== undefined && seen.has(name)) continue;
      if (name !== undefined) seen.add(name);
      const at = path === '' ? key : `${path}.${key}`;
      visit(below.schema, `${at}${below.suffix}`, titleOf(at, below.suffix), member.description ?? '');
    }
  };
  visit(root, '', 'Top level', 'Keys that stand before the first table, and the tables that there are.');
  return found;
}

function titleOf(path: string, suffix: string): string {
  if (suffix === '[]') return `[[${path.replaceAll('[]', '')}]]`;
  return `[${path.replaceAll('[]', '')}${suffix === '.*' ? '.NAME' : ''}]`.replaceAll('.*', '.NAME');
}

/** The table that a key holds, one of a list, or under names. */
function tableIn(member: JsonSchema, root: JsonSchema): { schema: JsonSchema; suffix: string } | undefined {
  const schema = resolved(member, root);
  if (schema.properties !== undefined && Object.keys(schema.properties).length > 0) return { schema, suffix: '' };
  const item = schema.items === undefined ? undefined : resolved(schema.items, root);
  if (item?.properties !== undefined && Object.keys(item.properties).length > 0) return { schema: item, suffix: '[]' };
  const named = typeof schema.additionalProperties === 'object' ? resolved(schema.additionalProperties, root) : undefined;
  const option = named?.properties === undefined ? named?.anyOf?.find(({ properties }) => properties !== undefined) : named;
  return option === undefined ? undefined : { schema: option, suffix: '.*' };
}

function told({ title, id, schema, about }: Section, root: JsonSchema, like: Section | undefined, same: readonly string[]): string {
  const rows = Object.entries(schema.properties ?? {}).filter(([key]) => !same.includes(key));
  const required = new Set(schema.required ?? []);
  return [
    `## ${anchor(id)}${title}`,
    about,
    like === undefined
      ? ''
      : `All keys of [${title.startsWith('[') ? code(like.title) : like.title}](#${like.id})${rows.length === 0 ? '.' : ', and:'}`,
    rows.length === 0
      ? ''
      : table(
          ['Key', 'Type', 'Default', 'What it is for'],
          rows.map(([key, member]) => [
            `${anchor(`${id}--${idOf(key)}`)}${code(key)}${required.has(key) ? ' (required)' : ''}`,
            member.refused === true ? 'none' : typeOf(member, root),
            member.default === undefined ? '' : code(toml(member.default)),
            `${member.description ?? ''}${exampleOf(member)}`,
          ]),
        ),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function exampleOf({ examples, idle, deprecated }: JsonSchema): string {
  const [example] = examples ?? [];
  return example === undefined || idle === true || deprecated === true ? '' : ` Example: ${code(toml(example))}`;
}

function typeOf(member: JsonSchema, root: JsonSchema): string {
  const schema = resolved(member, root);
  if (schema.properties !== undefined) return 'table';
  if (schema.enum !== undefined) return schema.enum.map((value) => code(toml(value))).join(', ');
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map((one) => typeOf(one, root)))].join(', or ');
  switch (schema.type) {
    case 'string':
      return DURATION.test(schema.pattern ?? '') ? 'duration' : 'text';
    case 'integer':
      return 'whole number';
    case 'number':
      return 'number';
    case 'boolean':
      return '`true` or `false`';
    case 'array': {
      const of = schema.items === undefined ? '' : typeOf(schema.items, root);
      return of === 'table' ? 'list of tables' : of === 'text' ? 'list of texts' : `list of ${of}`;
    }
    case 'object':
      return schema.additionalProperties !== undefined ? `table of ${namesOf(schema, root)}` : 'table';
    default:
      return 'any';
  }
}

function namesOf({ additionalProperties }: JsonSchema, root: JsonSchema): string {
  if (typeof additionalProperties !== 'object') return 'anything';
  const of = typeOf(additionalProperties, root);
  return of === 'text' ? 'texts' : of === 'table' ? 'tables' : of;
}

/** A value as a file has it. */
export function toml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(', ')}]`;
  if (typeof value === 'object' && value !== null)
    return `{ ${Object.entries(value)
      .map(([key, member]) => `${/^[\w-]+$/.test(key) ? key : JSON.stringify(key)} = ${toml(member)}`)
      .join(', ')} }`;
  return JSON.stringify(value);
}
