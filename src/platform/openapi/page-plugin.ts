/**
 * What makes Swagger UI fast on a document of a megabyte. Everything here runs in the browser: `pagePlugin` is handed over as
 * source text and sees nothing outside of itself.
 */
interface Json {
  [key: string]: unknown;
}
/** Of the page's immutable values what is used here. */
interface Kept {
  get(key: string): unknown;
  getIn(path: readonly string[]): unknown;
  set(key: string, value: unknown): Kept;
}
interface KeptMany<T> {
  readonly size: number;
  filter(wanted: (one: T) => boolean): KeptMany<T>;
  map(change: (one: T, key: string) => T): KeptMany<T>;
}
type Subtree = Promise<{ spec: unknown; errors: readonly unknown[] }>;

interface Plugin {
  readonly fn: {
    resolveSubtree(outline: unknown, path: readonly string[]): Subtree;
    opsFilter(families: KeptMany<Kept>, phrase: string): KeptMany<Kept>;
  };
  readonly statePlugins: {
    readonly spec: {
      readonly wrapActions: {
        parseToJson(original: unknown, system: { specActions: { updateJsonSpec(document: unknown): unknown } }): (text: string) => unknown;
      };
    };
  };
}

/**
 * The page is given the outline of the document (`outlineOf`), which it reads as JSON, not as YAML. The document comes beside it,
 * and what is opened is resolved in it, and no more: the resolver that the page brings for OpenAPI 3.1 builds a tree of the whole
 * document for each operation, which takes seconds. References that lead in a circle, and what a reader would never reach (the
 * hundredth kind of an event, the bottom of a deep tree), are told by name.
 */
export function pagePlugin(): Plugin {
  const DOCUMENT = '/openapi.json';
  const MAX_ALTERNATIVES = 8;
  const MAX_NODES = 4_000;
  const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);

  function resolved(document: unknown, root: unknown): unknown {
    let nodes = 0;
    const target = (reference: string): unknown =>
      reference
        .slice(2)
        .split('/')
        .reduce<unknown>((at, key) => (isObject(at) ? at[key.replace(/~1/g, '/').replace(/~0/g, '~')] : undefined), document);
    const named = (reference: string): Json => ({ title: reference.split('/').pop(), description: 'See the components of /openapi.json.' });
    const alternatives = (list: readonly unknown[], above: readonly string[]): unknown[] => {
      const shown = list.slice(0, MAX_ALTERNATIVES).map((one) => walk(one, above));
      if (list.length <= MAX_ALTERNATIVES) return shown;
      return [...shown, { title: `and ${list.length - MAX_ALTERNATIVES} more`, description: 'See the components of /openapi.json.' }];
    };
    function walk(value: unknown, above: readonly string[]): unknown {
      if (Array.isArray(value)) return value.map((one) => walk(one, above));
      if (!isObject(value)) return value;
      nodes++;
      const { $ref: reference, description } = value;
      if (typeof reference === 'string' && reference.startsWith('#/')) {
        if (above.includes(reference) || nodes > MAX_NODES) return named(reference);
        const there = walk(target(reference), [...above, reference]);
        // What stands beside a reference is about this place.
        const beside = description === undefined ? {} : { description };
        return isObject(there) ? { title: reference.split('/').pop(), ...there, ...beside, $$ref: reference } : there;
      }
      const copy: Json = {};
      for (const [key, member] of Object.entries(value)) {
        if (key === 'discriminator') continue;
        copy[key] = (key === 'oneOf' || key === 'anyOf') && Array.isArray(member) ? alternatives(member, above) : walk(member, above);
      }
      return copy;
    }
    return walk(root, []);
  }

  let coming: Promise<unknown> | undefined;
  /** Asked for at once, so that it is there when something is opened, and again when it did not come. */
  function whole(): Promise<unknown> {
    coming ??= fetch(DOCUMENT)
      .then((response) =>
        response.ok ? (response.json() as Promise<unknown>) : Promise.reject(new Error(`${DOCUMENT}: ${response.status}`)),
      )
      .catch((error: unknown) => {
        coming = undefined;
        throw error;
      });
    return coming;
  }
  void whole().catch(() => undefined);

  return {
    fn: {
      resolveSubtree: async (_outline, path) => {
        const document = await whole();
        const root = path.reduce<unknown>((at, key) => (at as Json | undefined)?.[key], document);
        return { spec: resolved(document, root), errors: [] };
      },
      // The page looks at the names of families only.
      opsFilter: (families, phrase) => {
        const word = phrase.toLowerCase();
        const places = [['path'], ['operation', 'summary'], ['operation', 'operationId'], ['operation', 'x-name']];
        const fits = (one: Kept): boolean => places.some((place) => String(one.getIn(place)).toLowerCase().includes(word));
        return families
          .map((family, name) =>
            name.includes(word) ? family : family.set('operations', (family.get('operations') as KeptMany<Kept>).filter(fits)),
          )
          .filter((family) => (family.get('operations') as KeptMany<Kept>).size > 0);
      },
    },
    statePlugins: {
      spec: {
        wrapActions: {
          parseToJson:
            (_original, { specActions }) =>
            (text) =>
              specActions.updateJsonSpec(JSON.parse(text)),
        },
      },
    },
  };
}
