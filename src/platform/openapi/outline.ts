import type { OpenAPIObject } from '@nestjs/swagger';

/** What the page shows of an operation before somebody opens it. */
const SHOWN = ['tags', 'summary', 'operationId', 'x-name', 'deprecated', 'security'] as const;
/** What it takes for something that can be opened. */
const CLOSED = { type: 'object', properties: { '…': {} } } as const;

type Json = Record<string, unknown>;

/**
 * The table of contents of a document. A page that is given all of a megabyte builds a tree of it before it shows a word; what is
 * opened it takes from the document itself.
 */
export function outlineOf(document: OpenAPIObject): OpenAPIObject {
  const { paths, components = {}, info, ...rest } = document;
  const { schemas = {}, securitySchemes } = components;
  const shown = Object.entries(paths).map(([path, item]) => [
    path,
    mapped(item as Json, (operation) => Object.fromEntries(SHOWN.flatMap((key) => (key in operation ? [[key, operation[key]]] : [])))),
  ]);
  // They are looked for by name; the document has them in the order in which its modules were loaded.
  const names = Object.keys(schemas).sort();
  return {
    ...rest,
    info: { ...info, ...(info.description === undefined ? {} : { description: folded(info.description) }) },
    paths: Object.fromEntries(shown) as OpenAPIObject['paths'],
    components: {
      ...(securitySchemes === undefined ? {} : { securitySchemes }),
      schemas: Object.fromEntries(names.map((name) => [name, CLOSED])),
    },
  };
}

/** The first paragraph, and the rest behind it: who comes for an operation sees the families at once. */
function folded(description: string): string {
  const [first, ...more] = description.split('\n\n');
  if (more.length === 0) return description;
  const topics = more.filter((part) => part.startsWith('#')).map((part) => part.replace(/^#+ /, ''));
  return `${first}\n\n<details>\n<summary><b>Before the first request</b>: ${topics.join(', ')}</summary>\n\n${more.join('\n\n')}\n\n</details>`;
}

function mapped<T>(all: Json, shown: (one: Json) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(all).map(([key, one]) => [key, shown(one as Json)]));
}
