import type { OpenAPIObject } from '@nestjs/swagger';

/** What the page shows of an operation before somebody opens it. */
const SHOWN = ['tags', 'summary', 'operationId', 'deprecated', 'security'] as const;
/** What it takes for something that can be opened. */
const CLOSED = { type: 'object', properties: { '…': {} } } as const;

type Json = Record<string, unknown>;

/**
 * The table of contents of a document. A page that is given all of a megabyte builds a tree of it before it shows a word; what is
 * opened it takes from the document itself.
 */
export function outlineOf(document: OpenAPIObject): OpenAPIObject {
  const { paths, components = {}, ...rest } = document;
  const { schemas = {}, securitySchemes } = components;
  const shown = Object.entries(paths).map(([path, item]) => [
    path,
    mapped(item as Json, (operation) => Object.fromEntries(SHOWN.flatMap((key) => (key in operation ? [[key, operation[key]]] : [])))),
  ]);
  // They are looked for by name; the document has them in the order in which its modules were loaded.
  const names = Object.keys(schemas).sort();
  return {
    ...rest,
    paths: Object.fromEntries(shown) as OpenAPIObject['paths'],
    components: {
      ...(securitySchemes === undefined ? {} : { securitySchemes }),
      schemas: Object.fromEntries(names.map((name) => [name, CLOSED])),
    },
  };
}

function mapped<T>(all: Json, shown: (one: Json) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(all).map(([key, one]) => [key, shown(one as Json)]));
}
